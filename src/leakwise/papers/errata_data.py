"""Notes on [ED]: priors known only from data, noise, and the composition of releases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakwise.leakage import epsilon, lipschitz_bound, mutual_information
from leakwise.mechanism import Mechanism
from leakwise.noise import Density, Gaussian, Laplace
from leakwise.optimize import design
from leakwise.papers.errata import beyond, erratum, warning
from leakwise.papers.exhibit import Finding, compared, further, stated
from leakwise.priors import Prior

__all__: list[str] = []


@warning(
    where='Section II-A, "linear composition"',
    says="PML satisfies linear composition; the reference given has the details.",
    truth="What adds up is the conditional leakage: that of the second release for anyone who knows the first "
    "outcome, which may be what is meant. The ε that two mechanisms have for the original prior must not be added. "
    "The optimal mechanism for three equally likely letters and ε = log 1.5 excludes one letter in each outcome; two "
    "releases can name the third, which is log 3 and not 2 log 1.5.",
)
def ed_linear_composition() -> Sequence[Finding]:
    """Two independent releases through [EX] Theorem 3's mechanism at ε = log 1.5."""
    prior = Prior.uniform(3)
    mechanism = Mechanism([[0, "1/2", "1/2"], ["1/2", 0, "1/2"], ["1/2", "1/2", 0]])
    once, twice = (math.exp(epsilon(made, prior)) for made in (mechanism, mechanism.repeat(2)))
    # The prior is uniform and the columns are alike: the posterior of an outcome is its column, here the first.
    then = math.exp(epsilon(mechanism, Prior([0, "1/2", "1/2"])))
    return [
        stated("e^ε of one release", None, once, abs(once - 1.5) < 1e-9),
        stated("e^ε of the second release for anyone who saw the first", None, then, abs(then - 2) < 1e-9),
        stated("e^ε of both together", None, twice, twice > once**2 and abs(twice - once * then) < 1e-9),
    ]


@warning(
    where="Section III, the radius with φ(κ)",
    says='β ≥ 2 sqrt((log(2^N-2) - log δ) / (m φ(κ_{P_X}))) holds with probability 1-δ, and "still requires knowledge '
    'of the underlying distribution"; the paper goes on with φ ≥ 2, which does not.',
    truth="Do not put the estimate's κ̂ in place of κ: the ball then misses the prior far more often than δ, since κ̂ "
    "= 0 and the radius is 0 where a rare letter is not seen at all. A safe radius iterates φ(min(½, κ̂ + β/2)) down "
    "from the plain one; the method weissman-phi of Prior.confidence does.",
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
        stated("P(the ball misses the prior) with φ of the estimate, meant to be 0.05", None, naive, naive > failure),
        stated("the same with the safe radius", None, safe, safe <= failure),
    ]


@beyond(
    where="Section VI-B, Gaussian noise, ε*",
    says="The guarantee around an estimate is (ε*, δ*) with ε* = ε - log(1 - (β/2) e^ε), δ_1 being taken from (17).",
    truth="The guarantee holds, and more: (17) is already the supremum over the ball at ε, so that ε itself holds "
    "with the same δ*, and the sensitivity need not be added.",
)
def ed_sensitivity_twice() -> Sequence[Finding]:
    """Two equally frequent values in ten thousand samples, σ = 1.5, ε = 0.3, failure 0.001."""
    ball = Prior.from_counts({0: 5000, 1: 5000}).confidence("1/1000")
    found = Gaussian([0, 1], 1.5).guarantee(ball, 0.3)
    assert found.printed_epsilon is not None
    return [
        further("ε that holds except with probability δ (nats)", found.printed_epsilon, found.epsilon, "by (17) alone"),
        stated("δ, the same for both", None, found.delta, True),
    ]


@erratum(
    where="Appendix C",
    weight="harmless",
    says="p_11 = e^ε (1 - p - β/2) / (1 + β e^ε).",
    truth="A misprint of a sign: p_11 = e^ε (1 - p + β/2) / (1 + β e^ε), as Theorem 5 rightly has it.",
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


@beyond(
    where="Theorem 3, the Lipschitz constant",
    says="|ε_min(P) - ε_min(Q)| ≤ exp(C) ‖P - Q‖_1.",
    truth="Half of the constant suffices: the differences of two priors sum to zero, so that a column can only gain "
    "what moves.",
)
def ed_half_the_constant() -> Sequence[Finding]:
    """Two priors at distance 0.1 and a mechanism with zeros."""
    mechanism = Mechanism([["3/4", "1/4"], ["0", "1"]])
    first, second = Prior(["1/2", "1/2"]), Prior(["9/20", "11/20"])
    capacity = max(epsilon(mechanism, first), epsilon(mechanism, second))
    change = abs(epsilon(mechanism, first) - epsilon(mechanism, second))
    printed, half = (lipschitz_bound(capacity, 0.1, as_printed=flag) for flag in (True, False))
    return [
        further("the bound as printed, and half of it (nats)", printed, half, "half suffices"),
        stated("the change itself, not above the half (nats)", None, change, change <= half),
    ]


@beyond(
    where="Proposition 2, larger radii",
    says="The mechanisms that are ε-PML for the whole ball are described by (10)–(12), for β < 2 min p.",
    truth="A description for every β: the least mass over the ball, by moving β/2 from the largest entries as far as "
    "their mass allows. Used beyond its range, (10) is safe, but stricter than need be.",
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
        further(
            "ε for every prior of the ball (nats)",
            f"not claimed; (10) allows from {printed:.4f} on"
            if math.isfinite(printed)
            else "not claimed; (10) allows no ε",
            exact,
            "mass 0.1 cannot give 0.4 away",
        )
    ]


@beyond(
    where="Proposition 3, a secret with a density",
    says="Laplace noise of scale b on the values -1 and 1 has ε = 2/b - log(e^{2/b} p_min + 1 - p_min).",
    truth="For a density on an interval the sum is an integral: ε = sup_y -log ∫ π(x) e^{-|x-y|/b} dx over the "
    "support. For a uniform one of width r·b it is log(r / (1 - e^{-r})), and for any density below the r of "
    "differential privacy. Gaussian noise has no finite ε there, but an envelope at every δ.",
)
def ed_density() -> Sequence[Finding]:
    """Laplace noise of scale 20 on [0, 100], uniform, against the closed form and against finer and finer values."""
    closed, noise = math.log(5 / -math.expm1(-5)), Laplace(scale=20)
    found = noise.epsilon(Density.uniform(0, 100))
    points = [20 * k / 10 for k in range(51)]
    finite = Laplace(points, 20).epsilon(Prior([1] * len(points), points))
    low, high = Gaussian(scale=20).envelope_bounds(Density.uniform(0, 100), "0.05", grid=48)
    return [
        further(
            "ε of Laplace noise, two values and a density (nats)", "two values only", found, "an integral for the sum"
        ),
        stated("the closed form of a uniform density (nats)", None, closed, abs(found - closed) < 2e-9),
        stated("51 evenly spaced values, for the limit (nats)", None, finite, abs(finite - found) < 0.1),
        stated("envelope of Gaussian noise at δ = 0.05, from above (nats)", None, high, low <= high < math.inf),
    ]
