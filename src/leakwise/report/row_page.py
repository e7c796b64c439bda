"""The sections of a report on whole rows: what someone who sees a row can learn, stratum by stratum."""

from __future__ import annotations

from html import escape

from leakwise.alphabet import joined
from leakwise.charts.page import paragraph, section
from leakwise.exact import log_upper
from leakwise.guarantee import at_most, never_certain, percent, percent_at_most
from leakwise.report.pictures import heat_table
from leakwise.report.row_facts import RowFacts, StratumFacts
from leakwise.report.sections import MOST_ROWS, back, columns, exact_over, html_rows, limits, proof, worth

__all__ = ["of_secret", "row_sections"]

_MOST_PICTURES, _MOST_LETTERS = 12, 60


def row_sections(facts: RowFacts) -> list[str]:
    """Return all sections, as HTML."""
    return [
        _promise(facts),
        columns(facts),
        *of_secret(facts),
        back(facts, "StratifiedMechanism"),
        limits(facts),
        proof(facts, exact_over(one.denominator for one in facts.mechanism.mechanisms)),
    ]


def of_secret(facts: RowFacts) -> list[str]:
    """Return the sections about the secret itself: what can be believed, the strata, the mechanisms, their worth."""
    return [_posteriors(facts), _prior(facts), _strata(facts), _pictures(facts), _worth(facts)]


def _promise(facts: RowFacts) -> str:
    lift, given = facts.promised, joined(facts.mechanism.given)
    wanted = facts.certificate.limits
    asked = f" Asked for: {wanted.describe()}. All of it is kept." if wanted else ""
    detail = (
        f"In numbers: pointwise maximal leakage of at most {at_most(log_upper(lift), 6)} nats (rounded up), given "
        f"{given}, for every outcome in every stratum (rows with the same {given}). It was computed from the exact "
        f"integers that the rows were drawn from.{asked}"
    )
    certain = paragraph(f"Given {given}: {never_certain(lift)}") if lift > 1 else ""
    return section("The guarantee", f'<p class="promise">{escape(facts.guarantee)}</p>\n', paragraph(detail), certain)


def _where(facts: RowFacts, stratum: object) -> str:
    given = facts.mechanism.given
    parts = stratum if len(given) > 1 and isinstance(stratum, tuple) else (stratum,)
    return ", ".join(f"{name} = {part}" for name, part in zip(given, parts, strict=True))


def _posteriors(facts: RowFacts) -> str:
    letters = facts.letters
    if not letters:
        return ""
    shown = sorted(letters, key=lambda one: -one["in_all"])[:MOST_ROWS] if len(letters) > MOST_ROWS else letters
    rows = [
        [
            escape(str(one["letter"])),
            percent(one["in_all"]),
            percent(one["before"]),
            percent_at_most(one["most"]),
            escape(_where(facts, one["stratum"])),
        ]
        for one in shown
    ]
    parts = [
        paragraph(
            "How likely each value is in all rows, and the most that it can become for someone who sees a row: before "
            "its outcome is seen, after it, and in which stratum."
        ),
        html_rows(["value", "in all rows", "before the outcome", "most after it", "where"], rows),
    ]
    if len(shown) < len(letters):
        parts.append(paragraph(f"The {MOST_ROWS} most frequent of {len(letters)} values are shown."))
    if any(facts.fallback):
        parts.append(
            paragraph("Strata whose mechanism holds for every prior are left out: nothing was learned about them.")
        )
    return section("What someone can come to believe", *parts)


def _prior(facts: RowFacts) -> str:
    given = joined(facts.mechanism.given)
    if facts.origin != "table":
        words = (
            f"The prior of each stratum was given as public knowledge when the release was made: how likely each value "
            f"is for someone with a given {given}. It was not taken from the table."
        )
    elif facts.prior_cost:
        words = (
            f"How likely each value is for someone with a given {given} was counted in this very table, with noise. "
            "Everything here follows from the noisy counts."
        )
    else:
        words = (
            f"How likely each value is for someone with a given {given} was estimated from this very table. The "
            "frequencies are rounded here, so that this report contains no exact count of the secret; the mechanisms "
            "were designed for the rounded ones, which are treated as public knowledge. The guarantee holds for every "
            "prior that the rows leave possible, unless they mislead."
        )
    return section(
        "What was assumed to be known before",
        paragraph(words),
        paragraph(
            "The guarantee compares with this prior. Where it is far from what people know, the guarantee does not "
            "describe what they learn; the limit for anyone does."
        ),
    )


