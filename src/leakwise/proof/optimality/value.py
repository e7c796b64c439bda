"""What a mechanism is worth, proven from below: a claimed value is accepted when it is at most this.

Gains are rational and added exactly; f-informations are enclosed in balls, from the integers. Only a common law with a
diagonal, which may have a million letters, is added in floats, less what they can have lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpz, fmpz_mat

from leakwise.errors import CertificateRejected
from leakwise.exact import float_below, inverse_trace, ratio_array
from leakwise.mechanism import CodeKernel, CommonLawKernel, Kernel, Mechanism
from leakwise.priors import Prior
from leakwise.proof.codes import code_value
from leakwise.proof.optimality.claim import OptimalityClaim
from leakwise.proof.optimality.frequencies import recovered
from leakwise.proof.optimality.functions import FUNCTIONS, Function
from leakwise.proof.optimality.margins import largest_variance
from leakwise.types import Floats

__all__ = ["proven_value"]

PRECISIONS = (192, 768, 3072)  # bits: values of tiny probability need more, beside one of nearly all of it
_LARGEST_EXACT = 64  # letters whose information matrix is inverted in long numbers


def proven_value(claim: OptimalityClaim, mechanism: Mechanism, prior: Prior) -> float:
    """Return a number that the utility of the mechanism is not below."""
    kernel = mechanism.kernel
    if claim.utility == "frequencies":
        if isinstance(kernel, CodeKernel):
            return code_value(kernel, prior)
        if isinstance(kernel, CommonLawKernel) and kernel.diagonal and prior.support.all():
            rough = _inverted(kernel, prior)
            return rough if rough >= claim.value else max(rough, _recovered_exactly(kernel, prior))
        here = prior.support
        law = prior.probabilities @ mechanism.matrix
        used = law > 0
        rough = recovered(mechanism.matrix[here][:, used] / law[used], law[used], prior.probabilities[here])
        return rough if rough >= claim.value else max(rough, _recovered_exactly(kernel, prior))
    if claim.utility == "margin":
        assert claim.gains is not None  # what is claimed of margins names the contrasts
        here = prior.support
        law = prior.probabilities @ mechanism.matrix
        used = law > 0
        lifts = mechanism.matrix[here][:, used] / law[used]
        return -largest_variance(lifts, law[used], prior.probabilities[here], claim.gains[here])
    if claim.utility in FUNCTIONS:
        # By Jensen's inequality every column of an f-information is worth at least f(1) = 0.
        if isinstance(kernel, CommonLawKernel):
            rough = _structured(FUNCTIONS[claim.utility], kernel, prior)
            if rough >= claim.value or kernel.shape[0] > _LARGEST_EXACT:
                return max(0.0, rough)
        for precision in PRECISIONS:
            if (proven := _enclosed(_BALLS[claim.utility], kernel, prior, precision)) >= claim.value:
                break
        return max(0.0, proven)
    if claim.gains is None and isinstance(kernel, CommonLawKernel):
        return float_below(_guessed(kernel, prior))
    return float_below(_gained(claim, mechanism, prior))


def _recovered_exactly(kernel: Kernel, prior: Prior) -> float:
    """Σπ² - trace J⁻¹ from the integers: where all lifts are nearly 1 floats leave nothing of J - 11ᵀ."""
    here, total = prior.support, prior.denominator
    masses = [int(mass) for mass in kernel.output_law(prior.weights)]
    used = [place for place, mass in enumerate(masses) if mass]
    if here.sum() > _LARGEST_EXACT or len(used) > 64 * _LARGEST_EXACT:
        return -math.inf
    rows = [[int(entry) for entry in row] for row in kernel.weights[here][:, used].tolist()]
    ends = inverse_trace(rows, [masses[place] for place in used])
    if ends is None:
        return -math.inf
    squares = Fraction(sum(int(weight) ** 2 for weight in prior.weights.tolist()), total * total)
    return float_below(squares - ends[1] * kernel.denominator / total)


def _inverted(kernel: CommonLawKernel, prior: Prior) -> float:
    """P⁻¹ = (I - 1aᵀ)/d makes the covariance of the frequencies (diag q - qqᵀ)/d², of the trace Σ q(1-q)/d²."""
    law = kernel.output_law_floats(prior.weights, prior.denominator)
    terms, step = law * (1 - law), kernel.diagonal / kernel.denominator
    units = (len(law) + 64) * 2.0**-49
    # A term errs by units of q itself, even where 1 - q is small.
    return -float((math.fsum(terms) + math.fsum(law) * units) / step**2 * (1 + units))


# ---------------------------------------------------------------------------------------------- f-informations


def _entropy(x: arb) -> arb:
    return x * x.log()


def _square(x: arb) -> arb:
    """x·x: a power of a ball around zero, a lift of nearly 1, would be no number."""
    return x * x


# f of a positive lift, in code of its own; f(0) is 0 for the first, else 1/2, 1, 1.
_BALLS: dict[str, Callable[[fmpq], arb]] = {
    "mutual_information": lambda x: _entropy(arb(x)) if x else arb(0),
    "total_variation": lambda x: arb(abs(x - 1) / 2),
    "chi_square": lambda x: arb((x - 1) * (x - 1)),
    "hellinger": lambda x: _square(1 - arb(x).sqrt()),
}


def _enclosed(f: Callable[[fmpq], arb], kernel: Kernel, prior: Prior, precision: int) -> float:
    """Σ_j q_j Σ_i π_i f(p_ij / q_j): letters with the same entry in a column are taken together."""
    rows = [(int(weight), place) for place, weight in enumerate(prior.weights.tolist()) if weight]
    total = prior.denominator
    with ctx.workprec(precision):
        value = arb(0)
        for column, mass in zip(kernel.weights.T.tolist(), kernel.output_law(prior.weights), strict=True):
            if not mass:
                continue
            together: dict[int, int] = {}
            for weight, place in rows:
                together[column[place]] = together.get(column[place], 0) + weight
            inner = arb(0)
            for entry, weight in together.items():
                inner += weight * f(fmpq(int(entry) * total, int(mass)))
            value += int(mass) * inner
        value /= fmpz(total) * total * kernel.denominator
        mantissa, exponent = value.lower().man_exp()
    return float_below(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))


# Masses below this are left out, or counted as worth nothing: squares of the lifts that go with them would overflow.
_LEAST = 2.0**-450


def _structured(f: Function, kernel: CommonLawKernel, prior: Prior) -> float:
    """A common law with a diagonal has two lifts in a column: no matrix at any size."""
    law = kernel.output_law_floats(prior.weights, prior.denominator)
    used = law > _LEAST
    law, p = law[used], prior.probabilities[used]
    common = ratio_array(kernel.common, kernel.denominator)[used] / law
    own = ratio_array(kernel.common + kernel.diagonal, kernel.denominator)[used] / law
    rest = ratio_array(prior.denominator - prior.weights, prior.denominator)[used]
    own_terms, own_loss = _lowered(f, own, law * p)
    terms, loss = _lowered(f, common, law * rest)
    seen = p > _LEAST
    # f is at least -1/e.
    own_terms, own_loss = np.where(seen, own_terms, -law * p), np.where(seen, own_loss, 0.0)
    return math.fsum(np.concatenate([terms, own_terms])) - math.fsum(np.concatenate([loss, own_loss])) * (1 + 2.0**-40)


def _lowered(f: Function, lifts: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """The terms mass·f(lift), and what they can be too large by when lifts and masses err by sixteen units each.

    A convex f falls within an error no further than it rises on the other side; its own value errs by units of 1 + x
    and of f.
    """
    value = f(lifts)
    swing = np.maximum(f(lifts * (1 + 2.0**-49)), f(lifts * (1 - 2.0**-49))) - value
    return mass * value, mass * (np.maximum(swing, 0.0) + (np.abs(value) + 1 + lifts) * 2.0**-48)


# ------------------------------------------------------------------------------------------------------ gains


def _guessed(kernel: CommonLawKernel, prior: Prior) -> Fraction:
    """Σ_j max_i π_i p_ij: the own letter of an outcome, or the likeliest of the others."""
    weights = [int(weight) for weight in prior.weights.tolist()]
    first, second = [*sorted(range(len(weights)), key=weights.__getitem__, reverse=True)[:2], None][:2]
    most = 0
    for place, (common, weight) in enumerate(zip(kernel.common.tolist(), weights, strict=True)):
        other = first if place != first else second
        candidates = [weight * (int(common) + kernel.diagonal)]
        most += max(candidates if other is None else [*candidates, weights[other] * int(common)])
    return Fraction(most, kernel.denominator * prior.denominator)


def _gained(claim: OptimalityClaim, mechanism: Mechanism, prior: Prior) -> Fraction:
    """Σ_j of the best guess's gain, or of the gain that the outcome's own label has, exact."""
    kernel = mechanism.kernel
    weights = [int(weight) for weight in prior.weights.tolist()]
    gains = np.eye(len(weights)) if claim.gains is None else claim.gains
    exact = [[Fraction(float(gain)) for gain in row] for row in gains]
    scale = math.lcm(1, *(gain.denominator for row in exact for gain in row))
    worth = [[int(gain * scale) * weight for gain in row] for row, weight in zip(exact, weights, strict=True)]
    scores = (fmpz_mat(worth).transpose() * fmpz_mat(kernel.weights.tolist())).tolist()
    by_outcome = list(zip(*scores, strict=True))
    if claim.guesses is None:
        most = sum(int(max(column)) for column in by_outcome)
        return Fraction(most, scale * kernel.denominator * prior.denominator)
    # Labelled outputs: each is worth what it says, no more.
    places = {label: place for place, label in enumerate(claim.guesses)}
    most = 0
    for label, mass, column in zip(mechanism.outputs, kernel.output_law(prior.weights), by_outcome, strict=True):
        if not mass:
            continue
        if label not in places:
            raise CertificateRejected("An outcome says what the proof of optimality knows no gain of.")
        most += int(column[places[label]])
    return Fraction(most, scale * kernel.denominator * prior.denominator)
