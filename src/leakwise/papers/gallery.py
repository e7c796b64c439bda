"""The gallery: one page with every exhibit that is there, and one with the errata. No script, no outside request."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.charts.page import html_page
from leakwise.charts.table import html_table, number
from leakwise.documents import write_atomically
from leakwise.papers.exhibit import COMPUTED, PAPERS, Exhibit, exhibits
from leakwise.papers.runner import code, read_record
from leakwise.report.style import STYLE

if TYPE_CHECKING:
    from leakwise.papers.errata import Entry, Kind

__all__ = ["write_gallery"]

Stored = tuple[Exhibit, dict[str, Any]]
"""An exhibit and the record of its files."""

_MOST_ROWS = 16
_STYLE = """
figure { margin: 1rem 0; overflow-x: auto; } figure img { max-width: 100%; height: auto; }
article { margin: 2.5rem 0; padding-top: .5rem; border-top: 1px solid var(--line); }
article h3 { margin: .2rem 0; font-size: 1.1rem; } article h4 { margin: 1rem 0 .2rem; font-size: .95rem; }
.soft { color: var(--soft); font-size: .9rem; } .wide table { font-size: .85rem; }
td.no { border-left: 3px solid #D55E00; } td.yes { border-left: 3px solid #009E73; }
nav ul { columns: 2; padding-left: 1.2rem; } nav li { margin-bottom: .15rem; }
a { color: var(--strong); } :target { scroll-margin-top: 1rem; }
"""


def write_gallery(directory: Path) -> Path:
    """Write ``index.html`` and ``errata.html`` from the records in a directory; gives back the path of the first."""
    directory.mkdir(parents=True, exist_ok=True)
    found = [(made, record) for made in exhibits() if (record := read_record(directory, made)) is not None]
    write_atomically(directory / "errata.html", _errata_page(_demonstrated(directory), found).encode())
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
        f"<p>{len(found)} exhibits. A run without names makes the examples, two theorems, and {escape(COMPUTED)}. Of "
        f"{len(claims)} statements checked {differing} are not as printed; {further} are right, and we go further. "
        'Errata, warnings to implementers and further results are on <a href="errata.html">the '
        "errata page</a>, each with a demonstration.</p>\n"
    )
    if small:
        head += f"<p><strong>{small} of them were made with small settings (--fast).</strong></p>\n"
    contents, sections = "", ""
    for paper in PAPERS.values():
        own = [(made, record) for made, record in found if made.paper == paper.key]
        if not own:
            continue
        items = "".join(
            f'<li><a href="#{_anchor(made)}">{escape(record["number"])}: {escape(record["title"])}</a></li>'
            for made, record in own
        )
        contents += f"<h2>[{paper.key}] {escape(paper.name)}</h2>\n<ul>{items}</ul>\n"
        sections += f"<section>\n<h2>[{paper.key}] {escape(paper.name)}: {escape(paper.subject)}</h2>\n"
        sections += "".join(_article(directory, made, record) for made, record in own) + "</section>\n"
    body = f"{head}<nav>{contents}</nav>\n</header>\n<main>\n{sections}</main>\n"
    return html_page("The five papers, recomputed", body, style=STYLE + _STYLE)


def _anchor(made: Exhibit) -> str:
    return f"{made.paper}-{made.name}"


def _article(directory: Path, made: Exhibit, record: Mapping[str, Any]) -> str:
    parts = [f"<h3>{escape(record['number'])}. {escape(record['title'])}</h3>\n"]
    if "svg" in record["files"]:
        drawn = (directory / f"{made.full_name}.svg").read_bytes()
        name = escape(record["description"] or record["title"], quote=True)
        source = base64.b64encode(drawn).decode("ascii")
        parts.append(f'<figure><img alt="{name}" src="data:image/svg+xml;base64,{source}"></figure>\n')
    parts.append(f"<h4>What it shows</h4>\n<p>{escape(record['shows'])}</p>\n")
    parts.append(f"<h4>What the paper prints</h4>\n<p>{escape(record['printed'])}</p>\n")
    if record["findings"]:
        parts.append(f"<h4>What we get</h4>\n{findings_table(record['findings'])}")
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
    return f'<article id="{_anchor(made)}">\n{"".join(parts)}</article>\n'


def findings_table(findings: Sequence[Mapping[str, Any]]) -> str:
    """Statements with what is printed and what we get; a mark on the left tells the two apart for the eye."""
    rows = "".join(
        f'<tr><td class="{"yes" if f["agrees"] else "no"}">{escape(f["claim"])}</td>'
        f'<td class="n">{escape(_value(f["printed"]))}</td><td class="n">{escape(_value(f["ours"]))}</td>'
        f"<td>{_verdict(f)}</td></tr>\n"
        for f in findings
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("statement", "paper", "ours", ""))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n'


def _verdict(finding: Mapping[str, Any]) -> str:
    if not finding["agrees"]:
        return "differs"
    if finding["beyond"]:
        return "goes further"
    return "not in the paper" if finding["printed"] is None else "agrees"


def _value(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


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


# -------------------------------------------------------------------------------------------------------- the errata


def _demonstrated(directory: Path) -> dict[str, list[dict[str, Any]]]:
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


def _errata_page(shown: Mapping[str, Sequence[Mapping[str, Any]]], found: Sequence[Stored]) -> str:
    from leakwise.papers.errata import KINDS, errata

    entries, sections = errata(), ""
    for name, kind in KINDS.items():
        chosen = [entry for entry in entries if entry.kind == name]
        if not chosen:
            continue
        sections += f'<section id="{name}">\n<h2>{escape(kind.heading)}</h2>\n<p>{escape(kind.about)}</p>\n'
        sections += "".join(_note(entry, kind, shown[entry.name]) for entry in chosen) + "</section>\n"
    counts = {name: sum(entry.kind == name for entry in entries) for name in KINDS}
    links = ", ".join(
        f'<a href="#{name}">{count} {escape(KINDS[name].heading.lower())}</a>'
        for name, count in counts.items()
        if count
    )
    head = (
        "<header>\n<h1>Notes on the five papers</h1>\n"
        f"<p>Leakwise is built on these papers. Recomputing them gave {links}. "
        "Each has a demonstration, run when this page was made. If we have misread a paper, please tell us. "
        '<a href="index.html">Back to the gallery</a>.</p>\n</header>\n'
    )
    body = f"{head}<main>\n{sections}{_differing(found)}</main>\n"
    return html_page("Notes on the five papers", body, style=STYLE + _STYLE)


def _note(entry: Entry, kind: Kind, findings: Sequence[Mapping[str, Any]]) -> str:
    weight = f' <span class="soft">({escape(entry.weight)})</span>' if entry.weight else ""
    return (
        f'<article id="{entry.name}">\n<h3>[{entry.paper}] {escape(entry.where)}{weight}</h3>\n'
        f"<h4>The paper</h4>\n<p>{escape(entry.says)}</p>\n"
        f"<h4>{escape(kind.answer)}</h4>\n<p>{escape(entry.truth)}</p>\n{findings_table(findings)}"
        f'<p class="soft">leakwise.papers.errata: {escape(entry.name)}</p>\n</article>\n'
    )


def _differing(found: Sequence[Stored]) -> str:
    """Every statement of an exhibit that is not as printed; those that only go further are with their exhibits."""
    rows = "".join(
        f'<tr><td><a href="index.html#{_anchor(made)}">[{made.paper}] {escape(record["number"])}</a></td>'
        f'<td>{escape(f["claim"])}</td><td class="n">{escape(_value(f["printed"]))}</td>'
        f'<td class="n">{escape(_value(f["ours"]))}</td><td>{escape(f["why"])}</td></tr>\n'
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
