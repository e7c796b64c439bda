"""[EX] Figure 4: the polytope of binary mechanisms, the contours of mutual information, and the two optima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, lines
from leakwise.exact import last_that_holds
from leakwise.leakage import epsilon as leakage_of
from leakwise.mechanism import Mechanism
from leakwise.optimize import design
from leakwise.papers.exhibit import Progress, Result, compared, exhibit, stated
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = ["figure_4a", "figure_4b"]


_STAR = (
    "M0,-1L0.225,-0.309L0.951,-0.309L0.363,0.118L0.588,0.809L0,0.382"
    "L-0.588,0.809L-0.363,0.118L-0.951,-0.309L-0.225,-0.309Z"
)
_SHARES = (0.1, 0.4, 0.7, 1.0, 1.5)
"""The contours, as shares of the optimum: that of the optimum touches the polytope at the stars only."""


@exhibit(
    paper="EX",
    title="The polytope of binary mechanisms, no active box constraint",
    shows="A binary mechanism is a point (p_11, p_21). Those with ε-PML for ε = log 1.5 form a polytope with four "
    "corners: two constant mechanisms, and two stars that are one mechanism up to the names of the outputs. The "
    "contours of mutual information show that the stars are optimal: the contour of the optimum touches the polytope "
    "only there. The text of the paper does not give the prior; we take (0.6, 0.4), for which e^ε P(x1) = 0.9 < 1.",
    printed="Four corners; the stars mark the optimal solutions (10).",
)
def figure_4a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[float] = (0.6, 0.4),
    epsilon: float = math.log(1.5),
    points: int = 161,
) -> Result:
    """The polytope, contours and optima for a prior with e^ε P(x1) < 1."""
    return _polytope(Prior(prior), epsilon, 41 if fast else points, "(a) no active box constraint")


@exhibit(
    paper="EX",
    title="The polytope of binary mechanisms, an active box constraint",
    shows="As Figure 4a where e^ε P(x1) ≥ 1: the likelier letter may be disclosed outright, and the stars lie on the "
    "border of the square, p_21 = 0 or p_21 = 1. The text of the paper does not give the prior; we take (0.75, 0.25), "
    "for which e^ε P(x1) = 1.125.",
    printed="A case where e^ε P(x1) ≥ 1, that is, with an active box constraint.",
)
def figure_4b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[float] = (0.75, 0.25),
    epsilon: float = math.log(1.5),
    points: int = 161,
) -> Result:
    """The polytope, contours and optima for a prior with e^ε P(x1) ≥ 1."""
    return _polytope(Prior(prior), epsilon, 41 if fast else points, "(b) an active box constraint")


def _polytope(prior: Prior, epsilon: float, points: int, title: str) -> Result:
    t = math.exp(epsilon)
    first, second = prior.probabilities.tolist()
    found = design(prior, epsilon)
    low_star, high_star = _stars(first, second, t)
    # The corners lie on the grid, so that the picture has them where they are.
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, points), [low_star[0], high_star[0]]]))
    below, above = _borders(grid, first, second, t)
    contours = _contours(grid, first, found.value)
    rows: list[dict[str, Any]] = [
        {
            "part": "corner",
            "p_11": x,
            "p_21": y,
            "information": float(_information(np.array([x]), np.array([y]), first)[0]),
        }
        for x, y in ((0.0, 0.0), low_star, (1.0, 1.0), high_star)
    ]
    rows += [
        {"part": part, "p_11": float(x), "p_21": float(y), "information": float(i)}
        for part, side in (("lower border", below), ("upper border", above))
        for x, y, i in zip(grid, side, _information(grid, side, first), strict=True)
    ]
    rows += [
        {"part": f"contour, {side}", "p_11": x, "p_21": y, "information": level}
        for level, side, curve in contours
        for x, y in curve
    ]
    best = max(row["information"] for row in rows if row["part"].endswith("border"))
    star = Mechanism([[low_star[0], 1 - low_star[0]], [low_star[1], 1 - low_star[1]]], inputs=prior.labels)
    leak = leakage_of(star, prior)
    return Result(
        rows,
        _chart(rows, title, grid, below, above, (low_star, high_star)),
        [
            compared(
                "mutual information at the star (10), against the proven optimum (nats)",
                rows[1]["information"],
                found.value,
                within=1e-9,
            ),
            stated(
                "the largest value on the whole border is that of the stars (nats)",
                found.value,
                best,
                best <= found.bound + 1e-9,
            ),
            compared("the leakage of the star (nats)", epsilon, leak, within=1e-9),
            stated(
                "a box constraint is active",
                "yes" if first * t >= 1 else "no",
                "yes" if low_star[1] <= 1e-12 else "no",
                (first * t >= 1) == (low_star[1] <= 1e-12),
            ),
        ],
    )


def _stars(first: float, second: float, t: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The two columns of (10): each is the first column of one of the two optimal mechanisms."""
    if first * t < 1:
        return (t * second, 1 - t * first), (1 - t * second, t * first)
    shown = (t - 1) / (t * first)
    return (shown, 0.0), (1 - shown, 1.0)


