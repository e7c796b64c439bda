"""[EN] Figure 2 and the conjecture after Theorem 5: the envelope of k-ary randomized response, exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.charts.specs import lines
from leakwise.leakage import EnvelopeCurve, envelope, envelope_curve, ldp
from leakwise.mechanism import Mechanism, randomized_response
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, one_by_one, stated
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["figure_2a", "figure_2b", "figure_2c", "figure_2d", "four_level_prior", "theorem_5_conjecture"]


_SAME = 1e-9
_SHOWS = (
    "What k-ary randomized response with ε_r = 1 still guarantees with probability 1-δ after any post-processing, "
    "over δ: the upper bound and the lower bound h of Theorem 5, the binary envelope ε_b, the (ε, δ) of local "
    "differential privacy, and, as a further curve, the exact envelope, which the paper leaves open. "
)
_PRINTED = (
    "The upper bound, the lower bound, ε_b and ε_DP(δ) = max{log((α-δ)/β), 0}. The lower bound is conjectured to be "
    "the envelope: it is."
)


def four_level_prior(letters: int, rho: float) -> Prior:
    """The four-level prior of [EN]: p_i = m_r / k with m = (1-3ρ, 1-ρ, 1+ρ, 1+3ρ), r = ⌊4(i-1)/k⌋.

    >>> four_level_prior(4, 0.1).probabilities.round(3).tolist()
    [0.175, 0.225, 0.275, 0.325]
    """
    levels = (1 - 3 * rho, 1 - rho, 1 + rho, 1 + 3 * rho)
    return Prior([levels[4 * place // letters] / letters for place in range(letters)])


@exhibit(
    paper="EN", title="The envelope of 3-ary randomized response, prior (0.2, 0.3, 0.5)", shows=_SHOWS, printed=_PRINTED
)
def figure_2a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/5", "3/10", "1/2"),
    epsilon: float = 1.0,
    points: int = 400,
) -> Result:
    """The envelope and its bounds for k = 3."""
    return _figure_2(Prior(prior), epsilon, 40 if fast else points, progress)


@exhibit(
    paper="EN",
    title="The envelope of 5-ary randomized response, prior (0.1, 0.2, 0.2, 0.2, 0.3)",
    shows=_SHOWS,
    printed=_PRINTED,
)
def figure_2b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/10", "1/5", "1/5", "1/5", "3/10"),
    epsilon: float = 1.0,
    points: int = 400,
) -> Result:
    """The envelope and its bounds for k = 5."""
    return _figure_2(Prior(prior), epsilon, 40 if fast else points, progress)


@exhibit(
    paper="EN", title="The envelope of 12-ary randomized response, four-level prior", shows=_SHOWS, printed=_PRINTED
)
def figure_2c(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    letters: int = 12,
    rho: float = 0.1,
    epsilon: float = 1.0,
    points: int = 400,
) -> Result:
    """The envelope and its bounds for k = 12."""
    return _figure_2(four_level_prior(letters, rho), epsilon, 40 if fast else points, progress)


@exhibit(
    paper="EN",
    title="The envelope of 20-ary randomized response, four-level prior",
    shows=_SHOWS + "For the same kind of prior a larger k brings the bounds closer together.",
    printed=_PRINTED + " As k grows the gap between the bounds shrinks.",
)
def figure_2d(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    letters: int = 20,
    beside: int = 12,
    rho: float = 0.1,
    epsilon: float = 1.0,
    points: int = 400,
) -> Result:
    """The envelope and its bounds for k = 20, and their gap beside that of a smaller k."""
    prior = four_level_prior(letters, rho)
    result = _figure_2(prior, epsilon, 40 if fast else points, progress)
    gaps = [_mean_gap(_curve(one, epsilon), 40 if fast else points) for one in (four_level_prior(beside, rho), prior)]
    shrinks = stated(
        f"the mean gap between the bounds shrinks from k = {beside} to k = {letters} (nats)",
        "shrinks",
        f"from {gaps[0]:.4f} to {gaps[1]:.4f}",
        gaps[1] < gaps[0],
    )
    return Result(result.rows, result.chart, [*result.findings, shrinks])


def _curve(prior: Prior, epsilon: float) -> EnvelopeCurve:
    return envelope_curve(randomized_response(prior.labels, epsilon), prior)


def _mean_gap(curve: EnvelopeCurve, points: int) -> float:
    at = np.linspace(0.0, 1.0, points + 2)[1:-1]
    published = curve.published(at)
    assert published is not None
    return float(np.mean(curve.upper(at) - published))


def _figure_2(prior: Prior, epsilon: float, points: int, progress: Progress | None) -> Result:
    curve = _curve(prior, epsilon)
    mechanism = curve.mechanism
    alpha, beta = float(mechanism.matrix[0, 0]), float(mechanism.matrix[0, 1])
    law = np.sort(prior.probabilities @ mechanism.matrix)
    inside = curve.breakpoints[:, 0]
    inside = inside[(inside > 0) & (inside < 1)]
    at = np.unique(np.concatenate([np.linspace(0.0, 1.0, points + 2)[1:-1], inside]))
    published = curve.published(at)
    assert published is not None
    exact, upper, binary = np.asarray(curve(at)), curve.upper(at), curve.binary(at)
    rows: list[dict[str, Any]] = []
    for place, delta in enumerate(at.tolist()):
        rows.append(
            {
                "delta": delta,
                "envelope": float(exact[place]),
                "upper": float(upper[place]),
                "lower": float(published[place]),
                "binary": float(binary[place]),
                "dp": ldp(mechanism, delta),
                "condition": _condition(np.sort(prior.probabilities), law, alpha, beta, delta),
            }
        )
        if progress is not None:
            progress((place + 1) / len(at), f"δ = {delta:.3f}")
    chart = lines(
        {
            name: (at, [row[column] for row in rows])
            for name, column in (
                ("exact envelope", "envelope"),
                ("upper bound (Theorem 5)", "upper"),
                ("lower bound h (Theorem 5)", "lower"),
                ("binary envelope ε_b", "binary"),
                ("(ε, δ)-LDP", "dp"),
            )
        },
        title=f"{len(prior)}-ary randomized response, ε_r = {epsilon:g}",
        x_title="δ, the probability given up",
        y_title="ε (nats)",
        rules=[(float(law[0]), "q_1")],
    )
    return Result(rows, chart, _figure_2_findings(rows, law, alpha, beta))


def _condition(p: Floats, q: Floats, alpha: float, beta: float, delta: float) -> bool:
    """The condition of Theorem 5 on the prior, p and q ascending, for the N that belongs to δ."""
    count = min(int(np.searchsorted(np.cumsum(q), delta * (1 - 1e-15))) + 1, len(q))
    if count == 1:
        return True
    allowed = (alpha * p[: count - 1].sum() + beta) / ((count - 2) * alpha + beta)
    return bool(p[count - 1] <= allowed * (1 + 1e-12))


def _figure_2_findings(rows: list[dict[str, Any]], law: Floats, alpha: float, beta: float) -> list[Finding]:
    under = [row for row in rows if row["condition"]]
    away = max(abs(row["envelope"] - row["lower"]) for row in under)
    slack = min(min(row["upper"] - row["envelope"], row["envelope"] - row["lower"]) for row in rows)
    first = [row for row in rows if row["delta"] <= law[0]]
    start = max(abs(row["envelope"] - math.log(alpha / law[0])) for row in first)
    formula = max(abs(row["dp"] - max(math.log(max(alpha - row["delta"], beta) / beta), 0.0)) for row in rows)
    loose = max(row["envelope"] - row["binary"] for row in rows)
    # N = 2 and θ up to θ_2, where a two-valued post-processing is as good as any.
    until = law[0] + alpha * (law[1] - law[0]) / (alpha - beta)
    overlap = [
        abs(row["binary"] - row["lower"]) for row in rows if law[0] < row["delta"] <= min(until, law[0] + law[1])
    ]
    return [
        stated("the envelope lies between the bounds (least distance, nats)", "≥ 0", slack, slack >= -_SAME),
        compared("h is the envelope where its condition holds (largest difference, nats)", 0.0, away, within=_SAME),
        stated(
            "the condition of Theorem 5 holds for every δ here",
            "yes",
            "yes" if len(under) == len(rows) else f"for {len(under)} of {len(rows)} δ",
            len(under) == len(rows),
        ),
        compared("ε_c(δ) = log(α/q_1) for δ ≤ q_1 (largest difference, nats)", 0.0, start, within=_SAME),
        compared("ε_DP(δ) = max{log((α-δ)/β), 0} (largest difference, nats)", 0.0, formula, within=1e-8),
        compared(
            "ε_b overlaps with h just above q_1, for N = 2 and θ ≤ θ_2 (largest difference, nats)",
            0.0,
            max(overlap, default=0.0),
            within=_SAME,
        ),
        stated("the binary envelope falls short of ε_c by up to (nats)", None, loose, True),
    ]


# -------------------------------------------------------------------------------------------------- the conjecture


@exhibit(
    paper="EN",
    number="Conjecture after Theorem 5",
    title="The lower bound of Theorem 5 against the exact envelope, random instances",
    shows="Randomized response with random k, ε_r, prior and δ. For each k: how often the condition of Theorem 5 "
    "holds; the largest difference between its lower bound h and the exact envelope there (the conjecture says none); "
    "how far h falls short where the condition does not hold, as a factor; and the largest difference between the "
    "closed form of the envelope, which proves the conjecture, and the linear program, which knows nothing of it.",
    printed='"We conjecture that under this condition h_δ coincides with ε_c." No numbers.',
    seed=5,
)
def theorem_5_conjecture(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    letters: Sequence[int] = (3, 4, 5, 8, 12, 20),
    instances: int = 300,
    seed: int = 5,
) -> Result:
    """Random instances of randomized response: h of Theorem 5, the closed form and the linear program."""
    many = 10 if fast else instances
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for k in one_by_one(letters, progress, "k = {}"):
        found = [_instance(k, rng) for _ in range(many)]
        under = [one for one in found if one["condition"]]
        other = [one for one in found if not one["condition"]]
        rows.append(
            {
                "k": k,
                "instances": many,
                "condition_holds": len(under),
                "largest_difference_under_condition": max((abs(o["exact"] - o["h"]) for o in under), default=None),
                "condition_fails": len(other),
                "h_below_envelope": sum(o["exact"] - o["h"] > _SAME for o in other),
                "largest_factor": max((math.exp(o["exact"] - o["h"]) for o in other), default=None),
                "closed_form_against_program": max(abs(o["exact"] - o["program"]) for o in found),
            }
        )
    conjecture = max((row["largest_difference_under_condition"] or 0.0) for row in rows)
    programs = max(row["closed_form_against_program"] for row in rows)
    return Result(
        rows,
        None,
        [
            compared("h = ε_c under the condition (largest difference, nats)", 0.0, conjecture, within=_SAME),
            compared("closed form against linear program (largest difference, nats)", 0.0, programs, within=1e-7),
            stated(
                "without the condition h is still a lower bound, too small by a factor of up to",
                "not said",
                max((row["largest_factor"] or 1.0) for row in rows),
                True,
            ),
        ],
    )


def _instance(k: int, rng: np.random.Generator) -> dict[str, Any]:
    concentration = float(rng.choice([0.3, 1.0, 5.0]))
    masses = rng.dirichlet(np.full(k, concentration)) + 1e-6
    prior = Prior((masses / masses.sum()).tolist())
    mechanism: Mechanism = randomized_response(prior.labels, float(rng.uniform(0.2, 4.0)))
    delta = float(rng.uniform(0.01, 0.99))
    closed = envelope(mechanism, prior, delta)
    matrix = mechanism.matrix
    p = np.sort(prior.probabilities)
    alpha, beta = float(matrix[0, 0]), float(matrix[0, 1])
    law = beta + (alpha - beta) * p
    assert closed.published is not None
    return {
        "exact": closed.epsilon,
        "h": closed.published,
        "program": envelope(mechanism, prior, delta, method="primal").epsilon,
        "condition": _condition(p, law, alpha, beta, delta),
    }
