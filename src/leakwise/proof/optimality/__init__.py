"""Proof that no mechanism does better, checked by code of its own.

The claim: every mechanism within the bounds asked for has utility at most ``bound``. For any dual vector y,

    U* ≤ Σ y + max_λ [μ(λ) - y·λ]   over the lift vectors λ that are allowed, π·λ = 1,

so the claim is y, and checking it is bounding that maximum: ``boxes`` does it for bounds on lifts, ``ranges`` for local
differential privacy and all that is like it, ``branching`` for sets of priors and limits of single values (which
``value_boxes`` reads), ``frequencies`` for statistics. Everything is rounded against the claim. Nothing is shared with
the searches that find designs.
"""

from leakwise.proof.optimality.check import check_optimality, proven_bound
from leakwise.proof.optimality.claim import KeptBody, OptimalityBody, OptimalityClaim, claim_from_body, claim_to_body
from leakwise.proof.optimality.value_boxes import ValueBox, value_box

__all__ = [
    "KeptBody",
    "OptimalityBody",
    "OptimalityClaim",
    "ValueBox",
    "check_optimality",
    "claim_from_body",
    "claim_to_body",
    "proven_bound",
    "value_box",
]
