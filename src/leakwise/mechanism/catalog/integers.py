"""Noise on ordered values, what falls outside put on the ends, and plain rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Alphabet, Label, as_alphabet
from leakwise.errors import InvalidInput, some_of
from leakwise.exact import Level, exact_fraction, level, round_float_rows, typed
from leakwise.mechanism.catalog.simple import BITS, Letters, identity, truncated_geometric, within
from leakwise.mechanism.kernel import DenseKernel, refuse_large
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Floats

__all__ = ["geometric", "rounding", "staircase"]

_UNIT = 1 << BITS
_ROUNDINGS = 50


def geometric(
    letters: Letters, epsilon: object = None, *, lift: object = None, sensitivity: int | None = None
) -> Mechanism:
    """Return two-sided geometric noise on ordered values, what falls outside put on the ends ([GRS]).

    P(noise = d) = (1-α)/(1+α)·α^|d| with α = e^(-ε/Δ). ``epsilon`` (or ``lift`` = e^ε) is for values at most
    ``sensitivity`` = Δ places apart: no outcome is more than e^ε times as likely for one of them, in the integers. Left
    out, Δ is the distance of the ends, so that ε is the local differential privacy of the whole.

    >>> geometric(3, lift=4).matrix.round(4).tolist()
    [[0.6667, 0.1667, 0.1667], [0.3333, 0.3333, 0.3333], [0.1667, 0.1667, 0.6667]]
    """
    alphabet = as_alphabet(letters, name="letters")
    asked = level(epsilon, lift)
    if len(alphabet) == 1:
        return identity(alphabet)
    return truncated_geometric(alphabet, lift=_root(asked.below, _distance(sensitivity, len(alphabet))))


def staircase(
    letters: Letters,
    epsilon: object = None,
    *,
    lift: object = None,
    sensitivity: int | None = None,
    width: int | None = None,
) -> Mechanism:
    """Return noise in stairs on ordered values, what falls outside put on the ends ([GV], discrete).

    With b = e^-ε and Δ = ``sensitivity``, P(noise = ±(kΔ + j)) is proportional to b^k for 0 ≤ j < r and to b^(k+1) for
    r ≤ j < Δ: the least expected distance of all noises that are added. ``epsilon`` (or ``lift`` = e^ε) is for values
    at most Δ places apart: no outcome is more than e^ε times as likely for one of them, in the integers. Left out, Δ is
    the distance of the ends, so that ε is the local differential privacy of the whole. ``width`` is r, from 1 to Δ;
    left out, that of the least expected distance before the ends.

    >>> staircase(3, lift=2).matrix.round(4).tolist()
    [[0.6, 0.1, 0.3], [0.4, 0.2, 0.4], [0.3, 0.1, 0.6]]
    """
    alphabet = as_alphabet(letters, name="letters")
    asked, size = level(epsilon, lift), len(alphabet)
    if size == 1:
        return identity(alphabet)
    refuse_large(size, size, "Use randomized_response, which needs no matrix, or fewer letters.")
    far = _distance(sensitivity, size)
    if width is not None and (isinstance(width, bool) or not isinstance(width, (int, np.integer))):
        raise InvalidInput(f"width must be a whole number from 1 to the sensitivity ({far}). Got {width!r} instead.")
    if width is not None and not 1 <= width <= far:
        raise InvalidInput(f"width must be from 1 to the sensitivity ({far}). Got {width!r} instead.")
    b = 1 / float(min(asked.below, Fraction(_UNIT)))
    stair = min(range(1, far + 1), key=lambda r: _distance_of_noise(b, far, r)) if width is None else int(width)
    kernel = _held(lambda ratio: _stairs(size, 1 / ratio, far, stair), asked, far)
    return Mechanism.from_kernel(kernel, alphabet, alphabet)


def _distance(sensitivity: int | None, size: int) -> int:
    if sensitivity is None:
        return size - 1
    whole = isinstance(sensitivity, (int, np.integer)) and not isinstance(sensitivity, bool)
    if not whole or not 1 <= sensitivity <= size - 1:
        raise InvalidInput(
            f"sensitivity must be a whole number of places from 1 to {size - 1}, the distance of the ends. Got "
            f"{sensitivity!r} instead."
        )
    return int(sensitivity)


def _root(ratio: Fraction, power: int) -> Fraction:
    """The largest multiple of 2^-64 whose power is at most the ratio, or a hair less."""
    if power == 1:
        return ratio
    bits = 64
    whole = (ratio.numerator << (bits * power)) // ratio.denominator
    return Fraction(max(_integer_root(whole, power), 1 << bits), 1 << bits)


def _integer_root(value: int, power: int) -> int:
    """⌊value^(1/power)⌋, by Newton's steps from above."""
    guess = 1 << -(-value.bit_length() // power)
    while True:
        following = ((power - 1) * guess + value // guess ** (power - 1)) // power
        if following >= guess:
            return guess
        guess = following


def _period(b: float, far: int, stair: int) -> Floats:
    """P(noise = d) of the staircase for d = 0 … Δ-1; each Δ places further b times that."""
    first = (1 - b) / (2 * stair + 2 * b * (far - stair) - (1 - b))
    return np.asarray(first * np.where(np.arange(far) < stair, 1.0, b))


def _distance_of_noise(b: float, far: int, stair: int) -> float:
    """Half of E|noise|: Σ_k b^k Σ_j (kΔ+j) P(j)."""
    if b == 1.0:
        return float(stair)  # every stair is flat
    period = _period(b, far, stair)
    return float((np.arange(far) * period).sum() / (1 - b) + far * period.sum() * b / (1 - b) ** 2)


def _stairs(size: int, b: float, far: int, stair: int) -> Floats:
    """The staircase on 0 … size-1, what falls outside put on the ends."""
    if b == 1.0:  # so much noise that everything falls outside
        matrix = np.zeros((size, size))
        matrix[:, [0, -1]] = 0.5
        return matrix
    period = _period(b, far, stair)
    # P(noise ≥ d) within the period and beyond it: only positive numbers are added.
    tail = np.cumsum(period[::-1])[::-1] + period.sum() * b / (1 - b)
    step, rest = np.divmod(np.arange(size), far)
    noise, beyond = period[rest] * b**step, tail[rest] * b**step
    places = np.arange(size)
    matrix = noise[np.abs(places[:, None] - places[None, :])]
    matrix[:, 0] = beyond
    matrix[0, 0] = 1 - beyond[1]
    matrix[:, -1] = matrix[::-1, 0]
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _held(matrix_at: Callable[[float], Floats], asked: Level, far: int) -> DenseKernel:
    """The integers of a mechanism at a ratio so little below what is asked that they satisfy it themselves.

    Rounding to integers may push two values apart: then a little less of a ratio, and a little of the even law beneath
    the smallest entries. At the ratio 1 all rows are the same, and nothing is pushed.
    """
    top = min(asked.below, Fraction(_UNIT))
    for step in range(_ROUNDINGS):
        ratio = max(1.0, float(top) * (1 - 2.0 ** (step - 51))) if step < _ROUNDINGS - 1 else 1.0
        matrix = matrix_at(ratio)
        even = min(1.0, matrix.shape[1] * 2.0 ** (step - BITS))
        mixed = np.maximum((1 - even) * matrix + even / matrix.shape[1], 2.0**-BITS)
        kernel = DenseKernel(round_float_rows(mixed, BITS), _UNIT)
        if _holds(kernel, asked, far):
            break
    return kernel


def _holds(kernel: DenseKernel, asked: Level, far: int) -> bool:
    """Whether no outcome is more than e^ε times as likely for a value as for one at most so many places away."""
    rows = kernel.weights
    if far == len(rows) - 1:  # all pairs
        return within(rows.max(axis=0), rows.min(axis=0), asked)
    pairs = ((rows[apart:], rows[:-apart]) for apart in range(1, far + 1))
    return all(within(np.maximum(one, other), np.minimum(one, other), asked) for one, other in pairs)


def rounding(letters: Letters, to: object = None, *, edges: Sequence[object] | None = None) -> Mechanism:
    """Return the value rounded: to the nearest multiple of ``to`` (a half upwards), or to the interval it lies in.

    Nothing is random: the outcome rules out every other group, so that local differential privacy has no ε, and the
    outcome of a group leaks log 1/π(group). ``edges`` are the first values of the second, third, … interval, which are
    called ``[low, high)``.

    >>> rounding([17, 18, 25], to=10).outputs, rounding([17, 18, 25], edges=[18]).outputs
    ((20, 30), ('[17, 18)', '[18, 25]'))
    """
    alphabet = as_alphabet(letters, name="letters")
    if (to is None) == (edges is None):
        raise InvalidInput(f"Give either to= or edges=. Got {'neither' if to is None else 'both'}.")
    values = _numbers(alphabet)
    if to is not None:
        step = typed(to, exact_fraction(to, "to"))
        if step <= 0:
            raise InvalidInput(f"to must be a positive number. Got {to!r} instead.")
        groups: list[Label] = [_plain(step * math.floor(value / step + Fraction(1, 2))) for value in values]
    else:
        assert edges is not None
        groups = _intervals(values, [typed(edge, exact_fraction(edge, "edges")) for edge in edges])
    order = sorted(range(len(values)), key=lambda place: values[place])
    outcomes = list(dict.fromkeys(groups[place] for place in order))
    weights = np.zeros((len(values), len(outcomes)), dtype=np.int64)
    weights[np.arange(len(values)), [outcomes.index(group) for group in groups]] = _UNIT
    return Mechanism.from_kernel(DenseKernel(weights, _UNIT), alphabet, Alphabet(outcomes, name="outcomes"))


def _numbers(alphabet: Alphabet) -> list[Fraction]:
    strange = [label for label in alphabet.labels if isinstance(label, (bool, str)) or not _is_number(label)]
    if strange:
        raise InvalidInput(f"letters must be numbers to be rounded. Got {some_of(strange)}.")
    return [typed(label, exact_fraction(label, "letters")) for label in alphabet.labels]


def _is_number(label: object) -> bool:
    try:
        exact_fraction(label, "letters")
    except InvalidInput:
        return False
    return True


def _intervals(values: list[Fraction], edges: list[Fraction]) -> list[Label]:
    if edges != sorted(set(edges)):
        raise InvalidInput(f"edges must increase. Got {[float(edge) for edge in edges]} instead.")
    low, high = min(values), max(values)
    bounds = [low, *(edge for edge in edges if low < edge <= high), high]
    names: list[Label] = []
    for value in values:
        place = sum(bound <= value for bound in bounds[:-1]) - 1
        last = place == len(bounds) - 2
        names.append(f"[{_plain(bounds[place])}, {_plain(bounds[place + 1])}{']' if last else ')'}")
    return names


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
