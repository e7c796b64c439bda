"""Tables in, tables out: the release of columns, the recovery of what they say, and the ledger of what was released."""

from leakwise.tables.entries import LedgerEntry
from leakwise.tables.estimate import estimate
from leakwise.tables.ledger import Ledger
from leakwise.tables.release import release
from leakwise.tables.result import Estimate, GroupedEstimate
from leakwise.tables.sql import SqlTable
from leakwise.tables.totals import LedgerTotal

__all__ = ["Estimate", "GroupedEstimate", "Ledger", "LedgerEntry", "LedgerTotal", "SqlTable", "estimate", "release"]
