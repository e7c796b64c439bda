"""What the two pages of the gallery share: their look, badges, and the table of what is printed and what we get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from leakwise.charts.table import number
from leakwise.papers.exhibit import Exhibit
from leakwise.report import style

__all__ = ["STYLE", "Stored", "anchor", "badge", "findings_table", "value"]

Stored = tuple[Exhibit, dict[str, Any]]
"""An exhibit and the record of its files."""

# A badge is told by its words; its colour only helps. What is folded is open on paper, where nobody can open it.
STYLE = (
    style.STYLE
    + """
body { max-width: 72rem; } a { color: var(--strong); } :target { scroll-margin-top: 1rem; }
.soft { color: var(--soft); font-size: .9rem; } .wide table { font-size: .85rem; }
td.no { border-left: 3px solid #D55E00; } td.yes { border-left: 3px solid #009E73; }
.badges { display: flex; flex-wrap: wrap; gap: .3rem; margin: .4rem 0; padding: 0; list-style: none; }
.badges li { margin: 0; }
.badge { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-left: .35rem solid var(--line);
  border-radius: .3rem; font-size: .82rem; white-space: nowrap; }
.badge.bad { border-color: #D55E00; font-weight: 600; } .badge.mind { border-left-color: #E69F00; }
.badge.good { border-left-color: #009E73; } .badge.more { border-left-color: #56B4E9; }
summary { cursor: pointer; color: var(--strong); }
:focus-visible { outline: 2px solid var(--strong); outline-offset: 2px; }
@media print {
  section, table { break-inside: auto; } tr, figure { break-inside: avoid; }
  @supports selector(::details-content) {
    details::details-content { content-visibility: visible; } summary { display: none; }
  }
}
"""
)


def anchor(made: Exhibit) -> str:
    """The name of an exhibit's card, for links."""
    return f"{made.paper}-{made.name}"


def badge(words: str, look: str = "") -> str:
    """A few words in a frame."""
    return f'<span class="{f"badge {look}".strip()}">{escape(words)}</span>'


def findings_table(findings: Sequence[Mapping[str, Any]]) -> str:
    """Statements with what is printed and what we get; a mark on the left tells the two apart for the eye."""
    rows = "".join(
        f'<tr><td class="{"yes" if f["agrees"] else "no"}">{escape(f["claim"])}</td>'
        f'<td class="n">{escape(value(f["printed"]))}</td><td class="n">{escape(value(f["ours"]))}</td>'
        f"<td>{_verdict(f)}</td></tr>\n"
        for f in findings
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("statement", "paper", "ours", "verdict"))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n'


def _verdict(finding: Mapping[str, Any]) -> str:
    if not finding["agrees"]:
        return "differs"
    if finding["beyond"]:
        return "goes further"
    return "not in the paper" if finding["printed"] is None else "agrees"


def value(given: object) -> str:
    """A printed or computed value as text; a dash where there is none."""
    if given is None:
        return "—"
    if isinstance(given, float) and given.is_integer() and abs(given) < 1e15:
        return str(int(given))
    return number(given) if isinstance(given, (int, float)) and not isinstance(given, bool) else str(given)
