"""The report as one HTML page: no script, no request to anywhere, fit to be printed."""

from __future__ import annotations

from html import escape

from leakwise.charts.page import html_page, paragraph, section
from leakwise.exact import log_upper
from leakwise.guarantee import at_most, misleads, never_certain, percent, percent_at_least, percent_at_most
from leakwise.optimize.finish.outcome_names import coded, legend
from leakwise.priors import AllPriors
from leakwise.report.facts import Facts
from leakwise.report.pictures import bar, heat_table
from leakwise.report.release_facts import ReleaseFacts
from leakwise.report.row_facts import RowFacts
from leakwise.report.row_page import of_secret, row_sections
from leakwise.report.sections import MOST_ROWS, back, columns, exact_over, head, html_rows, limits, proof, worth
from leakwise.report.several_facts import SeveralFacts
from leakwise.report.several_page import several_sections
from leakwise.report.style import STYLE

__all__ = ["page"]

_LEGEND = 100_000  # values times outcomes of a legend that a page has room for

_KEPT = {
    "given": " The released column has the right frequencies as it stands, if the table's are those of the prior; "
    "otherwise it is drawn towards them.",
    "table": " The released column has the right frequencies as it stands, up to the rounding: the mechanism keeps "
    "the table's rounded frequencies, which anyone can read from it.",
    "noisy": " The released column has the right frequencies as it stands, up to the noise: the mechanism keeps the "
    "frequencies that were counted with noise, which anyone can read from it.",
}


def page(facts: ReleaseFacts) -> str:
    """Return the whole page."""
    if isinstance(facts, RowFacts):
        body, made_for, outcomes = row_sections(facts), "", facts.mechanism.outputs
    elif isinstance(facts, SeveralFacts):
        parts = [of_secret(one) if isinstance(one, RowFacts) else _of_secret(one) for one in facts.parts]
        body, made_for = several_sections(facts, parts), ""
        outcomes = max((one.mechanism.outputs for one in facts.parts), key=len)
    else:
        assert isinstance(facts, Facts)
        kept = "noisy" if facts.kept == "table" and facts.prior_cost else facts.kept
        body, made_for, outcomes = _sections(facts), _KEPT.get(kept or "", ""), facts.mechanism.outputs
    title = f"Release of {facts.secret}"
    header = f"<header>\n<h1>{escape(title)}</h1>\n{head(facts, outcomes, made_for)}\n</header>\n"
    return html_page(title, f"{header}<main>\n{''.join(body)}\n</main>\n", style=STYLE)


def _sections(facts: Facts) -> list[str]:
    return [
        _promise(facts),
        columns(facts),
        *_of_secret(facts),
        back(facts),
        limits(facts),
        proof(facts, exact_over([facts.mechanism.denominator])),
    ]


def _of_secret(facts: Facts) -> list[str]:
    return [_before_and_after(facts), _prior(facts), _picture(facts), _worth(facts)]


def _promise(facts: Facts) -> str:
    certificate, ratio = facts.certificate, facts.promised
    wanted = certificate.limits
    paid = " of the mechanism, less what the noise costs" if facts.prior_cost else " for"
    asked = f" Asked{paid}: {wanted.describe()}. All of it is kept." if wanted else ""
    detail = (
        f"In numbers: pointwise maximal leakage of at most {at_most(log_upper(ratio), 6)} nats (rounded up), for "
        f"every outcome that can occur. It was computed from the exact integers that the rows were drawn from.{asked}"
    )
    if certificate.failure and not facts.spoken:
        detail += f" It holds for every prior that the sample leaves possible. {misleads(certificate.prior)}"
    certain = paragraph(never_certain(ratio)) if ratio > 1 else ""
    values = [paragraph(one.sentence) for one in certificate.kept if one.sentence and not facts.spoken]
    if facts.memo is not None and not facts.spoken:
        values.append(paragraph(facts.repeated))
    return section(
        "The guarantee", f'<p class="promise">{escape(_strong(facts))}</p>\n', *values, paragraph(detail), certain
    )


def _strong(facts: Facts) -> str:
    """The guarantee in one sentence, or a few where something was said of the other columns of the row."""
    if facts.spoken:
        return facts.guarantee
    if facts.promised == 1:
        return f"The released value of a row says nothing about its true {facts.secret}."
    return (
        f"Seeing the released value of a row makes no guess about its true {facts.secret} more than "
        f"{at_most(facts.promised)} times as likely as it was before, {facts.for_whom}."
    )


def _before_and_after(facts: Facts) -> str:
    letters = facts.letters
    if not letters:
        return ""
    shown = sorted(letters, key=lambda one: -one["before"])[:MOST_ROWS] if len(letters) > MOST_ROWS else letters
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
        paragraph(f"The {MOST_ROWS} most likely of {len(letters)} values are shown.")
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
        html_rows(["value", "before", "least after", "most after", ""], rows),
        more,
    )


def _prior(facts: Facts) -> str:
    if facts.origin == "table" and facts.prior_cost:
        words = (
            "The prior was counted in this very table, with noise. Everything here follows from the noisy counts. The "
            "guarantee holds for every prior that they leave possible, unless they mislead."
        )
    elif facts.origin == "table":
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
    if not facts.small or max(mechanism.shape) > MOST_ROWS:
        rows, columns = mechanism.shape
        return section(
            "The mechanism",
            paragraph(f"It has {rows:,} values and {columns:,} outcomes, too many to draw."),
            _legend(facts) if coded(mechanism.outputs) and rows * columns <= _LEGEND else "",
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


def _legend(facts: Facts) -> str:
    """What the short codes of the outcomes stand for, folded."""
    rows = [[escape(str(name)), escape(text)] for name, text in legend(facts.mechanism, facts.prior).items()]
    return (
        "<details><summary>What each outcome makes more likely</summary>\n"
        f"{html_rows(['outcome', 'makes more likely'], rows, words=True)}</details>\n"
    )


def _worth(facts: Facts) -> str:
    compared = facts.comparison
    if compared is None:
        return ""
    names = [str(one) for one in facts.mechanism.inputs]
    return worth(facts, names, compared, known=not isinstance(facts.certificate.prior, AllPriors))
