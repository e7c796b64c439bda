"""Several releases of one secret, as one mechanism whose outcomes are count vectors.

The joint outcome of n independent releases by one mechanism has M^n values, but only how often each outcome came up
matters: equal counts have equal lifts. The probability of a count vector c is multinomial(c) Π_j p_xj^{c_j}, kept as
an exact integer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.charts.shown import Parts
from leakwise.errors import InvalidInput
from leakwise.mechanism.kernel import DenseKernel, Kernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Array

__all__ = ["Composition", "compose", "count_vectors", "type_weights"]

# Exact integers of more bytes than this in all are refused.
_MOST_BYTES = 1 << 29
_WORDS = 40  # what Python needs for an integer beside its digits


class Composition(Mechanism):
    """The joint release of one secret by several mechanisms, each with fresh randomness.

    A Mechanism like any other: every measure takes it. Its outcomes are, for a single part used n times, the tuple of
    counts of that part's outcomes; for several parts, the tuple of what each part gives (an outcome, or counts). Made
    by :func:`compose` and :meth:`Mechanism.repeat`.

    Attributes
    ----------
    parts, counts
        The mechanisms (impossible outcomes dropped, proportional ones merged) and how often each is used.
    """

    parts: tuple[Mechanism, ...]
    counts: tuple[int, ...]

    def __init__(self, parts: tuple[Mechanism, ...], counts: tuple[int, ...]) -> None:
        for name, value in (("parts", parts), ("counts", counts), ("input_alphabet", parts[0].input_alphabet)):
            object.__setattr__(self, name, value)

    @property
    def releases(self) -> int:
        """How many releases there are in all."""
        return sum(self.counts)

    @property
    def count_vectors(self) -> int:
        """How many joint outcomes remain when only counts matter."""
        return math.prod(_vectors(part, count) for part, count in zip(self.parts, self.counts, strict=True))

    @property
    def bytes_needed(self) -> int:
        """What the exact integers take."""
        bits = sum(
            count * _lowest_terms(part)[1].bit_length() for part, count in zip(self.parts, self.counts, strict=True)
        )
        return self.count_vectors * self.parts[0].shape[0] * (bits // 8 + _WORDS)

    @property
    def enumerable(self) -> bool:
        """Whether the count vectors fit in memory with their exact integers."""
        return self.bytes_needed <= _MOST_BYTES

    @property
    def shape(self) -> tuple[int, int]:
        """Number of letters, number of count vectors."""
        return self.parts[0].shape[0], self.count_vectors

    @cached_property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The exact kernel over count vectors, worked out when first asked for."""
        self._refuse_beyond_memory()
        weights, denominator = _part_kernel(self.parts[0], self.counts[0])
        for part, count in zip(self.parts[1:], self.counts[1:], strict=True):
            more, scale = _part_kernel(part, count)
            weights = (weights[:, :, None] * more[:, None, :]).reshape(len(weights), -1)
            denominator *= scale
        return DenseKernel(weights, denominator)

    @cached_property
    def output_alphabet(self) -> Alphabet:  # type: ignore[override]
        """The count vectors as labels."""
        self._refuse_beyond_memory()
        sides = [_labels(part, count) for part, count in zip(self.parts, self.counts, strict=True)]
        joint: list[tuple[Label, ...]] = [()]
        for side in sides:
            joint = [(*before, label) for before in joint for label in side]
        return Alphabet([label[0] for label in joint] if len(sides) == 1 else joint, name="outputs")

    def _refuse_beyond_memory(self) -> None:
        if not self.enumerable:
            raise InvalidInput(
                f"The composition has {self.count_vectors:,} count vectors, whose exact integers need "
                f"{self.bytes_needed / 2**30:,.1f} GiB; at most {_MOST_BYTES / 2**30:g} GiB are used. "
                "lw.measures.composition_bounds(composition, prior, delta) gives proven bounds from both sides "
                "without them."
            )

    def _shown(self) -> Parts:
        uses = ", ".join(
            f"{part.shape[0]} × {part.shape[1]} used {count}×"
            for part, count in zip(self.parts, self.counts, strict=True)
        )
        return [f"Composition of {self.releases} releases ({uses}), {self.count_vectors:,} count vectors"]


