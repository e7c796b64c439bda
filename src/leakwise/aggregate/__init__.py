"""Counts, histograms and totals of independent records, as mechanisms on one record.

>>> from leakwise import aggregate
>>> c = aggregate.count(unknown=10_000, prior=0.3)
>>> print(f"{c.lift:.2f} for any outcome, {c.envelope(1e-6).lift:.2f} for all but one in a million")
3.33 for any outcome, 1.08 for all but one in a million
"""

from leakwise.aggregate.count import Count, count
from leakwise.aggregate.envelope import AggregateEnvelope
from leakwise.aggregate.histogram import Histogram, histogram
from leakwise.aggregate.least_noise import LeastNoise
from leakwise.aggregate.total import Total, total
from leakwise.rooms import offering

__all__ = ["AggregateEnvelope", "Count", "Histogram", "LeastNoise", "Total", "count", "histogram", "total"]
__dir__ = offering(globals())
