"""Tables in, tables out: the release of columns and the recovery of what they say."""

from leakwise.tables.estimate import estimate
from leakwise.tables.release import release
from leakwise.tables.result import Estimate, GroupedEstimate

__all__ = ["Estimate", "GroupedEstimate", "estimate", "release"]