def compose(*mechanisms: Mechanism) -> Composition:
    """Return the joint release of one secret by several mechanisms, each with fresh randomness.

    Leakages do not add: two releases of ε-PML can leak more than 2ε together, or less. Ask the composition itself, it
    is exact.

    >>> from leakwise import Prior, epsilon, randomized_response
    >>> rr = randomized_response(2, lift=3)
    >>> joint = compose(rr, rr)
    >>> joint.outputs
    ((2, 0), (1, 1), (0, 2))
    >>> print(f"{epsilon(rr, Prior.uniform(2)):.4f} {epsilon(joint, Prior.uniform(2)):.4f}")
    0.4055 0.5878
    """
    if not mechanisms:
        raise InvalidInput("compose needs at least one mechanism. Got none.")
    parts: list[Mechanism] = []
    counts: list[int] = []
    places: dict[int, int] = {}
    for place, given in enumerate(mechanisms):
        if id(given) in places:
            counts[places[id(given)]] += 1
            continue
        if not isinstance(given, Mechanism):
            raise InvalidInput(
                f"compose takes mechanisms. Argument {place + 1} has the type {type(given).__name__} instead; "
                "lw.Mechanism(matrix) makes one."
            )
        uses = zip(given.parts, given.counts, strict=True) if isinstance(given, Composition) else [(given, 1)]
        for mechanism, count in uses:
            part = _like_first(parts[0] if parts else None, mechanism.reduce())
            known = next((known for known, other in enumerate(parts) if other == part), None)
            if known is None:
                parts.append(part)
                counts.append(count)
            else:
                counts[known] += count
            if not isinstance(given, Composition):
                places[id(given)] = len(parts) - 1 if known is None else known
    return Composition(tuple(parts), tuple(counts))


def repeat(mechanism: Mechanism, times: int) -> Composition:
    """Return the joint release of ``times`` draws."""
    if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
        raise InvalidInput(f"times must be a whole number of releases, at least 1. Got {times!r} instead.")
    once = compose(mechanism)
    return Composition(once.parts, tuple(count * int(times) for count in once.counts))


def _like_first(first: Mechanism | None, mechanism: Mechanism) -> Mechanism:
    """The mechanism with its letters in the order of the first one's."""
    if first is None:
        return mechanism
    order = first.input_alphabet.positions_in(mechanism.input_alphabet, mine="first mechanism", theirs="other")
    if order is None and first.inputs == mechanism.inputs:
        return mechanism
    kernel = mechanism.kernel if order is None else mechanism.kernel.take_rows(order)
    return Mechanism.from_kernel(kernel, first.input_alphabet, mechanism.output_alphabet)


# ------------------------------------------------------------------------------------------------ count vectors


def _vectors(part: Mechanism, count: int) -> int:
    return math.comb(count + part.shape[1] - 1, part.shape[1] - 1)


def _lowest_terms(part: Mechanism) -> tuple[list[list[int]], int]:
    """The rows of a part over the least denominator they have in common."""
    rows = part.weights.tolist()
    divisor = math.gcd(part.denominator, *(weight for row in rows for weight in row))
    return [[weight // divisor for weight in row] for row in rows], part.denominator // divisor


def _labels(part: Mechanism, count: int) -> list[Label]:
    if count == 1:
        return list(part.outputs)
    return list(count_vectors(part.shape[1], count))


def count_vectors(outcomes: int, total: int) -> Iterator[tuple[int, ...]]:
    """All count vectors of a total, the first count falling."""
    if outcomes == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in count_vectors(outcomes - 1, total - first):
            yield (first, *rest)


def _part_kernel(part: Mechanism, count: int) -> tuple[Array, int]:
    rows, denominator = _lowest_terms(part)
    columns = [list(type_weights(row, count)) for row in rows]
    weights = np.empty((len(rows), len(columns[0])), dtype=np.object_)
    for place, column in enumerate(columns):
        weights[place] = column
    return weights, denominator**count


def type_weights(row: list[int], total: int, factor: int = 1) -> Iterator[int]:
    """multinomial(c) Π_j row_j^{c_j} for every count vector, times a factor, in the order of :func:`count_vectors`."""
    if len(row) == 1:
        yield factor * row[0] ** total
        return
    if len(row) == 2:
        yield from _binomial_weights(row[0], row[1], total, factor)
        return
    powers = [1]
    for _ in range(total):
        powers.append(powers[-1] * row[0])
    for first in range(total, -1, -1):
        here = factor * powers[first] * math.comb(total, first)
        if here == 0:
            yield from (0 for _ in range(math.comb(total - first + len(row) - 2, len(row) - 2)))
            continue
        yield from type_weights(row[1:], total - first, here)


def _binomial_weights(a: int, b: int, total: int, factor: int) -> Iterator[int]:
    """C(n,k) a^(n-k) b^k for k = 0..n, times a factor: each from the one before, by short factors only."""
    if a == 0:
        yield from (0 for _ in range(total))
        yield factor * b**total
        return
    weight = factor * a**total
    yield weight
    for k in range(1, total + 1):
        weight = weight * (b * (total - k + 1)) // (a * k)
        yield weight
