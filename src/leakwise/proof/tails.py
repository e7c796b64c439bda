"""Binomial tails in ball arithmetic, and the claims about a sample that rest on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx, fmpq

from leakwise.errors import CertificateRejected
from leakwise.priors import Ball, Box, KLBall, Prior, PriorSet

__all__ = ["check_failure", "proven_lower_bound", "tail_at_most"]

PRECISION = 128
_TERMS = 200_000


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
    """Whether P(Bin(m, p) ≥ k) ≤ e^{log_level}, proven; the terms are added until the rest is geometric and small."""
    if k <= 0:
        return bool(log_level >= 0)
    if p == 0:
        return True
    if p == 1:
        return bool(log_level >= 0)
    with ctx.workprec(PRECISION):
        odds = _ball(p / (1 - p))
        total, term, j = arb(1), arb(1), k
        while j < m:
            ratio = odds * (m - j) / (j + 1)
            if ratio < 1 and term * ratio < total * arb(2) ** -40 * (1 - ratio):
                total += term * ratio / (1 - ratio)  # the ratios fall: the rest is at most this
                break
            if j - k > _TERMS:
                return False
            term *= ratio
            total += term
            j += 1
        return bool(_log_term(k, m, p) + total.log() <= log_level)


def proven_lower_bound(count: int, samples: int, failure: Fraction, sets: int) -> Fraction:
    """A p with P(Bin(samples, p) ≥ count) ≤ failure/sets: searched in floats, proven in balls."""
    if count == 0:
        return Fraction(0)
    with ctx.workprec(PRECISION):
        level = (_ball(failure) / sets).log()
        wanted = float(level.lower())
    low, high = 0.0, count / samples
    choose = math.lgamma(samples + 1) - math.lgamma(count + 1) - math.lgamma(samples - count + 1)
    for _ in range(60):
        p = (low + high) / 2
        ratio = (samples - count) * p / ((count + 1) * (1 - p)) if p < 1 else 1.0
        tail = math.inf
        if 0 < p < 1 and ratio < 1:
            tail = choose + count * math.log(p) + (samples - count) * math.log1p(-p) - math.log1p(-ratio)
        elif p == 0:
            tail = -math.inf
        low, high = (p, high) if tail <= wanted else (low, p)
    # The geometric tail is a little too large: try the room above it first, then below until the proof goes through.
    gap = count / samples - low
    for share in (2e-3, 5e-4, 1e-4, 1e-5, -1e-8, -1e-4, -1e-2, -0.1):
        candidate = Fraction(min(max(low + share * gap, 0.0), 1.0))
        if candidate > 0 and tail_at_most(count, samples, candidate, level):
            return candidate
    return Fraction(0)


# -------------------------------------------------------------------------------------------- the claims of sets


def check_failure(priors: PriorSet) -> None:
    """Check that a set is as large as its method and its failure need; raise CertificateRejected when it is not.

    A set without a method is an assumption of the user's; a layer cake is computed from its failure in the first place.
    """
    method, failure = getattr(priors, "method", None), getattr(priors, "exact_failure", Fraction(0))
    if not failure or method is None or method == "layer-cake":
        return
    counts = _counts(priors.nominal)
    with ctx.workprec(PRECISION):
        if method == "weissman" and isinstance(priors, Ball):
            fine = _weissman_holds(priors.beta, counts, failure)
        elif method == "weissman-phi" and isinstance(priors, Ball):
            fine = _weissman_phi_holds(priors.beta, counts, failure)
        elif method == "clopper-pearson" and isinstance(priors, Box) and priors.beta is None:
            fine = _box_holds(priors, counts, failure)
        elif method == "kl" and isinstance(priors, KLBall):
            fine = _kl_holds(priors.radius, counts, failure)
        elif method == "best" and isinstance(priors, Box) and priors.beta is not None:
            fine = _weissman_phi_holds(priors.beta, counts, failure / 2) and _box_holds(priors, counts, failure / 2)
        else:
            raise CertificateRejected(f"The set of priors names a method {method!r} that its kind does not have.")
    if not fine:
        raise CertificateRejected(
            f"The set of priors is too small for its claim: by {method!r} and {sum(counts):,} samples it does not hold "
            f"the true prior with probability 1 - {float(failure):g}. Do not rely on the certificate."
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
    for count in counts:
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
