"""Probabilities of cells and intervals together: off from mpmath by no more than they say, and by next to nothing."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest

from leakwise.noise import Density, Gaussian, Laplace, Staircase
from leakwise.noise.continuous.joint import joint_probabilities

TRIANGLE = Density.triangular(0, 0.25, 1)
NORMAL = Density.truncated_normal("0.4", "0.12", 0, 1)
TAIL = Density.truncated_normal(-1, "0.05", 0, 1)  # 20 standard deviations from its mean and more
SPIKE = Density.mixture({Density.uniform(0, 1): 1, Density.truncated_normal("0.3", "0.0001", 0, 1): 5})
STEEP = Density.piecewise([0, 1], [[0] * 12 + [1]])
CELLS = np.array([0.0, 0.25, 0.5, 1.0])
CUTS = np.array([-0.1, 0.25, 0.4, 0.5, 1.2])


def below(noise: Any, d: Any) -> Any:
    """P(noise < d), written again for mpmath."""
    if d < 0:
        return 1 - below(noise, -d)
    if isinstance(noise, Laplace):
        return 1 - mpmath.exp(-d / noise.scale) / 2
    if isinstance(noise, Gaussian):
        return mpmath.ncdf(d / mpmath.mpf(noise.scale))
    wide, share, down = mpmath.mpf(noise.scale), mpmath.mpf(noise.step), mpmath.exp(-mpmath.mpf(noise.fall))
    whole = mpmath.floor(d / wide)
    rest = d - whole * wide
    peak = (1 - down) / (2 * wide * (share + down * (1 - share)))
    period = wide * (share + (1 - share) * down)
    part = min(rest, share * wide) + down * max(rest - share * wide, 0)
    return mpmath.mpf(1) / 2 + peak * ((1 - down**whole) / (1 - down) * period + down**whole * part)


def by_mpmath(noise: Any, density: Density) -> list[list[Any]]:
    kinks = [0.0]
    if isinstance(noise, Staircase):
        kinks = [s * (k + noise.step) * noise.scale for k in range(math.ceil(1.3 / noise.scale) + 1) for s in (1, -1)]
    else:
        kinks += [s * noise.scale * z for z in (2, 5, 12, 30) for s in (1, -1)]
    found = [[mpmath.mpf(0)] * (len(CUTS) + 1) for _ in CELLS[1:]]
    for piece in density.pieces:
        coefficients = [mpmath.mpf(c.numerator) / c.denominator for c in reversed(piece.coefficients)]
        places = {c - k for c in CUTS.tolist() for k in (0.0, *kinks)} | set(density.edges) | set(CELLS.tolist())
        unit = mpmath.mpf(1)
        if piece.bell is not None:
            mean, sd = (mpmath.mpf(part.numerator) / part.denominator for part in piece.bell)
            places |= {float(mean + sd * z) for z in range(-24, 25, 2)}
            # By erfc on the side of the tail: no digits cancel.
            a, b = (piece.low - mean) / sd, (piece.high - mean) / sd
            unit = sd * mpmath.sqrt(mpmath.pi / 2) * (mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.erfc(b / mpmath.sqrt(2)))
            places |= {piece.low + float(sd) / 8 * z for z in range(1, 8)}

        def weight(x: Any, piece: Any = piece, coefficients: Any = coefficients, unit: Any = unit) -> Any:
            value = mpmath.polyval(coefficients, x)
            if piece.bell is not None:
                mean, sd = (mpmath.mpf(part.numerator) / part.denominator for part in piece.bell)
                value *= mpmath.exp(-(((x - mean) / sd) ** 2) / 2) / unit
            return value

        ends = sorted(x for x in places if piece.low <= x <= piece.high)
        for a, b in itertools.pairwise(ends):
            cell = int(np.searchsorted(CELLS, (a + b) / 2)) - 1
            chances = [
                mpmath.quad(
                    lambda x, cut=cut, weight=weight: weight(x) * below(noise, cut - x), [a, b], method="gauss-legendre"
                )
                for cut in CUTS.tolist()
            ]
            whole = mpmath.quad(weight, [a, b], method="gauss-legendre")
            for k, (one, other) in enumerate(itertools.pairwise([mpmath.mpf(0), *chances, whole])):
                found[cell][k] += other - one
    return found


@pytest.mark.parametrize(
    "noise",
    [Laplace(scale=0.002), Laplace(scale=0.3), Gaussian(scale=0.002), Gaussian(scale=0.3), Staircase(1, "0.4", "0.3")],
    ids=lambda noise: f"{noise.name}-{noise.scale:g}",
)
@pytest.mark.parametrize(
    ("density", "most"),
    [(TRIANGLE, 2e-12), (NORMAL, 2e-12), (TAIL, 1e-9), (SPIKE, 1e-7), (STEEP, 4e-12)],
    ids=["triangle", "normal", "tail", "spike", "steep"],
)
def test_all_probabilities_together_are_off_by_no_more_than_they_say(noise: Any, density: Density, most: float) -> None:
    left, right = np.unique([*CELLS, *density.edges])[:-1], np.unique([*CELLS, *density.edges])[1:]
    assert left.tolist() == CELLS[:-1].tolist()
    joint, missed = joint_probabilities(noise, density, left, right, CUTS)
    with mpmath.workdps(22):
        true = by_mpmath(noise, density)
        assert abs(sum(map(sum, true)) - 1) < 1e-17
        off = sum(abs(joint[i, j] - true[i][j]) for i in range(joint.shape[0]) for j in range(joint.shape[1]))
    assert off <= missed <= most
    assert off <= 1e-12


@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(scale=2)], ids=lambda noise: noise.name)
@pytest.mark.parametrize("order", [3, 6, 10])
@pytest.mark.parametrize("half", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("away", [0.0, 1.5, 20.0])
def test_polynomials_miss_the_noise_by_no_more_than_it_says(noise: Any, order: int, half: float, away: float) -> None:
    """By interpolation at the points of Chebyshev, or by a constant, for intervals all around the panel."""
    bound = float(noise.remainder(np.array([half]), np.array([away]), order)[0])
    cuts = [-half - away - z for z in (30, 4, 1, 0.2, 0)] + [half + away + z for z in (0, 0.2, 1, 4, 30)]
    cuts.sort()
    nodes = [mpmath.mpf(half * math.cos((2 * k + 1) * math.pi / (2 * order))) for k in range(order)]
    points = [mpmath.mpf(x) for x in np.linspace(-half, half, 41).tolist()]
    missed = constant = mpmath.mpf(0)
    with mpmath.workdps(40):
        for a, b in itertools.pairwise([-mpmath.inf, *cuts, mpmath.inf]):

            def chance(x: Any, a: Any = a, b: Any = b) -> Any:
                upper = mpmath.mpf(1) if b == mpmath.inf else below(noise, b - x)
                return upper - (mpmath.mpf(0) if a == -mpmath.inf else below(noise, a - x))

            values = [chance(x) for x in nodes]
            worst = mpmath.mpf(0)
            for x in points:
                fitted = mpmath.mpf(0)
                for k, node in enumerate(nodes):
                    terms = [(x - other) / (node - other) for j, other in enumerate(nodes) if j != k]
                    fitted += values[k] * mpmath.fprod(terms)
                worst = max(worst, abs(fitted - chance(x)))
            missed += worst
            # The nearest constant is half of the way between the least and the largest value.
            seen = [chance(x) for x in points]
            constant += (max(seen) - min(seen)) / 2
    assert min(missed, constant) <= bound
    assert bound <= 4
