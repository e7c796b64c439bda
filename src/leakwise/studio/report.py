"""The report of the studio: one HTML page without scripts, in the look of the report of a release.

A release has a report of its own (:mod:`leakwise.report`); here nothing was released, and none is claimed.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from leakwise.charts.page import html_page, paragraph, section
from leakwise.charts.table import html_table
from leakwise.guarantee import percent, percent_at_least, percent_at_most
from leakwise.leakage import Audit
from leakwise.leakage.audit_tables import tables
from leakwise.priors import Prior
from leakwise.report.pictures import bar, heat_table
from leakwise.report.style import STYLE
from leakwise.studio.figures import first_figures, gap_words, upper_bound
from leakwise.studio.seal import about_prior, promise, seal
from leakwise.studio.takeaway import NAMES, how_to_reproduce

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["page"]

_MOST_DRAWN = 60


def page(solved: Solved, looked: Audit) -> str:
    """The whole page."""
    sections = [
        section("The guarantee", _promise(solved, looked)),
        section("What was assumed to be known before", _prior(solved)),
        section("What someone can come to believe", _beliefs(looked)),
        section("The mechanism", _mechanism(solved)),
        section("What it is worth", _worth(solved)),
        section("Every measure", _measures(looked)),
        section("How to make it again, and how to check it", _lines(solved)),
    ]
    title = "What this mechanism leaks"
    body = f"<header><h1>{title}</h1></header>\n<main>\n{''.join(sections)}\n</main>\n"
    return html_page(title, body, style=STYLE)


def _promise(solved: Solved, looked: Audit) -> str:
    items = "".join(f"<li>{escape(words)}</li>\n" for words in looked.sentences[1:])
    words = seal(solved)["words"]
    return f'<p class="promise">{escape(promise(solved))}</p>\n{paragraph(words)}<ul>{items}</ul>\n'


def _prior(solved: Solved) -> str:
    priors = solved.priors
    rests_on = about_prior(solved)
    note = paragraph(rests_on) if rests_on else ""
    if isinstance(priors, Prior):
        return paragraph("This prior, taken as known:") + priors._repr_html_() + note
    about: str = priors._repr_html_() if hasattr(priors, "_repr_html_") else ""
    words = "The frequencies of a sample, and every prior that the sample leaves possible:"
    return paragraph(words) + about + priors.nominal._repr_html_() + note


def _beliefs(looked: Audit) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(str(one.label))}</th><td class="n">{percent(one.prior)}</td>'
        f'<td class="n">{percent_at_least(one.range[0])}</td><td class="n">{percent_at_most(one.range[1])}</td>'
        f"<td>{bar(one.prior, min(one.least, 1.0), min(one.most, 1.0))}</td></tr>\n"
        for one in looked.letters
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("value", "before", "least after", "most after", ""))
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>\n"


def _mechanism(solved: Solved) -> str:
    mechanism = solved.mechanism
    rows, columns = mechanism.shape
    if max(rows, columns) > _MOST_DRAWN:
        return paragraph(
            f"It has {rows:,} values and {columns:,} outcomes, too many to draw. The Python lines below write it to "
            f"{NAMES['mechanism']}."
        )
    words = "Each row is a true value, each column an outcome; a cell says how often the outcome is drawn, in %."
    picture = heat_table(
        [str(name) for name in mechanism.inputs], [str(name) for name in mechanism.outputs], mechanism.matrix
    )
    return paragraph(words) + picture


def _worth(solved: Solved) -> str:
    design = solved.design
    if design is None:
        return paragraph("The mechanism was brought, not designed: no utility was maximised.")
    utility = solved.utility
    assert utility is not None
    rows = [[figure["name"], figure["value"]] for figure in first_figures(solved)[1:]]
    rows += [["proven", gap_words(utility, design.value, design.bound)], ["found by", design.method]]
    if math.isfinite(design.bound):
        rows.insert(1, ["upper bound", upper_bound(utility, design.bound)])
    return html_table(["", "design"], rows, caption="The design")


def _measures(looked: Audit) -> str:
    return "".join(one.html() for one in tables(looked)[:2])


def _lines(solved: Solved) -> str:
    code = how_to_reproduce(solved)
    name = NAMES["certificate"]
    check = (
        f"The Python lines write {name}. Anyone who has it can check it again with: leakwise verify {name}"
        if solved.certificate.holds
        else f"The Python lines write {name}. leakwise verify {name} rejects it, because the limit is broken."
    )
    line = "" if code["cli"] is None else f"<pre><code>{escape(code['cli'])}</code></pre>\n"
    note = paragraph(code["cli_note"]) if code["cli_note"] else ""
    return f"<pre><code>{escape(code['python'])}</code></pre>\n{paragraph(check)}{line}{note}"
