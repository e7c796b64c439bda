"""The gallery: a page with a card for every exhibit that is there, and one of errata. No script, no outside request."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from leakwise.charts.page import html_page
from leakwise.charts.table import html_table
from leakwise.documents import write_atomically
from leakwise.papers.exhibit import COMPUTED, SHOWN, Exhibit, exhibits
from leakwise.papers.gallery_parts import STYLE, Stored, anchor, badge, findings_table
from leakwise.papers.notes_page import demonstrated, notes_page
from leakwise.papers.runner import read_record

__all__ = ["write_gallery"]

_MOST_ROWS = 16
# A picture is in the page once: small in its card, and as large as the page once the card is opened.
_CARDS = """
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: 1rem; }
.card { min-width: 0; padding: .8rem; border: 1px solid var(--line); border-radius: .5rem; }
.card:has(details[open]) { grid-column: 1 / -1; }
.card figure { display: grid; place-items: center; height: 10rem; margin: 0 0 .6rem; padding: .4rem; background: #fff;
  color: #57606a; border-radius: .3rem; }
.card figure.table { border: 1px dashed var(--line); background: none; color: var(--soft); }
.card img { max-width: 100%; max-height: 9.2rem; height: auto; }
.card:has(details[open]) figure { height: auto; } .card:has(details[open]) img { max-height: none; }
.card h3 { margin: 0; font-size: 1rem; } .card h4 { margin: 1rem 0 .2rem; font-size: .95rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; list-style: none; }
@media print {
  .cards { display: block; } .card { margin-bottom: 1rem; } .card h3 { break-after: avoid; }
  .card figure { height: auto; } .card img { max-height: none; }
}
"""


def write_gallery(directory: Path) -> Path:
    """Write ``index.html`` and ``errata.html`` from the records in a directory; gives back the path of the first."""
    directory.mkdir(parents=True, exist_ok=True)
    found = [(made, record) for made in exhibits() if (record := read_record(directory, made)) is not None]
    write_atomically(directory / "errata.html", notes_page(demonstrated(directory), found).encode())
    index = directory / "index.html"
    write_atomically(index, _index(directory, found).encode())
    return index


# ------------------------------------------------------------------------------------------------------ the exhibits


def _index(directory: Path, found: Sequence[Stored]) -> str:
    claims = [finding for _, record in found for finding in record["findings"]]
    differing = sum(not finding["agrees"] for finding in claims)
    further = sum(finding["beyond"] for finding in claims)
    small = sum(bool(record["fast"]) for _, record in found)
    head = (
        "<header>\n<h1>The five papers, recomputed</h1>\n"
        f"<p>{len(found)} exhibits. A run without names makes the examples, two theorems, {escape(COMPUTED)}, and "
        "theorems of our own article. Of "
        f"{len(claims)} statements checked {differing} are not as printed; {further} are right, and we go further. "
        'Errata, warnings to implementers and further results are on <a href="errata.html">the '
        "errata page</a>, each with a demonstration.</p>\n"
    )
    if small:
        head += f"<p><strong>{small} of them were made with small settings (--fast).</strong></p>\n"
    contents, sections = "", ""
    for paper in SHOWN.values():
        own = [(made, record) for made, record in found if made.paper == paper.key]
        if not own:
            continue
        contents += f'<li><a href="#{paper.key}">[{paper.key}] {escape(paper.name)}</a> ({len(own)})</li>'
        sections += (
            f'<section id="{paper.key}">\n<h2>[{paper.key}] {escape(paper.name)}: {escape(paper.subject)}</h2>\n'
        )
        cards = "".join(_card(directory, made, record) for made, record in own)
        sections += f'<div class="cards">\n{cards}</div>\n</section>\n'
    body = f'{head}<nav aria-label="The papers"><ul>{contents}</ul></nav>\n</header>\n<main>\n{sections}</main>\n'
    return html_page("The five papers, recomputed", body, style=STYLE + _CARDS)


def _card(directory: Path, made: Exhibit, record: Mapping[str, Any]) -> str:
    """Picture, title and badges; the rest is folded."""
    name = anchor(made)
    if "svg" in record["files"]:
        drawn = (directory / f"{made.full_name}.svg").read_bytes()
        said = escape(record["description"] or record["title"], quote=True)
        source = base64.b64encode(drawn).decode("ascii")
        picture = f'<figure><img alt="{said}" src="data:image/svg+xml;base64,{source}"></figure>\n'
    else:
        rows = record["rows"]
        picture = f'<figure class="table">A table of {rows} {"row" if rows == 1 else "rows"}</figure>\n'
    return (
        f'<article class="card" id="{name}" aria-labelledby="{name}-title">\n{picture}'
        f'<h3 id="{name}-title">{escape(record["number"])}. {escape(record["title"])}</h3>\n'
        f'<ul class="badges">{"".join(f"<li>{one}</li>" for one in _badges(record))}</ul>\n'
        f"<details><summary>Details of {escape(record['number'])}</summary>\n{_details(directory, made, record)}"
        "</details>\n</article>\n"
    )


def _badges(record: Mapping[str, Any]) -> list[str]:
    """How many statements differ, go further, are as printed or not printed at all; and whether settings are small."""
    findings = record["findings"]
    differ = sum(not f["agrees"] for f in findings)
    more = sum(f["beyond"] for f in findings)
    ours = sum(f["agrees"] and not f["beyond"] and f["printed"] is None for f in findings)
    same = len(findings) - differ - more - ours
    told = [
        (differ, f"{differ} {'differs' if differ == 1 else 'differ'}", "bad"),
        (more, f"{more} {'goes' if more == 1 else 'go'} further", "more"),
        (same, f"{same} as printed", "good"),
        (ours, f"{ours} not in the paper", ""),
        (record["fast"], "small settings", "mind"),
    ]
    return [badge(words, look) for there, words, look in told if there] or [badge("nothing to compare")]


def _details(directory: Path, made: Exhibit, record: Mapping[str, Any]) -> str:
    parts = [f"<h4>What it shows</h4>\n<p>{escape(record['shows'])}</p>\n"]
    parts.append(f"<h4>What the paper prints</h4>\n<p>{escape(record['printed'])}</p>\n")
    if record["findings"]:
        # A link to a place inside opens what is folded around it.
        parts.append(f'<h4 id="{anchor(made)}-findings">What we get</h4>\n{findings_table(record["findings"])}')
    for heading, chosen in (
        ("Why they differ", [f for f in record["findings"] if not f["agrees"]]),
        ("Where we go further", [f for f in record["findings"] if f["beyond"]]),
    ):
        if chosen:
            reasons = "".join(f"<li>{escape(f['claim'])}: {escape(f['why'])}.</li>" for f in chosen)
            parts.append(f"<h4>{heading}</h4>\n<ul>{reasons}</ul>\n")
    if "svg" not in record["files"] or record["rows"] <= _MOST_ROWS:
        parts.append(f'<div class="wide">{_rows_table(directory / f"{made.full_name}.csv")}</div>\n')
    parts.append(_footer(made, record))
    return "".join(parts)


def _rows_table(file: Path) -> str:
    headers, *rows = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
    return html_table(headers, [[_cell(cell) for cell in row] for row in rows], max_rows=_MOST_ROWS)


def _cell(text: str) -> object:
    if text == "":
        return None
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _footer(made: Exhibit, record: Mapping[str, Any]) -> str:
    links = ", ".join(f'<a href="{made.full_name}.{suffix}">{suffix.upper()}</a>' for suffix in record["files"])
    settings = [f"{record['rows']} rows: {links}"]
    if record["seed"] is not None:
        settings.append(f"seed {record['seed']}")
    given = {name: value for name, value in record["parameters"].items() if name != "seed"}
    if given:
        settings.append("parameters " + escape(json.dumps(given, ensure_ascii=False)))
    if record["fast"]:
        settings.append("small settings")
    notes = "".join(f'<p class="soft">Note: {escape(note)}</p>\n' for note in record["notes"])
    return f'<p class="soft">{". ".join(settings)}.</p>\n{notes}'
