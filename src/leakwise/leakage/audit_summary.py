"""One picture for people who decide: what the worst outcome does to a guess about one person, in plain numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakwise.charts.specs import rises, vertical
from leakwise.errors import label_text
from leakwise.exact import Level, float_above, level
from leakwise.guarantee import at_most, lift_above, percent, percent_at_most
from leakwise.leakage.envelopes import envelope
from leakwise.leakage.measures.differential import ldp_ratio

if TYPE_CHECKING:
    from leakwise.leakage.audit import Audit

__all__ = ["summary"]

_MOST_VALUES = 15
# Up to so many entries of the mechanism what survives post-processing is worked out within a second or two.
_MOST_ENTRIES = 900
_DIGITS = 3


def summary(audit: Audit, limit: object = None) -> dict[str, Any]:
    """Return how far each value can be raised, and how many times as likely any guess can become.

    ``limit`` is the largest lift that is allowed; that which the audit was asked about, if it is None.
    """
    asked = audit.level if limit is None else level(lift=limit)
    parts = [_values(audit, asked)] if audit.letters else []
    return vertical(*parts, _anyone(audit, asked))


def _values(audit: Audit, asked: Level) -> dict[str, Any]:
    """From the prior probability of each value to the largest that an outcome gives it."""
    prior = audit.prior.nominal
    before = {label: mass for label, mass in zip(audit.mechanism.inputs, prior.fractions, strict=True) if mass}
    lifts = {one.label: Fraction(one.range[1]) / before[one.label] for one in audit.letters}
    worst = sorted(audit.letters, key=lambda one: -lifts[one.label])
    shown, more = worst[:_MOST_VALUES], len(worst) - _MOST_VALUES
    texts = [
        f"from {percent(one.prior)} to at most {percent_at_most(one.range[1])}: {_times(lifts[one.label], asked)}"
        for one in shown
    ]
    return rises(
        [label_text(one.label) for one in shown],
        [one.prior for one in shown],
        [one.most for one in shown],
        texts,
        allowed=[min(1.0, one.prior * float(asked.above)) for one in shown],
        title="What the worst outcome does to a guess about one person",
        value_title="how likely the value is",
        shares=True,
        notes=[
            f"Ring: before. Dot: after the outcome that raises it most. Mark: what the limit allows, {_limit(asked)}.",
            "At the estimated frequencies; what holds for all that the sample leaves possible is below."
            if audit.of_set
            else None,
            f"The {_MOST_VALUES} values that are raised most; {more:,} more are raised less." if more > 0 else None,
        ],
    )


def _anyone(audit: Audit, asked: Level) -> dict[str, Any]:
    """How many times as likely: for those who knew the prior, after further processing, and for anyone."""
    rows: list[tuple[str, Fraction | float | None, bool]] = [("the worst outcome", audit.ratio, True)]
    size = math.prod(audit.mechanism.shape)
    if size <= _MOST_ENTRIES and 0 < audit.delta < 1 and not audit.of_set:
        # Whatever is made of an outcome, no guess is raised further than by the worst one.
        found = lift_above(envelope(audit.mechanism, audit.prior.nominal, audit.delta).epsilon)
        survives = min(found, audit.ratio)
        rows.append((f"processed further, {percent(1 - audit.delta)} of cases", survives, True))
    rows.append(("for anyone, whatever they knew before", ldp_ratio(audit.mechanism), False))
    known = [None if one is None or one == math.inf else Fraction(one) for _, one, _ in rows]
    texts = [
        "no limit holds" if one is None else f"{'at most ' if one > 1 else ''}{_times(one, asked if judged else None)}"
        for one, (_, _, judged) in zip(known, rows, strict=True)
    ]
    return rises(
        [name for name, _, _ in rows],
        [1.0] * len(rows),
        [None if one is None else float_above(one) for one in known],
        texts,
        allowed=[float(asked.above) if judged else None for _, _, judged in rows],
        title="How many times as likely any guess can become",
        value_title="times as likely as before",
        least=1.0,
        notes=[
            f"Mark: the limit, {_limit(asked)}, for someone who knew how frequent the values are.",
            f"Processed further: whatever is made of the outcome, except with probability {percent(audit.delta)}."
            if len(rows) > 2
            else None,
        ],
    )


def _limit(asked: Level) -> str:
    return f"{at_most(asked.shown, _DIGITS)} times as likely"


def _times(lift: Fraction, asked: Level | None) -> str:
    """How many times as likely, rounded up; and where that is more than allowed, that it is."""
    if lift <= 1:
        return "no more likely"
    above = asked is not None and not asked.allows(lift)
    return f"{at_most(lift, _DIGITS)} times as likely" + (", above the limit" if above else "")
