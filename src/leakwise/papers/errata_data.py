"""Errata of [ED]: priors known only from data, noise, and the composition of releases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakwise.leakage import epsilon, lipschitz_bound, mutual_information
from leakwise.mechanism import Mechanism
from leakwise.noise import Gaussian
from leakwise.optimize import design
from leakwise.papers.errata import erratum
from leakwise.papers.exhibit import Finding, compared, stated
from leakwise.priors import Prior

__all__: list[str] = []


@erratum(
    paper="ED",
    where="Section II-A, «linear composition»",
    weight="safety-critical",
    says="PML satisfies linear composition.",
    truth="The ε of pointwise maximal leakage must not be added. The optimal mechanism for three equally likely "
    "letters and ε = log 1.5 excludes one letter in each outcome: two releases can name the third, which is log 3.",
)
def ed_linear_composition() -> Sequence[Finding]:
    """Two independent releases through [EX] Theorem 3's mechanism at ε = log 1.5."""
    prior = Prior.uniform(3)
    mechanism = design(prior, lift="3/2").mechanism
    twice = math.exp(epsilon(mechanism.repeat(2), prior))
    return [
        compared(
            "e^ε of two releases, each with e^ε = 1.5", 2.25, twice, within=1e-9, why="two releases name the letter"
        )
    ]


@erratum(
    paper="ED",
    where="Section II-B, φ(κ)",
    weight="safety-critical",
    says="β ≥ 2 sqrt((log(2^N-2) - log δ) / (m φ(κ_{P_X}))) holds with probability 1-δ.",
    truth="κ is that of the unknown prior. With the estimate's κ̂ in its place the promise fails far more often than "
    "δ: where a rare letter is not seen at all, κ̂ = 0 and the radius is 0. A safe radius iterates φ(min(½, κ̂ + "
    "β/2)) down from "
    "the plain one; the method weissman-phi of Prior.confidence does.",
)
def ed_plugged_in_estimate() -> Sequence[Finding]:
    """The exact probability that the ball misses the truth (0.985, 0.015), sixty samples, δ = 0.05."""
    samples, rare, failure = 60, 0.015, 0.05
    spread = math.log(2) - math.log(failure)
    naive = safe = 0.0
    for count in range(samples + 1):
        chance = math.comb(samples, count) * rare**count * (1 - rare) ** (samples - count)
        if chance < 1e-14:
            continue
        distance = 2 * abs(count / samples - rare)
        kappa = min(count, samples - count) / samples
        if kappa == 0:
            radius = 0.0
        else:
            phi = 2.0 if kappa == 0.5 else math.log((1 - kappa) / kappa) / (1 - 2 * kappa)
            radius = 2 * math.sqrt(spread / (samples * phi))
        naive += chance if distance > radius else 0.0
        ball = Prior.from_counts([samples - count, count]).confidence(failure, "weissman-phi")
        safe += chance if distance > float(ball.beta) else 0.0  # type: ignore[attr-defined]
    return [
        stated("P(the ball misses the prior), φ of the estimate", "≤ 0.05", naive, naive <= failure, "κ is not κ̂"),
        stated("the same with the safe radius", "≤ 0.05", safe, safe <= failure),
    ]


@erratum(
    paper="ED",
    where="Section VI-B, Gaussian noise, ε*",
    weight="loose",
    says="The guarantee around an estimate is (ε*, δ) with ε* = ε - log(1 - (β/2) e^ε), after δ_1 was taken from (17).",
    truth="(17) is already the supremum over the ball at ε, so that ε itself holds: the sensitivity was counted twice.",
)
def ed_sensitivity_twice() -> Sequence[Finding]:
    """Two equally frequent values in ten thousand samples, σ = 1.5, ε = 0.3, failure 0.001."""
    ball = Prior.from_counts({0: 5000, 1: 5000}).confidence("1/1000")
    found = Gaussian([0, 1], 1.5).guarantee(ball, 0.3)
    assert found.printed_epsilon is not None
    return [
        compared(
            "ε that holds but for δ (nats)", found.printed_epsilon, found.epsilon, within=1e-9, why="counted twice"
        ),
        stated("δ, the same for both", None, found.delta, True),
    ]


@erratum(
    paper="ED",
    where="Appendix C",
    weight="harmless",
    says="p_11 = e^ε (1 - p - β/2) / (1 + β e^ε).",
    truth="A slip of sign: p_11 = e^ε (1 - p + β/2) / (1 + β e^ε), as Theorem 5 has it.",
)
def ed_sign_in_appendix_c() -> Sequence[Finding]:
    """Both at p = 0.6, β = 0.1, ε = 0.3, against the proven optimum."""
    p, beta, eps = 0.6, 0.1, 0.3
    t = math.exp(eps)
    prior = Prior([p, 1 - p])
    optimum = design(prior.ball(beta), eps).value
    below = 1 - t * (p + beta / 2) / (1 + beta * t)
    found = []
    for name, sign in (("Appendix C", -1), ("Theorem 5", 1)):
        first = t * (1 - p + sign * beta / 2) / (1 + beta * t)
        mechanism = Mechanism([[first, 1 - first], [below, 1 - below]])
        value = mutual_information(mechanism, prior)
        found.append(
            compared(f"mutual information with the p_11 of {name} (nats)", value, optimum, within=1e-8, why="the sign")
        )
    return found


@erratum(
    paper="ED",
    where="Theorem 3, the Lipschitz constant",
    weight="loose",
    says="|ε_min(P) - ε_min(Q)| ≤ exp(C) ‖P - Q‖_1.",
    truth="Half of it suffices: the differences of two priors sum to zero, so that a column can only gain what moves.",
)
def ed_half_the_constant() -> Sequence[Finding]:
    """Two priors at distance 0.1 and a mechanism with zeros."""
    mechanism = Mechanism([["3/4", "1/4"], ["0", "1"]])
    first, second = Prior(["1/2", "1/2"]), Prior(["9/20", "11/20"])
    capacity = max(epsilon(mechanism, first), epsilon(mechanism, second))
    change = abs(epsilon(mechanism, first) - epsilon(mechanism, second))
    printed, half = (lipschitz_bound(capacity, 0.1, as_printed=flag) for flag in (True, False))
    return [
        stated("the bound as printed, and half of it (nats)", printed, half, False, "half suffices"),
        stated("the change itself, not above the half (nats)", None, change, change <= half),
    ]


@erratum(
    paper="ED",
    where="Proposition 2, β < 2 min p",
    weight="loose",
    says="The mechanisms that are ε-PML for the whole ball are described by (10)–(12), for β < 2 min p.",
    truth="Beyond that radius the description is stricter than need be. The least mass over the ball, by moving β/2 "
    "from the largest entries as far as their mass allows, is exact for every β.",
)
def ed_large_radius() -> Sequence[Finding]:
    """A prior with a rare letter, β = 0.8, an outcome that speaks for the rare letter."""
    prior, beta = Prior(["9/10", "1/10"]), "4/5"
    mechanism = Mechanism([["1/5", "4/5"], ["3/5", "2/5"]])
    exact = epsilon(mechanism, prior.ball(beta))
    c = 0.4
    printed = max(
        math.log(max(column) / (column @ prior.probabilities + c * min(column) - c * max(column)))
        if column @ prior.probabilities + c * min(column) - c * max(column) > 0
        else math.inf
        for column in mechanism.matrix.T
    )
    return [
        compared(
            "ε for every prior of the ball (nats)", printed, exact, within=1e-9, why="mass 0.1 cannot give 0.4 away"
        )
    ]
