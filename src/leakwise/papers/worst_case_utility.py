"""[WC] worst-case utility: its example and its three figures, with the true optimum beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from leakwise.charts.specs import lines
from leakwise.leakage import epsilon as leakage_of
from leakwise.mechanism import Mechanism, exponential, identity, randomized_response
from leakwise.optimize import distance_utility, utility_safe, worst_case_curve
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, further, one_by_one, stated
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["example_1", "figure_1", "figure_2", "figure_3"]


EXAMPLE_ORDER = ((3, 2, 1), (1, 3, 2), (2, 1, 3))
"""The utility order (8)."""

CIRCULAR_ORDER = ((4, 3, 2, 1), (1, 4, 3, 2), (2, 1, 4, 3), (3, 2, 1, 4))
"""The utility order (13)."""

_SAME = 1e-9


@exhibit(
    paper="WC",
    title="Leaving out an output can lower the leakage",
    shows="Three letters, three outputs, and for each letter one output that must not be given. The utility-safe "
    "mechanism uses all three outputs. Where one letter holds more than half of the mass it is better to give up an "
    "output: the mechanism (9) does so. Each row is one prior with the heaviest letter first: the leakage of the "
    "utility-safe mechanism, of (9), and the least leakage that any mechanism on the mask can have, with its proof.",
    printed="(9) is optimal from ε = log 2 on where P(x2) + P(x3) ≤ 1/2; otherwise the utility-safe mechanism M*(2) "
    "is optimal, with ε = -log(P(x2) + P(x3)).",
)
def example_1(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    order: Sequence[Sequence[int]] = EXAMPLE_ORDER,
    priors: Sequence[Sequence[float]] = (
        (0.8, 0.1, 0.1),
        (0.7, 0.2, 0.1),
        (0.6, 0.3, 0.1),
        (0.5, 0.25, 0.25),
        (0.45, 0.35, 0.2),
        (0.4, 0.3, 0.3),
        (0.34, 0.33, 0.33),
    ),
) -> Result:
    """The least leakage of [WC] Example 1 for several priors, beside the utility-safe mechanism and the printed (9)."""
    rows: list[dict[str, Any]] = []
    for masses in priors:
        prior = Prior(masses)
        safe = utility_safe(prior, order, 2, by="order")
        first, second, third = prior.fractions
        heavy = 2 * first >= 1
        printed: float | None = None
        if heavy:
            shown = Mechanism(
                [[(1 - 2 * third) / (2 * first), (1 - 2 * second) / (2 * first), 0], [0, 1, 0], [1, 0, 0]],
                inputs=prior.labels,
            )
            printed = leakage_of(shown, prior)
        rows.append(
            {
                "p1": masses[0],
                "p2": masses[1],
                "p3": masses[2],
                "utility_safe": safe.epsilon,
                "mechanism_9": printed,
                "least": safe.least.epsilon,
                "stated": math.log(2) if heavy else -math.log(float(second + third)),
            }
        )
    worst = max(abs(row["least"] - row["stated"]) for row in rows)
    attained = all(row["mechanism_9"] is None or abs(row["mechanism_9"] - row["least"]) <= _SAME for row in rows)
    return Result(
        rows,
        None,
        [
            compared("the stated optimum is the least leakage (largest difference)", 0.0, worst, within=_SAME),
            stated(
                "the mechanism (9) attains it where P(x2) + P(x3) ≤ 1/2",
                "attained",
                "attained" if attained else "not attained",
                attained,
            ),
        ],
    )


# ------------------------------------------------------------------------------------------------------ Figure 1


@exhibit(
    paper="WC",
    title="The worst utility value in a counting query",
    shows="A count of six records is released; the loss is quadratic, and one more where the released value is too "
    "low. For each ε the paper draws a thousand pairs and plots the least utility value seen, for the utility-safe "
    "mechanism (S), the exponential mechanism (E) and randomized response (R). We add what can happen at all (not "
    "only what was seen) and, as a further curve, the best worst-case utility that any ε-PML mechanism keeps: "
    "the exact optimum.",
    printed="S jumps at ε = 0.85, 1.30 and 1.95 (the first grid points above log 7/3, log 7/2 and log 7); E and R do "
    "not improve with ε.",
    seed=20260519,
)
def figure_1(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    letters: int = 7,
    epsilons: Sequence[float] = tuple(round(0.5 + 0.05 * k, 2) for k in range(31)),
    draws: int = 1000,
    seed: int = 20260519,
) -> Result:
    """The least utility value at each ε: of the utility-safe, exponential and randomized response mechanisms, and the
    exact optimum.
    """
    prior = Prior.uniform(range(letters))
    utility = distance_utility(list(range(letters)), power=2, below=1)
    by_order = worst_case_curve(prior, utility, by="order")
    by_value = worst_case_curve(prior, utility, by="value")
    safe: dict[float, Mechanism] = {
        level: utility_safe(prior, utility, level, by="order").mechanism for level in by_order.levels.tolist()
    }
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for epsilon in one_by_one(epsilons, progress, "ε = {:g}"):
        within = by_order.levels[by_order.utility_safe <= epsilon + _SAME]
        mechanisms = {
            "utility_safe": safe[float(within[-1])],
            "exponential": _exponential(prior, utility, epsilon),
            "randomized_response": randomized_response(prior.labels, pml=epsilon, prior=prior),
        }
        row: dict[str, Any] = {"epsilon": epsilon}
        for name, mechanism in mechanisms.items():
            row[f"{name}_seen"] = _least_seen(prior, mechanism, utility, draws, rng)
            row[f"{name}_possible"] = float(utility[mechanism.matrix > 0].min())
        row["optimum"] = by_value.best_level(epsilon)
        row["optimum_order"] = by_order.best_level(epsilon)
        row["utility_safe_order"] = float(within[-1])
        rows.append(row)
    return Result(rows, _figure_1_chart(rows), _figure_1_findings(rows, prior))


def _exponential(prior: Prior, utility: Floats, epsilon: float) -> Mechanism:
    """exp(u ε̄ / 74) with ε̄ of Proposition 1; from -log π_min on every mechanism is ε-PML, and the best answer is given.

    74 is twice the largest difference within a column of the utility, which is what `exponential` takes by itself.
    """
    least = float(prior.least_probability)
    rest = math.exp(-epsilon) - least
    if rest <= 0:
        return identity(prior.labels)
    return exponential(utility, epsilon=-math.log(rest / (1 - least)), inputs=prior.labels, outputs=prior.labels)


def _least_seen(prior: Prior, mechanism: Mechanism, utility: Floats, draws: int, rng: np.random.Generator) -> float:
    joint = prior.probabilities[:, None] * mechanism.matrix
    counts = rng.multinomial(draws, (joint / joint.sum()).ravel()).reshape(joint.shape)
    return float(utility[counts > 0].min())


def _jumps(rows: Sequence[dict[str, Any]], column: str) -> list[float]:
    return [b["epsilon"] for a, b in pairwise(rows) if b[column] > a[column]]


def _figure_1_findings(rows: list[dict[str, Any]], prior: Prior) -> list[Finding]:
    findings = []
    found = _jumps(rows, "utility_safe_possible")
    printed = "0.85, 1.3, 1.95"
    ours = ", ".join(f"{epsilon:g}" for epsilon in found)
    findings.append(stated("the worst utility of S jumps at these ε of the grid", printed, ours, ours == printed))
    below = [row for row in rows if row["epsilon"] < prior.epsilon_max]
    flat = {row[f"{name}_possible"] for row in below for name in ("exponential", "randomized_response")}
    findings.append(
        compared("the worst utility of E and R below ε = log 7", -37.0, max(flat, default=-37.0), within=0.0)
    )
    beyond = [row["randomized_response_possible"] for row in rows if row["epsilon"] >= prior.epsilon_max]
    if beyond:
        findings.append(
            further(
                "the worst utility of E and R from ε = log 7 on, where Proposition 1 has no ε̄",
                "not said which ε̄ is taken",
                max(beyond),
                "every mechanism is ε-PML there: we take the identity",
            )
        )
    first = rows[0]
    findings.append(
        further(
            f"the worst-case utility at ε = {first['epsilon']:g}: utility-safe, and the best possible",
            first["utility_safe_possible"],
            first["optimum"],
            "the utility-safe mechanism must use every output; a constant answer (3) leaks nothing and is never worse "
            "than -10",
        )
    )
    return findings


def _figure_1_chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    at = [row["epsilon"] for row in rows]
    return lines(
        {
            "exact optimum": (at, [row["optimum"] for row in rows]),
            "utility-safe (S), seen": (at, [row["utility_safe_seen"] for row in rows]),
            "exponential (E), seen": (at, [row["exponential_seen"] for row in rows]),
            "randomized response (R), seen": (at, [row["randomized_response_seen"] for row in rows]),
        },
        title="Worst utility value of a counting query",
        x_title="leakage ε (nats)",
        y_title="worst-case utility value",
        step=True,
        rules=[(math.log(7 / 3), "log 7/3"), (math.log(7 / 2), "log 7/2"), (math.log(7), "log 7")],
    )


# ------------------------------------------------------------------------------------------------ Figures 2 and 3

_GRID = tuple(round(0.02 * k, 2) for k in range(1, 11))


@exhibit(
    paper="WC",
    title="Least leakage when one letter is rare",
    shows="The utility order (13) on four letters; one letter has mass p_min, the other three share the rest. For h* "
    "= 2 and h* = 3: the leakage of the utility-safe mechanism (S) and the least leakage of any mechanism (O), which "
    "we compute exactly, with a certificate for each point.",
    printed="S and O coincide everywhere: the utility-safe mechanism is optimal for this pattern of priors.",
)
def figure_2(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    order: Sequence[Sequence[int]] = CIRCULAR_ORDER,
    least_masses: Sequence[float] = _GRID,
    levels: Sequence[int] = (2, 3),
) -> Result:
    """Utility-safe and least leakage over p_min, one letter rare."""
    rows = _optimality(order, least_masses, levels, lambda p: [p, *[(1 - p) / 3] * 3], progress)
    worst = max(row[f"safe_h{h}"] - row[f"least_h{h}"] for row in rows for h in levels)
    return Result(
        rows,
        _optimality_chart(rows, levels, "Least leakage, one letter rare"),
        [compared("largest difference between S and O", 0.0, worst, within=_SAME)],
    )


@exhibit(
    paper="WC",
    title="Least leakage when three letters are rare",
    shows="As Figure 2, with three letters of mass p_min and one that holds the rest. For h* = 2 it is better to "
    "leave out the output that the frequent letter may not give: the least leakage is min(log 1.5, -log 3 p_min), "
    "which does not grow as the prior concentrates, while that of the utility-safe mechanism does.",
    printed="For h* = 3 S and O coincide; for h* = 2 S is not optimal, and the difference grows as the prior "
    "concentrates on one letter.",
)
def figure_3(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    order: Sequence[Sequence[int]] = CIRCULAR_ORDER,
    least_masses: Sequence[float] = _GRID,
    levels: Sequence[int] = (2, 3),
) -> Result:
    """Utility-safe and least leakage over p_min, three letters rare."""
    rows = _optimality(order, least_masses, levels, lambda p: [1 - 3 * p, p, p, p], progress)
    findings = []
    if 3 in levels:
        high = max(row["safe_h3"] - row["least_h3"] for row in rows)
        findings.append(compared("largest difference between S and O for h* = 3", 0.0, high, within=_SAME))
    if 2 in levels:
        formula = max(abs(row["least_h2"] - min(math.log(1.5), -math.log(3 * row["p_min"]))) for row in rows)
        gaps = [row["safe_h2"] - row["least_h2"] for row in rows]
        grows = all(a > b for a, b in pairwise(gaps))
        findings.append(
            stated(
                "for h* = 2 the difference grows as the prior concentrates",
                "grows",
                f"from {gaps[-1]:.4f} to {gaps[0]:.4f}" if grows else "does not grow",
                grows,
            )
        )
        findings.append(
            stated(
                "the least leakage for h* = 2 is min(log 1.5, -log 3 p_min) (largest difference)",
                None,
                formula,
                formula <= _SAME,
            )
        )
    return Result(rows, _optimality_chart(rows, levels, "Least leakage, three letters rare"), findings)


def _optimality(
    order: Sequence[Sequence[int]],
    least_masses: Sequence[float],
    levels: Sequence[int],
    masses: Any,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    rows = []
    for p in one_by_one(least_masses, progress, "p_min = {:g}"):
        prior = Prior(masses(p))
        row: dict[str, Any] = {"p_min": p}
        for level in levels:
            safe = utility_safe(prior, order, level, by="order")
            row[f"safe_h{level}"] = safe.epsilon
            row[f"least_h{level}"] = safe.least.epsilon
            row[f"proven_h{level}"] = safe.least.lower
        rows.append(row)
    return rows


def _optimality_chart(rows: list[dict[str, Any]], levels: Sequence[int], title: str) -> dict[str, Any]:
    at = [row["p_min"] for row in rows]
    series = {}
    for level in sorted(levels, reverse=True):
        series[f"h* = {level}, utility-safe (S)"] = (at, [row[f"safe_h{level}"] for row in rows])
        series[f"h* = {level}, least (O)"] = (at, [row[f"least_h{level}"] for row in rows])
    return lines(series, title=title, x_title="p_min", y_title="leakage ε (nats)")
