"""Whole datasets against an adversary with bounded knowledge: H(X) ≥ b ([PR]).

>>> from leakwise import records
>>> c = records.parity(4).symmetric_channel(flip=0.3)
>>> r = records.leakage(c, entropy=2.5)
>>> print(f"{r.value:.4f}")
0.0400
"""

from leakwise.records.comparison import Comparison, compare
from leakwise.records.designs.tradeoff import (
    least_distortion,
    least_distortion_curve,
    least_leakage,
    least_leakage_curve,
)
from leakwise.records.designs.tradeoff_result import RecordDesign
from leakwise.records.measure import leakage, leakage_curve
from leakwise.records.queries.channel import Channel
from leakwise.records.queries.named import count, modular_sum, pairs, parity, weighted_sum
from leakwise.records.queries.query import Query
from leakwise.records.results import Adversary, Curve, RecordLeakage
from leakwise.rooms import offering

__all__ = [
    "Adversary",
    "Channel",
    "Comparison",
    "Curve",
    "Query",
    "RecordDesign",
    "RecordLeakage",
    "compare",
    "count",
    "leakage",
    "leakage_curve",
    "least_distortion",
    "least_distortion_curve",
    "least_leakage",
    "least_leakage_curve",
    "modular_sum",
    "pairs",
    "parity",
    "weighted_sum",
]
__dir__ = offering(globals())
