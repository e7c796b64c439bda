"""Binomial tails in ball arithmetic, and the claims about a sample that rest on them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from leakwise.errors import CertificateRejected
from leakwise.exact import last_that_holds
from leakwise.priors import Ball, Box, KLBall, LayerCake, Prior, PriorSet
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake

__all__ = ["check_failure", "proven_lower_bound", "tail_at_most"]

PRECISION = 128
_TERMS = 200_000
_FLOATS = 4096
_LEAST_ODDS = Fraction(1, 10**12)
# Samples whose standard deviation is within so many rows are summed term by term, larger ones in blocks.
_BY_TERMS = 4096


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _log_sets(size: int) -> arb:
    """log(2^N - 2), or 0 for one letter."""
    return (arb(2) ** size - 2).log() if size > 1 else arb(0)


def _log_term(k: int, m: int, p: Fraction) -> arb:
    """log P(Bin(m, p) = k)."""
    choose = arb(m + 1).lgamma() - arb(k + 1).lgamma() - arb(m - k + 1).lgamma()
    return choose + k * _ball(p).log() + (m - k) * _ball(1 - p).log()


def tail_at_most(k: int, m: int, p: Fraction, log_level: arb) -> bool:
    """Whether P(Bin(m, p) ≥ k) ≤ e^{log_level}, proven; the terms are added until the rest is geometric and small.

    In large samples they are added in blocks of a sixteenth of the standard deviation: the ratio of neighbouring terms
    falls, so that a block is at most the geometric series of its first two, which is 0.2% too much.
    """
    if k <= 0 or p == 1:
        return bool(log_level >= 0)
    if p == 0 or k > m:
        return True
    with ctx.workprec(PRECISION + m.bit_length()):
        odds = _ball(p / (1 - p))
        spread = math.isqrt(int(m * p * (1 - p)))
        length = 1 if spread <= _BY_TERMS else spread // 16
        first = _log_term(k, m, p)
        if length == 1 and (ends := _sum_of_terms(k, m, p)) is not None:
            # Floats decide where they err by less than what is left, which is nearly always.
            low, high = (first + arb(end).log() for end in ends)
            if high <= log_level or low > log_level:
                return bool(high <= log_level)
        total, term, j, steps = arb(0), arb(1), k, 0
        while j <= m:
            ratio = odds * (m - j) / (j + 1)
            if ratio < 1 and term < total * arb(2) ** -40 * (1 - ratio):
                total += term / (1 - ratio)  # the ratios fall: the rest is at most this
                break
            if steps > _TERMS or (length > 1 and not ratio < 1):  # blocks are for tails beyond the mean
                return False
            if length == 1:
                total += term
                term *= ratio
            else:
                total += term * (1 - ratio**length) / (1 - ratio)
                term = (_log_term(min(j + length, m), m, p) - first).exp()
            j += length
            steps += 1
        return bool(first + total.log() <= log_level)


def _sum_of_terms(k: int, m: int, p: Fraction) -> tuple[float, float] | None:
    """The tail from k on over its first term, between two floats; None where so many terms do not end it.

    Each term comes of at most 4096 products, each off by a few units of 2^-53, so that 2^-36 is more than all of it.
    """
    if not _LEAST_ODDS < p < 1 - _LEAST_ODDS:
        return None
    places = np.arange(k, min(k + _FLOATS, m))
    ratios = float(p / (1 - p)) * (m - places) / (places + 1)
    with np.errstate(over="ignore"):
        terms = np.cumprod(np.append(1.0, ratios))
    last = float(ratios[-1]) if len(ratios) else 0.0
    total, rest = float(terms.sum()), 0.0
    if not math.isfinite(total):
        return None
    if k + _FLOATS < m:  # the ratios fall: what follows is at most geometric
        if not last < 0.999:
            return None
        rest = float(terms[-1]) * last / (1 - last)
    return total * (1 - 2.0**-36), (total + rest) * (1 + 2.0**-36)


@functools.lru_cache(maxsize=1 << 16)  # the certificates of one release ask for the same ones again
def proven_lower_bound(count: int, samples: int, failure: Fraction, sets: int) -> Fraction:
    """A p with P(Bin(samples, p) ≥ count) ≤ failure/sets: searched for with a geometric tail, proven by the terms."""
    if count == 0:
        return Fraction(0)
    with ctx.workprec(PRECISION + samples.bit_length()):
        level = (_ball(failure) / sets).log()
        choose = arb(samples + 1).lgamma() - arb(count + 1).lgamma() - arb(samples - count + 1).lgamma()

        def holds(p: float) -> bool:
            chance = arb(p)
            falls = 1 - (samples - count) * chance / ((count + 1) * (1 - chance))
            return falls > 0 and bool(
                choose + count * chance.log() + (samples - count) * (1 - chance).log() - falls.log() <= level
            )

        low = last_that_holds(holds, 0.0, count / samples, 60)
    # The geometric tail is a little too large: try the room above it first, then below until the proof goes through.
    gap = count / samples - low
    for share in (2e-3, 5e-4, 1e-4, 1e-5, -1e-8, -1e-4, -1e-2, -0.1):
        candidate = Fraction(min(max(low + share * gap, 0.0), 1.0))
        if candidate > 0 and tail_at_most(count, samples, candidate, level):
            return candidate
    return Fraction(0)


# -------------------------------------------------------------------------------------------- the claims of sets


def check_failure(priors: PriorSet) -> None:
    """Check that a set is as large as its method and its failure probability need.

    A set with neither is taken as given. A failure probability without a method is a number that nothing proves, and a
    method without one, or of another kind of set, proves nothing: CertificateRejected says which.
    """
    method = getattr(priors, "method", None)
    failure = getattr(priors, "exact_failure", None)
    chance = Fraction(priors.failure) if failure is None else failure
    if method is None and not chance:
        return
    if method is None:
        raise CertificateRejected(
            f"The failure probability {float(chance):g} is stated, not proven: the set of priors names no method that "
            "derives it from a sample. Make the set with prior.confidence(failure=..., method=...), or give it without "
            "a failure probability, as an assumption."
        )
    holds = _PROVEN.get((method, type(priors)))
    if holds is None:
        raise CertificateRejected(f"The set of priors names a method {method!r} that its kind does not have.")
    if not 0 < chance < 1:
        raise CertificateRejected(
            f"The method {method!r} needs a failure probability above 0 and below 1. The set of priors claims "
            f"{float(chance):g}."
        )
    told = (RoundedLayerCake, NoisyLayerCake)  # they say themselves what they were made of
    counts = [priors.rows] if isinstance(priors, told) else _counts(priors.nominal)
    with ctx.workprec(PRECISION):
        fine = holds(priors, counts, chance)
    if not fine:
        raise CertificateRejected(
            f"The set of priors is too small for its claim: by {method!r} and {sum(counts):,} samples it does not hold "
            f"the true prior with probability 1 - {float(chance):g}. Do not rely on the certificate."
        )


def _counts(nominal: Prior) -> list[int]:
    if nominal.sample_size is None or nominal.sample_size % nominal.denominator:
        raise CertificateRejected(
            "The set of priors claims a confidence, but its estimate does not come from a sample."
        )
    repeat = nominal.sample_size // nominal.denominator
    return [int(weight) * repeat for weight in nominal.weights]


def _union(counts: Sequence[int], failure: Fraction) -> arb:
    return _log_sets(len(counts)) - _ball(failure).log()


def _weissman_holds(beta: Fraction, counts: Sequence[int], failure: Fraction) -> bool:
    return len(counts) < 2 or bool(_ball(beta) ** 2 * sum(counts) >= 2 * _union(counts, failure))


def _weissman_phi_holds(beta: Fraction, counts: Sequence[int], failure: Fraction) -> bool:
    """Iterate the safe radius down from the plain one until it is within β, or stands still."""
    if _weissman_holds(beta, counts, failure):
        return True
    samples, union = sum(counts), _union(counts, failure)
    halves = {0}
    largest = max(counts)
    # A letter that is at least half of the sample is one side of the best set; else the sums are listed.
    for count in [samples - largest] if 2 * largest >= samples else counts:
        halves |= {half + count for half in halves if 2 * (half + count) <= samples}
        if len(halves) > 2_000_000:
            return False
    middle = _ball(Fraction(max(halves), samples))
    radius = (2 * union / samples).sqrt()
    for _ in range(400):
        radius = arb(radius.upper())
        kappa = middle + radius / 2
        if not kappa < arb(1) / 2:
            return False
        phi = ((1 - kappa) / kappa).log() / (1 - 2 * kappa)
        radius = 2 * (union / (samples * phi)).sqrt()
        if radius <= _ball(beta):
            return True
    return False


def _box_holds(box: Box, counts: Sequence[int], failure: Fraction) -> bool:
    size, samples = len(counts), sum(counts)
    if size == 1:
        return True
    level = (_ball(failure) / (2 if size == 2 else 2 * size)).log()
    return all(
        (low == 0 or tail_at_most(count, samples, low, level))
        and (high == 1 or tail_at_most(samples - count, samples, 1 - high, level))
        for count, low, high in zip(counts, box.lower, box.upper, strict=True)
    )


def _kl_holds(radius: Fraction, counts: Sequence[int], failure: Fraction) -> bool:
    size, samples = len(counts), sum(counts)
    if size == 1:
        return True
    total, target = _ball(radius) * samples, -_ball(failure).log()
    if size == 2:
        return bool(total - arb(2).log() >= target)
    types = arb(samples + size).lgamma() - arb(size).lgamma() - arb(samples + 1).lgamma()
    if total - types >= target:
        return True
    dimension = size - 1
    return bool(total >= dimension and total - dimension * (1 + (total / dimension).log()) >= target)


# Which methods there are for which kind of set, and what each of them asks of the set. A layer cake is computed from
# its (rounded or noisy) counts and its failure probability in the first place: nothing of it is stated.
_PROVEN: dict[tuple[str, type[PriorSet]], Callable[[Any, Sequence[int], Fraction], bool]] = {
    ("weissman", Ball): lambda ball, counts, failure: _weissman_holds(ball.beta, counts, failure),
    ("weissman-phi", Ball): lambda ball, counts, failure: _weissman_phi_holds(ball.beta, counts, failure),
    ("clopper-pearson", Box): lambda box, counts, failure: box.beta is None and _box_holds(box, counts, failure),
    ("kl", KLBall): lambda ball, counts, failure: _kl_holds(ball.radius, counts, failure),
    ("best", Box): lambda box, counts, failure: (
        box.beta is not None
        and _weissman_phi_holds(box.beta, counts, failure / 2)
        and _box_holds(box, counts, failure / 2)
    ),
    ("layer-cake", LayerCake): lambda cake, counts, failure: True,
    ("rounded-layer-cake", RoundedLayerCake): lambda cake, counts, failure: True,
    ("noisy-layer-cake", NoisyLayerCake): lambda cake, counts, failure: True,
}
