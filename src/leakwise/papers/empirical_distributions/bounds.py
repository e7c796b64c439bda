"""[ED] Examples 1 and 2 and Figure 2: how much a wrong prior can cost, and the bound of Theorem 4."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, cloud, heatmap
from leakwise.leakage import epsilon as leakage_of
from leakwise.leakage import f_information, leakage_sensitivity, lipschitz_bound, pml, sensitivity_bound
from leakwise.mechanism import Mechanism, k_singular
from leakwise.optimize import design
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, stated
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["example_1", "example_2", "figure_2a", "figure_2b"]


EXAMPLE_MATRIX = (
    ("0.325", "0.225", "0.225", "0.225"),
    ("0.45", "0.1", "0.225", "0.225"),
    ("0.45", "0.225", "0.1", "0.225"),
    ("0.45", "0.225", "0.225", "0.1"),
)
EXAMPLE_PRIOR = ("2/5", "1/5", "1/5", "1/5")

# Utilities for which a mechanism that is optimal for all sub-convex functions must be optimal, too.
_UTILITIES = ("mutual_information", "total_variation", "chi_square", "hellinger")
# The certified bound of a design is this much above its value at most where the design is a closed form.
_CLOSED = 1e-9
_MOST_DRAWN = 2500


def _mechanism(matrix: Sequence[Sequence[str]]) -> Mechanism:
    return Mechanism([[Fraction(entry) for entry in row] for row in matrix])


def _prior(masses: Sequence[str]) -> Prior:
    return Prior([Fraction(mass) for mass in masses])


def _outcomes(mechanism: Mechanism, prior: Prior) -> list[dict[str, Any]]:
    law, leaks = prior.probabilities @ mechanism.matrix, pml(mechanism, prior)
    return [
        {
            "outcome": place + 1,
            "probability": float(law[place]),
            "largest_entry": float(mechanism.matrix[:, place].max()),
            "least_entry": float(mechanism.matrix[:, place].min()),
            "pml": float(leaks[place]),
        }
        for place in range(len(law))
    ]


def _optimality(mechanism: Mechanism, prior: Prior, lift: Fraction) -> Finding:
    """Whether no ε-PML mechanism beats it, for four sub-convex utilities at once."""
    short = max(
        design(prior, lift=lift, utility=name).bound - f_information(mechanism, prior, name) for name in _UTILITIES
    )
    return stated(
        "optimal for sub-convex utilities (largest shortfall from the proven optimum over four of them)",
        "optimal",
        f"{max(short, 0.0):.1e}",
        short <= _CLOSED,
        "a mechanism of larger utility with the same leakage exists",
    )


@exhibit(
    paper="ED",
    title="An extremal mechanism of the first privacy region",
    shows="The four-letter mechanism that is optimal for the prior (2/5, 1/5, 1/5, 1/5) at ε = log 9/8. Every outcome "
    "leaks exactly ε, and no entry is zero. Each row is one outcome.",
    printed="An optimal mechanism for sub-convex functions and ε = log 9/8, in the first privacy region.",
)
def example_1(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    matrix: Sequence[Sequence[str]] = EXAMPLE_MATRIX,
    prior: Sequence[str] = EXAMPLE_PRIOR,
    lift: str = "9/8",
) -> Result:
    """The leakage of each outcome, and whether the mechanism is optimal."""
    mechanism, known, asked = _mechanism(matrix), _prior(prior), Fraction(lift)
    rows = _outcomes(mechanism, known)
    leaks = [row["pml"] for row in rows]
    return Result(
        rows,
        _picture(mechanism, "The mechanism of [ED] Example 1"),
        [
            compared("the leakage", math.log(asked), leakage_of(mechanism, known), within=1e-12),
            compared(
                "the leakage of the outcome that leaks least (extremal)", math.log(asked), min(leaks), within=1e-9
            ),
            compared("the privacy region", 1, known.region(lift=asked), within=0),
            _optimality(mechanism, known, asked),
        ],
    )


@exhibit(
    paper="ED",
    title="k-singular mechanisms",
    shows="A doubly stochastic mechanism with entries 0 and 1/k. For the uniform prior each outcome narrows the secret "
    "down to k letters and leaks log N/k: no mechanism with that leakage says more. Each row is one k.",
    printed="k-singular mechanisms are optimal for the uniform distribution, with ε = log(N/k).",
)
def example_2(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    letters: int = 10,
    singular: Sequence[int] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
) -> Result:
    """Leakage and mutual information of k-singular mechanisms, and the proven optimum at that leakage."""
    uniform = Prior.uniform(letters)
    rows = []
    for k in singular:
        mechanism = k_singular(letters, k)
        rows.append(
            {
                "k": k,
                "epsilon": leakage_of(mechanism, uniform),
                "stated": math.log(letters / k),
                "mutual_information": f_information(mechanism, uniform, "mutual_information"),
                "optimum": design(uniform, lift=Fraction(letters, k)).bound,
            }
        )
    shown = k_singular(letters, 2)
    off = max(abs(row["epsilon"] - row["stated"]) for row in rows)
    short = max(row["optimum"] - row["mutual_information"] for row in rows)
    return Result(
        rows,
        _picture(shown, f"The 2-singular mechanism on {letters} letters"),
        [
            compared("ε = log(N/k) (largest difference)", 0.0, off, within=1e-9),
            compared("optimal for mutual information (largest shortfall)", 0.0, max(short, 0.0), within=_CLOSED),
        ],
    )


def _picture(mechanism: Mechanism, title: str) -> Spec:
    rows, columns = mechanism.shape
    return heatmap(
        [f"x{i + 1}" for i in range(rows)],
        [f"y{j + 1}" for j in range(columns)],
        mechanism.matrix,
        title=title,
        value_title="probability",
        row_title="letter",
        column_title="outcome",
    )


# ------------------------------------------------------------------------------------------------------- Figure 2

_SHOWS = (
    "Each grey dot is a random prior Q near the reference prior P: its l1 distance and how far the output law falls "
    "at some outcome, D∞(P_Y‖Q_Y). The curves are the bound of Theorem 4 and the exact supremum over the l1 ball, "
    "which we compute by sorting. How the paper drew its priors is not said; we move mass β/2 between two random "
    "laws, many of them on a single letter, so that the cloud reaches the bound."
)
_PRINTED = "10,000 random priors, all below the bound (6), which holds with equality for this mechanism."


@exhibit(
    paper="ED", title="The sensitivity bound for the mechanism of Example 1", shows=_SHOWS, printed=_PRINTED, seed=2
)
def figure_2a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    matrix: Sequence[Sequence[str]] = EXAMPLE_MATRIX,
    prior: Sequence[str] = EXAMPLE_PRIOR,
    draws: int = 10_000,
    seed: int = 2,
) -> Result:
    """Random priors, the bound of Theorem 4 and the exact sensitivity, first privacy region."""
    return _sensitivity(_mechanism(matrix), _prior(prior), 500 if fast else draws, seed, "Example 1", progress)


@exhibit(paper="ED", title="The sensitivity bound for a 2-singular mechanism", shows=_SHOWS, printed=_PRINTED, seed=3)
def figure_2b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    letters: int = 10,
    singular: int = 2,
    draws: int = 10_000,
    seed: int = 3,
) -> Result:
    """Random priors, the bound of Theorem 4 and the exact sensitivity of a k-singular mechanism."""
    name = f"the {singular}-singular mechanism, N = {letters}"
    mechanism = k_singular(letters, singular)
    return _sensitivity(mechanism, Prior.uniform(letters), 500 if fast else draws, seed, name, progress)


def random_priors(prior: Floats, most: float, count: int, rng: np.random.Generator) -> Floats:
    """Random priors within l1 distance ``most`` ≤ 2 min(prior): half the distance moved from one law to another."""
    half = rng.uniform(0.0, most / 2, size=(count, 1))
    # Few letters hold nearly everything in such a law: the corners of the ball are where the leakage is.
    gain, loss = rng.dirichlet(np.full(len(prior), 0.15), size=(2, count))
    moved: Floats = prior + half * (gain - loss)
    return moved


def _sensitivity(
    mechanism: Mechanism, prior: Prior, draws: int, seed: int, name: str, progress: Progress | None
) -> Result:
    lift = Fraction(math.exp(leakage_of(mechanism, prior))).limit_denominator(10**6)
    least = prior.least_probability
    first = prior.region(lift=lift) == 1
    law = prior.probabilities
    others = random_priors(law, float(2 * least), draws, np.random.default_rng(seed))
    distances = np.abs(others - law).sum(axis=1)
    falls = np.log((law @ mechanism.matrix) / (others @ mechanism.matrix)).max(axis=1)
    if progress is not None:
        progress(0.3, f"{draws:,} priors drawn")

    def bound(beta: object) -> float:
        return sensitivity_bound(lift=lift, beta=beta, least_probability=least if first else None)

    rows: list[dict[str, Any]] = [
        {"kind": "random", "beta": float(b), "divergence": float(d), "theorem_4": bound(float(b))}
        for b, d in zip(distances, falls, strict=True)
    ]
    grid = [2 * least * k / 20 for k in range(1, 21)]
    for beta in grid:
        ball = prior.ball(beta)
        rows.append(
            {
                "kind": "exact",
                "beta": float(beta),
                "divergence": leakage_sensitivity(mechanism, ball),
                "theorem_4": bound(beta),
                "theorem_3": lipschitz_bound(leakage_of(mechanism, ball), float(beta), as_printed=True),
            }
        )
    if progress is not None:
        progress(1.0, "exact curve done")
    return Result(rows, _cloud_chart(rows, name), _sensitivity_findings(rows))


def _cloud_chart(rows: list[dict[str, Any]], name: str) -> Spec:
    drawn = [row for row in rows if row["kind"] == "random"]
    shown = drawn[:: -(-len(drawn) // _MOST_DRAWN)]
    exact = [row for row in rows if row["kind"] == "exact"]
    at = [0.0, *(row["beta"] for row in exact)]
    return cloud(
        ([row["beta"] for row in shown], [row["divergence"] for row in shown]),
        {
            "bound of Theorem 4": (at, [0.0, *(row["theorem_4"] for row in exact)]),
            "exact, worst prior of the ball": (at, [0.0, *(row["divergence"] for row in exact)]),
        },
        name="random priors",
        title=f"Leakage sensitivity of {name}",
        x_title="l1 distance β",
        y_title="largest fall of the output law (nats)",
    )


def _sensitivity_findings(rows: list[dict[str, Any]]) -> list[Finding]:
    drawn = [row for row in rows if row["kind"] == "random"]
    exact = [row for row in rows if row["kind"] == "exact"]
    above = max(row["divergence"] - row["theorem_4"] for row in drawn)
    apart = max(abs(row["divergence"] - row["theorem_4"]) for row in exact)
    near = max(row["divergence"] / row["theorem_4"] for row in drawn if row["theorem_4"] > 1e-3)
    loose = min(row["theorem_3"] / row["theorem_4"] for row in exact)
    return [
        stated("no prior is above the bound (largest excess)", "none", f"{max(above, 0.0):.1e}", above <= 1e-12),
        compared("equality: the exact supremum is the bound (largest difference)", 0.0, apart, within=1e-9),
        stated("the random prior nearest to the bound reaches this share of it", None, near, near <= 1 + 1e-9),
        stated(
            "Theorem 3 (the Lipschitz bound) is this many times as large as the truth, at least",
            None,
            loose,
            loose >= 1,
        ),
    ]
