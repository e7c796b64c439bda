"""Mechanisms whose outcome is a set of values, too many sets to list: what they weigh depends on their size alone.

A set S of s of the k values weighs scale_s·inside_s for a value in it and scale_s·outside_s for any other. Unary
encoding and subset selection are of this kind, and all that is asked of them is a question of one size at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.charts.shown import Parts
from leakwise.errors import InvalidInput
from leakwise.mechanism.kernel import DenseKernel, Kernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Array, Bools

__all__ = ["EachValue", "SetLevel", "SetMechanism", "SoMany", "set_names"]

UNIT = 1 << 60
_ROWS = 1 << 22  # truth values drawn at a time


@dataclass(frozen=True)
class SetLevel:
    """What each set of ``size`` values weighs: scale·inside for a value in it, scale·outside for any other."""

    size: int
    scale: int
    inside: int
    outside: int


@dataclass(frozen=True)
class EachValue:
    """Every value by itself: the true one is in the set with probability keep/2^60, any other with rise/2^60."""

    keep: int
    rise: int

    def levels(self, count: int) -> list[SetLevel]:
        """Return what the sets of each size weigh, over 2^(60k)."""
        keep, rise, fall = self.keep, self.rise, UNIT - self.rise
        if not 0 < rise <= keep < UNIT:
            raise InvalidInput(
                f"The true value must be in a set at least as often as any other, neither never nor always. Got {keep} "
                f"and {rise} over 2^60."
            )
        inner = [
            SetLevel(s, rise ** (s - 1) * fall ** (count - 1 - s), keep * fall, (UNIT - keep) * rise)
            for s in range(1, count)
        ]
        ends = SetLevel(0, fall ** (count - 1), 0, UNIT - keep), SetLevel(count, rise ** (count - 1), keep, 0)
        return [ends[0], *inner, ends[1]]

    def draw(self, count: int, codes: Array, stream: Any) -> Bools:
        """Draw a set for each code."""
        from leakwise.sampling import draw_each_letter  # the cipher is loaded when someone draws

        return draw_each_letter(codes, count, self.keep, self.rise, stream)


@dataclass(frozen=True)
class SoMany:
    """A set of ``size`` values, with the true one with probability own/2^60; None: all sets alike, for every value."""

    size: int
    own: int | None

    def levels(self, count: int) -> list[SetLevel]:
        """Return what the sets weigh, over 2^60 times the numbers of sets with and without a value."""
        if not 1 <= self.size <= count or (self.own is not None and not 0 < self.own < UNIT):
            raise InvalidInput(
                f"A set must have from 1 to {count} values, the true one neither never nor always. Got {self}."
            )
        if self.own is None:
            return [SetLevel(self.size, 1, 1, 1)]
        having, others = _among(count - 1, self.size - 1), _among(count - 1, self.size)
        level = SetLevel(self.size, 1, self.own * others, (UNIT - self.own) * having)
        if level.inside < level.outside or not others:
            raise InvalidInput(f"A set must have the true value at least as often as any other. Got {self}.")
        return [level]

    def draw(self, count: int, codes: Array, stream: Any) -> Bools:
        """Draw a set for each code."""
        from leakwise.sampling import draw_so_many  # the cipher is loaded when someone draws

        return draw_so_many(codes, count, self.size, self.own, stream)


class SetMechanism(Mechanism):
    """A mechanism that releases a set of values, with too many sets to list them.

    ``lw.epsilon``, ``lw.ldp``, ``lw.maximal_leakage``, ``lw.mutual_information``, ``lw.utility`` and ``lw.certify``,
    draws, :func:`leakwise.release` of a table in memory and :func:`leakwise.estimate` need no list. An outcome is
    written as its bits, one for each value in their order: ``b0110`` is the set of the second and the third. Made by
    ``lw.catalog``.

    Attributes
    ----------
    rule
        How a set is drawn: value by value, or so many values.
    levels
        What the sets of each size weigh, over ``denominator``.
    """

    levels: tuple[SetLevel, ...]
    rule: EachValue | SoMany

    def __init__(self, letters: Alphabet, rule: EachValue | SoMany) -> None:
        levels, count = tuple(rule.levels(len(letters))), len(letters)
        total = sum(
            one.scale * (_among(count - 1, one.size - 1) * one.inside + _among(count - 1, one.size) * one.outside)
            for one in levels
        )
        for name, value in (("input_alphabet", letters), ("rule", rule), ("levels", levels), ("_over", total)):
            object.__setattr__(self, name, value)

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def denominator(self) -> int:
        """What the weights are over."""
        return self._over  # type: ignore[attr-defined, no-any-return]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of values, number of sets."""
        count = len(self.input_alphabet)
        return count, sum(math.comb(count, one.size) for one in self.levels)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """Refused: there are too many sets."""
        raise InvalidInput(
            f"The mechanism has {_number(self.shape[1])} outcomes, too many to list. lw.epsilon, lw.ldp, "
            "lw.maximal_leakage, lw.mutual_information, lw.certify (leakwise certify), lw.compare (leakwise compare), "
            "sample, lw.release in memory and lw.estimate need no list; for everything else use fewer values, or a "
            "mechanism with fewer outcomes (optimized_local_hashing)."
        )

    @property
    def output_alphabet(self) -> Alphabet:  # type: ignore[override]
        """Refused: there are too many sets."""
        self.kernel  # noqa: B018
        raise AssertionError

    @cached_property
    def rates(self) -> tuple[Fraction, Fraction]:
        """The probability that the released set has the true value, and that it has any one other: p and q."""
        count = len(self.input_alphabet)
        own = sum(one.scale * one.inside * _among(count - 1, one.size - 1) for one in self.levels)
        other = sum(
            one.scale * (one.inside * _among(count - 2, one.size - 2) + one.outside * _among(count - 2, one.size - 1))
            for one in self.levels
        )
        return Fraction(own, self.denominator), Fraction(other, self.denominator)

    @cached_property
    def pair(self) -> Mechanism:
        """What tells any two of the values apart: sets with the one, with the other, and with both or none of them.

        Sets whose weights have one ratio count as one outcome. All pairs are alike, so that the privacy profile of this
        mechanism on two values is that of the whole.
        """
        count, apart = len(self.input_alphabet), dict[Fraction | None, list[int]]()
        for one in self.levels:
            several = one.scale * _among(count - 2, one.size - 1)
            if several and one.inside:
                ratio = Fraction(one.inside, one.outside) if one.outside else None
                both = apart.setdefault(ratio, [0, 0])
                both[0] += several * one.inside
                both[1] += several * one.outside
        columns = [column for high, low in apart.values() for column in ((high, low), (low, high))]
        rest = self.denominator - sum(first for first, _ in columns)
        columns += [(rest, rest)] * (rest > 0)
        weights = np.array([[column[row] for column in columns] for row in (0, 1)], dtype=np.object_)
        return Mechanism.from_kernel(DenseKernel(weights, self.denominator))

    def probability(self, letter: Label, outcome: Label) -> Fraction:
        """Return the exact probability of a set, given the value."""
        code = self.input_alphabet.code(letter, name="letter")
        bits = self.members([outcome])[0]
        level = next((one for one in self.levels if one.size == int(bits.sum())), None)
        if level is None:
            return Fraction(0)
        return Fraction(level.scale * (level.inside if bits[code] else level.outside), self.denominator)

    # -- outcomes -----------------------------------------------------------------------------------------------

    def members(self, outcomes: Sequence[Label]) -> Bools:
        """Return which values the sets have, a row of truth values for each."""
        count = len(self.input_alphabet)
        for name in outcomes:
            if not isinstance(name, str) or len(name) != count + 1 or name[0] != "b" or name[1:].strip("01"):
                raise InvalidInput(
                    f"An outcome of this mechanism is the letter b and {count} bits, one for each value. Got {name!r} "
                    "instead."
                )
        bits = np.frombuffer("".join(map(str, outcomes)).encode(), dtype=np.uint8).reshape(len(outcomes), count + 1)
        found: Bools = bits[:, 1:] == ord("1")
        return found

    def drawn(self, codes: Array, stream: Any = None) -> tuple[Alphabet, Array]:
        """Draw a set for each code: those that came, in the order of their bits, and which of them each code got."""
        step = max(1, _ROWS // len(self.input_alphabet))
        parts = [
            np.packbits(self.rule.draw(len(self.input_alphabet), codes[start : start + step], stream), axis=1)
            for start in range(0, codes.size, step)
        ]
        packed = np.concatenate(parts) if parts else np.empty((0, 1), dtype=np.uint8)
        came, places = np.unique(packed, axis=0, return_inverse=True)
        bits = np.unpackbits(came, axis=1, count=len(self.input_alphabet)).astype(np.bool_)
        names = set_names(bits) if len(bits) else ["b" + "0" * len(self.input_alphabet)]
        return Alphabet(names, name="outcomes"), places.reshape(-1).astype(np.min_scalar_type(max(len(came) - 1, 0)))

    def sample(self, letter: Label, size: int | None = None, *, unsafe_seed: int | None = None) -> Any:
        """Draw a set for a value (or ``size`` of them, as a list), from the operating system's randomness."""
        names, places = self.drawn(*self._to_draw(letter, size, unsafe_seed))
        outcomes = [names.labels[place] for place in places]
        return outcomes[0] if size is None else outcomes

    # -- equality and looks -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SetMechanism):
            return NotImplemented if not isinstance(other, Mechanism) else False
        return self.inputs == other.inputs and self.rule == other.rule

    def __hash__(self) -> int:
        return hash((self.inputs, self.rule))

    def _shown(self) -> Parts:
        p, q = (float(rate) for rate in self.rates)
        return [
            f"Mechanism {self.shape[0]:,} × {_number(self.shape[1])}: a set that has the true value with probability "
            f"{p:.4g} and any other with {q:.4g}"
        ]


def set_names(sets: Bools) -> list[str]:
    """Return sets as their bits: ``b0110`` for the second and the third of four values."""
    digits = np.where(sets, ord("1"), ord("0")).astype(np.uint8)
    return ["b" + row.tobytes().decode() for row in digits]


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"about 10^{len(str(count)) - 1}"


def _among(count: int, size: int) -> int:
    return math.comb(count, size) if 0 <= size <= count else 0
