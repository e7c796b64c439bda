"""[EX] Figures 2 and 3: what a thousand released letters show, beside the exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, lines
from leakwise.leakage import mutual_information
from leakwise.mechanism import Mechanism, randomized_response
from leakwise.papers.exhibit import Finding, Progress, Result, exhibit, one_by_one, stated
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["binary_mechanism", "figure_2a", "figure_2b", "figure_3a", "figure_3b", "high_privacy_mechanism"]

Measure = Callable[[Floats], float]

_BINARY = (0.55, 0.45)
_FIVE = (0.3, 0.2, 0.2, 0.2, 0.1)
_SEED = 20241003


def binary_mechanism(prior: Prior, epsilon: float) -> Mechanism:
    """The optimal mechanism (10) for two letters, the likelier one first, its columns as printed."""
    first, second = prior.probabilities.tolist()
    t = math.exp(epsilon)
    if first * t < 1:
        matrix = [[t * second, 1 - t * second], [1 - t * first, t * first]]
    else:
        shown = (t - 1) / (t * first)
        matrix = [[min(shown, 1.0), max(1 - shown, 0.0)], [0.0, 1.0]]
    return Mechanism(matrix, inputs=prior.labels)


def high_privacy_mechanism(prior: Prior, epsilon: float) -> Mechanism:
    """The optimal mechanism of Theorem 3, its columns as printed; for ε up to ε_1."""
    pi, t = prior.probabilities, math.exp(epsilon)
    matrix = np.tile(t * pi, (len(pi), 1))
    np.fill_diagonal(matrix, np.maximum(1 - t * (1 - pi), 0.0))
    return Mechanism(matrix / matrix.sum(axis=1, keepdims=True), inputs=prior.labels)


# -------------------------------------------------------------------------------------------- what is measured


def information(joint: Floats) -> float:
    """Mutual information of a joint law or of a table of counts, normalised by its sum."""
    law = joint / joint.sum()
    independent = law.sum(axis=1, keepdims=True) * law.sum(axis=0)
    there = law > 0
    return max(0.0, float((law[there] * np.log(law[there] / independent[there])).sum()))


def correlation(joint: Floats) -> float:
    """Pearson's coefficient of the numbers 1..N that name the letters; 0 where one side is constant."""
    law = joint / joint.sum()
    x, y = (np.arange(1, size + 1) for size in law.shape)
    rows, columns = law.sum(axis=1), law.sum(axis=0)
    mean_x, mean_y = rows @ x, columns @ y
    spread = math.sqrt((rows @ (x - mean_x) ** 2) * (columns @ (y - mean_y) ** 2))
    return float((x - mean_x) @ law @ (y - mean_y)) / spread if spread > 1e-15 else 0.0


# -------------------------------------------------------------------------------------------------- Figures 2, 3


@exhibit(
    paper="EX",
    title="Empirical mutual information of the binary mechanism",
    shows="A thousand letters are drawn from (0.55, 0.45) and released through the optimal binary mechanism (10), and "
    "through randomized response with the same PML; ten times for each ε. The line is the mean of the ten, the band "
    "their range; we add the exact value.",
    printed="A clear increase in utility for the mechanism that is optimal for PML.",
    seed=_SEED,
)
def figure_2a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[float] = _BINARY,
    step: float = 0.005,
    samples: int = 1000,
    repetitions: int = 10,
    seed: int = _SEED,
) -> Result:
    """Empirical mutual information of the binary mechanism and of randomized response."""
    known = Prior(prior)
    end = known.epsilon_max
    return _simulated(known, end, step, samples, repetitions, seed, binary_mechanism, information, fast, progress)


@exhibit(
    paper="EX",
    title="Empirical mutual information of the high-privacy mechanism",
    shows="As Figure 2a for five letters with the prior (0.3, 0.2, 0.2, 0.2, 0.1), the mechanism of Theorem 3, and ε "
    "up to ε_1 = -log 0.9. The caption calls the mechanism (7), which is the leakage of randomized response. An "
    "empirical mutual information is too large by about (N-1)²/2n: the band of randomized response shows "
    "hardly more than that.",
    printed="A clear increase in utility for the mechanism that is optimal for PML.",
    seed=_SEED,
)
def figure_2b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[float] = _FIVE,
    step: float = 0.0005,
    samples: int = 1000,
    repetitions: int = 10,
    seed: int = _SEED,
) -> Result:
    """Empirical mutual information of the high-privacy mechanism and of randomized response."""
    known = Prior(prior)
    end = float(known.regions()[1])
    result = _simulated(
        known, end, step, samples, repetitions, seed, high_privacy_mechanism, information, fast, progress
    )
    bias = (len(known) - 1) ** 2 / (2 * samples)
    first = result.rows[0]
    seen = (float(first["optimal_mean"]) + float(first["response_mean"])) / 2  # type: ignore[arg-type]
    return Result(
        result.rows,
        result.chart,
        [
            *result.findings,
            stated(
                f"empirical mutual information at ε = 0, where the truth is 0: about (N-1)²/2n = {bias:g} (nats)",
                None,
                seen,
                True,
            ),
        ],
    )


