"""The best bins for noise on a density: a finite mechanism that is released exactly, and what it loses.

The secret X goes into bins X', the outcome Y of the noise into intervals Y'. A release draws Y' given X' alone, with
the probabilities that the noise gives it on average over the bin. The pair (X', Y') is then a function of (X, Y): by
data processing no measure of leakage exceeds that of the noise, and I(X;Y) - I(X';Y') ≥ 0 is what is lost. For fixed
intervals the information is a sum over bins, so a dynamic program finds the best bins on a grid; and the other way
round.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Bins
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import heatmap
from leakwise.errors import InvalidInput
from leakwise.exact import round_float_rows
from leakwise.guarantee import at_least, at_most
from leakwise.leakage import mutual_information
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.joint import joint_probabilities
from leakwise.noise.continuous.leakage import information_between, largest_leakage
from leakwise.priors import Box, Prior
from leakwise.proof import Certificate, certify
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.continuous.on_density import OnDensity

__all__ = ["BinnedNoise", "best_bins"]

_BITS = 60
_RARE = 2.0**-50
_ROUNDS = 20


@dataclass(frozen=True, repr=False, eq=False)
class BinnedNoise(Drawn):
    """A finite mechanism for a secret in bins, made from noise on its density.

    Attributes
    ----------
    mechanism
        What a release draws from: exact integers, from bins of the secret to intervals of the outcome.
    edges
        The edges of the bins of the secret.
    prior
        The probabilities of the bins, as a set that contains those of the density.
    certificate
        The proof of ``epsilon`` on the integers, for every prior of the set.
    noise_epsilon, noise_information
        The leakage and the mutual information of the noise itself, rounded up.
    value
        The mutual information I(X';Y') of the mechanism, rounded down.
    bound
        What no bins and intervals of these numbers on the grid exceed, proven.
    """

    mechanism: Mechanism
    edges: tuple[float, ...]
    prior: Box
    certificate: Certificate
    noise_epsilon: float
    noise_information: float
    value: float
    bound: float
    method: str = "dynamic program over edges, by turns"

    @property
    def epsilon(self) -> float:
        """The leakage of what is released, proven and rounded up."""
        return self.certificate.epsilon_upper

    @property
    def loss(self) -> float:
        """What the bins lose of the mutual information, in nats, rounded up."""
        return max(self.noise_information - self.value, 0.0)

    @property
    def gap(self) -> float:
        """How far better bins on the same grid could be."""
        return max(self.bound - self.value, 0.0)

    def _shown(self) -> Parts:
        rows = [
            ["bins of the secret", f"{self.mechanism.shape[0]}"],
            ["intervals of the outcome", f"{self.mechanism.shape[1]}"],
            ["leakage ε, proven", at_most(self.epsilon, 6)],
            ["leakage of the noise itself", at_most(self.noise_epsilon, 6)],
            ["mutual information, at least", at_least(self.value, 6)],
            ["of the noise itself, at most", at_most(self.noise_information, 6)],
            ["lost by the bins, at most", at_most(self.loss, 4)],
            ["other bins on the grid add, at most", at_most(self.gap, 4)],
        ]
        edges = ", ".join(f"{edge:g}" for edge in self.edges)
        return [Table(["", "nats"], rows, "Noise in bins"), f"Edges of the secret: {edges}."]

    def chart(self) -> dict[str, Any]:
        """The probabilities of the mechanism as a Vega-Lite heatmap."""
        return heatmap(
            self.mechanism.inputs,
            self.mechanism.outputs,
            self.mechanism.matrix.tolist(),
            title="Outcome for each bin of the secret",
            value_title="probability",
            row_title="secret",
            column_title="outcome",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an infinite leakage of the noise is None."""
        return {
            "mechanism": self.mechanism.to_dict(),
            "edges": list(self.edges),
            "prior": self.prior.to_dict(),
            "epsilon": self.epsilon,
            "noise_epsilon": self.noise_epsilon if math.isfinite(self.noise_epsilon) else None,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "noise_information": self.noise_information,
            "loss": self.loss,
            "method": self.method,
        }


