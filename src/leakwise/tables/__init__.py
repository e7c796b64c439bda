"""Tables in, tables out: the release of columns, the recovery of what they say, and the ledger of what was released."""

from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.estimate.result import Estimate, GroupedEstimate
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.tables.ledger.ledger import Ledger
from leakwise.tables.ledger.totals import LedgerTotal

__all__ = ["Estimate", "GroupedEstimate", "Ledger", "LedgerEntry", "LedgerTotal", "SqlTable"]
