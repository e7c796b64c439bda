"""What noisy counts of a table prove: counts whose noise was paid for, so that everything that follows may be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, exp_upper, typed
from leakwise.priors.prior import Prior
from leakwise.priors.sample import rounded_parts
from leakwise.priors.sets.stacked import MOST_ROWS, Stacked
from leakwise.types import Floats, Indices

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["NoisyLayerCake", "checked_cost", "noise_ratio", "noisy_counts"]

NOISE_BITS = 32
_GRID = 65
_ROUNDS = 3
# Noise that costs less is wider than any table is long; noise that costs more hides nothing.
_COSTS = (Fraction(1, 10_000), Fraction(10))


def noise_ratio(cost: Fraction, letters: int) -> Fraction:
    """Return α of the noise that costs so many nats: a number k of rows is added with probability in proportion α^|k|.

    A row whose secret is another moves two counts by one, those of two letters the same one twice (only the first is
    drawn): α is e^{-cost/2}, or e^{-cost} for two letters, rounded up to a multiple of 2^-32, which is more noise.

    >>> print(f"{float(noise_ratio(Fraction(1), 3)):.4f} {float(noise_ratio(Fraction(1), 2)):.4f}")
    0.6065 0.3679
    """
    return exp_upper(-cost / (1 if letters == 2 else 2), NOISE_BITS)


class NoisyLayerCake(Stacked):
    r"""All priors that give every set of letters at least what its noisy count proves.

    The number of rows n is known. Of a set A of a letters the noisy counts estimate its count as
    K = ñ(A) - (a/N)(ñ - n), whose noise has the weight 1 - a/N on the letters of A and a/N on the others. If A has
    probability p, then by Chernoff's bound on sample and noise together, for every θ > 0

    .. math:: \log P(K \ge k) \le n \log(1 - p + p e^θ) + a\,ℓ((1 - a/N)θ) + (N - a)\,ℓ(aθ/N) - θk,

    ℓ the logarithm of the noise's moments, log((1-α)²/((1-αe^θ)(1-αe^{-θ}))). Solved for p at the best θ, with
    failure/(2^N - 2) for each set, this is the bound. It holds with probability 1 - failure over table and noise.

    Parameters
    ----------
    letters
        The values of the secret.
    counts
        The noisy counts, whole numbers of any sign; of two letters they add up to the rows.
    rows
        How many rows there are, which is public.
    cost
        What the noise cost, in nats: tables that differ in one secret give these counts with probabilities within
        e^cost of each other.
    failure
        The probability, over table and noise, that the true prior is not in the set.

    Examples
    --------
    >>> cake = NoisyLayerCake(Alphabet(["a", "b"]), [6012, 3988], 10_000, Fraction(1, 10), 1e-3)
    >>> print(f"{cake.least_mass([1.0, 0.0]):.3f}")
    0.581
    """

    kind = "layer cake of noisy counts"
    counts: tuple[int, ...]
    rows: int
    cost: Fraction
    _known: dict[tuple[int, int], float]

    def __init__(self, letters: Alphabet, counts: Sequence[int], rows: int, cost: Fraction, failure: object) -> None:
        size = len(letters)
        if len(counts) != size or rows < 1 or (size < 3 and sum(counts) != rows):
            raise InvalidInput(
                f"counts must be one whole number for each of {size} values, of fewer than three adding up to the "
                f"{rows:,} rows. Got {list(counts)!r} instead."
            )
        if not _COSTS[0] <= cost <= _COSTS[1]:
            low, high = map(float, _COSTS)
            raise InvalidInput(f"cost must be between {low:g} and {high:g} nats. Got {float(cost):g} instead.")
        if max(rows, *map(abs, counts)) > MOST_ROWS:
            raise InvalidInput(f"counts must be within ±2^52, as numbers of rows are. Got {list(counts)!r} of {rows}.")
        # What is left of the noise in the sum is spread over all letters; none has less than nothing.
        spare = Fraction(sum(counts) - rows, size)
        likely = [max(0, math.floor(count - spare + Fraction(1, 2))) for count in counts]
        super().__init__(
            Prior.from_integers(letters, rounded_parts(likely if any(likely) else [1] * size)),
            failure,
            "noisy-layer-cake",
        )
        self._set(counts=tuple(counts), rows=rows, cost=cost, _known={})

    @property
    def sample_size(self) -> int:
        """How many rows the bounds rest on."""
        return self.rows

    @property
    def holds_nominal(self) -> bool:
        return False

    def bounds_along(self, order: Indices) -> Floats:
        size = len(self)
        letters = np.arange(1, size)[:, None]
        together = np.cumsum(np.array(self.counts, dtype=np.int64)[order], axis=0)[:-1]
        scaled = size * together - letters * (sum(self.counts) - self.rows)  # N times K
        pairs, place = np.unique(
            np.stack([np.broadcast_to(letters, scaled.shape), scaled], axis=-1).reshape(-1, 2),
            axis=0,
            return_inverse=True,
        )
        keys = [(int(a), int(k)) for a, k in pairs]
        if new := [key for key in keys if key not in self._known]:
            self._known.update(zip(new, self._bounds(np.array(new, dtype=np.float64)).tolist(), strict=True))
        values: Floats = np.array([self._known[key] for key in keys])[place.ravel()].reshape(scaled.shape)
        return values

    def _bounds(self, pairs: Floats) -> Floats:
        """The bound for each number of letters and N times the estimate of their count, at the best θ of ever finer
        grids: every θ gives a bound."""
        size, rows, alpha = len(self), self.rows, float(noise_ratio(self.cost, len(self)))
        letters, k = pairs[:, :1], pairs[:, 1:] / size
        inside, outside = (1 - letters / size, letters / size) if size > 2 else (np.ones_like(k), np.zeros_like(k))
        number_in, number_out = (letters, size - letters) if size > 2 else (np.ones_like(k), np.zeros_like(k))
        most = -math.log(alpha) / np.maximum(inside, outside) * (1 - 2.0**-9)

        def moments(theta: Floats) -> Floats:
            below = np.log1p(-alpha * np.exp(theta)) + np.log1p(-alpha * np.exp(-theta))
            found: Floats = 2 * math.log1p(-alpha) - below
            return found

        def bound(theta: Floats) -> Floats:
            noise = number_in * moments(inside * theta) + number_out * moments(outside * theta)
            exponent = (self.log_level - noise + theta * k) / rows
            # Floats err by units of the parts of the exponent: thousands of them are taken off.
            parts = (np.abs(noise) + abs(self.log_level) + theta * np.abs(k)) / rows
            found: Floats = np.expm1(exponent - parts * 2.0**-40) / np.expm1(theta)
            return found

        low, high = most * 1e-5, most
        best = np.zeros(len(pairs))
        for _ in range(_ROUNDS):
            grid = np.exp(np.linspace(np.log(low), np.log(high), _GRID, axis=-1)[:, 0, :])
            values = bound(grid)
            place = values.argmax(axis=1)
            best = np.maximum(best, np.take_along_axis(values, place[:, None], axis=1)[:, 0])
            low = np.take_along_axis(grid, np.maximum(place - 1, 0)[:, None], axis=1)
            high = np.take_along_axis(grid, np.minimum(place + 1, _GRID - 1)[:, None], axis=1)
        safe: Floats = np.clip(best * (1 - 2.0**-40), 0.0, 1.0)
        return safe

    def reordered(self, order: Indices) -> NoisyLayerCake:
        letters = self.nominal.reordered(order).alphabet
        counts = [self.counts[place] for place in order]
        return NoisyLayerCake(letters, counts, self.rows, self.cost, self.exact_failure)

    def _key(self) -> tuple[object, ...]:
        return (self.counts, self.rows, self.cost)

    def _size(self) -> list[tuple[str, str]]:
        return [("rows", f"{self.rows:,}"), ("paid for the noise (nats)", number(float(self.cost)))]


def noisy_counts(
    counts: Sequence[Sequence[int]], cost: Fraction, stream: SecureStream | None = None
) -> list[list[int]]:
    """Return the counts of disjoint sets of rows with noise that costs so many nats, exact; of two letters one draw.

    >>> noisy = noisy_counts([[70, 30], [5, 5]], Fraction(1))
    >>> [sum(row) for row in noisy]
    [100, 10]
    """
    size = len(counts[0]) if counts else 0
    if size < 2:
        return [list(row) for row in counts]
    from leakwise.sampling.geometric import two_sided_geometric

    ratio = noise_ratio(cost, size)
    if size == 2:
        moved = two_sided_geometric(ratio, len(counts), stream).tolist()
        return [[first + one, second - one] for (first, second), one in zip(counts, moved, strict=True)]
    added = two_sided_geometric(ratio, len(counts) * size, stream).reshape(len(counts), size).tolist()
    return [[count + one for count, one in zip(*pair, strict=True)] for pair in zip(counts, added, strict=True)]


def checked_cost(cost: object) -> Fraction:
    """Return what noise on counts may cost, in nats; a float that was typed means its decimal."""
    exact = exact_fraction(cost, "prior_cost")
    low, high = _COSTS
    if not low <= exact <= high:
        raise InvalidInput(
            f"prior_cost (--prior-cost) must be between {float(low):g} and {float(high):g} nats, such as 0.05: what "
            f"the noise on the table's counts may cost. Got {cost!r} instead."
        )
    return typed(cost, exact)
