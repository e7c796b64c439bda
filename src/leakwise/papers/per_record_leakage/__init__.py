"""[PR] per-record leakage: Figures 1 and 3–7 and Table 3, certified values beside those of the paper's algorithms."""

from leakwise.papers.per_record_leakage.convexity import figure_1
from leakwise.papers.per_record_leakage.curves import figure_3
from leakwise.papers.per_record_leakage.curves_by_noise import figure_4, figure_5
from leakwise.papers.per_record_leakage.designs import figure_6, figure_7
from leakwise.papers.per_record_leakage.table import table_3

__all__ = ["figure_1", "figure_3", "figure_4", "figure_5", "figure_6", "figure_7", "table_3"]