def _strata(facts: RowFacts) -> str:
    shown = facts.strata[:MOST_ROWS]
    rows = [
        [
            escape(_where(facts, one.stratum)),
            f"{one.rows:,}",
            "for every prior" if one.prior is None else str((one.number or 0) + 1),
            at_most(one.lift),
            _most_frequent(one),
        ]
        for one in shown
    ]
    more = len(facts.sizes) - len(shown)
    _, in_rest = facts.fallback
    words = f"{len(facts.sizes):,} {'stratum' if len(facts.sizes) == 1 else 'strata'}, "
    count = len(facts.mechanism.mechanisms)
    words += "one mechanism." if count == 1 else f"{count:,} different mechanisms."
    if in_rest:
        words += f" {facts.fallen}"
    table = html_rows(["stratum", "rows", "mechanism", "largest lift", "most frequent value"], rows)
    left = paragraph(f"{more:,} smaller ones are not shown.") if more > 0 else ""
    fold = f"<details><summary>The largest strata first</summary>\n{table}{left}</details>\n"
    return section("The strata", paragraph(words), fold)


def _most_frequent(one: StratumFacts) -> str:
    if one.prior is None:
        return "—"
    place = int(one.prior.probabilities.argmax())
    return f"{escape(str(one.prior.labels[place]))} ({percent(float(one.prior.probabilities[place]))})"


def _pictures(facts: RowFacts) -> str:
    """The mechanisms, those of most rows first, each folded."""
    mechanism, rows = facts.mechanism, dict[int, int]()
    numbers = {id(one): place for place, one in enumerate(mechanism.mechanisms)}
    of = mechanism.numbered
    rest = -1 if mechanism.otherwise is None else numbers[id(mechanism.otherwise)]
    for key, count in facts.sizes.items():
        place = of.get(key, rest)
        rows[place] = rows.get(place, 0) + count
    if facts.undeclared:
        rows[rest] = rows.get(rest, 0) + facts.undeclared
    folds: list[str] = []
    for place in sorted(rows, key=lambda place: -rows[place])[:_MOST_PICTURES]:
        one = mechanism.mechanisms[place]
        if max(one.shape) > _MOST_LETTERS:
            continue
        picture = heat_table([str(x) for x in one.inputs], [_outcome(facts, x) for x in one.outputs], one.matrix)
        opened = " open" if not folds else ""
        folds.append(
            f"<details{opened}><summary>Mechanism {place + 1}, {rows[place]:,} rows</summary>\n{picture}</details>\n"
        )
    if not folds:
        return section("The mechanisms", paragraph("They have too many values or outcomes to draw."))
    left = len(rows) - len(folds)
    return section(
        "The mechanisms",
        paragraph(
            "Each row is a true value, each column an outcome; a cell shows how often the outcome is drawn for the "
            "value, in percent. The mechanism of most rows comes first."
        ),
        *folds,
        paragraph(f"{left:,} others are not shown; the mechanism file has all of them.") if left > 0 else "",
    )


def _outcome(facts: RowFacts, label: object) -> str:
    """An outcome as it is shown: of a joint one that points to its first column, what stands there."""
    pointer = f"see {facts.columns[0]}"
    return str(label[0] if isinstance(label, tuple) and set(label[1:]) == {pointer} else label)


def _worth(facts: RowFacts) -> str:
    compared = facts.comparison
    if compared is None:
        return ""
    names = [str(one) for one in facts.mechanism.inputs]
    return worth(facts, names, compared, known=facts.prior is not None)
