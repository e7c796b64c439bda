"""Numbers too extreme for any search: a plain mechanism inside the cone, with a bound that always holds."""

from __future__ import annotations

import numpy as np

from leakwise.mechanism import DenseKernel, Kernel
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.utility import Utility
from leakwise.types import Indices

__all__ = ["without_search"]

_UNIT = 1 << BITS


def without_search(cone: Cone, utility: Utility) -> tuple[Kernel, float, Indices | None]:
    """A well-known mechanism where one is in the cone, else the best constant answer.

    Nothing beats the release of the secret itself (data processing), whose utility is the bound.
    """
    prior, bound = cone.prior, utility.most(cone.prior)
    constant = DenseKernel(np.full((len(prior), 1), _UNIT), _UNIT)
    says = utility.best_constant(prior)
    plain = cone.plain() if says is None else None
    return constant if plain is None else plain, bound, says
