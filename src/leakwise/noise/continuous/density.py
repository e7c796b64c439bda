"""A secret with a density on an interval: polynomials piece by piece, truncated normals, and mixtures of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import lines
from leakwise.charts.table import number
from leakwise.errors import InvalidInput, some_of
from leakwise.exact import Piece, Pieces, as_typed, exact_fraction, negative_somewhere
from leakwise.types import Floats

__all__ = ["Density"]

_LARGEST_DEGREE = 30
_MOST_PIECES = 1000
# What an operation on floats can lose, twice, and what many of them can.
_DIGIT = 2.0**-52
_ROUND = 2.0**-44
_PARTS = 32
# Normal distributions that are narrower than this, of the ends of their interval, have too few floats.
_NARROWEST = Fraction(1, 1 << 40)


@dataclass(frozen=True, repr=False)
class Density(Drawn):
    """The distribution of a secret that is any real of an interval, made by one of the functions below.

    Edges are floats, and a float means its exact binary value; everything else is exact. Where pieces overlap they add.

    Examples
    --------
    >>> age = Density.mixture({Density.uniform(0, 100): 0.4, Density.truncated_normal(40, 12, 0, 100): 0.6})
    >>> print(f"{age.low:g} to {age.high:g}, {age.probability(0, 50):.4f} below 50")
    0 to 100, 0.6786 below 50
    """

    pieces: tuple[Piece, ...]

    # -- the ways to make one -----------------------------------------------------------------------------------

    @classmethod
    def uniform(cls, low: Any, high: Any) -> Density:
        """Return the uniform density from low to high."""
        return cls.piecewise(_edges([low, high], "low and high"), [1])

    @classmethod
    def triangular(cls, low: Any, mode: Any, high: Any) -> Density:
        """Return the density that rises in a straight line from low to mode and falls to high."""
        a, c, b = _edges([low, mode, high], "low, mode and high", rising=False)
        rise = [Fraction(-Fraction(a), 1), Fraction(1)]
        fall = [Fraction(b), Fraction(-1)]
        if a == c:
            return cls.piecewise([c, b], [fall])
        if c == b:
            return cls.piecewise([a, c], [rise])
        up, down = Fraction(c) - Fraction(a), Fraction(b) - Fraction(c)
        return cls.piecewise([a, c, b], [[one / up for one in rise], [one / down for one in fall]])

    @classmethod
    def histogram(cls, edges: Iterable[Any], counts: Iterable[Any]) -> Density:
        """Return the density that is level between the edges, with probabilities in proportion to the counts."""
        ends, many = _edges(edges), [exact_fraction(count, "each of counts") for count in counts]
        if len(many) != len(ends) - 1:
            raise InvalidInput(
                f"counts must be one for each interval between the edges: {len(ends) - 1}. Got {len(many)}."
            )
        if min(many) < 0 or not any(many):
            raise InvalidInput(f"counts must be numbers of at least 0, not all 0. Got {some_of(map(as_typed, many))}.")
        widths = [Fraction(b) - Fraction(a) for a, b in itertools.pairwise(ends)]
        return cls.piecewise(ends, [count / width for count, width in zip(many, widths, strict=True)])

    @classmethod
    def piecewise(cls, edges: Iterable[Any], polynomials: Iterable[Any]) -> Density:
        """Return a density that is a polynomial between any two edges, up to the factor that makes its integral 1.

        Parameters
        ----------
        edges
            The ends of the pieces, rising.
        polynomials
            For each piece a number (the density is level there), or the coefficients of a polynomial in x, constant
            first. They must not be below 0 anywhere on their pieces, which is checked exactly.
        """
        ends, given = _edges(edges), list(polynomials)
        if len(given) != len(ends) - 1:
            raise InvalidInput(
                f"polynomials must be one for each interval between the edges: {len(ends) - 1}. Got {len(given)}."
            )
        if len(given) > _MOST_PIECES:
            raise InvalidInput(f"A density has at most {_MOST_PIECES} pieces. Got {len(given)}: merge some.")
        found: list[Piece] = []
        total = Fraction(0)
        for low, high, what in zip(ends[:-1], ends[1:], given, strict=True):
            level = not isinstance(what, Iterable) or isinstance(what, str)
            values = [exact_fraction(one, "each coefficient") for one in ([what] if level else what)]
            while values and not values[-1]:
                values.pop()
            if len(values) > _LARGEST_DEGREE + 1:
                raise InvalidInput(f"A polynomial has degree at most {_LARGEST_DEGREE}. Got {len(values) - 1}.")
            if negative_somewhere(values, low, high):
                raise InvalidInput(
                    f"A density is nowhere below 0. The polynomial between {low:g} and {high:g} is; check its "
                    "coefficients, constant first."
                )
            if values:
                a, b = Fraction(low), Fraction(high)
                total += sum(c * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for k, c in enumerate(values))
                found.append(Piece(low, high, tuple(values)))
        if not found:
            raise InvalidInput("polynomials must not all be zero: a density has an integral above 0.")
        return cls(tuple(piece._replace(coefficients=tuple(c / total for c in piece.coefficients)) for piece in found))

    @classmethod
    def truncated_normal(cls, mean: Any, sd: Any, low: Any, high: Any) -> Density:
        """Return the normal density with this mean and standard deviation, cut off below low and above high."""
        a, b = _edges([low, high], "low and high")
        centre, width = exact_fraction(mean, "mean"), exact_fraction(sd, "sd")
        if not width > 0:
            raise InvalidInput(f"sd must be above 0. Got {sd!r} instead.")
        if width < _NARROWEST * Fraction(max(abs(a), abs(b))):
            raise InvalidInput(
                f"sd must be larger than the last digits of the ends, {a:g} and {b:g}. Got {sd!r}: take an interval "
                "around the mean, or subtract a constant from the secret."
            )
        return cls((Piece(a, b, (Fraction(1),), (centre, width)),))

    @classmethod
    def mixture(cls, parts: Mapping[Density, Any]) -> Density:
        """Return the mixture of densities, each with its weight; the weights are divided by their sum."""
        if not isinstance(parts, Mapping):
            raise InvalidInput(
                "parts must map densities to their weights, such as {Density.uniform(0, 50): 0.4, "
                f"Density.uniform(50, 100): 0.6}}. Got {type(parts).__name__} instead."
            )
        weights = {one: exact_fraction(weight, "each weight") for one, weight in parts.items()}
        total = sum(weights.values(), Fraction(0))
        if not all(isinstance(one, Density) for one in weights) or min(weights.values(), default=-1) < 0 or not total:
            raise InvalidInput("parts must map densities to weights of at least 0, not all 0.")
        return cls(
            tuple(
                piece._replace(coefficients=tuple(weight / total * c for c in piece.coefficients))
                for one, weight in weights.items()
                if weight
                for piece in one.pieces
            )
        )

    # -- where it lives -----------------------------------------------------------------------------------------

    @property
    def low(self) -> float:
        """The least value that the secret can take."""
        return min(piece.low for piece in self.pieces)

    @property
    def high(self) -> float:
        """The largest value that the secret can take."""
        return max(piece.high for piece in self.pieces)

    @cached_property
    def support(self) -> tuple[tuple[float, float], ...]:
        """The intervals in which the secret lies, from left to right; gaps between them have probability 0."""
        found: list[tuple[float, float]] = []
        for low, high in sorted((piece.low, piece.high) for piece in self.pieces):
            if found and low <= found[-1][1]:
                found[-1] = (found[-1][0], max(high, found[-1][1]))
            else:
                found.append((low, high))
        return tuple(found)

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """All ends of pieces, rising."""
        return tuple(sorted({end for piece in self.pieces for end in (piece.low, piece.high)}))

    def distance(self, y: npt.ArrayLike) -> Floats:
        """How far each point is from the nearest value that the secret can take."""
        at = np.asarray(y, dtype=np.float64)[..., None]
        lows, highs = np.array(self.support).T
        far: Floats = np.maximum(np.maximum(lows - at, at - highs), 0.0).min(axis=-1)
        return far

    # -- its numbers --------------------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Pieces:
        """Itself, to be integrated."""
        return Pieces(self.pieces)

    @cached_property
    def steepness(self) -> tuple[float, float]:
        """Upper bounds on the density, and on the size of its slope inside the pieces."""
        cuts = np.array(self.edges)
        ends = np.unique(np.linspace(cuts[:-1], cuts[1:], _PARTS + 1))
        peak, slope, _ = self.largest(ends[:-1], ends[1:])
        return float(peak.max()), float(slope.max())

    def largest(self, left: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
        """Return upper bounds on the density and on the sizes of its slope and its bend in the pieces, on intervals."""
        found = np.zeros((3, len(left)))
        for piece, unit in zip(self.pieces, self.weights.log_units, strict=True):
            a, b = np.maximum(left, piece.low), np.minimum(right, piece.high)
            met = a < b
            if not met.any():
                continue
            middle = (a[met] + b[met]) / 2
            # Far from zero the middle itself is rounded.
            half = np.maximum(b[met] - middle, middle - a[met]) * (1 + _ROUND) + _ROUND * (piece.high - piece.low)
            p = _derivatives(_shifted(piece.coefficients, Fraction(piece.low)), middle - piece.low, half)
            if piece.bell is not None:
                bell = _bell_derivatives(piece.bell, unit, middle, half)
                p = (
                    p[0] * bell[0],
                    p[1] * bell[0] + p[0] * bell[1],
                    p[2] * bell[0] + 2 * p[1] * bell[1] + p[0] * bell[2],
                )
            found[:, met] += p
        found *= 1 + _ROUND
        return found[0], found[1], found[2]

    @cached_property
    def jumps(self) -> tuple[Floats, Floats]:
        """Upper bounds on the sizes of the jumps of the density and of its slope at each edge, outermost included."""
        # Balls around the values on both sides: what the float rounding of a value can be is part of them.
        ends = np.array(self.edges)
        found = np.zeros((2, len(ends)))
        sizes = np.zeros((2, len(ends)))
        for piece, unit in zip(self.pieces, self.weights.log_units, strict=True):
            for side, end in ((1.0, piece.low), (-1.0, piece.high)):
                place = int(np.searchsorted(ends, end))
                value, slope, *_ = *_shifted(piece.coefficients, Fraction(end)), 0.0
                size = [abs(value), abs(slope)]
                if piece.bell is not None:
                    sd = float(piece.bell[1])
                    t = float((Fraction(end) - piece.bell[0]) / piece.bell[1])
                    height = math.exp(-t * t / 2 - unit)
                    size = [abs(value) * height, (abs(slope) + abs(value * t / sd)) * height]
                    value, slope = value * height, (slope - value * t / sd) * height
                    size = [one * (1 + t * t + abs(unit)) if one else 0.0 for one in size]
                found[:, place] += side * np.array([value, slope])
                sizes[:, place] += size
        bounds = np.abs(found) + _ROUND * sizes
        return bounds[0], bounds[1]

    def mass(self, low: Any, high: Any) -> tuple[float, float]:
        """Return floats below and above the probability of [low, high]."""
        level = (Fraction(0), Fraction(0), Fraction(0))
        ends = (max(float(low), self.low), min(float(high), self.high))
        if not ends[0] < ends[1]:
            return 0.0, 0.0
        below, above = self.weights.against([(Fraction(ends[0]), Fraction(ends[1]), level)])
        return below, min(above, 1.0)

    def probability(self, low: Any, high: Any) -> float:
        """Return the probability that the secret is between low and high, rounded to the nearest float or two."""
        below, above = self.mass(low, high)
        return (below + above) / 2

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Return the density at each point, in floats; at an edge that of the piece to its right."""
        return self.pdf_and_error(x)[0]

    def pdf_and_error(self, x: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the same with a bound on its rounding, for points that are not next to an edge."""
        at = np.asarray(x, dtype=np.float64)
        total: Floats = np.zeros(at.shape)
        error: Floats = np.zeros(at.shape)
        for piece, unit in zip(self.pieces, self.weights.log_units, strict=True):
            # In powers of x - low no large terms cancel.
            there, size = np.zeros(at.shape), np.zeros(at.shape)
            for c in reversed(_shifted(piece.coefficients, Fraction(piece.low))):
                there = there * (at - piece.low) + c
                size = size * np.abs(at - piece.low) + abs(c)
            digits = np.full(at.shape, 4.0 * len(piece.coefficients))
            if piece.bell is not None:
                mean, sd = (float(part) for part in piece.bell)
                away = np.abs((at - mean) / sd)
                bell = np.exp(-(away**2) / 2 - unit)
                there, size = there * bell, size * bell
                digits += 4 + away * abs(mean) / sd + 4 * away**2 + 2 * abs(unit)
            inside = (at >= piece.low) & ((at < piece.high) | ((at == piece.high) & (piece.high == self.high)))
            total += np.where(inside, np.maximum(there, 0.0), 0.0)
            error += np.where(inside, digits * size * _DIGIT, 0.0)
        return total, error

    # -- looks --------------------------------------------------------------------------------------------------

    def _shown(self) -> Parts:
        rows = []
        for piece in self.pieces:
            if piece.bell is None:
                degree = len(piece.coefficients) - 1
                kind = ("level", "straight line")[degree] if degree < 2 else f"polynomial of degree {degree}"
            else:
                kind = f"normal, mean {float(piece.bell[0]):g}, sd {float(piece.bell[1]):g}"
            share = Density((piece,)).probability(piece.low, piece.high)
            rows.append([f"{piece.low:g}", f"{piece.high:g}", kind, number(share)])
        title = f"A density from {self.low:g} to {self.high:g}"
        return [Table(["from", "to", "shape", "probability"], rows, title, align="rrlr")]

    def points(self, count: int = 241) -> Floats:
        """Return points of its interval to draw it at, edges among them."""
        inner = np.linspace(self.low, self.high, count)
        ends = np.array(self.edges)
        found: Floats = np.unique(np.concatenate([inner, ends, np.nextafter(ends[1:], -math.inf)]))
        return found

    def chart(self) -> dict[str, Any]:
        """The density as a Vega-Lite line chart."""
        x = self.points()
        return lines(
            {"density": (x.tolist(), self.pdf(x).tolist())}, title="Density of the secret", x_title="value", y_title=""
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: numbers that are not floats as texts."""
        return {
            "pieces": [
                {
                    "low": piece.low,
                    "high": piece.high,
                    "coefficients": [str(c) for c in piece.coefficients],
                    "normal": None if piece.bell is None else [str(part) for part in piece.bell],
                }
                for piece in self.pieces
            ]
        }

    def __getstate__(self) -> dict[str, Any]:
        return {"pieces": self.pieces}


def _edges(given: Iterable[Any], name: str = "edges", *, rising: bool = True) -> list[float]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} must be at least two rising reals, such as [0, 50, 100]. Got {given!r} instead.")
    ends = [float(exact_fraction(end, f"each of {name}")) for end in given]
    wrong = any(not (a < b if rising else a <= b) for a, b in itertools.pairwise(ends))
    if len(ends) < 2 or wrong or not ends[0] < ends[-1]:
        kind = "at least two reals" if name == "edges" else "reals"
        order = "each above the one before" if rising else "none below the one before, and the last above the first"
        got = ", ".join(f"{end:g}" for end in ends[:6]) or "none"
        raise InvalidInput(f"{name} must be {kind}, {order}. Got {got} instead.")
    return ends


