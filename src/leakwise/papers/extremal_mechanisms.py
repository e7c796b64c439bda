"""[EX] extremal mechanisms: the three examples, and Figure 1; Figures 2 to 4 stand in modules of their own.

The list of the paper's Algorithm 1 is `leakwise.measures.extreme_columns`; `leakwise.design` needs none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, lines
from leakwise.leakage import mutual_information
from leakwise.mechanism import identity
from leakwise.optimize import design, tradeoff
from leakwise.optimize.pricing.extreme_columns import extreme_columns
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, stated
from leakwise.papers.extremal_mechanisms_geometry import figure_4a, figure_4b
from leakwise.papers.extremal_mechanisms_simulations import figure_2a, figure_2b, figure_3a, figure_3b
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = [
    "example_1",
    "example_2",
    "example_3",
    "figure_1a",
    "figure_1b",
    "figure_2a",
    "figure_2b",
    "figure_3a",
    "figure_3b",
    "figure_4a",
    "figure_4b",
]


EXAMPLE_1 = (
    (0.325, 0.225, 0.225, 0.225),
    (0.45, 0.1, 0.225, 0.225),
    (0.45, 0.225, 0.1, 0.225),
    (0.45, 0.225, 0.225, 0.1),
)
"""The mechanism that Example 1 prints."""

EXAMPLE_2 = ((0.75, 0.25, 0.0, 0.0), (0.0, 0.75, 0.25, 0.0), (0.0, 0.0, 0.75, 0.25), (0.25, 0.0, 0.0, 0.75))
"""The mechanism that Example 2 prints."""

_SAME = 1e-9


# ------------------------------------------------------------------------------------------------------ examples


@exhibit(
    paper="EX",
    title="The optimal mechanism in the high-privacy regime",
    shows="Theorem 3 for four letters: below ε_1 every entry of the mechanism is positive, and the output that "
    "carries the name of a letter is less likely for that letter than for the others. Each row is an entry of "
    "the mechanism.",
    printed="A 4 × 4 matrix with 0.325 and 0.1 on the diagonal and 0.45 and 0.225 beside it.",
)
def example_1(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("2/5", "1/5", "1/5", "1/5"),
    lift: Any = "9/8",
) -> Result:
    """The optimal mechanism for the prior of [EX] Example 1 at ε = log 9/8, beside the printed one."""
    return _matrix_example(Prior(prior), lift, EXAMPLE_1)


@exhibit(
    paper="EX",
    title="The optimal mechanism for a uniform prior",
    shows="Theorem 4 for four equally likely letters at ε = log 3, in the third privacy region: each output raises "
    "one letter threefold, leaves a little of another, and excludes two. Each row is an entry of the mechanism.",
    printed="A 4 × 4 matrix with 0.75 on the diagonal and 0.25 beside it; the formula (11) gives the same columns in "
    "another order.",
)
def example_2(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/4", "1/4", "1/4", "1/4"),
    lift: Any = 3,
) -> Result:
    """The optimal mechanism for the prior of [EX] Example 2 at ε = log 3, beside the printed one."""
    return _matrix_example(Prior(prior), lift, EXAMPLE_2)


def _matrix_example(prior: Prior, lift: Any, printed: Sequence[Sequence[float]]) -> Result:
    found = design(prior, lift=lift)
    shown = np.asarray(printed, dtype=np.float64)
    ours = found.mechanism.matrix
    # A sub-convex utility does not see the order of the columns (Remark 1).
    order = _matching(ours, shown) if ours.shape == shown.shape else None
    rows = []
    if order is not None:
        ours = ours[:, order]
    for i in range(ours.shape[0]):
        for j in range(ours.shape[1]):
            row = {"letter": i + 1, "output": j + 1, "ours": float(ours[i, j])}
            if order is not None:
                row["printed"] = float(shown[i, j])
            rows.append(row)
    away = math.inf if order is None else float(np.abs(ours - shown).max())
    searched = design(prior, lift=lift, method="enumeration")
    return Result(
        rows,
        found.mechanism.chart(),
        [
            stated("largest difference of an entry, columns in any order", 0.0, away, away <= _SAME),
            compared("value by enumeration of all vertices (nats)", found.value, searched.value, within=_SAME),
        ],
    )


def _matching(ours: Floats, shown: Floats) -> list[int] | None:
    """The order of our columns that gives the printed ones, or None."""
    left = list(range(ours.shape[1]))
    order = []
    for column in shown.T:
        near = [j for j in left if np.abs(ours[:, j] - column).max() < 1e-6]
        if not near:
            return None
        order.append(near[0])
        left.remove(near[0])
    return order


@exhibit(
    paper="EX",
    title="Extremal lift vectors of three letters in the second region",
    shows="Algorithm 1 lists the vertices of the polytope of lift vectors: entries 0 or e^ε, and at most one "
    "between. Each row is a vector that the structure of Example 3 allows, and whether it is feasible.",
    printed="The list ends with (e^ε, e^ε, r_3(3)), r_3(3) = (1 - e^ε (1 - P(x3))) / P(x3). Remark 2 bounds the "
    "number of vertices by (14), with equality for a uniform prior.",
)
def example_3(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/2", "3/10", "1/5"),
    epsilon: float = 0.45,
) -> Result:
    """The candidates for extremal lift vectors of [EX] Example 3, feasible or not."""
    known = Prior(prior)
    size, region = len(known), known.region(epsilon)
    candidates = _candidates(known, epsilon)
    rows = [
        {f"lift_{i + 1}": float(value) for i, value in enumerate(vector)} | {"feasible": bool((vector >= 0).all())}
        for vector in candidates
    ]
    bound, feasible = _count_bound(size, region), sum(row["feasible"] for row in rows)
    last = (1 - math.exp(epsilon) * (1 - known.probabilities[-1])) / known.probabilities[-1]
    uniform = Prior.uniform(size)
    borders = uniform.regions().tolist()
    inside = (borders[region - 1] + borders[region]) / 2
    count, formula = extreme_columns(uniform, inside).shape[1], (size - region + 1) * math.comb(size, region - 1)
    value = design(known, epsilon).value
    listed = design(known, epsilon, method="enumeration").value
    return Result(
        rows,
        None,
        [
            stated(
                "the last vector shown, (e^ε, e^ε, r_3(3)), is feasible: r_3(3) is",
                "≥ 0",
                last,
                last >= 0,
                "region 2 means e^ε (1 - P(x3)) ≥ 1, so r_3(3) is negative inside it: the vector belongs to region 1",
            ),
            stated(f"feasible vectors, against the bound (14) of {bound}", f"≤ {bound}", feasible, True),
            stated(
                f"vertices for a uniform prior, N = {size}, region {region}",
                bound,
                count,
                bound == count,
                f"(14) counts the vectors of the lower regions too, which are infeasible: the number is "
                f"(N-k+1) C(N, k-1) = {formula}",
            ),
            compared("the optimum over the list is the optimum (nats)", listed, value, within=_SAME),
        ],
    )


def _count_bound(size: int, region: int) -> int:
    return sum((size - zeros + 1) * math.comb(size, zeros - 1) for zeros in range(1, region + 1))


def _candidates(prior: Prior, epsilon: float) -> list[Floats]:
    """What [EX] Algorithm 1 lists before it looks at signs: the extreme columns, and those with a negative entry."""
    pi, t = prior.probabilities, math.exp(epsilon)
    found = []
    for zeros in range(prior.region(epsilon)):
        for kept in combinations(range(len(pi)), len(pi) - zeros):
            if pi[list(kept)].sum() * t < 1:
                continue
            for free in kept:
                vector = np.zeros(len(pi))
                vector[list(kept)] = t
                vector[free] = (1 - t * (pi[list(kept)].sum() - pi[free])) / pi[free]
                found.append(vector)
    return found


# ------------------------------------------------------------------------------------------------------ Figure 1


@exhibit(
    paper="EX",
    title="Mutual information against leakage, uniform prior on three letters",
    shows="The largest mutual information under ε-PML, that of randomized response with the same PML, and the "
    "entropy of X, which nothing exceeds. Each of our points is a certified optimum; we add the best ε-LDP "
    "mechanism, which keeps ε-PML for every prior and pays for it.",
    printed="The optimal curve lies above randomized response, with a characteristic point at ε = log 1.5, the "
    "border of the two privacy regions; the dashed line is the entropy, log 3.",
)
def figure_1a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/3", "1/3", "1/3"),
    points: int = 120,
) -> Result:
    """The trade-off of mutual information and leakage for a uniform prior on three letters."""
    known = Prior(prior)
    result = _figure_1(known, 16 if fast else points, "Uniform prior, N = 3", progress)
    border = float(known.regions()[1])
    step = 1e-4
    left, at, right = (design(known, border + offset).value for offset in (-step, 0.0, step))
    before, after = (at - left) / step, (right - at) / step
    size = len(known)
    formula = max(abs(row["optimal"] - _corollary_1(size, row["epsilon"])) for row in result.rows)  # type: ignore[operator,arg-type]
    return Result(
        result.rows,
        result.chart,
        [
            compared("the border of the regions, log 1.5", math.log(1.5), border, within=_SAME),
            stated(
                "the slope of the optimal curve just before and just after log 1.5",
                "a characteristic point",
                f"{before:.2f} and {after:.2f}",
                before > 2 * after,
            ),
            compared("Corollary 1 along the curve (largest difference)", 0.0, formula, within=_SAME),
            *result.findings,
        ],
    )


@exhibit(
    paper="EX",
    title="Mutual information against leakage, prior (0.5, 0.3, 0.2)",
    shows="As Figure 1a for a prior that is not uniform: the regions end at -log 0.8 and -log 0.5.",
    printed="The optimal curve lies above randomized response; the dashed line is the entropy of X.",
)
def figure_1b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/2", "3/10", "1/5"),
    points: int = 120,
) -> Result:
    """The trade-off of mutual information and leakage for the prior (0.5, 0.3, 0.2)."""
    return _figure_1(Prior(prior), 16 if fast else points, "Prior (0.5, 0.3, 0.2)", progress)


def _corollary_1(size: int, epsilon: float) -> float:
    """log N minus the entropy of (e^ε/N, …, e^ε/N, rest), [EX] (12)."""
    top = math.exp(epsilon) / size
    full = int(1 / top + 1e-12)
    rest = max(1 - full * top, 0.0)
    entropy = -full * top * math.log(top) - (rest * math.log(rest) if rest > 1e-15 else 0.0)
    return math.log(size) - entropy


def _figure_1(prior: Prior, points: int, title: str, progress: Progress | None) -> Result:
    borders = prior.regions().tolist()
    grid = sorted({*np.linspace(0.0, prior.epsilon_max, points).tolist(), *borders, prior.epsilon_max})
    told = None if progress is None else lambda done, of: progress(done / of, f"{done} of {of} points")
    curve = tradeoff(prior, grid, progress=told)
    entropy = mutual_information(identity(prior.labels), prior)
    local = curve.ldp if curve.ldp is not None else np.full(len(grid), np.nan)
    rows: list[dict[str, Any]] = [
        {
            "epsilon": float(epsilon),
            "region": prior.region(float(epsilon)),
            "optimal": float(value),
            "bound": float(bound),
            "randomized_response": float(response),
            "ldp": None if math.isnan(ldp) else float(ldp),
            "entropy": entropy,
        }
        for epsilon, value, bound, response, ldp in zip(
            curve.epsilons, curve.values, curve.bounds, curve.randomized_response, local, strict=True
        )
    ]
    above = min(row["bound"] - row["randomized_response"] for row in rows)
    last = rows[-1]["optimal"]
    findings: list[Finding] = [
        stated("the optimum is nowhere below randomized response (least difference)", "≥ 0", above, above >= -_SAME),
        compared("the optimum at ε_max is the entropy of X (nats)", entropy, last, within=1e-9),
    ]
    return Result(rows, _figure_1_chart(rows, title, borders), findings)


def _figure_1_chart(rows: list[dict[str, Any]], title: str, borders: Sequence[float]) -> Spec:
    at = [row["epsilon"] for row in rows]
    series = {
        "optimal (ε-PML)": (at, [row["optimal"] for row in rows]),
        "randomized response": (at, [row["randomized_response"] for row in rows]),
        "entropy of X": (at, [row["entropy"] for row in rows]),
    }
    if all(row["ldp"] is not None for row in rows):
        series["optimal (ε-LDP)"] = (at, [row["ldp"] for row in rows])
    return lines(
        series,
        title=f"{title}: utility against leakage",
        x_title="leakage ε (nats)",
        y_title="mutual information (nats)",
        rules=[(border, f"ε_{k + 1}") for k, border in enumerate(borders[1:])],
    )
