"""Local hashing: a public function of a declared family hashes the value, and the hash is released with noise.

The family is that of all linear functions, up to multiples, of the digits of a value's number over a prime g: with m
digits there are R = (g^m - 1)/(g - 1) of them. Any two values have the same hash under (g^(m-1) - 1)/(g - 1) of them,
a little less often than once in g: the family is universal, and the mechanism on one record is exact.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Alphabet, as_alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.mechanism.catalog.simple import BITS, Letters
from leakwise.mechanism.code_kernel import PRIMES, CodeKernel, Places, places_of
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Counts

__all__ = ["binary_local_hashing", "optimized_local_hashing"]

_UNIT = 1 << BITS


def binary_local_hashing(letters: Letters, epsilon: object = None, *, lift: object = None) -> Mechanism:
    """Hash the value to one bit by a public function drawn at random, and release function and bit ([BS], [WBLJ]).

    The outcome ``h3=1`` is the function number 3 and the bit 1. The bit is the true one with probability p = t/(1+t),
    t = e^ε the local differential privacy that the integers satisfy. The frequency f of a value, estimated from how
    often the released hash is its own, has the variance [q(1-q)/(p-q)² + f(1-p-q)/(p-q)] / n with q close to 1/2.

    >>> binary_local_hashing(["a", "b", "c"], lift=3).outputs
    ('h1=0', 'h1=1', 'h2=0', 'h2=1', 'h3=0', 'h3=1')
    """
    return optimized_local_hashing(letters, epsilon, lift=lift, hashes=2)


def optimized_local_hashing(
    letters: Letters, epsilon: object = None, *, lift: object = None, hashes: int | None = None
) -> Mechanism:
    """Hash the value to one of g numbers by a public function drawn at random, and release both with noise ([WBLJ]).

    The outcome ``h3=1`` is the function number 3 and the hash 1: the true one with probability p = t/(t+g-1), each
    other one with 1/(t+g-1); t = e^ε is the local differential privacy that the integers satisfy. ``hashes`` is g, a
    prime up to 61; left out, the one of least variance, near e^ε + 1 where the values are many.

    A value's own hash is released with probability p, and for any other value with q = a·p + (1-a)(1-p)/(g-1), where a
    is the share of functions under which two values collide (1/g in [WBLJ], a little less here). The frequency f
    estimated from that has the variance [q(1-q)/(p-q)² + f(1-p-q)/(p-q)] / n.

    >>> m = optimized_local_hashing(1000, lift=2)
    >>> m.shape, m.outputs[:2]
    ((1000, 3279), ('h1=0', 'h1=1'))
    """
    alphabet = as_alphabet(letters, name="letters")
    asked, size = level(epsilon, lift), len(alphabet)
    if hashes is None:
        primes = [prime for prime in PRIMES if prime == 2 or prime <= max(size + 1, 3)]
        chosen = min(primes, key=lambda prime: _variance(size, prime, float(min(asked.below, Fraction(_UNIT)))))
    elif isinstance(hashes, bool) or hashes not in PRIMES:
        raise InvalidInput(f"hashes must be a prime from 2 to {PRIMES[-1]}. Got {hashes!r} instead.")
    else:
        chosen = int(hashes)
    places = places_of(size, chosen, 1)
    kernel = CodeKernel(places, np.arange(size), *_weights(places, asked.below), _UNIT)
    names = [f"h{place}={symbol}" for place in range(1, places.count + 1) for symbol in range(chosen)]
    return Mechanism.from_kernel(kernel, alphabet, Alphabet(names, name="outcomes"))


def _weights(places: Places, ratio: Fraction) -> tuple[Counts, Counts]:
    """What each hash weighs, and how much more the true one: as even over the functions as integers are."""
    low = np.empty((places.count, places.q), dtype=np.int64)
    step = np.empty(places.count, dtype=np.int64)
    share, more = divmod(_UNIT, places.count)
    for total, there in ((share + 1, slice(0, more)), (share, slice(more, None))):
        # Rounding the other hashes up rounds the ratio down.
        other = math.ceil(total / (places.q - 1 + ratio))
        if other * places.q <= total:
            low[there], step[there] = other, total - other * places.q
        else:  # the ratio is closer to 1 than different integers can be: one law for all values
            low[there], step[there] = total // places.q, 0
            low[there, : total % places.q] += 1
    return low, step


def _variance(size: int, prime: int, ratio: float) -> float:
    """q(1-q)/(p-q)², but for a factor that does not depend on the number of hashes."""
    digits = next(digits for digits in range(1, 64) if prime**digits >= size)
    collide = (prime ** (digits - 1) - 1) / (prime**digits - 1)
    own, other = ratio / (ratio + prime - 1), 1 / (ratio + prime - 1)
    q = collide * own + (1 - collide) * other
    # p - q = (1-a)(t-1)/(t+g-1), where t - 1 is the same for all g (and 0 where nothing may be told).
    return float(q * (1 - q) / ((1 - collide) / (ratio + prime - 1)) ** 2)
