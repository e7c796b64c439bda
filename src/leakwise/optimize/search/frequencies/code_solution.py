"""When a code is the answer to a request for frequencies: where it is optimal, and where there are too many letters."""

from __future__ import annotations

import math

from leakwise.alphabet import Alphabet
from leakwise.mechanism import CodeKernel, Kernel, Mechanism
from leakwise.optimize.bounds.by_letter import least_trace_by_letter
from leakwise.optimize.bounds.mixture import mixture_bound, ratio_of
from leakwise.optimize.finish.finished import Solution
from leakwise.optimize.finish.outcome_names import codes
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.frequencies.codes import coded, optimal_code, single_values
from leakwise.optimize.search.limits import Limits
from leakwise.priors import Prior
from leakwise.proof import AskedLimits

__all__ = ["code_solution"]

_LISTED = 1200  # letters, up to which columns are searched for one by one
_LISTING = 2.5e-8  # seconds times N³ that the columns of a first mechanism take, before any are exchanged
_FEW = 16  # up to so many letters every vertex is listed
_PER_LETTER = 8


def code_solution(prior: Prior, asked: AskedLimits, cone: Cone, limits: Limits) -> Solution | None:
    """Return the mechanism of a code, or None where a search does better or the limits are of another kind."""
    size = len(cone.prior)  # letters with mass
    if AskedLimits(asked.level, asked.anyone) != asked or size <= _FEW:
        return None
    uniform = len(set(prior.weights.tolist())) == 1
    remaining = limits.remaining
    listed = size <= _LISTED and (remaining is None or remaining > _LISTING * size**3)
    if listed and not uniform:
        return None
    lift, anyone = (None if one is None else one.below for one in (asked.level, asked.anyone))
    if any(one is not None and one <= 1 for one in (lift, anyone)):
        return None
    least, duals = least_trace_by_letter(cone)
    p, ratio = cone.prior.probabilities, None if uniform else ratio_of(cone)
    if ratio is not None:
        least, duals = max((least, duals), mixture_bound(p, ratio), key=lambda one: one[0])
    bound = float(p @ p) - least
    most = _PER_LETTER * size if limits.outcomes is None else limits.outcomes
    found = optimal_code(prior, lift, anyone, most, bound)
    how = "balanced code, optimal for a uniform prior"
    if found is None and not listed:
        found, how = coded(prior, lift, anyone, most), "balanced code, bound letter by letter"
        single = single_values(prior, lift, anyone)
        if single is not None and (found is None or single.value > found.value):
            found, how = single, "single values with as much noise as they need, bound letter by letter"
    if found is None or not math.isfinite(found.value):
        return None
    limits.tell("code", found.value, bound)
    limits.stopped |= limits.exhausted or (not listed and size <= _LISTED)  # more time would have served
    # Few outcomes are named by the values that they raise, as everywhere; many by short codes.
    coded_names = not listed and isinstance(found.kernel, CodeKernel)
    named = _coded(found.kernel, prior) if coded_names else None
    return Solution(found.kernel, bound, how, duals, mechanism=named, value=found.value)


def _coded(kernel: Kernel, prior: Prior) -> Mechanism:
    return Mechanism.from_kernel(kernel, prior.alphabet, Alphabet(codes(kernel.shape[1]), name="outcomes"))
