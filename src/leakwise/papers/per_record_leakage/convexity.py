"""[PR] Figure 1: the leakage about a record is concave in what is believed about it, convex in the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, beside, heatmap, lines, vertical
from leakwise.leakage import mutual_information
from leakwise.mechanism import Mechanism
from leakwise.papers.exhibit import Finding, Progress, Result, exhibit, stated
from leakwise.priors import Prior
from leakwise.records import leakage, parity
from leakwise.types import Bools, Floats

__all__ = ["figure_1"]


def _entropy(p: float) -> float:
    return 0.0 if p in (0.0, 1.0) else -p * math.log(p) - (1 - p) * math.log1p(-p)


@exhibit(
    paper="PR",
    title="The saddle of the mutual information",
    shows="The paper draws a schematic saddle. This one is computed: the parity of two bits through a binary symmetric "
    "channel. The adversary believes P(X1 = 1) = a and, whatever X1 is, P(X2 = 1) = c. Left: I(X1; Y) over a and c; "
    "right: only the beliefs with H(X) ≥ b. Below: cuts along a (concave) and along c (convex).",
    printed="I is concave in the marginal p(x_i) and convex in the conditional p(x_-i | x_i); H(X) ≥ b cuts out the "
    "feasible region.",
)
def figure_1(
    *, fast: bool = False, progress: Progress | None = None, flip: float = 0.1, entropy: float = 1.0, points: int = 41
) -> Result:
    """I(X1; Y) over the belief about the record and the belief about the other one."""
    count = 11 if fast else points
    grid = np.linspace(0.0, 1.0, count)
    rows: list[dict[str, Any]] = []
    for done, c in enumerate(grid.tolist()):
        # Y = 1 iff the parity is 1 and not flipped, or 0 and flipped.
        one = c * (1 - flip) + (1 - c) * flip
        given = Mechanism([[1 - one, one], [one, 1 - one]])
        for a in grid.tolist():
            uncertainty = _entropy(a) + _entropy(c)
            rows.append(
                {
                    "a": a,
                    "c": c,
                    "information": mutual_information(given, Prior([1 - a, a])),
                    "entropy": uncertainty,
                    "feasible": uncertainty >= entropy,
                }
            )
        if progress is not None:
            progress((done + 1) / count, f"c = {c:g}")
    table = np.array([row["information"] for row in rows]).reshape(count, count)
    inside = np.array([row["feasible"] for row in rows]).reshape(count, count)
    return Result(rows, _chart(grid, table, inside, entropy), _findings(grid, table, inside, flip, entropy))


def _chart(grid: Floats, table: Floats, inside: Bools, entropy: float) -> Spec:
    names = [f"{value:.3g}" for value in grid]
    words: dict[str, Any] = {
        "value_title": "I(X1; Y) (nats)",
        "row_title": "c = P(X2 = 1)",
        "column_title": "a = P(X1 = 1)",
    }
    masked = [
        [float(v) if ok else None for v, ok in zip(*pair, strict=True)] for pair in zip(table, inside, strict=True)
    ]
    last = len(grid) - 1
    cuts = [round(last * share) for share in (0.0, 0.15, 0.3, 0.5)]
    along_a = {f"c = {grid[k]:.3g}": (grid, table[k]) for k in cuts}
    along_c = {f"a = {grid[k]:.3g}": (grid, table[:, k]) for k in cuts[1:]}
    value = "I(X1; Y) (nats)"
    return vertical(
        beside(
            heatmap(names, names, table, title="Every belief", **words),
            heatmap(
                names,
                names,
                masked,
                title=f"Beliefs with H(X) ≥ {entropy:g}",
                note="Grey: the adversary is too certain.",
                **words,
            ),
        ),
        beside(
            lines(along_a, title="Concave in a", x_title="a = P(X1 = 1)", y_title=value),
            lines(along_c, title="Convex in c", x_title="c = P(X2 = 1)", y_title=value),
        ),
    )


def _findings(grid: Floats, table: Floats, inside: Bools, flip: float, entropy: float) -> list[Finding]:
    bent_a, bent_c = np.diff(table, n=2, axis=1), np.diff(table, n=2, axis=0)
    concave, convex = bool((bent_a <= 1e-12).all()), bool((bent_c >= -1e-12).all())
    reached = float(table[inside].max())
    best = leakage(parity(2).symmetric_channel(flip), entropy)
    row = int(np.argmax(np.where(inside, table, -1.0)) // len(grid))
    edge = bool((~inside[row]).any()) or row in (0, len(grid) - 1)
    return [
        stated("concave in p(x_i)", "concave", "concave" if concave else "not concave", concave),
        stated("convex in p(x_-i | x_i)", "convex", "convex" if convex else "not convex", convex),
        stated(
            "the largest value on the grid with H(X) ≥ b lies at the border of the region, at most the certified L(b)",
            None,
            f"{reached:.4f}, and L(b) = {best.value:.4f}",
            reached <= best.bound + 1e-12 and edge,
        ),
        Finding(
            "Case 1 of section 3.1: rows of the conditional are unit vectors at the optimum, because I is … in them",
            "concave",
            "convex",
            not convex,
            "a slip of the pen: by Theorem 1 the information is convex in the conditionals, and a convex function is "
            "largest at the corners. The conclusion is right, and it is why climbing stops at local optima",
        ),
    ]