def _borders(x: Floats, first: float, second: float, t: float) -> tuple[Floats, Floats]:
    """The least and the largest p_21 for each p_11: the PML constraints of both columns, and the square."""
    below = np.maximum.reduce(
        [np.zeros_like(x), x * (1 - t * first) / (t * second), (1 - t + t * first * x) / (1 - t * second)]
    )
    above = np.minimum.reduce(
        [np.ones_like(x), x * t * first / (1 - t * second), (t - 1 + x * (1 - t * first)) / (t * second)]
    )
    return np.minimum(below, x), np.maximum(above, x)


def _information(x: Floats, y: Floats, first: float) -> Floats:
    """Mutual information of the mechanism with first column (x, y): h(mean) - mean of h."""
    value: Floats = _entropy(first * x + (1 - first) * y) - first * _entropy(x) - (1 - first) * _entropy(y)
    return np.maximum(value, 0.0)


def _entropy(p: Floats) -> Floats:
    inside = np.clip(p, 1e-300, 1.0)
    other = np.clip(1 - p, 1e-300, 1.0)
    value: Floats = -(p * np.log(inside) + (1 - p) * np.log(other))
    return value


def _contours(x: Floats, first: float, optimum: float) -> list[tuple[float, str, list[tuple[float, float]]]]:
    """For each level the curve below and the one above the diagonal, by bisection: information falls towards it."""
    curves = []
    for share in _SHARES:
        level = share * optimum
        for side, edge in (("below", np.zeros_like(x)), ("above", np.ones_like(x))):
            reached = _information(x, edge, first) >= level
            if not reached.any():
                continue
            at = x[reached]

            def enough(y: Floats, at: Floats = at, level: float = level) -> Bools:
                return np.asarray(_information(at, y, first) >= level)

            out = last_that_holds(enough, edge[reached], at, 50)
            curves.append((level, side, list(zip(at.tolist(), out.tolist(), strict=True))))
    return curves


def _chart(
    rows: list[dict[str, Any]],
    title: str,
    grid: Floats,
    below: Floats,
    above: Floats,
    stars: tuple[tuple[float, float], tuple[float, float]],
) -> Spec:
    spec = lines(
        {"dividing line of S_1 and S_2": ([0.0, 1.0], [0.0, 1.0])},
        title=f"Binary mechanisms with ε-PML: {title}",
        x_title="p_11",
        y_title="p_21",
        bands={"ε-PML": (grid, below, above)},
    )
    # The names of the contours stand to the right of the square, where the legend would be.
    spec |= {"width": 400, "height": 400}
    spec["config"]["legend"]["orient"] = "bottom"
    place = {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}}
    curves = [
        {
            "x": row["p_11"],
            "y": row["p_21"],
            "piece": f"{row['part']} {row['information']:.6f}",
            "level": row["information"],
        }
        for row in rows
        if row["part"].startswith("contour")
    ]
    ends = {curve["piece"]: curve for curve in curves if "below" in curve["piece"]}
    spec["layer"] += [
        {
            "data": {"values": curves},
            "mark": {"type": "line", "strokeWidth": 1, "color": "#767B84"},
            "encoding": {**place, "detail": {"field": "piece", "type": "nominal"}},
        },
        {
            "data": {"values": [{**end, "name": f"{end['level']:.3f}"} for end in ends.values()]},
            "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 9},
            "encoding": {**place, "text": {"field": "name", "type": "nominal"}},
        },
        {
            "data": {"values": [{"x": x, "y": y} for x, y in stars]},
            "mark": {"type": "point", "shape": _STAR, "size": 180, "filled": True, "color": "#D55E00", "opacity": 1},
            "encoding": place,
        },
    ]
    return spec