def _shifted(coefficients: Sequence[Fraction], by: Fraction) -> list[float]:
    """The coefficients of p(by + u) in powers of u, as floats."""
    left = list(coefficients)
    for k in range(len(left)):
        for place in range(len(left) - 2, k - 1, -1):
            left[place] += by * left[place + 1]
    return [float(c) for c in left]


def _derivatives(coefficients: Sequence[float], at: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
    """Upper bounds on the sizes of a polynomial and its first two derivatives within ``half`` of points."""
    taylor = [np.full(at.shape, c) for c in coefficients]
    sizes = [np.full(at.shape, abs(c)) for c in coefficients]
    for k in range(len(taylor)):
        for place in range(len(taylor) - 2, k - 1, -1):
            taylor[place] = taylor[place] + at * taylor[place + 1]
            sizes[place] = sizes[place] + np.abs(at) * sizes[place + 1]
    bounds = [np.abs(one) + _ROUND * size for one, size in zip(taylor, sizes, strict=True)]
    found = [np.zeros(at.shape) for _ in range(3)]
    for k, bound in enumerate(bounds):
        for order, factor in enumerate((1, k, k * (k - 1))):
            if factor:
                found[order] += factor * bound * half ** (k - order)
    return found[0], found[1], found[2]


def _bell_derivatives(
    bell: tuple[Fraction, Fraction], unit: float, middle: Floats, half: Floats
) -> tuple[Floats, Floats, Floats]:
    """The same of a bell over its integral: t, t·e^{-t²/2} and (t²-1)·e^{-t²/2} have their extremes at 0, 1 and √3."""
    mean, sd = float(bell[0]), float(bell[1])
    centre = np.abs(middle - mean) / sd
    off = half / sd + _ROUND * (centre + (np.abs(middle) + abs(mean)) / sd)
    near, far = np.maximum(centre - off, 0.0), centre + off

    def height(t: Floats) -> Floats:
        exponent = -(t**2) / 2 - unit
        exponent += _ROUND * (t**2 + abs(unit))
        value: Floats = np.exp(np.minimum(exponent, 700.0))
        return value

    steepest = np.clip(1.0, near, far)
    bent = [np.abs(t**2 - 1) * height(t) for t in (near, far, np.clip(math.sqrt(3), near, far))]
    return height(near), steepest * height(steepest) / sd, np.max(bent, axis=0) / sd**2
