"""The page of notes on the papers: one table, the safety-critical ones on top, filtered without a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.charts.page import html_page
from leakwise.documents import write_atomically
from leakwise.papers.exhibit import PAPERS
from leakwise.papers.gallery_parts import STYLE, Stored, anchor, badge, findings_table, value
from leakwise.papers.runner import code

if TYPE_CHECKING:
    from leakwise.papers.errata import Entry

__all__ = ["demonstrated", "notes_page"]

_LOOKS = {"safety-critical": "bad", "wrong": "mind", "warning": "mind", "beyond": "more"}
_WORDS = {"warning": "warning", "beyond": "further result"}
# The count is a counter of the style sheet: what a filter hides does not add to it. It stands below the table, for a
# counter only knows what came before it, and is shown above. A browser without :has shows all notes and no filter.
_TABLE = """
.filter { display: none; flex-wrap: wrap; gap: .5rem 1rem; margin-top: 1rem; }
@supports selector(:has(a)) { .filter { display: flex; } }
.filter fieldset { display: flex; flex-wrap: wrap; gap: .2rem .9rem; min-width: 0; margin: 0;
  padding: .2rem .8rem .4rem; border: 1px solid var(--line); border-radius: .4rem; }
.notes { display: flex; flex-direction: column; counter-reset: shown; }
.notes .count { order: -1; margin: .8rem 0 0; } .count::before { content: counter(shown); }
.notes > table > tbody { counter-increment: shown; } .notes > table { width: 100%; }
.notes > table > tbody > tr > * { vertical-align: top; } .notes > table > tbody > tr:first-child > * { border: 0; }
.notes > table > tbody:target { outline: 2px solid var(--strong); }
.notes > table > tbody > tr > th { min-width: 9rem; font-weight: 600; }
@media (max-width: 48rem) {
  dl { display: block; } dd { margin-bottom: .5rem; }
  .notes > table > thead { display: none; } .notes > table, .notes > table > tbody { display: block; }
  .notes > table > tbody > tr, .notes > table > tbody > tr > * { display: block; padding: .1rem 0; min-width: 0; }
  .notes > table > tbody { padding: .6rem 0; }
}
@media print { .filter { display: none !important; } }
"""


def demonstrated(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """What each demonstration shows, by its name; from ``errata.json`` where the code is still the same."""
    from leakwise.papers.errata import errata

    stamp = code("errata", *(paper.module for paper in PAPERS.values()))
    file = directory / "errata.json"
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = {}
    if isinstance(stored, dict) and stored.get("stamp") == stamp:
        kept: dict[str, list[dict[str, Any]]] = stored["shown"]
        return kept
    shown = {entry.name: [finding.to_dict() for finding in entry.demonstrate()] for entry in errata()}
    text = json.dumps({"stamp": stamp, "shown": shown}, ensure_ascii=False, indent=1)
    write_atomically(file, f"{text}\n".encode())
    return shown


def notes_page(shown: Mapping[str, Sequence[Mapping[str, Any]]], found: Sequence[Stored]) -> str:
    """Write the page from what each demonstration shows and from the exhibits that are there."""
    from leakwise.papers.errata import KINDS, WEIGHTS, errata

    ranks = [*WEIGHTS, *(name for name in KINDS if name != "erratum")]
    entries = sorted(errata(), key=lambda entry: ranks.index(_rank(entry)))  # within a rank the papers in their order
    counts = {rank: sum(_rank(entry) == rank for entry in entries) for rank in ranks}
    papers = {key: sum(entry.paper == key for entry in entries) for key in PAPERS}
    told = "".join(f"<dt>{escape(kind.heading)}</dt><dd>{escape(kind.about)}</dd>\n" for kind in KINDS.values())
    critical = counts["safety-critical"]
    head = (
        "<header>\n<h1>Notes on the five papers</h1>\n"
        f"<p>Leakwise is built on these papers. Recomputing them gave {len(entries)} notes; {critical} "
        f"{'is' if critical == 1 else 'are'} safety-critical. "
        "Each has a demonstration, run when this page was made. If we have misread a paper, please tell us. "
        f'<a href="index.html">Back to the gallery</a>.</p>\n<dl>{told}</dl>\n</header>\n'
    )
    choices = _choices("rank", "Show", {rank: (_WORDS.get(rank, rank), n) for rank, n in counts.items() if n})
    choices += _choices("paper", "Paper", {key: (f"[{key}]", n) for key, n in papers.items() if n})
    names = ("what it is", "place", "what is printed", "our answer")
    top = "".join(f'<th role="columnheader" scope="col">{name}</th>' for name in names)
    rows = "".join(_note(entry, KINDS[entry.kind].answer, shown[entry.name]) for entry in entries)
    body = (
        f'{head}<main>\n<div class="filter" role="group" aria-label="Filter the notes">\n{choices}</div>\n'
        f'<div class="notes">\n<table role="table" aria-label="Notes on the papers">'
        f'<thead role="rowgroup"><tr role="row">{top}</tr></thead>\n{rows}</table>\n'
        f'<p class="count soft"> of {len(entries)} notes shown.</p>\n</div>\n{_differing(found)}</main>\n'
    )
    rules = "".join(
        f"main:has(#{group}-{key}:checked) .notes > table > tbody:not([data-{group}={key}]) {{ display: none; }}\n"
        for group, keys in (("rank", counts), ("paper", papers))
        for key in keys
    )
    return html_page("Notes on the five papers", body, style=STYLE + _TABLE + rules)


def _rank(entry: Entry) -> str:
    return entry.weight or entry.kind


def _choices(group: str, legend: str, choices: Mapping[str, tuple[str, int]]) -> str:
    """Radio buttons that need no script: the style sheet looks at which is chosen."""
    every = sum(count for _, count in choices.values())
    labels = "".join(
        f'<label><input type="radio" name="{group}" id="{group}-{key}"{" checked" if key == "all" else ""}> '
        f"{escape(words)} ({count})</label>\n"
        for key, (words, count) in {"all": ("all", every), **choices}.items()
    )
    return f"<fieldset><legend>{legend}</legend>\n{labels}</fieldset>\n"


def _note(entry: Entry, answer: str, findings: Sequence[Mapping[str, Any]]) -> str:
    # A narrow screen shows rows as blocks, which some browsers do not call a table any more: hence the roles.
    rank = _rank(entry)
    return (
        f'<tbody role="rowgroup" id="{entry.name}" data-rank="{rank}" data-paper="{entry.paper}">\n<tr role="row">'
        f'<td role="cell">{badge(_WORDS.get(rank, rank), _LOOKS.get(rank, ""))}</td>'
        f'<th role="rowheader" scope="row">[{entry.paper}] {escape(entry.where)}</th>'
        f'<td role="cell"><strong>The paper:</strong> {escape(entry.says)}</td>'
        f'<td role="cell"><strong>{escape(answer)}:</strong> {escape(entry.truth)}</td></tr>\n'
        f'<tr role="row"><td role="cell" colspan="4"><details><summary>Demonstration of {escape(entry.name)}'
        f"</summary>\n{findings_table(findings)}</details></td></tr>\n</tbody>\n"
    )


def _differing(found: Sequence[Stored]) -> str:
    """Every statement of an exhibit that is not as printed; those that only go further are with their exhibits."""
    rows = "".join(
        f'<tr><td><a href="index.html#{anchor(made)}-findings">[{made.paper}] {escape(record["number"])}</a></td>'
        f'<td>{escape(f["claim"])}</td><td class="n">{escape(value(f["printed"]))}</td>'
        f'<td class="n">{escape(value(f["ours"]))}</td><td>{escape(f["why"])}</td></tr>\n'
        for made, record in found
        for f in record["findings"]
        if not f["agrees"]
    )
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("where", "statement", "paper", "ours", "why"))
    return (
        "<section>\n<h2>Statements of the exhibits that are not as printed</h2>\n"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n</section>\n'
    )
