"""Sections that every report has: its head, the columns, how to estimate, what is not guaranteed, how to check it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from leakwise.charts.page import paragraph, section
from leakwise.charts.table import number
from leakwise.guarantee import at_most, percent
from leakwise.optimize.finish.outcome_names import coded
from leakwise.report.comparison import Comparison
from leakwise.report.release_facts import SEEDED, ReleaseFacts

__all__ = ["MOST_ROWS", "back", "columns", "exact_over", "head", "html_rows", "limits", "proof", "worth"]

MOST_ROWS = 60
_USES = {
    "statistics": "statistics: the mechanism makes estimated frequencies as precise as the guarantee allows. ",
    "reading": "reading: outcomes are values, and agree with the true one as often as the guarantee allows.",
    "given": "as the mechanism that was given.",
}


_NAMED = "Outcomes are named by the values they make more likely, and are not to be read as the value of a row."
_CODED = "Outcomes have short codes: each makes some values more likely, and says nothing else of a row."


def html_rows(headers: list[str], rows: list[list[str]], *, words: bool = False) -> str:
    """Return a table whose cells are HTML already: numbers, or ``words``, which begin at the left."""
    kind = "" if words else ' class="n"'
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in headers)
    body = ""
    for name, *others in rows:
        cells = "".join(f"<td{kind}>{cell}</td>" for cell in others)
        body += f'<tr><th scope="row">{name}</th>{cells}</tr>\n'
    return f'<div class="wide"><table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'


def head(facts: ReleaseFacts, outcomes: Sequence[object], made_for: str = "") -> str:
    """Return what was released, of what, and when."""
    pairs = [
        ("Data", facts.dataset),
        ("Released column" if len(facts.columns) == 1 else "Released columns, together", ", ".join(facts.columns)),
        ("Rows", f"{facts.rows:,}"),
        ("Order of the rows", facts.row_order),
        ("Released", facts.time.strftime("%Y-%m-%d %H:%M UTC")),
        ("Made for", _USES[facts.use] + _named(facts.use, outcomes) + made_for),
    ]
    if facts.memo is not None:
        pairs.insert(-1, ("Draws repeat", f"for each {facts.memo['person']}, by the key {facts.memo['key']}"))
    if facts.unsafe_seed:
        pairs.insert(0, ("Warning", SEEDED))
    if facts.released is not None:
        pairs.insert(-2, ("File", facts.released))
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs) + "</dl>\n"


def _named(use: str, outcomes: Sequence[object]) -> str:
    if use != "statistics":
        return ""
    return _CODED if coded(outcomes) else _NAMED


def columns(facts: ReleaseFacts) -> str:
    """Return what each column of the row is; nothing where nothing was said of them."""
    if not facts.roles:
        return ""
    rows = [[escape(name), escape(kind), escape(how)] for name, kind, how in facts.roles]
    return section("The columns of a row", html_rows(["column", "it is", "how it goes out"], rows, words=True))


def worth(facts: ReleaseFacts, names: list[str], compared: Comparison, *, known: bool) -> str:
    """Return what the release is good for, beside randomized response and no protection at all.

    Whether a value can be told depends on its frequency: nothing is said of it where no prior is ``known``.
    """
    ours, other = compared.ours, compared.randomized_response
    rows = [
        [
            "rows without randomization that one released row is worth, for frequencies",
            _maybe(ours.rows_worth),
            _maybe(other.rows_worth),
            "1",
        ],
        ["how often the released value is the true one", _share(ours.agreement), _share(other.agreement), "100%"],
        ["information about the value (nats)", number(ours.information), number(other.information), "—"],
    ]
    strata = " in every stratum" if facts.given else ""
    return section(
        "What the released table is good for",
        _so_many(facts.rows, ours.rows_worth, other.rows_worth),
        _so_what(names, compared) if known else "",
        paragraph(
            "Compared with randomized response (the true value with a certain probability, else any other) of exactly "
            f"the same leakage{strata}, and with the table without protection."
        ),
        html_rows(["", "this release", "randomized response", "no protection"], rows),
        _standard_errors(names, compared),
    )


def _so_many(rows: int, ours: float | None, other: float | None) -> str:
    """What all rows are worth in rows without protection, rounded down."""
    if ours is None:
        return ""
    beside = "" if other is None else f"; those of randomized response of the same leakage, {_whole(rows * other)}"
    return paragraph(
        f"For frequencies, these {rows:,} released rows are worth {_whole(rows * ours)} without protection{beside}."
    )


def _whole(rows: float) -> str:
    return f"{int(rows):,}" if rows >= 1 else "less than one"


def _so_what(names: list[str], compared: Comparison) -> str:
    """What can be said of each value from so many rows, or how many it would take."""
    errors, told, needed = compared.ours.standard_error, compared.told, compared.rows_needed
    if errors is None or told is None or needed is None:
        return ""
    masses, lines = compared.frequencies, []
    for place in _most_frequent(masses):
        if told[place]:
            points = at_most(200 * errors[place], 2)
            words = f"can be told, to about {points} percentage points up or down"
        else:
            more = "no number of rows is enough" if needed[place] is None else f"about {needed[place]:,} needed"
            words = f"cannot be told from {compared.rows:,} rows; {more}"
        lines.append([escape(names[place]), percent(masses[place]), words])
    return paragraph(
        "What the frequencies of the values can be told to be, if they are those of the prior. A value can be told "
        "where twice the standard error of its estimate is at most its frequency: its interval then leaves out zero."
    ) + html_rows(["value", "expected", "from this release"], lines, words=True)


def _most_frequent(masses: Sequence[float]) -> list[int]:
    """The places of the values that a page has room for, in their own order."""
    return sorted(sorted(range(len(masses)), key=lambda place: -masses[place])[:MOST_ROWS])


def _standard_errors(names: list[str], compared: Comparison) -> str:
    """The standard error of each value's frequency, where the outcomes determine them."""
    ours, other = compared.ours.standard_error, compared.randomized_response.standard_error
    if ours is None:
        return paragraph(
            "The outcomes do not determine the frequency of every value; estimates are then ranges. To make all "
            "frequencies estimable, release for statistics."
        )
    lines = [
        [
            escape(names[place]),
            number(ours[place]),
            "—" if other is None else number(other[place]),
            number(compared.plain_standard_error[place]),
        ]
        for place in _most_frequent(compared.frequencies)
    ]
    return paragraph(
        f"Expected standard error of the estimated frequency of each value, from {compared.rows:,} rows:"
    ) + html_rows(["value", "this release", "randomized response", "no protection"], lines)


