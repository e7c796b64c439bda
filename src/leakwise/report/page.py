"""The report as one HTML page: no script, no request to anywhere, fit to be printed."""

from __future__ import annotations

from html import escape
from typing import Any

from leakwise.charts.page import html_page, paragraph, section
from leakwise.charts.table import number
from leakwise.exact import log_upper
from leakwise.guarantee import (
    at_most,
    misleads,
    never_certain,
    percent,
    percent_at_least,
    percent_at_most,
)
from leakwise.report.comparison import Comparison
from leakwise.report.facts import SEEDED, Facts
from leakwise.report.pictures import bar, heat_table
from leakwise.report.style import STYLE

__all__ = ["page"]

_MOST_ROWS = 60
_USES = {
    "statistics": "statistics: the mechanism makes estimated frequencies as precise as the guarantee allows. "
    "Outcomes are named by the values they make more likely, and are not to be read as the value of a row.",
    "reading": "reading: outcomes are values, and agree with the true one as often as the guarantee allows.",
    "given": "as the mechanism that was given.",
}
_KEPT = {
    "given": " The released column has the right frequencies as it stands, if the table's are those of the prior; "
    "otherwise it is drawn towards them.",
    "table": " The released column has the right frequencies as it stands, up to the rounding: the mechanism keeps "
    "the table's rounded frequencies, which anyone can read from it.",
}


def page(facts: Facts) -> str:
    """Return the whole page."""
    title = f"Release of {facts.secret}"
    sections = [
        _promise(facts),
        _before_and_after(facts),
        _prior(facts),
        _picture(facts),
        _worth(facts),
        _back(facts),
        _limits(facts),
        _proof(facts),
    ]
    header = f"<header>\n<h1>{escape(title)}</h1>\n{_facts(facts)}\n</header>\n"
    return html_page(title, f"{header}<main>\n{''.join(sections)}\n</main>\n", style=STYLE)


