"""The bounds of statistics: on the sum of the variances of all frequencies, and on the largest of some contrasts'."""

from __future__ import annotations

import math

import numpy as np

from leakwise.errors import CertificateRejected
from leakwise.exact import float_above
from leakwise.priors import AllPriors, Prior, PriorSet
from leakwise.proof.optimality.allowed import largest_allowed_square, lift_box, lift_ends, shared_range
from leakwise.proof.optimality.boxes import widest_box
from leakwise.proof.optimality.claim import OptimalityClaim
from leakwise.proof.optimality.frequencies import letter_bound, trace_bound
from leakwise.proof.optimality.functions import sum_up
from leakwise.proof.optimality.margins import least_by_multipliers, least_by_root, shares_of
from leakwise.proof.optimality.mean_squares import largest_mean_square, range_box
from leakwise.proof.optimality.mixtures import mixture_trace
from leakwise.proof.optimality.ranges import Range
from leakwise.proof.optimality.value_boxes import ValueBox
from leakwise.types import Floats

__all__ = ["frequencies_bound", "margin_bound"]

_MISFIT = "The proof of optimality does not fit the prior it speaks of."


def frequencies_bound(claim: OptimalityClaim, priors: PriorSet, p: Floats, box: ValueBox | None = None) -> float:
    """Return Σπ² less a bound on trace J⁻¹."""
    squares = float((p**2).sum()) * (1 + (len(p) + 16) * 2.0**-52)
    size = len(p)
    if not p.all():
        return math.inf
    if claim.root is not None:
        if claim.root.shape != (size, size) or len(claim.duals) != size:
            raise CertificateRejected(_MISFIT)
        largest = largest_allowed_square(claim.root, claim.duals, claim, priors, p, box)
        trace = math.fsum(np.diag(claim.root))
        error = (float(np.abs(np.diag(claim.root)).sum()) + abs(largest)) * 2.0**-49
        return squares - 2 * trace + sum_up(claim.duals) + max(largest, 0.0) + error
    where = shared_range(claim, priors)
    if len(claim.duals) == 4 * size:
        ratio = claim.ldp if claim.ldp is not None or not isinstance(priors, AllPriors) else claim.high
        return math.inf if ratio is None else squares - mixture_trace(claim.duals, p, float_above(ratio))
    if len(claim.duals) in (size, 2 * size + 1):
        return squares - _letter_by_letter(claim, priors, p, where)
    if len(claim.duals) != 2 * size and (len(claim.duals) != 3 * size or where is None):
        raise CertificateRejected(_MISFIT)
    if where is not None and len(claim.duals) == 3 * size:
        d, v, y = np.split(claim.duals, 3)
        if (d < 0).any():
            return math.inf
        return squares - trace_bound(d, v, p, range_box(p, where), largest_mean_square(d, y, p, where))
    lifts = lift_box(claim, priors, p, box)
    d, v = np.split(claim.duals, 2)
    return math.inf if lifts is None else squares - trace_bound(d, v, p, lifts)


def _letter_by_letter(claim: OptimalityClaim, priors: PriorSet, p: Floats, where: Range | None) -> float:
    """A number below trace J⁻¹ from multipliers of single letters, with duals of the mean of squares for a range."""
    d = claim.duals[: len(p)]
    if not isinstance(priors, Prior) or (d < 0).any():
        return -math.inf
    if where is None:
        floor, ceiling = widest_box(p, *lift_ends(claim))
        return letter_bound(d, p, sum_up(d * (floor + ceiling - floor * ceiling) * (1 + 2.0**-48)))
    y = claim.duals[len(p) : 2 * len(p)] if len(claim.duals) > len(p) else np.full(len(p), math.nan)
    return letter_bound(d, p, largest_mean_square(d, y, p, where))


def margin_bound(claim: OptimalityClaim, priors: PriorSet, p: Floats, box: ValueBox | None) -> float:
    """Return minus a bound on the largest variance of the contrasts, from the shares and what follows them."""
    size, contrasts = len(p), claim.gains
    if contrasts is None or len(contrasts) != len(priors.support) or not p.all():
        return math.inf
    contrasts, count = contrasts[priors.support], contrasts.shape[1]
    shares, rest = shares_of(claim.duals[:count]), claim.duals[count:]
    if shares is None:
        return math.inf
    if claim.root is not None:
        if claim.root.shape != (size, count) or len(rest) != size:
            raise CertificateRejected(_MISFIT)
        largest = largest_allowed_square(claim.root, rest, claim, priors, p, box)
        taken = sum_up(rest) + max(largest, 0.0)
        return -least_by_root(shares, contrasts, p, claim.root, taken)
    where = shared_range(claim, priors)
    if len(rest) not in (size, 2 * size if where is not None else size):
        raise CertificateRejected(_MISFIT)
    d = rest[:size]
    if (d < 0).any():
        return math.inf
    if where is not None and len(rest) == 2 * size:
        return -least_by_multipliers(shares, contrasts, p, d, largest_mean_square(d, rest[size:], p, where))
    lifts = lift_box(claim, priors, p, box)
    if lifts is None:
        return math.inf
    ceilings = (lifts[0] + lifts[1] - lifts[0] * lifts[1]) * (1 + 2.0**-48) + 2.0**-48
    return -least_by_multipliers(shares, contrasts, p, d, sum_up(d * ceilings))
