"""Thousands of letters: words of a code, whose windows of symbols are the outcomes; no matrix, no search.

Each place of the words splits the letters into q classes, and a window holds d of them: about d/q of the mass. A window
that is too light for the limits is released now and then whatever the letter is, as rarely as they allow. How often a
place comes follows from what it tells. For a uniform prior over as many letters as there are words, windows of just the
right share are optimal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from leakwise.mechanism import CodeKernel, CommonLawKernel
from leakwise.mechanism.catalog import BITS
from leakwise.mechanism.code_kernel import Places, places_of
from leakwise.priors import Prior
from leakwise.types import Array, Floats

__all__ = ["Coded", "coded", "optimal_code", "single_values", "unbiased_value"]

_UNIT = 1 << BITS
_SPARE = Fraction(1, 1 << 36)  # of the unit, for roundings
_SYMBOLS = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
_NODES = [NormalDist().inv_cdf((k + 0.5) / 9) for k in range(9)]
_MOST_CELLS = 2_000_000_000  # letters times places: some minutes
_CAUTION = 2.0**-47  # four times the roundings that the checker takes off


@dataclass(frozen=True)
class Coded:
    """A kernel without a matrix, and a number that its utility is not below."""

    kernel: CodeKernel | CommonLawKernel
    value: float


def coded(prior: Prior, lift: Fraction | None, anyone: Fraction | None, most: int) -> Coded | None:
    """Return the code that promises most within the limits and the number of outcomes; None where there is none."""
    ways = _ways(prior, lift, anyone, most)
    return None if not ways else _built(prior, min(ways)[-1], lift, anyone)


def optimal_code(prior: Prior, lift: Fraction | None, anyone: Fraction | None, most: int, bound: float) -> Coded | None:
    """Return the code of a uniform prior whose variance is that of the upper bound, where there is one."""
    if len(set(prior.weights.tolist())) > 1:
        return None
    ways = [way for way in _ways(prior, lift, anyone, most) if way[-1].q ** way[-1].digits == len(prior)]
    if not ways or min(ways)[0] * (1 - 2 / len(prior)) > -bound * (1 + 1e-6):
        return None
    found = _built(prior, min(ways)[-1], lift, anyone)
    return found if found.value >= bound * (1 + 1e-9) else None


def single_values(prior: Prior, lift: Fraction | None, anyone: Fraction | None) -> Coded | None:
    """Return outcomes of single letters, with the noise that each needs: randomized response, for large limits."""
    if not prior.support.all():
        return None
    p, total = prior.probabilities, prior.denominator
    noise = sum(_noise(float(mass), lift, anyone) for mass in p)
    step = int(Fraction(1 / (1 + noise)) * _UNIT * (1 - _SPARE))
    low = [_least(step, int(mass), total, lift, anyone) for mass in prior.weights.tolist()]
    low[0] += _UNIT - step - sum(low)
    if step < 1 or low[0] < 0:
        return None
    kernel = CommonLawKernel(np.array(low, dtype=object), _UNIT)
    return Coded(kernel, unbiased_value(kernel, prior))


def _ways(
    prior: Prior, lift: Fraction | None, anyone: Fraction | None, most: int
) -> list[tuple[float, int, int, Places]]:
    """Codes with about the variance that they lead to, if the masses of windows are like those of random sets."""
    p = prior.probabilities
    size, spread = len(p), math.sqrt(max(float(p @ p) - 1 / len(p), 0.0))
    ways = []
    for q in _SYMBOLS:
        for raised in range(1, q):
            places = places_of(size, q, raised)
            if not size <= places.count * q <= most or places.count * size > _MOST_CELLS:
                continue
            share = raised / q
            noises = [_noise(share + spread * math.sqrt(share * (1 - share)) * node, lift, anyone) for node in _NODES]
            noise = q * sum(noises) / len(noises)
            ways.append((size * (raised + noise) ** 2 / (raised * (q - raised)), q, raised, places))
    return ways


def _noise(mass: float, lift: Fraction | None, anyone: Fraction | None) -> float:
    """How often a window of this mass comes whatever the letter is, relative to its step."""
    least = 0.0 if anyone is None else 1 / (float(anyone) - 1)
    return least if lift is None else max(least, (1 - float(lift) * mass) / (float(lift) - 1))


def _built(prior: Prior, places: Places, lift: Fraction | None, anyone: Fraction | None) -> Coded:
    """The code in integers: windows with the noise that they need, places as often as serves the frequencies best."""
    size, q, raised = len(prior), places.q, places.raised
    words = np.random.default_rng(size).permutation(q**places.digits)[:size]  # not for privacy
    if q**places.digits == size and len(set(prior.weights.tolist())) == 1:
        words = np.arange(size)  # any order does
    nothing = np.zeros((places.count, q), dtype=np.int64), np.zeros(places.count, dtype=np.int64)
    bare = CodeKernel(places, words, *nothing, _UNIT)
    # Letters without mass have words as well, and nothing else depends on them.
    masses, counts = bare.window_sums(prior.weights), bare.window_sums(prior.support.astype(np.int64))
    total = prior.denominator
    inside = np.array([[mass / total for mass in row] for row in masses.tolist()])
    noise = np.array([[_noise(mass, lift, anyone) for mass in row] for row in inside.tolist()])
    each = raised + noise.sum(axis=1)
    share = ((noise + inside) * counts.astype(np.float64)).sum(axis=1) / (prior.support.sum() * each)
    often = np.sqrt(share * (1 - share)) * each
    often /= often.sum()
    step = [int(Fraction(float(one)) * _UNIT * (1 - _SPARE)) for one in often / each]
    low = [
        [_least(one, int(mass), total, lift, anyone) for mass in row]
        for one, row in zip(step, masses.tolist(), strict=True)
    ]
    # What is left goes to the windows of one place, whatever the letter is: that only lowers their lifts.
    left = _UNIT - sum(map(sum, low)) - raised * sum(step)
    low[0] = [one + left // q + (b < left % q) for b, one in enumerate(low[0])]
    kernel = CodeKernel(places, words, np.array(low, dtype=object), np.array(step, dtype=object), _UNIT)
    return Coded(kernel, _value(kernel, inside, counts.astype(np.float64), int(prior.support.sum())))


def _least(step: int, mass: int, total: int, lift: Fraction | None, anyone: Fraction | None) -> int:
    """The least weight of a window for letters outside it: (low + step) ≤ t (low + step·mass), and ≤ a·low; exact."""
    low = 0
    if lift is not None:
        t, over = lift.numerator, lift.denominator
        low = max(low, -(-step * (over * total - t * mass) // (total * (t - over))))
    if anyone is not None:
        low = max(low, -(-step * anyone.denominator // (anyone.numerator - anyone.denominator)))
    return low


def unbiased_value(kernel: CodeKernel | CommonLawKernel, prior: Prior) -> float:
    """Return minus the variances of unbiased estimates of the frequencies, summed, rounded down: without a matrix.

    Of a common law plus a diagonal and a prior that gives every letter some mass it is the utility itself, else a
    number that the utility is not below.
    """
    here = prior.support
    if isinstance(kernel, CommonLawKernel):
        if not kernel.diagonal:
            return -math.inf
        law = kernel.output_law_floats(prior.weights, prior.denominator)[here]
        variance = float((law * (1 - law)).sum()) / float(kernel.diagonal / kernel.denominator) ** 2
        return -variance * (1 + (len(prior) + 64) * _CAUTION)
    if min(kernel.step.tolist()) <= 0:
        return -math.inf
    masses, counts = kernel.window_sums(prior.weights), kernel.window_sums(here.astype(np.int64))
    inside = np.array([[mass / prior.denominator for mass in row] for row in masses.tolist()])
    return _value(kernel, inside, counts.astype(np.float64), int(here.sum()))


def _value(kernel: CodeKernel, inside: Array, counts: Floats, size: int) -> float:
    """Minus the variances of the unbiased estimates, summed, rounded down; see :mod:`leakwise.proof.codes`."""
    places = kernel.places
    q, d = places.q, places.raised
    low, step = kernel.low / kernel.denominator, kernel.step / kernel.denominator
    whole = low.sum(axis=1) + d * step
    share = ((low + step[:, None] * inside) * counts).sum(axis=1) / (size * whole)
    scale = (q - 1) / (places.multiples * d * (q - d) * float(q) ** (places.digits - 1))
    moments = (scale / step) ** 2 * size * whole * share * (1 - share)
    return -float(moments.sum()) * (1 + q * (size + places.count + 64) * _CAUTION)