def _table(headers: list[str], rows: list[list[str]]) -> str:
    """A table whose cells are HTML already."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headers)
    body = ""
    for name, *others in rows:
        cells = "".join(f'<td class="n">{cell}</td>' for cell in others)
        body += f'<tr><th scope="row">{name}</th>{cells}</tr>\n'
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _facts(facts: Facts) -> str:
    pairs = [
        ("Data", facts.dataset),
        ("Released column" if len(facts.columns) == 1 else "Released columns, together", ", ".join(facts.columns)),
        ("Rows", f"{facts.rows:,}"),
        ("Order of the rows", facts.row_order),
        ("Released", facts.time.strftime("%Y-%m-%d %H:%M UTC")),
        ("Made for", _USES[facts.use] + _KEPT.get(facts.kept or "", "")),
    ]
    if facts.unsafe_seed:
        pairs.insert(0, ("Warning", SEEDED))
    if facts.released is not None:
        pairs.insert(-2, ("File", facts.released))
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs) + "</dl>\n"


def _promise(facts: Facts) -> str:
    certificate = facts.certificate
    ratio = facts.promised
    strong = (
        f"Seeing the released value of a row makes no guess about its true {facts.secret} more than {at_most(ratio)} "
        f"times as likely as it was before, {facts.for_whom}."
        if ratio > 1
        else f"The released value of a row says nothing about its true {facts.secret}."
    )
    limits = certificate.limits
    asked = f" Asked for: {limits.describe()}. All of it is kept." if limits else ""
    detail = (
        f"In numbers: pointwise maximal leakage of at most {at_most(log_upper(ratio), 6)} nats (rounded up), for "
        f"every outcome that can occur. It was computed from the exact integers that the rows were drawn from.{asked}"
    )
    if certificate.failure:
        detail += f" It holds for every prior that the sample leaves possible. {misleads(certificate.prior)}"
    certain = paragraph(never_certain(ratio)) if ratio > 1 else ""
    values = [paragraph(one.sentence) for one in certificate.kept if one.sentence]
    return section("The guarantee", f'<p class="promise">{escape(strong)}</p>\n', *values, paragraph(detail), certain)


def _before_and_after(facts: Facts) -> str:
    letters = facts.letters
    if not letters:
        return ""
    shown = sorted(letters, key=lambda one: -one["before"])[:_MOST_ROWS] if len(letters) > _MOST_ROWS else letters
    rows = [
        [
            escape(str(one["letter"])),
            percent(one["before"]),
            percent_at_least(one["least"]),
            percent_at_most(one["most"]),
            bar(one["before"], float(one["least"]), float(one["most"])),
        ]
        for one in shown
    ]
    more = (
        paragraph(f"The {_MOST_ROWS} most likely of {len(letters)} values are shown.")
        if len(shown) < len(letters)
        else ""
    )
    return section(
        "What someone can come to believe",
        paragraph(
            "How likely each value of a row is before its released value is seen (the mark), and the range of what it "
            "can be afterwards, over all outcomes (the bar). 0% afterwards means that some outcome rules the value "
            "out, which is not a breach of the guarantee: what counts is how much more likely it makes the others."
        ),
        _table(["value", "before", "least after", "most after", ""], rows),
        more,
    )


def _prior(facts: Facts) -> str:
    if facts.origin == "table":
        words = (
            "The prior was estimated from this very table. It is rounded here, so that this report contains no exact "
            "count; the mechanism was designed for the rounded one, which is treated as public knowledge. The "
            "guarantee holds for every prior that the rows leave possible, unless they mislead."
        )
    else:
        words = "The prior was given as public knowledge when the release was made. It was not taken from the table."
    return section(
        "What was assumed to be known before",
        paragraph(words),
        paragraph(
            "The guarantee compares with this prior. Where the prior is far from what people know, the guarantee does "
            "not describe what they learn."
        ),
    )


def _picture(facts: Facts) -> str:
    mechanism = facts.mechanism
    if not facts.small or max(mechanism.shape) > _MOST_ROWS:
        rows, columns = mechanism.shape
        return section(
            "The mechanism",
            paragraph(f"It has {rows:,} values and {columns:,} outcomes, too many to draw."),
        )
    picture = heat_table([str(x) for x in mechanism.inputs], facts.outcomes, mechanism.matrix)
    return section(
        "The mechanism",
        paragraph(
            "Each row is a true value, each column an outcome; a cell shows how often the outcome is drawn for the "
            "value, in percent."
        ),
        picture,
    )


def _worth(facts: Facts) -> str:
    compared = facts.comparison
    if compared is None:
        return ""
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
    return section(
        "What the released table is good for",
        paragraph(
            "Compared with randomized response (the true value with a certain probability, else any other) of exactly "
            "the same leakage, and with the table without protection."
        ),
        _table(["", "this release", "randomized response", "no protection"], rows),
        _errors(facts, compared),
    )


def _errors(facts: Facts, compared: Comparison) -> str:
    ours, other = compared.ours.standard_error, compared.randomized_response.standard_error
    if ours is None:
        return paragraph(
            "The outcomes do not determine the frequency of every value; estimates are then ranges. To make all "
            "frequencies estimable, release for statistics."
        )
    order = sorted(range(len(ours)), key=lambda place: -facts.prior.probabilities[place])[:_MOST_ROWS]
    rows = [
        [
            escape(str(facts.mechanism.inputs[place])),
            number(ours[place]),
            "—" if other is None else number(other[place]),
            number(compared.plain_standard_error[place]),
        ]
        for place in sorted(order)
    ]
    return paragraph(
        f"Expected standard error of the estimated frequency of each value, from {facts.rows:,} rows:"
    ) + _table(["value", "this release", "randomized response", "no protection"], rows)


def _maybe(value: float | None) -> str:
    return "not determined" if value is None else number(value)


def _share(value: float | None) -> str:
    return "outcomes are not values" if value is None else percent(value)


def _back(facts: Facts) -> str:
    column = repr(facts.columns[0]) if len(facts.columns) == 1 else repr(facts.columns)
    file = facts.released
    if file is not None and file.lower().endswith((".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc")):
        call, words = f"lw.estimate({file!r})", "The file contains its mechanism."
    else:
        # Only files that were saved are named.
        kept = facts.mechanism_file
        table = "released" if file is None else repr(file)
        loaded = "mechanism" if kept is None else f"lw.Mechanism.load({kept!r})"
        call = f"lw.estimate({table}, {loaded}, column={column})"
        means = ["released is the released table"] * (file is None)
        means += ["mechanism is the one that its owner shares with it (lw.Mechanism.load)"] * (kept is None)
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


def _limits(facts: Facts) -> str:
    return section(
        "What is not guaranteed", "<ul>" + "".join(f"<li>{escape(one)}</li>\n" for one in facts.limits()) + "</ul>\n"
    )


def _proof(facts: Facts) -> str:
    how = facts.how
    rows: list[list[str]] = [[escape(name), escape(_text(value))] for name, value in how.items() if value is not None]
    power = facts.mechanism.denominator.bit_length() - 1
    rows.append(["exact over", f"2<sup>{power}</sup>" if facts.mechanism.denominator == 1 << power else "an integer"])
    rows.append(["randomness", "operating system, AES-256 in counter mode"])
    if facts.ledger is not None:
        rows.append(["entry in the ledger", escape(str(facts.ledger["entry"]))])
    return section(
        "How it was made, and how to check it",
        _table(["", ""], rows),
        paragraph(_check(facts)),
    )


def _check(facts: Facts) -> str:
    """How the certificate is checked, where one was saved, and by whom."""
    name = facts.certificate_file
    holds = "The certificate holds the mechanism and the prior as exact integers"
    if facts.origin == "table":
        holds = "The certificate holds the mechanism and the exact counts of the table, and stays with it"
    if name is None:
        return f"{holds}. None was saved with this report."
    who = "The owner" if facts.origin == "table" else f"Anyone who has {name}"
    return f"{holds}. {who} can check it again with: leakwise verify {name}"


def _text(value: Any) -> str:
    return number(value, 6) if isinstance(value, float) else str(value)