def best_bins(noise: OnDensity, density: Density, bins: int, outcomes: int | None, grid: int) -> BinnedNoise:
    """See :meth:`OnDensity.best_bins`."""
    many = bins if outcomes is None else outcomes
    for name, value, least, most in (("grid", grid, 4, 1000), ("bins", bins, 2, grid), ("outcomes", many, 2, grid)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InvalidInput(f"{name} must be a whole number from {least} to {most}. Got {value!r} instead.")
    left, right, cuts = _grid(noise, density, grid)
    joint, missed = joint_probabilities(noise, density, left, right, cuts)
    rows, bound = _best_groups(joint, bins)
    columns, other = _best_groups(joint.T, many)
    before = -math.inf
    for _ in range(_ROUNDS):
        columns, _ = _best_groups(_merged(joint, rows).T, many)
        rows, found = _best_groups(_merged(joint.T, columns).T, bins)
        if found <= before + 1e-12:
            break
        before = found
    final = _merged(_merged(joint, rows).T, columns).T
    inputs = Bins([*left[rows], right[-1]])
    outputs = Bins([-math.inf, *cuts[columns[1:] - 1], math.inf])
    return _certified(
        noise, density, final, inputs, outputs, min(bound, other) + _apart(missed, joint.shape, max(bins, many))
    )


def _apart(missed: float, shape: tuple[int, int], groups: int) -> float:
    """How far the information of two joint distributions can be apart, and of what a dynamic program makes of them.

    -m log m changes by at most -e log e where m changes by e, and a sum of N of them by at most η log(N/η). The
    information is three such sums. Sums over groups are differences of running sums, off by their last digits.
    """
    rows, columns = shape
    rounded = missed + 2.0**-51 * groups * max(rows, columns)
    if not rounded < 1 / math.e:  # nothing is known of them
        return math.inf
    return 3 * rounded * (math.log(rows * columns / rounded) + 2) + 2.0**-44


def _grid(noise: OnDensity, density: Density, grid: int) -> tuple[Floats, Floats, Floats]:
    """Ends of small cells of the secret, in its support only, and the places that divide the outcomes."""
    edges = np.unique(np.concatenate([np.linspace(density.low, density.high, grid + 1), density.edges]))
    middles = (edges[:-1] + edges[1:]) / 2
    there = density.distance(middles) == 0
    # Steps of the same width beyond the ends, as far as the noise goes, at most as many again on each side.
    step = (density.high - density.low) / grid
    more = 0 if noise.memoryless else min(math.ceil(noise.reach(1e-6) / step), grid)
    cuts = np.concatenate(
        [density.low - step * np.arange(more, 0, -1), np.linspace(density.low, density.high, grid + 1)]
    )
    cuts = np.concatenate([cuts, density.high + step * np.arange(1, more + 1)])
    return edges[:-1][there], edges[1:][there], cuts


def _merged(joint: Floats, starts: Any) -> Floats:
    """Rows added up, group by group."""
    sums: Floats = np.add.reduceat(joint, starts, axis=0)
    return sums


def _worth(m: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms: Floats = np.where(m > 0, m * np.log(m), 0.0)
    return terms


def _best_groups(joint: Floats, count: int) -> tuple[Any, float]:
    """Where the groups of neighbouring rows begin that keep the most mutual information, and how much that is."""
    size = len(joint)
    count = min(count, size)
    total = np.vstack([np.zeros(joint.shape[1]), np.cumsum(joint, axis=0)])
    worth = np.full((size, size + 1), -math.inf)
    for start in range(size):
        sums = np.maximum(total[start + 1 :] - total[start], 0.0)
        worth[start, start + 1 :] = _worth(sums).sum(axis=1) - _worth(sums.sum(axis=1))
    best = worth[0]
    came = []
    for _ in range(count - 1):
        sums = best[:size, None] + worth
        came.append(sums.argmax(axis=0))
        best = sums.max(axis=0)
    starts, at = [], size
    for step in reversed(came):
        at = int(step[at])
        starts.append(at)
    return np.array([0, *reversed(starts)]), float(best[size] - _worth(joint.sum(axis=0)).sum())


def _certified(
    noise: OnDensity, density: Density, joint: Floats, inputs: Bins, outputs: Bins, bound: float
) -> BinnedNoise:
    # A bin of no probability in floats says what all bins together do.
    masses, law = joint.sum(axis=1, keepdims=True), joint.sum(axis=0) / joint.sum()
    rows = np.divide(joint, masses, out=np.tile(law, (len(joint), 1)), where=masses > 0)
    # What is too rare for the denominator goes up to it: zeros and near-zeros would be told apart by nothing else.
    rows = np.maximum(rows, _RARE)
    rows /= rows.sum(axis=1, keepdims=True)
    mechanism = Mechanism.from_kernel(DenseKernel(round_float_rows(rows, _BITS), 1 << _BITS), inputs, outputs)
    ends = np.array([density.mass(a, b) for a, b in itertools.pairwise(inputs.edges.tolist())])
    nominal = Prior((ends.sum(axis=1) / ends.sum()).tolist(), inputs)
    around = 2.0**-50
    lower = np.minimum(ends[:, 0], nominal.probabilities) * (1 - around)
    upper = np.minimum(np.maximum(ends[:, 1], nominal.probabilities) * (1 + around), 1.0)
    box = Box(nominal, lower.tolist(), upper.tolist())
    # Between two priors so close the information differs by a continuity bound (Fannes).
    apart = float((upper - lower).sum())
    slack = apart * (2 * math.log(len(outputs)) - math.log(apart)) + 1e-12
    value = max(float(mutual_information(mechanism, nominal)) - slack, 0.0)
    information = information_between(noise, density)[1]
    return BinnedNoise(
        mechanism,
        tuple(inputs.edges.tolist()),
        box,
        certify(mechanism, box),
        largest_leakage(noise, density)[1],
        information,
        value,
        max(min(bound, information), value),
    )