def _maybe(value: float | None) -> str:
    return "not determined" if value is None else number(value)


def _share(value: float | None) -> str:
    return "outcomes are not values" if value is None else percent(value)


def back(facts: ReleaseFacts, kind: str = "Mechanism") -> str:
    """Return how frequencies are estimated; ``kind`` is the class that loads the mechanism."""
    column = repr(facts.columns[0]) if len(facts.columns) == 1 else repr(facts.columns)
    file = facts.released
    if file is not None and file.lower().endswith((".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc")):
        call, words = f"lw.estimate({file!r})", "The file contains its mechanism."
    else:
        # Only files that were saved are named.
        kept = facts.mechanism_file
        table = "released" if file is None else repr(file)
        loaded = "mechanism" if kept is None else f"lw.{kind}.load({kept!r})"
        call = f"lw.estimate({table}, {loaded}, column={column})"
        means = ["released is the released table"] * (file is None)
        means += [f"mechanism is the one that its owner shares with it (lw.{kind}.load)"] * (kept is None)
        words = f"Here {' and '.join(means)}. " if means else ""
        words += "Share the mechanism with the table; it is not a secret."
    code = f"import leakwise as lw\n\ne = {call}\nprint(e)          # frequencies, standard errors, intervals\n"
    return section(
        "How to estimate from it",
        paragraph(
            "The share of an outcome in the released table is not the share of the value of that name. The code below "
            f"estimates the true frequencies, with intervals. {words}"
        ),
        f"<pre><code>{escape(code)}</code></pre>\n",
    )


def limits(facts: ReleaseFacts) -> str:
    """Return what is not guaranteed."""
    return section(
        "What is not guaranteed", "<ul>" + "".join(f"<li>{escape(one)}</li>\n" for one in facts.limits()) + "</ul>\n"
    )


def exact_over(denominators: Iterable[int]) -> str:
    """Return what the probabilities are exact over, as HTML."""
    found = set(denominators)
    powers = {one.bit_length() - 1 for one in found}
    if any(one & (one - 1) for one in found):
        return "an integer"
    return f"2<sup>{max(powers)}</sup>"


def proof(facts: ReleaseFacts, over: str) -> str:
    """Return how the mechanism was made, and how its certificate is checked."""
    rows: list[list[str]] = [
        [escape(name), escape(_text(value))] for name, value in facts.how.items() if value is not None
    ]
    rows.append(["exact over", over])
    rows.append(["randomness", "operating system, AES-256 in counter mode"])
    if facts.ledger is not None:
        rows.append(["entry in the ledger", escape(str(facts.ledger["entry"]))])
    if facts.settings_file is not None:
        rows.append(["settings", escape(facts.settings_file)])
    return section("How it was made, and how to check it", html_rows(["", ""], rows), paragraph(_check(facts)))


def _check(facts: ReleaseFacts) -> str:
    """How the certificate is checked, where one was saved, and by whom."""
    name, private = facts.certificate_file, facts.origin == "table" and not facts.prior_cost
    holds = "The certificate holds the mechanism and the prior as exact integers"
    if private:
        holds = "The certificate holds the mechanism and the exact counts of the table, and stays with it"
    if name is None:
        return f"{holds}. None was saved with this report."
    who = "The owner" if private else f"Anyone who has {name}"
    return f"{holds}. {who} can check it again with: leakwise verify {name}"


def _text(value: Any) -> str:
    return number(value, 6) if isinstance(value, float) else str(value)
