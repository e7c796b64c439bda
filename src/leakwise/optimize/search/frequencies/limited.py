"""As few columns as were asked for, from an optimum that has more of them.

Optima have up to N(N+1)/2 - 1 columns, and so many are hardly ever needed: those that are missed least leave. With 8N
of them about 1e-5 is lost at twenty letters. Where that is more, priced columns join again, and again the same number
leave.
"""

from __future__ import annotations

import numpy as np

from leakwise.errors import NotConverged
from leakwise.optimize.pricing.set_vertices import Vertices
from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.frequencies.elimination import eliminated
from leakwise.optimize.search.frequencies.growth import joined, others, together
from leakwise.optimize.search.frequencies.weights import adding_up, least_variance, linearised, regular
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["limited"]

_ADDS_UP = 1e-8
_ACCURACY = 3e-6  # relative, of the weights
_ROUNDS, _PATIENCE = 40, 4
_TRIED = 15  # times as many columns are looked at as join
_SHARE = 8  # one of so many columns is exchanged in the first round


def limited(
    columns: Floats,
    weights: Floats,
    most: int,
    bound: float,
    near: float,
    vertices: Vertices,
    limits: Limits,
    aim: Aim = TRACE,
) -> tuple[Floats, Floats]:
    """Return at most ``most`` of the columns, some exchanged for priced ones, with their best weights.

    ``bound`` is the value, minus the variance aimed at, that nothing exceeds, and ``near`` a relative gap to stop at.
    """
    found = _solved(*eliminated(columns, weights, most, aim), Limits(), aim)  # which takes no time to speak of
    if found is None:
        raise np.linalg.LinAlgError("the columns that are left do not tell all letters apart")
    best, columns, weights = found
    number, waited = max(2, most // _SHARE), 0
    for _ in range(_ROUNDS):
        if bound - best <= near * abs(best) or waited == _PATIENCE or limits.exhausted:
            break
        here = linearised(columns, weights, aim)
        new = others(vertices.best(here.centre, here.duals, _TRIED * number)[0], columns)
        new = new[:, together(here, new, number, float(weights.mean()))]
        try:
            more = _solved(*joined(columns, weights, new, limits), limits, aim)
        except NotConverged:  # no time for it
            break
        back = None if more is None else _solved(*eliminated(more[1], more[2], most, aim), limits, aim)
        if back is not None and back[0] > best:
            best, columns, weights = back
        else:
            number, waited = max(2, number // 2), waited + 1
    return columns, weights


def _solved(columns: Floats, weights: Floats, limits: Limits, aim: Aim) -> tuple[float, Floats, Floats] | None:
    """The value at the best weights of the columns, and both; None where they do not add up or tell all apart."""
    weights, miss = adding_up(columns, weights)
    if not miss < _ADDS_UP or not regular(columns, weights):
        return None
    accuracy = _ACCURACY * abs(linearised(columns, weights, aim).value)
    weights = least_variance(columns, weights, accuracy, limits, aim=aim)
    return linearised(columns, weights, aim).value, columns, weights
