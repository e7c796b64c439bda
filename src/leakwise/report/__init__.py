"""The report of a release: one HTML page that needs nothing else, or JSON."""

from leakwise.report.facts import Facts
from leakwise.report.page import page
from leakwise.report.protection import Protection
from leakwise.report.release_facts import ReleaseFacts
from leakwise.report.row_facts import RowFacts
from leakwise.report.several import SeveralFacts, SeveralProtection
from leakwise.report.write import write_report

__all__ = [
    "Facts",
    "Protection",
    "ReleaseFacts",
    "RowFacts",
    "SeveralFacts",
    "SeveralProtection",
    "page",
    "write_report",
]
