"""A short evaluation of a release, under the headings of a privacy guideline and of an impact assessment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from leakwise.charts.page import html_page, paragraph, section
from leakwise.report.pack.numbers import AnyCertificate, Number
from leakwise.report.sections import html_rows
from leakwise.report.style import STYLE

__all__ = ["evaluation_page"]

TO_BE_WRITTEN = "To be written by the controller."
COUNTS = "This pack contains exact counts of the table: keep it with the table, and do not share it with the release."


def evaluation_page(
    certificate: AnyCertificate, numbers: Sequence[Number], record: Mapping[str, Any] | None, private: bool
) -> str:
    """Return the evaluation; ``record`` is the report as plain data, where there is one."""
    # What is proven comes first; the report adds the names of the columns, and what the certificate does not know of.
    reported = record["promise"].get("sentence") if record else None
    title = "Evaluation of a release"
    top = f'<p class="promise">{escape(certificate.sentence)}</p>\n'
    top += paragraph(f"The report says: {reported}") if reported else ""
    warned = f'<p class="promise">{escape(COUNTS)}</p>\n' if private else ""
    body = [
        f"<header>\n<h1>{title}</h1>\n{warned}{top}</header>\n<main>\n",
        section("Every number, computed again", _linked(numbers)),
        section(
            "In the terms of NIST SP 800-226",
            paragraph(
                "The guideline is about differential privacy. The guarantee here is about pointwise maximal leakage, "
                "with a limit for any prior beside it, which is local differential privacy; its questions are answered "
                "for both."
            ),
            _answers(_guideline(certificate, record)),
        ),
        section(
            "For a data protection impact assessment",
            paragraph("Under the headings of Article 35(7) of the General Data Protection Regulation."),
            _answers(_assessment(record)),
        ),
        "</main>\n",
    ]
    if record and record.get("limits"):
        items = "".join(f"<li>{escape(str(one))}</li>\n" for one in record["limits"])
        body.insert(-1, section("What is not guaranteed", f"<ul>{items}</ul>\n"))
    return html_page(title, "".join(body), style=STYLE)


def _linked(numbers: Sequence[Number]) -> str:
    rows = []
    for one in numbers:
        line = "" if one.line is None else f'<a href="certificate.html#L{one.line}">line {one.line}</a>'
        rows.append([escape(one.name), escape(one.value), escape(one.how), line])
    return html_rows(["number", "value", "how", "certificate"], rows)


def _answers(pairs: Sequence[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs) + "</dl>\n"


def _guideline(certificate: AnyCertificate, record: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    beside = ", ".join(map(str, record["promise"].get("given", ()) if record else ())) or "none"
    return [
        ("Privacy guarantee", certificate.sentence),
        (
            "Unit of privacy",
            "One row. Rows of one person, of a family, or that depend on one another reveal more together: for g such "
            "rows only the limit for any prior counts, to the power of g.",
        ),
        ("Privacy parameters", "The lifts and limits of the table above, with the probability that the rows mislead."),
        (
            "Trust model",
            "The steward holds the true values. Each row is randomized on its own before it goes out, so that whoever "
            "receives the released table needs no trust.",
        ),
        ("Auxiliary information", f"Columns seen beside the outcome, for whose readers the guarantee holds: {beside}."),
        (
            "Mechanism and its correctness",
            "Probabilities are integers over a power of two. The certificate is checked on them by code that shares "
            "nothing with the search that found the mechanism.",
        ),
        (
            "Implementation hazards",
            "No floating point between the certified integers and the draw; random bits from the operating system by "
            "AES-256 in counter mode. How long a release takes is not hidden.",
        ),
        (
            "Utility and bias",
            "Estimates by lw.estimate are corrected for the randomization; shares of outcomes read as shares of values "
            "are biased. Rare values and small groups have wide intervals.",
        ),
        ("Several releases", _of_ledger(record)),
        (
            "Security and access",
            "True values, the certificate of a table's own frequencies, the ledger and the key of repeated draws stay "
            "with the steward.",
        ),
    ]


def _of_ledger(record: Mapping[str, Any] | None) -> str:
    entry = None if record is None or not record.get("ledger") else record["ledger"].get("entry")
    if entry is None:
        return "No ledger was named: another release of the same rows is not counted."
    return f"Entry {entry} of the ledger, which counts every release about the rows and refuses one beyond a budget."


def _assessment(record: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    released = "the released columns"
    if record:
        rows = f"{record['rows']:,}" if isinstance(record.get("rows"), int) else "the"
        released = f"{', '.join(map(str, record.get('columns', ())))} of {rows} rows of {record.get('dataset')}"
    return [
        ("Description of the processing", f"{released}: true values are replaced by outcomes drawn by the mechanism."),
        ("Purposes, legitimate interest", TO_BE_WRITTEN),
        (
            "Necessity and proportionality",
            "The mechanism is the best found for its use within the limits; the table above shows how far it is from "
            f"the best possible. {TO_BE_WRITTEN}",
        ),
        (
            "Risks to persons",
            "What someone learns about a person from the row beyond what the columns beside it say already: at most "
            "the lifts above. What those columns say alone is not limited by any mechanism.",
        ),
        (
            "Measures",
            "Randomization with the guarantee above, certificate, ledger, checked order of the rows. Storage, access, "
            f"retention and contracts: {TO_BE_WRITTEN.lower()}",
        ),
        ("Views of those concerned", TO_BE_WRITTEN),
    ]
