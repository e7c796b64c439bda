"""Numbers too extreme for any search: a plain mechanism inside the cone, with a bound that always holds."""

from __future__ import annotations

import numpy as np

from leakwise.mechanism import CommonLawKernel, DenseKernel, Kernel
from leakwise.mechanism.catalog import BITS, randomized_response, same_pml_randomized_response
from leakwise.optimize.finish.utility_interval import utility_interval
from leakwise.optimize.problem.cones import Cone, LDPCone, LiftBox
from leakwise.optimize.problem.utilities import LinearUtility, Utility
from leakwise.types import Indices

__all__ = ["without_search"]

_UNIT = 1 << BITS


def without_search(cone: Cone, utility: Utility) -> tuple[Kernel, float, Indices | None]:
    """Randomized response of the same PML where that is in the cone, else the best constant answer.

    Nothing beats the release of the secret itself (data processing), whose utility is the bound.
    """
    prior = cone.prior
    size = len(prior)
    secret = CommonLawKernel(np.zeros(size, dtype=np.int64), _UNIT)
    constant = DenseKernel(np.full((size, 1), _UNIT), _UNIT)
    if isinstance(utility, LinearUtility):
        values = prior.probabilities[:, None] * utility.gains(prior)
        bound = float(values.max(axis=1).sum()) + float(np.abs(values).sum()) * 2.0**-40
        return constant, bound, np.array([int(values.sum(axis=0).argmax())])
    bound = utility_interval(secret, prior, utility)[1]
    if isinstance(cone, LiftBox) and cone.low == 0:
        return same_pml_randomized_response(prior, cone.level()).kernel, bound, None
    if isinstance(cone, LDPCone):
        return randomized_response(size, lift=cone.ratio).kernel, bound, None
    return constant, bound, None