@exhibit(
    paper="EX",
    title="Empirical correlation of the binary mechanism",
    shows="As Figure 2a with Pearson's coefficient of correlation, letters and outputs numbered 1 and 2. It is no "
    "sub-convex utility.",
    printed="The mechanism that is optimal for PML increases the correlation compared with randomized response.",
    seed=_SEED,
)
def figure_3a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[float] = _BINARY,
    step: float = 0.005,
    samples: int = 1000,
    repetitions: int = 10,
    seed: int = _SEED,
) -> Result:
    """Empirical correlation of the binary mechanism and of randomized response."""
    known = Prior(prior)
    end = known.epsilon_max
    return _simulated(known, end, step, samples, repetitions, seed, binary_mechanism, correlation, fast, progress)


@exhibit(
    paper="EX",
    title="Empirical correlation of the high-privacy mechanism",
    shows="As Figure 2b with Pearson's coefficient. The mechanism of Theorem 3 gives a letter's own output less often "
    "than the others; its outputs are numbered backwards here, which the paper allows (a mechanism stands for all that "
    "differ from it in the order of the columns). The correlation is then exactly e^ε - 1; with the columns as in "
    "Theorem 3 it has the other sign.",
    printed="The mechanism that is optimal for PML increases the correlation compared with randomized response.",
    seed=_SEED,
)
def figure_3b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[float] = _FIVE,
    step: float = 0.0005,
    samples: int = 1000,
    repetitions: int = 10,
    seed: int = _SEED,
) -> Result:
    """Empirical correlation of the high-privacy mechanism and of randomized response."""
    known = Prior(prior)
    end = float(known.regions()[1])
    result = _simulated(known, end, step, samples, repetitions, seed, _numbered_backwards, correlation, fast, progress)
    last = result.rows[-1]
    exact, response = float(last["optimal_exact"]), float(last["response_exact"])  # type: ignore[arg-type]
    return Result(
        result.rows,
        result.chart,
        [
            *result.findings,
            stated(
                "the correlation of Theorem 3's mechanism at the largest ε, outputs numbered backwards",
                "above randomized response",
                exact,
                exact > response,
            ),
        ],
    )


def _numbered_backwards(prior: Prior, epsilon: float) -> Mechanism:
    """Theorem 3's mechanism with its last column first."""
    return Mechanism(high_privacy_mechanism(prior, epsilon).matrix[:, ::-1], inputs=prior.labels)


def _simulated(
    prior: Prior,
    end: float,
    step: float,
    samples: int,
    repetitions: int,
    seed: int,
    mechanism: Callable[[Prior, float], Mechanism],
    measure: Measure,
    fast: bool,
    progress: Progress | None,
) -> Result:
    if fast:
        step, repetitions = 10 * step, 4
    grid = [k * step for k in range(int(end / step) + 1) if k * step < end]
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for epsilon in one_by_one(grid, progress, "ε = {:.4f}"):
        row: dict[str, Any] = {"epsilon": epsilon}
        released = {
            "optimal": mechanism(prior, epsilon),
            "response": randomized_response(prior.labels, pml=epsilon, prior=prior),
        }
        for name, made in released.items():
            joint = prior.probabilities[:, None] * made.matrix
            law = (joint / joint.sum()).ravel()
            counts = rng.multinomial(samples, law, size=repetitions).reshape(repetitions, *joint.shape)
            seen = [measure(table.astype(np.float64)) for table in counts]
            row |= {
                f"{name}_mean": float(np.mean(seen)),
                f"{name}_least": min(seen),
                f"{name}_most": max(seen),
                # The public function is exact about zeros; the two agree where both are defined.
                f"{name}_exact": mutual_information(made, prior) if measure is information else measure(joint),
            }
        rows.append(row)
    what = "mutual information (nats)" if measure is information else "correlation"
    return Result(rows, _chart(rows, f"Empirical {what}", what), _findings(rows, what))


def _findings(rows: list[dict[str, Any]], what: str) -> list[Finding]:
    later = rows[len(rows) // 4 :]
    exact = min(abs(row["optimal_exact"]) - abs(row["response_exact"]) for row in rows)
    won = sum(abs(row["optimal_mean"]) > abs(row["response_mean"]) for row in later) / len(later)
    return [
        stated(
            f"exact {what}: optimal minus randomized response, in size, is never negative (least)",
            "≥ 0",
            exact,
            exact >= -1e-12,
        ),
        stated(
            "share of the grid (its upper three quarters) where the mean of the optimal mechanism is above",
            "a clear increase",
            won,
            won > 0.5,
        ),
    ]


def _chart(rows: list[dict[str, Any]], title: str, what: str) -> Spec:
    at = [row["epsilon"] for row in rows]
    names = {"optimal": "optimal, mean of the experiments", "response": "randomized response, mean"}
    series = {label: (at, [row[f"{name}_mean"] for row in rows]) for name, label in names.items()}
    series |= {
        f"{'optimal' if name == 'optimal' else 'randomized response'}, exact": (
            at,
            [row[f"{name}_exact"] for row in rows],
        )
        for name in names
    }
    bands = {
        label: (at, [row[f"{name}_least"] for row in rows], [row[f"{name}_most"] for row in rows])
        for name, label in names.items()
    }
    return lines(series, title=title, x_title="leakage ε (nats)", y_title=what, bands=bands)
