"""memo_lift(): what all releases of a person's values reveal together where draws repeat, exactly."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from leakwise.alphabet import Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, some_of
from leakwise.guarantee import at_most
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.leakage.rows.row_lift import row_lift
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior, as_prior

__all__ = ["MemoLift", "memo_lift"]

# Pairs of a history and its outcomes that are looked at one by one.
_MOST_PAIRS = 1_000_000

History = tuple[Label, ...]


@dataclass(frozen=True, repr=False)
class MemoLift(Shown):
    """What the outcomes of all releases of a person's values reveal together, all numbers rounded up.

    Attributes
    ----------
    history
        The largest lift of any guess about the values, for anyone who knows when they changed.
    at
        The same for guesses about the value at each time.
    limit
        What needs no distribution of histories but that of the first value: its lift, times the lift for every prior
        for each further value. None where a value may change and the mechanism has no lift for every prior.
    times_unknown
        The largest lift of a guess about the history, *when it changed* included, for someone who does not know that.
        It has no limit: two different outcomes prove a change, however unlikely one was.
    """

    history: Fraction
    at: tuple[Fraction, ...]
    limit: Fraction | None
    times_unknown: Fraction

    def _shown(self) -> Parts:
        rows = [["the values, knowing when they changed", at_most(self.history)]]
        rows += [[f"the value at time {place}", at_most(one)] for place, one in enumerate(self.at, 1)]
        rows.append(["the values, and when they changed", at_most(self.times_unknown)])
        limit = "no limit" if self.limit is None else f"the limit of {at_most(self.limit)}"
        title = (
            f"All releases together: no guess about the values becomes more than {at_most(self.history)} times as "
            f"likely for anyone who knew how they change, and when they changed; {limit} needs none of that but the "
            "first value's prior."
        )
        return [Table(["guess about", "lift"], rows, title)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "history": float(self.history),
            "at": [float(one) for one in self.at],
            "limit": None if self.limit is None else float(self.limit),
            "times_unknown": float(self.times_unknown),
        }


def memo_lift(mechanism: Mechanism, histories: Prior | Mapping[History, Any]) -> MemoLift:
    r"""Return what releases of a person's values at several times reveal together, where draws repeat (``memo=``).

    A history :math:`v_1, …, v_T` shows :math:`Y_\tau = Z(v_\tau)`, with one outcome Z(v) for each value that the person
    has had, independent and drawn from P(. | v). Given when the value changed, and back to what (B), it is the release
    of the distinct values :math:`w_1, …, w_d` by d independent draws, so that the largest lift is at most
    :math:`t_B a^{d-1}`: :math:`t_B` of the first value for its prior given B, and a, the lift for every prior, of each
    further one, of which B and the earlier outcomes may say anything.

    Parameters
    ----------
    mechanism
        What every release draws from.
    histories
        The prior of histories: from tuples of values, one for each time, to probabilities.

    Examples
    --------
    >>> import leakwise as lw
    >>> m = lw.randomized_response(["no", "yes"], lift=3)
    >>> stays = {("no",) * 5: "8/10", ("yes",) * 5: "2/10"}
    >>> may_start = {("no", "no"): "7/10", ("no", "yes"): "1/10", ("yes", "yes"): "2/10"}
    >>> for histories in (stays, may_start):
    ...     found = memo_lift(m, histories)
    ...     print(f"{float(found.history):.3f}, and with when it changed {float(found.times_unknown):.3f}")
    2.143, and with when it changed 2.143
    2.077, and with when it changed 10.000
    """
    known = as_prior(histories)
    times = _checked(mechanism, known)
    anyone = ldp_ratio(mechanism)
    cases: dict[tuple[int, ...], dict[History, int]] = defaultdict(dict)
    for label, weight in zip(known.labels, known.weights.tolist(), strict=True):
        if weight:
            history = cast(History, label)
            values = tuple(dict.fromkeys(history))
            cases[tuple(values.index(one) for one in history)][values] = weight
    lift, at = Fraction(1), [Fraction(1)] * times
    limits: list[Fraction | None] = []
    for pattern, law in cases.items():
        several = max(pattern) + 1
        prior = Prior(law) if several > 1 else Prior({one: weight for (one,), weight in law.items()})
        found = row_lift(prior, dict.fromkeys(range(several), mechanism), pairs=False)
        lift = max(lift, found.row.upper)
        at = [max(one, found.secrets[place].upper) for one, place in zip(at, pattern, strict=True)]
        first: dict[Label, int] = defaultdict(int)
        for (start, *_), weight in law.items():
            first[start] += weight
        alone = row_lift(Prior(dict(first)), {0: mechanism}).row.upper
        limits.append(alone if several == 1 else None if anyone is None else alone * anyone ** (several - 1))
    limit = None if None in limits else max(one for one in limits if one is not None)
    return MemoLift(lift, tuple(at), limit, _times_unknown(mechanism, cases))


def _checked(mechanism: Any, known: Prior) -> int:
    """Return how many times there are."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(f"mechanism must be a Mechanism. Got {type(mechanism).__name__} instead.")
    wrong = [one for one in known.labels if not isinstance(one, tuple)]
    lengths = {len(one) for one in known.labels if isinstance(one, tuple)}
    if wrong or len(lengths) != 1:
        raise InvalidInput(
            "histories must map tuples of values, one for each time and all of one length, to probabilities. Got "
            f"{some_of(wrong or known.labels, 3)} among them."
        )
    (times,) = lengths
    values = {value for one in known.labels if isinstance(one, tuple) for value in one}
    if unknown := [value for value in values if value not in mechanism.input_alphabet.index]:
        raise InvalidInput(
            f"histories have {some_of(unknown)}, which the mechanism does not know: its values are "
            f"{some_of(mechanism.inputs)}."
        )
    return times


def _times_unknown(mechanism: Mechanism, cases: Mapping[tuple[int, ...], Mapping[History, int]]) -> Fraction:
    """Return the largest lift of a guess about the history, pair by pair of a history and what it may show."""
    outcomes = range(len(mechanism.outputs))
    pairs = sum(len(values) * len(outcomes) ** (max(pattern) + 1) for pattern, values in cases.items())
    if pairs > _MOST_PAIRS:
        raise InvalidInput(
            f"There are {pairs:,} pairs of a history and what it may show, more than {_MOST_PAIRS:,}. Ask for fewer "
            "times, or fewer histories."
        )
    index, rows = mechanism.input_alphabet.index, mechanism.weights.tolist()
    most = max(max(pattern) + 1 for pattern in cases)
    shown: dict[Sequence[int], int] = defaultdict(int)
    best: dict[Sequence[int], int] = defaultdict(int)
    for pattern, values in cases.items():
        several = max(pattern) + 1
        scale = mechanism.denominator ** (most - several)  # all over one denominator
        for one, weight in values.items():
            drawn = [rows[index[value]] for value in one]
            for codes in itertools.product(outcomes, repeat=several):
                chance = scale * math.prod(row[code] for row, code in zip(drawn, codes, strict=True))
                if chance:
                    seen = tuple(codes[place] for place in pattern)
                    shown[seen] += weight * chance
                    best[seen] = max(best[seen], chance)
    total = sum(weight for values in cases.values() for weight in values.values())
    return max(Fraction(best[seen] * total, shown[seen]) for seen in shown)
