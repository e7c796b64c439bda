"""[ED] Figures 4 and 5: binary Laplace noise on two features of the Adult extract."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.charts.specs import Spec, lines, vertical
from leakwise.data import adult_counts
from leakwise.errors import InvalidInput
from leakwise.leakage import epsilon as leakage_of
from leakwise.mechanism import identity
from leakwise.noise import Laplace
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, stated
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["empirical_information", "feature_counts", "figure_4", "figure_5", "noise_scale"]

VALUES = (-1, 1)

WHOLE = {"income": {"<=50K": 37_155, ">50K": 11_687}, "sex": {"Male": 32_650, "Female": 16_192}}
"""All 48,842 rows of the Adult extract, which the paper uses; the package carries the training part row by row."""


def feature_counts(feature: str, part: str = "whole") -> tuple[int, int]:
    """How many rows have each of the two values, the frequent one first.

    ``part`` is ``"whole"`` (48,842 rows) or ``"training"`` (32,561 rows, counted from :func:`adult_counts`).

    >>> feature_counts("sex", "training")
    (21790, 10771)
    """
    if feature not in WHOLE or part not in ("whole", "training"):
        raise InvalidInput(
            f"feature must be 'income' or 'sex', part 'whole' or 'training'. Got {feature!r} and {part!r} instead."
        )
    if part == "whole":
        first, second = WHOLE[feature].values()
        return first, second
    totals = dict.fromkeys(WHOLE[feature], 0)
    for entry in adult_counts():
        value = entry["income"] if feature == "income" else entry["sex"]
        totals[value] += entry["rows"]
    first, second = totals.values()
    return first, second


def empirical_information(table: npt.ArrayLike) -> Floats:
    """The plug-in mutual information Σ f(x,y)/m log(m f(x,y) / f(x) f(y)) of counts, axes -2 and -1, in nats."""
    f = np.asarray(table, dtype=np.float64)
    total = f.sum(axis=(-2, -1), keepdims=True)
    expected = f.sum(axis=-1, keepdims=True) * f.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(f > 0, f / total * np.log(total * f / expected), 0.0)
    information: Floats = terms.sum(axis=(-2, -1))
    return information


@lru_cache(maxsize=100_000)
def noise_scale(counts: tuple[int, int], epsilon: float, failure: float) -> float:
    """The least scale b that (16) allows for these counts, 0 where no noise is needed; failure 0 is LDP, b = 2/ε."""
    if failure == 0:
        return 2 / epsilon
    ball = Prior.from_counts(dict(zip(VALUES, counts, strict=True))).confidence(failure)
    if leakage_of(identity(VALUES), ball) <= epsilon:
        return 0.0
    return Laplace.for_epsilon(VALUES, ball, epsilon).scale


class _Shuffled:
    """One shuffle of the data with its unit noise: every m and every scale is read off the same rows."""

    def __init__(self, counts: tuple[int, int], rng: np.random.Generator) -> None:
        self.first = rng.permutation(np.repeat([True, False], counts))
        # Noise crosses the threshold 0 where it points the other way and is longer than the way there.
        self.against = rng.laplace(size=len(self.first))

    def taken(self, m: int) -> tuple[Floats, Floats]:
        """For each of the two values the sorted noise of the first m rows."""
        mine, noise = self.first[:m], self.against[:m]
        return np.sort(noise[mine]), np.sort(noise[~mine])

    @staticmethod
    def information(taken: tuple[Floats, Floats], scale: float) -> float:
        reach = math.inf if scale == 0 else 1 / scale
        rows = []
        for noise in taken:
            flipped = len(noise) - int(np.searchsorted(noise, reach, side="right"))
            rows.append([len(noise) - flipped, flipped])
        return float(empirical_information([rows[0], rows[1][::-1]]))


def _shuffles(
    features: Sequence[str], part: str, count: int, seed: int, progress: Progress | None
) -> Iterator[tuple[str, _Shuffled]]:
    """Each feature with each of its shuffles."""
    for place, feature in enumerate(features):
        counts = feature_counts(feature, part)
        for turn in range(count):
            yield feature, _Shuffled(counts, np.random.default_rng([seed, place, turn]))
            if progress is not None:
                progress((place + (turn + 1) / count) / len(features), f"{feature}, shuffle {turn + 1}")


def _mean(found: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    values = np.asarray(found)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


# ------------------------------------------------------------------------------------------------------- Figure 4


@exhibit(
    paper="ED",
    title="Laplace noise for PML against Laplace noise for LDP, on the Adult extract",
    shows="Income and sex of the Adult extract. The data are shuffled, the first m rows give the estimate of the "
    "prior, (16) gives the scale of the noise for each ε, the noisy values are thresholded at 0, and the empirical "
    "mutual information with the truth is averaged over the shuffles. The noise for LDP has scale 2/ε.",
    printed="100 shuffles, δ = 1e-9: PML keeps significantly more information than LDP at the same ε, and the gain "
    "grows with m. (The m and ε of the figure are not in its text.)",
    seed=5,
)
def figure_4(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    features: Sequence[str] = ("income", "sex"),
    part: str = "whole",
    epsilons: Sequence[float] = tuple(round(0.1 * k, 1) for k in range(1, 11)),
    samples: Sequence[int] = (1_000, 10_000, 40_000),
    failure: float = 1e-9,
    iterations: int = 100,
    seed: int = 5,
) -> Result:
    """Empirical mutual information over ε, for noise by PML from m samples and for noise by LDP."""
    count = 8 if fast else iterations
    levels = list(epsilons)[1::3] if fast else list(epsilons)
    found: dict[tuple[str, int, float, str], list[float]] = {}
    for feature, shuffled in _shuffles(features, part, count, seed, progress):
        for m in samples:
            taken = shuffled.taken(m)
            sizes = len(taken[0]), len(taken[1])
            for epsilon in levels:
                for name, chance in (("pml", failure), ("ldp", 0.0)):
                    kept = shuffled.information(taken, noise_scale(sizes, epsilon, chance))
                    found.setdefault((feature, m, epsilon, name), []).append(kept)
    rows = []
    for feature in features:
        for m in samples:
            for epsilon in levels:
                row: dict[str, Any] = {"feature": feature, "m": m, "epsilon": epsilon}
                for name in ("pml", "ldp"):
                    row[name], row[f"{name}_error"] = _mean(found[feature, m, epsilon, name])
                rows.append(row)
    return Result(rows, _figure_4_chart(rows, features, samples), _figure_4_findings(rows, features, samples))


def _figure_4_chart(rows: list[dict[str, Any]], features: Sequence[str], samples: Sequence[int]) -> Spec:
    charts = []
    for feature in features:
        series = {}
        for m in sorted(samples, reverse=True):
            mine = [row for row in rows if row["feature"] == feature and row["m"] == m]
            series[f"PML, m = {m:,}"] = [row["epsilon"] for row in mine], [row["pml"] for row in mine]
        last = [row for row in rows if row["feature"] == feature and row["m"] == max(samples)]
        series["LDP"] = [row["epsilon"] for row in last], [row["ldp"] for row in last]
        charts.append(
            lines(
                series,
                title=f"Information kept about {feature}",
                x_title="ε (nats)",
                y_title="empirical mutual information (nats)",
            )
        )
    return vertical(*charts)


def _figure_4_findings(rows: list[dict[str, Any]], features: Sequence[str], samples: Sequence[int]) -> list[Finding]:
    findings = []
    for feature in features:
        mine = [row for row in rows if row["feature"] == feature]
        ratios = [row["pml"] / row["ldp"] for row in mine]
        more = all(row["pml"] > row["ldp"] for row in mine)
        findings.append(
            stated(
                f"{feature}: PML keeps more information than LDP at the same ε",
                "significantly more",
                f"{min(ratios):.2f} to {max(ratios):.2f} times as much",
                more,
                "at some ε and m the estimate is too rough to help",
            )
        )
        gains = [[row["pml"] - row["ldp"] for row in mine if row["m"] == m] for m in sorted(samples)]
        grows = all(a < b for low, high in itertools.pairwise(gains) for a, b in zip(low, high, strict=True))
        findings.append(
            stated(f"{feature}: the gain grows with m", "grows", "at every ε" if grows else "not at every ε", grows)
        )
    row = rows[-1]
    wrong = row["pml"] + math.log(2 / row["m"])
    findings.append(
        Finding(
            f"the empirical mutual information with N inside the logarithm, as printed ({row['feature']}, "
            f"ε = {row['epsilon']:g}, m = {row['m']:,})",
            wrong,
            row["pml"],
            False,
            "N is the size of the alphabet, 2; the frequencies must be normalised by the sample size m. With N the "
            "number is below zero, which no mutual information is",
        )
    )
    return findings


# ------------------------------------------------------------------------------------------------------- Figure 5


@exhibit(
    paper="ED",
    title="How little the probability of failure matters",
    shows="As Figure 4 at ε = log 2, over the number m of samples, for several probabilities of failure δ. δ = 0 "
    "allows every prior: local differential privacy (Remark 4). The feature and the δ of the paper's figure are not "
    "in its text; we show both features.",
    printed="Utility falls with δ, yet even for extremely small δ the gain over LDP (δ = 0) is substantial.",
    seed=6,
)
def figure_5(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    features: Sequence[str] = ("income", "sex"),
    part: str = "whole",
    lift: float = 2,
    samples: Sequence[int] = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000),
    failures: Sequence[float] = (1e-3, 1e-6, 1e-9, 1e-12, 0.0),
    iterations: int = 100,
    seed: int = 6,
) -> Result:
    """Empirical mutual information over m, for several probabilities of failure."""
    count, epsilon = 8 if fast else iterations, math.log(lift)
    sizes = [m for m in samples if m in (200, 2_000, 20_000)] if fast else list(samples)
    found: dict[tuple[str, int, float], list[float]] = {}
    for feature, shuffled in _shuffles(features, part, count, seed, progress):
        for m in sizes:
            taken = shuffled.taken(m)
            for failure in failures:
                scale = noise_scale((len(taken[0]), len(taken[1])), epsilon, failure)
                found.setdefault((feature, m, failure), []).append(shuffled.information(taken, scale))
    rows = []
    for (feature, m, failure), values in found.items():
        mean, error = _mean(values)
        rows.append({"feature": feature, "m": m, "failure": failure, "information": mean, "error": error})
    return Result(
        rows, _figure_5_chart(rows, features, failures), _figure_5_findings(rows, features, failures, epsilon)
    )


def _figure_5_chart(rows: list[dict[str, Any]], features: Sequence[str], failures: Sequence[float]) -> Spec:
    charts = []
    for feature in features:
        series = {}
        for failure in failures:
            mine = [row for row in rows if row["feature"] == feature and row["failure"] == failure]
            name = f"δ = {failure:g}" if failure else "δ = 0 (LDP)"
            series[name] = [row["m"] for row in mine], [row["information"] for row in mine]
        charts.append(
            lines(
                series,
                title=f"Information kept about {feature}, ε = log 2",
                x_title="samples m",
                y_title="empirical mutual information (nats)",
                x_log=True,
            )
        )
    return vertical(*charts)


def _figure_5_findings(
    rows: list[dict[str, Any]], features: Sequence[str], failures: Sequence[float], epsilon: float
) -> list[Finding]:
    kept: Mapping[tuple[str, int, float], float] = {
        (row["feature"], row["m"], row["failure"]): row["information"] for row in rows
    }
    sizes, order = sorted({row["m"] for row in rows}), sorted(failures)
    falls = all(
        kept[f, m, low] <= kept[f, m, high] for f in features for m in sizes for low, high in itertools.pairwise(order)
    )
    least = min(failure for failure in failures if failure > 0)
    gains = {f: kept[f, sizes[-1], least] / kept[f, sizes[-1], min(failures)] for f in features}
    words = ", ".join(f"{f}: {gain:.2f} times" for f, gain in gains.items())
    # Remark 4: at p̂_min = 1/2 and β = 1 the scale of (16) is that of LDP.
    everything = Prior({-1: 0.5, 1: 0.5}).ball(1)
    remark = Laplace(VALUES, 2 / epsilon).epsilon(everything)
    alone = Prior({-1: 0.3, 1: 0.7}).ball(1)
    return [
        stated("the information falls with δ", "falls", "at every m" if falls else "not at every m", falls),
        stated(
            f"the gain over LDP is substantial even at δ = {least:g} (m = {sizes[-1]:,})",
            "substantial",
            words,
            min(gains.values()) > 1.1,
        ),
        compared("Remark 4: p̂_min = 1/2 and β = 1 give ε = 2/b", epsilon, remark, within=1e-9),
        Finding(
            f"(16) at p̂_min = 0.3 and β = 1, b = {2 / epsilon:.4f}",
            epsilon - math.log((0.3 - 0.5) * (math.exp(epsilon) - 1) + 1),
            Laplace(VALUES, 2 / epsilon).epsilon(alone),
            False,
            "where β/2 is above p̂_min the least mass of a prior in the ball is 0 and not negative: p̂_min - β/2 must "
            "be taken as at least 0. As printed the bound is larger than the leakage under LDP, 2/b, which no prior "
            "exceeds",
        ),
    ]
