"""Proof that no mechanism does better, checked by code of its own.

The claim: every mechanism within the bounds asked for has utility at most ``bound``. For any dual vector y,

    U* ≤ Σ y + max_λ [μ(λ) - y·λ]   over the lift vectors λ that are allowed, π·λ = 1,

so the claim is y, and checking it is bounding that maximum: ``boxes`` does it for bounds on lifts, ``ranges`` for local
differential privacy and all that is like it, ``levels`` for boxes of priors and KL balls of many letters, ``branching``
for other sets of priors and limits of single values (which ``value_boxes`` reads), ``frequencies`` for statistics,
``totals`` for maximal leakage. Everything is rounded against the claim. Nothing here comes from the searches that find
designs.
"""

from leakwise.proof.optimality.check import check_optimality, proven_bound
from leakwise.proof.optimality.claim import (
    OptimalityBody,
    OptimalityClaim,
    TotalBody,
    claim_from_body,
    claim_to_body,
)
from leakwise.proof.optimality.levels import largest_by_levels
from leakwise.proof.optimality.value_boxes import ValueBox, value_box

__all__ = [
    "OptimalityBody",
    "OptimalityClaim",
    "TotalBody",
    "ValueBox",
    "check_optimality",
    "claim_from_body",
    "claim_to_body",
    "largest_by_levels",
    "proven_bound",
    "value_box",
]
