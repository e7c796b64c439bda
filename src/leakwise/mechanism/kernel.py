"""Kernels: row-stochastic integers over a denominator that answer questions about their columns.

A mechanism asks its kernel and never its matrix, so that randomized response on a million letters needs no matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import (
    IntegerArray,
    integer_array,
    integer_product,
    is_power_of_two,
    ratio_array,
    round_integer_rows,
    vector_times_matrix,
)
from leakwise.types import Array, Bools, Floats, Indices

if TYPE_CHECKING:
    from leakwise.sampling import CodeSampler, RowSampler, StructuredSampler

__all__ = ["CommonLawKernel", "DenseKernel", "Kernel", "refuse_large"]

# A dense view of more entries than this is refused: 2^27 integers are a gibibyte.
_DENSE_LIMIT = 1 << 27


def refuse_large(rows: int, columns: int, way_out: str) -> None:
    """Refuse a matrix that would fill the memory, before it does."""
    if rows * columns > _DENSE_LIMIT:
        raise InvalidInput(f"A matrix of {rows:,} × {columns:,} entries is too large to write out. {way_out}")


class Kernel(ABC):
    """P(y_j | x_i) = weight_ij / denominator, every row summing to the denominator exactly."""

    shape: tuple[int, int]
    denominator: int

    @property
    @abstractmethod
    def weights(self) -> IntegerArray:
        """The N×M matrix of integers."""

    @abstractmethod
    def column_max(self, rows: Bools | None = None) -> IntegerArray:
        """Return the largest weight of each column, over the given rows (at least one)."""

    @abstractmethod
    def column_min(self, rows: Bools | None = None) -> IntegerArray:
        """Return the smallest weight of each column, over the given rows (at least one)."""

    @abstractmethod
    def output_law(self, prior: IntegerArray) -> list[int]:
        """Return π·P for integer prior weights, exact: integers over denominator times the prior's denominator."""

    @abstractmethod
    def output_law_floats(self, prior: IntegerArray, total: int) -> Floats:
        """Return π·P in floats for prior weights over their total.

        Each value is within (N+8)·2^-53 of the truth, relatively, while nothing underflows: only non-negative
        numbers are added.
        """

    @abstractmethod
    def row(self, code: int) -> IntegerArray:
        """Return the weights of one row."""

    @abstractmethod
    def then(self, later: Kernel) -> Kernel:
        """Return this kernel followed by another, exact."""

    @abstractmethod
    def dyadic(self, bits: int) -> Kernel:
        """Return the nearest kernel over 2^bits."""

    @abstractmethod
    def take_rows(self, order: Indices) -> Kernel:
        """Return the kernel whose row i is row ``order[i]``."""

    @abstractmethod
    def sampler(self) -> RowSampler | StructuredSampler | CodeSampler:
        """Return what draws outcomes; needs a denominator that is a power of two, at most 2^64."""

    def bits(self) -> int:
        """Return the exponent of a denominator that is a power of two, as sampling needs it."""
        if not is_power_of_two(self.denominator) or self.denominator > 1 << 64:
            raise InvalidInput(
                "Drawing outcomes exactly needs a denominator that is a power of two, at most 2^64. "
                "Use mechanism.dyadic(60), and certify the result again."
            )
        return self.denominator.bit_length() - 1

    @cached_property
    def matrix(self) -> Floats:
        """The N×M matrix of probabilities as floats, read-only."""
        return ratio_array(self.weights, self.denominator)


class DenseKernel(Kernel):
    """A kernel that keeps its matrix."""

    def __init__(self, weights: Array, denominator: int) -> None:
        # The caller has checked the rows: this class is made from sums that are exact by construction.
        self._weights = integer_array(weights, denominator)
        self.denominator = denominator
        rows, columns = self._weights.shape
        self.shape = (rows, columns)

    @property
    def weights(self) -> IntegerArray:
        return self._weights

    def column_max(self, rows: Bools | None = None) -> IntegerArray:
        chosen = self._weights if rows is None else self._weights[rows]
        largest: IntegerArray = chosen.max(axis=0)
        return largest

    def column_min(self, rows: Bools | None = None) -> IntegerArray:
        chosen = self._weights if rows is None else self._weights[rows]
        smallest: IntegerArray = chosen.min(axis=0)
        return smallest

    def output_law(self, prior: IntegerArray) -> list[int]:
        return vector_times_matrix(prior, self._weights)

    def output_law_floats(self, prior: IntegerArray, total: int) -> Floats:
        law: Floats = ratio_array(prior, total) @ self.matrix
        return law

    def row(self, code: int) -> IntegerArray:
        weights: IntegerArray = self._weights[code]
        return weights

    def then(self, later: Kernel) -> Kernel:
        return DenseKernel(integer_product(self._weights, later.weights), self.denominator * later.denominator)

    def dyadic(self, bits: int) -> Kernel:
        if self.denominator == 1 << bits:
            return self
        return DenseKernel(round_integer_rows(self._weights, self.denominator, bits), 1 << bits)

    def take_rows(self, order: Indices) -> Kernel:
        return DenseKernel(self._weights[order], self.denominator)

    def sampler(self) -> RowSampler:
        from leakwise.sampling import RowSampler

        if self.denominator == 1:  # a deterministic kernel: the sampler takes at least one bit
            return RowSampler(2 * self._weights, 1)
        return RowSampler(self._weights, self.bits())


