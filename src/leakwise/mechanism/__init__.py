"""Mechanisms: exact kernels with labels, the catalog of named ones, and their files."""

from leakwise.mechanism import catalog
from leakwise.mechanism.catalog import (
    constant,
    exponential,
    identity,
    k_singular,
    randomized_response,
    symmetric_channel,
    truncated_geometric,
)
from leakwise.mechanism.code_kernel import CodeKernel
from leakwise.mechanism.composition import Composition, compose
from leakwise.mechanism.kernel import CommonLawKernel, DenseKernel, Kernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.mechanism.set_mechanism import SetMechanism
from leakwise.mechanism.stratified import AnyMechanism, StratifiedMechanism
from leakwise.rooms import not_a_function

__all__ = [
    "AnyMechanism",
    "CodeKernel",
    "CommonLawKernel",
    "Composition",
    "DenseKernel",
    "Kernel",
    "Mechanism",
    "SetMechanism",
    "StratifiedMechanism",
    "catalog",
    "compose",
    "constant",
    "exponential",
    "identity",
    "k_singular",
    "randomized_response",
    "symmetric_channel",
    "truncated_geometric",
]

not_a_function(__name__, "lw.Mechanism for probabilities of your own, or a named one such as lw.randomized_response")
