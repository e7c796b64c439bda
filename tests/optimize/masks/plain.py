"""Least leakage on a mask the plain way, with nothing of the code under test: linear program (10) and bisection."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import lil_matrix


def feasible(allowed: np.ndarray, p: np.ndarray, ratio: float) -> bool:
    """[WC] (10): is there a mechanism on the mask whose largest lift is at most ``ratio``?"""
    size, count = allowed.shape
    pairs = [(i, j) for j in range(count) for i in range(size) if allowed[i, j]]
    place = {pair: k for k, pair in enumerate(pairs)}
    leakage = lil_matrix((len(pairs), len(pairs)))
    for k, (i, j) in enumerate(pairs):
        for other in range(size):
            if allowed[other, j]:
                leakage[k, place[other, j]] = -ratio * p[other]
        leakage[k, place[i, j]] += 1.0
    rows = lil_matrix((size, len(pairs)))
    for k, (i, _) in enumerate(pairs):
        rows[i, k] = 1.0
    answer = linprog(
        np.zeros(len(pairs)),
        A_ub=leakage.tocsc(),
        b_ub=np.zeros(len(pairs)),
        A_eq=rows.tocsc(),
        b_eq=np.ones(size),
        method="highs",
    )
    return answer.status == 0


def bisected(allowed: np.ndarray, p: np.ndarray, steps: int = 40) -> float:
    """The least ratio by bisection on the logarithm."""
    low, high = 0.0, float(-np.log(p.min()))
    if feasible(allowed, p, 1.0 + 1e-12):
        return 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(allowed, p, float(np.exp(middle))) else (middle, high)
    return high