class CommonLawKernel(Kernel):
    """A law common to all rows, plus one number on the diagonal: weight_ij = common_j + diagonal·[i = j].

    Row sums force the diagonal to be the same number in every row: the denominator less the sum of the common law. It
    is positive for randomized response and negative for the high-privacy optimum of [EX] Theorem 3.
    """

    def __init__(self, common: Array, denominator: int) -> None:
        # Checked as Python integers, before words of a stranger's file can overflow.
        exact = common.tolist()
        least, largest, diagonal = min(exact), max(exact), denominator - sum(exact)
        if least < 0 or least + diagonal < 0 or largest > denominator:
            place = exact.index(largest if largest > denominator else least)
            raise InvalidInput(
                "A common law plus a diagonal must lie between 0 and the denominator. "
                f"Column {place} has the common weight {exact[place]} and the diagonal adds {diagonal}, "
                f"over {denominator}."
            )
        self.common = integer_array(common, denominator)
        self.denominator = denominator
        self.diagonal = diagonal
        self.shape = (len(exact), len(exact))

    @property
    def weights(self) -> IntegerArray:
        size = len(self.common)
        refuse_large(
            size, size, "The leakage, the certificate and the draws of this mechanism need no matrix: use those."
        )
        weights = np.tile(self.common, (size, 1))
        weights[np.arange(size), np.arange(size)] += self.diagonal
        weights.flags.writeable = False
        return weights

    def column_max(self, rows: Bools | None = None) -> IntegerArray:
        return self._column_extreme(rows, np.maximum)

    def column_min(self, rows: Bools | None = None) -> IntegerArray:
        return self._column_extreme(rows, np.minimum)

    def _column_extreme(self, rows: Bools | None, extreme: np.ufunc) -> IntegerArray:
        mask = np.ones(len(self.common), dtype=np.bool_) if rows is None else rows
        own = self.common + self.diagonal
        count = int(mask.sum())
        if count > 1:
            both: IntegerArray = extreme(self.common, own)
            return np.where(mask, both, self.common)
        return np.where(mask, own, self.common)

    def output_law(self, prior: IntegerArray) -> list[int]:
        weights = [int(weight) for weight in prior]
        total = sum(weights)
        return [
            total * int(common) + weight * self.diagonal for common, weight in zip(self.common, weights, strict=True)
        ]

    def output_law_floats(self, prior: IntegerArray, total: int) -> Floats:
        common = ratio_array(self.common, self.denominator)
        mass = ratio_array(prior, total)
        if self.diagonal >= 0:
            blend: Floats = common + mass * (self.diagonal / self.denominator)
            return blend
        # A difference could cancel: the other letters' part and the own letter's part are both non-negative.
        others = ratio_array(total - prior, total)
        own = ratio_array(self.common + self.diagonal, self.denominator)
        return common * others + own * mass

    def row(self, code: int) -> IntegerArray:
        weights = self.common.copy()
        weights[code] += self.diagonal
        return weights

    def then(self, later: Kernel) -> Kernel:
        denominator = self.denominator * later.denominator
        if isinstance(later, CommonLawKernel):
            # (1cᵀ + dI)(1eᵀ + fI) = 1(De + fc)ᵀ + dfI, because cᵀ1 + d = D.
            common = (
                later.common.astype(np.object_) * self.denominator + self.common.astype(np.object_) * later.diagonal
            )
            return CommonLawKernel(common, denominator)
        return DenseKernel(integer_product(self.weights, later.weights), denominator)

    def dyadic(self, bits: int) -> Kernel:
        target = 1 << bits
        if self.denominator == target:
            return self
        wide = self.common.astype(np.object_) * target
        rounded = (2 * wide + self.denominator) // (2 * self.denominator)
        diagonal = target - int(rounded.sum())
        # The diagonal takes up all roundings, so that an own letter may cross zero, or leave it.
        same_zeros = (rounded == 0) == (self.common == 0)
        same_own_zeros = (rounded + diagonal == 0) == (self.common + self.diagonal == 0)
        if same_zeros.all() and same_own_zeros.all() and int(rounded.min()) + diagonal >= 0:
            return CommonLawKernel(rounded, target)
        if self.shape[0] ** 2 <= _DENSE_LIMIT:
            return DenseKernel(self.weights, self.denominator).dyadic(bits)
        raise InvalidInput(
            f"Over the denominator 2^{bits} some probabilities would become zero, or stop being zero. "
            "Use more bits (at most 64), or merge the rarest letters."
        )

    def take_rows(self, order: Indices) -> Kernel:
        if np.array_equal(order, np.arange(len(self.common))):
            return self
        return DenseKernel(self.weights[order], self.denominator)

    def sampler(self) -> StructuredSampler:
        from leakwise.sampling import StructuredSampler

        return StructuredSampler(self.common, self.diagonal, self.bits())
