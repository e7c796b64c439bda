"""Additive noise as an exact mechanism: probabilities of the cells of a grid, as integers over 2^60."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.errors import Infeasible, InvalidInput
from leakwise.exact import exact_fraction, level, round_float_rows
from leakwise.leakage import ldp
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.noise.laplace import Laplace
from leakwise.proof import certify
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.additive import AdditiveNoise

__all__ = ["discretize"]


_LARGEST_LATTICE = 4096
# An outcome that comes more rarely than this, whatever the value, is too few units of 2^-60 for its lifts to be right.
_RARE = 2.0**-30


def discretize(
    noise: AdditiveNoise, outcomes: int | Iterable[Any] | None, *, prior: Any, epsilon: object, lift: object
) -> Mechanism:
    """See :meth:`AdditiveNoise.discretize`."""
    labels: Sequence[float | Fraction]
    asked = None if epsilon is None and lift is None else level(epsilon, lift)
    if (asked is None) != (prior is None):
        raise InvalidInput("prior= and epsilon= (or lift=) go together: the promise is about a prior.")
    if outcomes is None and isinstance(noise, Laplace) and (lattice := _lattice(noise.values)) is not None:
        labels, matrix = _geometric(noise, *lattice)
    else:
        labels = _grid(noise, outcomes)
        matrix = _cells(noise, np.array([float(label) for label in labels]))
    labels, matrix = _without_the_rarest(labels, matrix)
    inputs = Alphabet([_label(value) for value in noise.values])
    outputs = Alphabet([_label(label) for label in labels])
    most = noise.ldp() if isinstance(noise, Laplace) else math.inf
    certificate = None
    for step in range(-1, 26):
        # Where rounding pushed the integers over the limit a little of the average row takes it back; at the last step
        # every row is the average row, which leaks nothing.
        share = 0.0 if step < 0 else 2.0 ** (2 * step - 50)
        mixed = (1 - share) * matrix + share * matrix.mean(axis=0)
        # The smallest entries are the ones that rounding moves most: one unit more, and it moves them upwards only.
        raised = np.where(mixed < _RARE, mixed + 2.0**-BITS, mixed)
        mechanism = Mechanism.from_kernel(DenseKernel(round_float_rows(raised, BITS), 1 << BITS), inputs, outputs)
        certificate = None if asked is None else certify(mechanism, prior, lift=asked.below)
        if (certificate is None or certificate.holds) and ldp(mechanism) <= most:
            return mechanism
        if asked is None or certificate is None:
            continue
        if step == 0 and not certificate.epsilon_upper <= asked.epsilon * (1 + 1e-6) + 1e-9:
            break  # not a matter of rounding
    assert asked is not None
    assert certificate is not None
    raise Infeasible(
        f"Rounded to this grid the noise leaks ε = {certificate.epsilon_upper:.6g} for the prior, more than asked "
        f"({asked.words}). Use a larger scale: {type(noise).__name__}.for_epsilon(...) finds it.",
        witness=certificate.epsilon_upper,
    )


def _without_the_rarest(
    labels: Sequence[float | Fraction], matrix: Floats
) -> tuple[Sequence[float | Fraction], Floats]:
    """Outcomes too rare for the denominator, each put together with the nearest one that is not: post-processing."""
    kept = np.flatnonzero(matrix.max(axis=0) >= _RARE)
    if len(kept) == len(labels):
        return labels, matrix
    nearest = np.abs(np.arange(len(labels))[:, None] - kept[None, :]).argmin(axis=1)
    merged = np.zeros((len(matrix), len(kept)))
    np.add.at(merged.T, nearest, matrix.T)
    return [labels[place] for place in kept.tolist()], merged


def _label(value: float | Fraction) -> int | float:
    return int(value) if value == int(value) else float(value)


def _lattice(values: tuple[float, ...]) -> tuple[Fraction, int] | None:
    """The widest step that all values are whole multiples apart by, and the number of points, when they are few."""
    exact = [Fraction(value) for value in values]
    low = min(exact)
    differences = [value - low for value in exact if value != low]
    common = math.lcm(*(d.denominator for d in differences))
    step = Fraction(math.gcd(*(int(d * common) for d in differences)), common)
    points = int((max(exact) - low) / step) + 1
    return (step, points) if points <= _LARGEST_LATTICE else None


def _geometric(noise: Laplace, step: Fraction, points: int) -> tuple[list[Fraction], Floats]:
    """Clipped two-sided geometric noise with ratio e^{-step/b}: the columns of Laplace noise at the lattice points.

    Every column is α^{|i-j|} up to a factor, at the clipped ends, too: the leakage is that of the continuous noise.
    """
    low = min(Fraction(value) for value in noise.values)
    labels = [low + place * step for place in range(points)]
    alpha = math.exp(-float(step) / noise.scale)
    where = np.array([int((Fraction(value) - low) / step) for value in noise.values])
    matrix = alpha ** np.abs(where[:, None] - np.arange(points)[None, :]) / (1 + alpha)
    matrix[:, 1:-1] *= 1 - alpha
    return labels, matrix / matrix.sum(axis=1, keepdims=True)


def _grid(noise: AdditiveNoise, outcomes: int | Iterable[Any] | None) -> list[float]:
    if outcomes is None:
        return sorted(noise.values)
    if isinstance(outcomes, bool) or (isinstance(outcomes, int) and outcomes < 2):
        raise InvalidInput(f"outcomes must be a list of reals, or at least 2 of them. Got {outcomes!r} instead.")
    if isinstance(outcomes, int):
        return [float(point) for point in np.linspace(min(noise.values), max(noise.values), outcomes)]
    points = [float(exact_fraction(value, "each of outcomes")) for value in outcomes]
    if not points or len(set(points)) < len(points):
        raise InvalidInput("outcomes must be different reals, at least one.")
    return sorted(points)


def _cells(noise: AdditiveNoise, grid: Floats) -> Floats:
    edges = [-math.inf, *((grid[:-1] + grid[1:]) / 2).tolist(), math.inf]
    rows = np.array([[noise.between(a - x, b - x) for a, b in itertools.pairwise(edges)] for x in noise.values])
    normalised: Floats = rows / rows.sum(axis=1, keepdims=True)
    return normalised
