"""Whether released outcomes can come from a mechanism at all, whatever the true frequencies are."""

from __future__ import annotations

import math

import numpy as np

from leakwise.types import Counts, Floats

__all__ = ["fits"]


_LEVEL = math.log(1e-9)
# By how much the fitted distribution may fall short of the most likely one, per row: searches end somewhere.
_SLACK = 1e-7


def fits(counts: Counts, law: Floats, outcomes: int) -> bool:
    r"""Decide whether counts may be a sample of a distribution; a true one is refused once in 10⁹ times at most.

    With K outcomes, the likelihood ratio :math:`g = n D(c/n \| q)` of a sample of q exceeds any g > K - 1 with
    probability at most :math:`e^{-g} (eg/(K-1))^{K-1}` (Agrawal 2020), and the most likely q has the least g.

    Parameters
    ----------
    counts
        How often each outcome occurs.
    law
        The most likely distribution of the outcomes under the mechanism.
    outcomes
        How many outcomes the mechanism can give.

    Examples
    --------
    >>> fits(np.array([60, 40]), np.array([0.5, 0.5]), 2), fits(np.array([6000, 4000]), np.array([0.5, 0.5]), 2)
    (True, False)
    """
    seen = counts > 0
    rows = float(counts.sum())
    shares = counts[seen] / rows
    if (law[seen] <= 0).any():
        return False
    ratio = rows * (float((shares * np.log(shares / law[seen])).sum()) - _SLACK)
    free = outcomes - 1
    if ratio <= max(free, 1e-300) or free < 1:
        return True
    return -ratio + free * (1 + math.log(ratio / free)) > _LEVEL
