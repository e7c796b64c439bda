"""Column generation for gains: pricing is one linear functional per guess, so the optimum is exact at any size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakwise.optimize.cones import Cone
from leakwise.optimize.master import Master
from leakwise.optimize.search import Found, Limits

__all__ = ["search_linear"]

Floats = npt.NDArray[np.float64]

_ROUNDS = 2000


def search_linear(cone: Cone, gains: Floats, limits: Limits) -> Found:
    """max Σ_r ρ_r max_w Σ_i π_i g_iw λ_ri: one column per guess and round, the guess kept as its label."""
    p = cone.prior.probabilities
    values = p[:, None] * gains
    constant = np.ones((len(p), 1))
    labels = np.array([int(values.sum(axis=0).argmax())])
    _, vertices = cone.linear_max(values)
    labels = np.concatenate([labels, np.arange(values.shape[1])])
    columns = np.concatenate([constant, vertices], axis=1)
    master = Master(np.sum(values[:, labels] * columns, axis=0), columns)
    best = (np.inf, np.zeros(len(p)), np.inf)
    centre: Floats | None = None  # the duals of the best bound so far: pricing near them stabilises the walk
    stopped = False
    solution = master.solve()
    for turn in range(_ROUNDS):
        y = solution.duals if centre is None or turn % 3 == 2 else 0.5 * solution.duals + 0.5 * centre
        costs, vertices = cone.linear_max(values - y[:, None])
        largest = float(costs.max())
        bound = float(y.sum()) + max(largest, 0.0)
        if bound < best[0]:
            best, centre = (bound, y, largest), y
        limits.tell("columns", solution.value, best[0])
        if best[0] - solution.value <= limits.tolerance:
            break
        if limits.exhausted:
            stopped = True
            break
        true_costs = np.sum((values - solution.duals[:, None]) * vertices, axis=0)
        chosen = np.flatnonzero(true_costs > 0.1 * limits.tolerance)
        if not len(chosen):
            if centre is None or np.array_equal(y, solution.duals):
                break
            centre = None  # the stabilised duals found nothing: ask with the plain ones
            continue
        master.add(np.sum(values[:, chosen] * vertices[:, chosen], axis=0), vertices[:, chosen])
        labels = np.concatenate([labels, chosen])
        solution = master.solve()
    used = solution.weights > 0
    _, duals, largest = best
    size = float(np.abs(values).sum(axis=0).max() + np.abs(duals).sum())
    error = size * (len(p) + 16) * 2.0**-51
    return Found(
        master.columns[:, used], solution.weights[used], duals, largest + error, "linear", labels[used], stopped
    )
