"""[ED] Figures 6 and 7: binary Gaussian noise around an estimate, as printed and as it can be promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, lines
from leakwise.noise import Gaussian
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, further, one_by_one, stated
from leakwise.priors import Prior

__all__ = ["figure_6a", "figure_6b", "figure_7"]

VALUES = (-1, 1)
_GRID = tuple(round(0.04 * k, 2) for k in range(1, 41))
_LEAST_DRAWN = 1e-8
_SMALL = 0.01

_SHOWS = (
    "Gaussian noise on a secret ±1 whose prior is estimated from m samples. For each ε: the probability δ₁ that an "
    "outcome leaks more than ε, for the worst prior of the l1 ball of failure δ₂ (closed in on from both sides, not "
    "sampled on a grid), and δ* = δ₁ + δ₂ - δ₁δ₂. The paper plots δ* over ε* = ε - log(1 - βe^ε/2). Since δ₁ is "
    'already the supremum over the ball, ε itself holds: the further curves, "tight". The m of the figure are not in '
    "its text, but for 100."
)
_PRINTED = (
    "δ₂ = 1e-6; the (ε*, δ*) curves lie below that of probabilistic LDP at the same σ; the floor δ* ≥ δ₂ is visible "
    "for all m but 100."
)


@exhibit(paper="ED", title="Gaussian noise around a uniform estimate, σ = 1.5", shows=_SHOWS, printed=_PRINTED)
def figure_6a(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    estimate: Sequence[float] = (0.5, 0.5),
    sigma: float = 1.5,
    samples: Sequence[int] = (100, 1_000, 10_000),
    failure: float = 1e-6,
    epsilons: Sequence[float] = _GRID,
) -> Result:
    """(ε*, δ*) as printed, the tight (ε, δ*), and probabilistic LDP, at σ = 1.5."""
    return _curves(estimate, sigma, samples, failure, epsilons, fast, progress)


@exhibit(paper="ED", title="Gaussian noise around a uniform estimate, σ = 2", shows=_SHOWS, printed=_PRINTED)
def figure_6b(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    estimate: Sequence[float] = (0.5, 0.5),
    sigma: float = 2.0,
    samples: Sequence[int] = (100, 1_000, 10_000),
    failure: float = 1e-6,
    epsilons: Sequence[float] = _GRID,
) -> Result:
    """(ε*, δ*) as printed, the tight (ε, δ*), and probabilistic LDP, at σ = 2."""
    return _curves(estimate, sigma, samples, failure, epsilons, fast, progress)


@exhibit(
    paper="ED",
    title="Gaussian noise around a skewed estimate",
    shows=_SHOWS,
    printed="As Figure 6a with the estimate (0.3, 0.7): the more skewed the prior, the smaller the gain over LDP.",
)
def figure_7(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    estimate: Sequence[float] = (0.3, 0.7),
    sigma: float = 1.5,
    samples: Sequence[int] = (100, 1_000, 10_000),
    failure: float = 1e-6,
    epsilons: Sequence[float] = _GRID,
) -> Result:
    """(ε*, δ*) as printed, the tight (ε, δ*), and probabilistic LDP, for a skewed estimate."""
    result = _curves(estimate, sigma, samples, failure, epsilons, fast, progress)
    skewed = _of(result, max(samples))
    even = _guarantees((0.5, 0.5), sigma, max(samples), failure, [row["epsilon"] for row in skewed])
    here, there = (_reached(rows, _SMALL) for rows in (skewed, even))
    less = sum(row["delta"] < other["delta"] for row, other in zip(skewed, even, strict=True))
    skew = stated(
        f"the gain shrinks as the prior becomes skewed: the ε from which δ* ≤ {_SMALL:g}, m = {max(samples):,}",
        "larger than for (0.5, 0.5)",
        f"{here:g}, and {there:g} for (0.5, 0.5); at {less} of {len(even)} ε, all with a large δ*, it is the other way",
        here > there,
    )
    return Result(result.rows, result.chart, [*result.findings, skew])


def _reached(rows: Sequence[dict[str, Any]], delta: float) -> float:
    """The least ε of the grid from which on δ* is at most that."""
    return min((row["epsilon"] for row in rows if row["delta"] <= delta), default=math.inf)


def _of(result: Result, m: int) -> list[dict[str, Any]]:
    return [dict(row) for row in result.rows if row["m"] == m]


def _guarantees(
    estimate: Sequence[float], sigma: float, m: int, failure: float, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    counts = [round(share * m) for share in estimate]
    ball = Prior.from_counts(dict(zip(VALUES, counts, strict=True))).confidence(failure)
    noise = Gaussian(VALUES, sigma)
    rows = []
    for epsilon in epsilons:
        found = noise.guarantee(ball, epsilon)
        printed = found.printed_epsilon
        rows.append(
            {
                "m": m,
                "epsilon": epsilon,
                "delta_outcomes": found.outcome_delta,
                "delta": found.delta,
                "printed_epsilon": printed if printed is not None and math.isfinite(printed) else None,
                "pldp_delta": noise.pldp_delta(epsilon),
                "pldp_probability": _loss_above(noise, epsilon),
                "found_delta": found.search_delta,
            }
        )
    return rows


def _loss_above(noise: Gaussian, epsilon: float) -> float:
    """The probability that the densities at the two values differ by more than e^ε: |Y| > σ²ε/2."""
    border = noise.scale**2 * epsilon / 2
    return float(noise.mass([(-math.inf, -border), (border, math.inf)]).max())


def _curves(
    estimate: Sequence[float],
    sigma: float,
    samples: Sequence[int],
    failure: float,
    epsilons: Sequence[float],
    fast: bool,
    progress: Progress | None,
) -> Result:
    levels = list(epsilons)[3::6] if fast else list(epsilons)
    rows: list[dict[str, Any]] = []
    for m in one_by_one(samples, progress, "m = {:,}"):
        rows += _guarantees(estimate, sigma, m, failure, levels)
    return Result(rows, _chart(rows, samples, sigma, estimate), _findings(rows, samples, failure))


def _chart(rows: list[dict[str, Any]], samples: Sequence[int], sigma: float, estimate: Sequence[float]) -> Spec:
    most = max(row["epsilon"] for row in rows) * 1.25
    series: dict[str, tuple[list[Any], list[Any]]] = {}
    for name, column in (("as printed", "printed_epsilon"), ("tight", "epsilon")):
        for m in samples:
            mine = [row for row in rows if row["m"] == m and row[column] is not None and row[column] <= most]
            if mine:
                series[f"{name}, m = {m:,}"] = [row[column] for row in mine], [row["delta"] for row in mine]
    first = [row for row in rows if row["m"] == samples[0] and row["pldp_delta"] >= _LEAST_DRAWN]
    series["probabilistic LDP"] = [row["epsilon"] for row in first], [row["pldp_delta"] for row in first]
    law = ", ".join(f"{share:g}" for share in estimate)
    return lines(
        series,
        title=f"Gaussian noise, σ = {sigma:g}, estimate ({law})",
        x_title="leakage (nats)",
        y_title="probability of more",
        y_log=True,
    )


def _printed_delta(rows: list[dict[str, Any]], at: float) -> float:
    """δ* of the printed curve at a leakage ε*; left of the curve nothing is promised, and δ is 1."""
    known = [row for row in rows if row["printed_epsilon"] is not None]
    if not known:
        return 1.0
    return float(np.interp(at, [row["printed_epsilon"] for row in known], [row["delta"] for row in known], left=1.0))


def _findings(rows: list[dict[str, Any]], samples: Sequence[int], failure: float) -> list[Finding]:
    by_size = {m: [row for row in rows if row["m"] == m] for m in samples}

    def floor(row: dict[str, Any], column: str) -> float:
        # Below δ₂ the estimate itself may fail; there the two kinds of promise cannot be compared.
        return max(float(row[column]), failure * (1 + 1e-6))

    def above(column: str) -> dict[int, int]:
        """For each m at how many ε the printed curve is above."""
        counted = {
            m: sum(_printed_delta(mine, row["epsilon"]) > floor(row, column) for row in mine)
            for m, mine in by_size.items()
        }
        return {m: count for m, count in counted.items() if count}

    shown, truly = above("pldp_delta"), above("pldp_probability")
    tight = [m for m, mine in by_size.items() if any(row["delta"] > floor(row, "pldp_probability") for row in mine)]
    extra = {
        m: max((row["printed_epsilon"] or 0.0) - row["epsilon"] for row in mine)
        for m, mine in by_size.items()
        if any(row["printed_epsilon"] is not None for row in mine)
    }
    floors = [
        m
        for m, mine in by_size.items()
        if any(row["delta"] <= failure * (1 + 1e-6) and row["printed_epsilon"] is not None for row in mine)
    ]
    apart = max(row["delta_outcomes"] - row["found_delta"] for row in rows)
    loose = max(rows, key=lambda row: row["pldp_delta"] / row["pldp_probability"])
    return [
        stated(
            "the curves (ε*, δ*) lie below that of probabilistic LDP at the same σ",
            "strongly improved",
            f"above somewhere for m = {_list(list(shown))}" if shown else "below at every ε, for every m",
            not shown,
            "from few samples, and with the sensitivity added, less is promised than without any estimate",
        ),
        stated(
            "the tight curves (ε, δ*) lie below the probability that the privacy loss exceeds ε",
            None,
            f"above somewhere for m = {_list(tight)}" if tight else "below at every ε, for every m",
            not tight,
        ),
        further(
            "ε* - ε, what the printed form adds to the leakage (largest)",
            ", ".join(f"m = {m:,}: {value:.3f}" for m, value in extra.items()),
            0.0,
            "(17) takes the supremum over the ball before ε is read off, so that (ε, δ*) holds with ε itself",
        ),
        further(
            f"δ of probabilistic LDP at ε = {loose['epsilon']:g}",
            float(loose["pldp_delta"]),
            float(loose["pldp_probability"]),
            "the formula of the paper's reference bounds two tails by twice the larger one; the probability that the "
            "privacy loss exceeds ε is smaller. The printed curves are above that at "
            + (", ".join(f"{count} ε (m = {m:,})" for m, count in truly.items()) or "no ε"),
        ),
        stated(
            "the floor δ* = δ₂ is reached on the printed curves for",
            "all m but 100",
            f"m = {_list(floors)}",
            floors == [m for m in samples if m != 100],
        ),
        compared("δ₁ proven from above less δ₁ found (largest)", 0.0, float(np.round(apart, 12)), within=1e-5),
    ]


def _list(samples: Sequence[int]) -> str:
    return ", ".join(f"{m:,}" for m in samples) or "none"
