"""Named mechanisms: ``lw.catalog``. Each satisfies the level it was asked for in exact integers.

>>> import math
>>> import leakwise as lw
>>> m = lw.catalog.subset_selection(["a", "b", "c", "d"], lift=2)
>>> print(f"{m.shape[1]} outcomes, e^ε = {math.exp(lw.ldp(m)):.4f}")
4 outcomes, e^ε = 2.0000
"""

from leakwise.mechanism.catalog.by_utility import exponential
from leakwise.mechanism.catalog.hadamard import hadamard_response
from leakwise.mechanism.catalog.hashing import binary_local_hashing, optimized_local_hashing
from leakwise.mechanism.catalog.integers import geometric, rounding, staircase
from leakwise.mechanism.catalog.sets import optimized_unary_encoding, subset_selection, symmetric_unary_encoding
from leakwise.mechanism.catalog.shuffled import shuffle_amplification, shuffled_randomized_response
from leakwise.mechanism.catalog.simple import BITS as BITS
from leakwise.mechanism.catalog.simple import (
    constant,
    identity,
    k_singular,
    randomized_response,
    symmetric_channel,
    truncated_geometric,
)
from leakwise.mechanism.catalog.simple import same_pml_randomized_response as same_pml_randomized_response
from leakwise.rooms import offering

__all__ = [
    "binary_local_hashing",
    "constant",
    "exponential",
    "geometric",
    "hadamard_response",
    "identity",
    "k_singular",
    "optimized_local_hashing",
    "optimized_unary_encoding",
    "randomized_response",
    "rounding",
    "shuffle_amplification",
    "shuffled_randomized_response",
    "staircase",
    "subset_selection",
    "symmetric_channel",
    "symmetric_unary_encoding",
    "truncated_geometric",
]
__dir__ = offering(globals())
