"""Further notes on [ED], met while its figures were recomputed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.leakage import epsilon, leakage_sensitivity, output_divergence, pml, sample_size, sensitivity_bound
from leakwise.mechanism import Mechanism, k_singular
from leakwise.noise import Gaussian, Laplace
from leakwise.optimize import design
from leakwise.papers.empirical_distributions.laplace import VALUES, empirical_information
from leakwise.papers.errata import beyond, erratum
from leakwise.papers.exhibit import Finding, compared, further, stated
from leakwise.priors import Prior

__all__: list[str] = []


@erratum(
    where="Section VI-C, the empirical mutual information",
    weight="harmless",
    says="Î(X;Y) = Σ f(x,y)/m · log(N f(x,y) / (f(x) f(y))).",
    truth="A misprint: N, the size of the alphabet elsewhere, stands for the sample size m here.",
)
def ed_information_of_a_sample() -> Sequence[Finding]:
    """A thousand bits, 300 of them 1, with themselves: their entropy is 0.6109 nats."""
    counts = np.array([[300.0, 0.0], [0.0, 700.0]])
    right = float(empirical_information(counts))
    entropy = -0.3 * math.log(0.3) - 0.7 * math.log(0.7)
    return [
        compared("with N = 2 (nats)", right + math.log(2 / 1000), entropy, within=1e-9, why="N is not m"),
        compared("with m = 1000 (nats)", right, entropy, within=1e-9),
    ]


@erratum(
    where="Section IV-C, S = max D∞(P_Y‖Q_Y), and Remark 2",
    weight="loose",
    says="The leakage sensitivity is the largest divergence of order infinity between the distributions of the "
    "outcomes.",
    truth="It is at most that: the outcome whose probability falls most need not be the one that leaks most. The two "
    "are equal where every outcome leaks ε, which the optimal mechanisms of the last region do not do: for the prior "
    "(0.8, 0.2), ε = 0.5 and β = 0.3 they differ.",
)
def ed_sensitivity_and_divergence() -> Sequence[Finding]:
    """The optimal mechanism for (0.8, 0.2) at ε = 0.5, β = 0.3; and a mechanism whose outcomes all leak the same."""
    prior = Prior(["4/5", "1/5"])
    ball, optimal = prior.ball("3/10"), design(prior, 0.5).mechanism
    divergence, sensitivity = output_divergence(optimal, ball), leakage_sensitivity(optimal, ball)
    first, even = design(prior, 0.1).mechanism, prior.ball("1/10")
    return [
        compared("sensitivity (nats)", divergence, sensitivity, within=1e-9, why="another outcome leaks most"),
        stated("the sensitivity is never above the divergence", None, sensitivity, sensitivity <= divergence),
        compared("sensitivity in the first region, ε = 0.1, β = 0.1 (nats)", output_divergence(first, even),
                 leakage_sensitivity(first, even), within=1e-9),
    ]  # fmt: skip


@erratum(
    where="Section II-A2, the leakage of extremal mechanisms",
    weight="wrong",
    says="If a mechanism is extremal, ℓ(X→y) = ε for all y. (And the privacy regions partition [0, ε_max).)",
    truth="This holds for the optimal mechanisms of the regions 1 to N-1. From -log P(x1) to ε_max, where none of "
    "these regions is, a frequent letter may be named outright, with a leakage below ε. (The constant mechanisms, "
    "vertices too, leak nothing.)",
)
def ed_leakage_of_each_outcome() -> Sequence[Finding]:
    """The outcomes of the optimal mechanism for (0.8, 0.2) at ε = 0.5, and of one in the first region."""
    prior = Prior(["4/5", "1/5"])
    return [
        compared(f"ε = {level:g}: the leakage of outcome {number} (nats)", level, leaked, within=1e-9,
                 why="it names the letter of probability 0.8: log 1.25")
        for level in (0.5, 0.2)
        for number, leaked in enumerate(sorted(pml(design(prior, level).mechanism, prior).tolist()), 1)
    ]  # fmt: skip


@erratum(
    where="Theorem 4, equality for k = 1",
    weight="loose",
    says="The bound on the sensitivity holds with equality for k = 1 if the mechanism is extremal.",
    truth="It does for the extremal mechanism with N outcomes, [EX] Theorem 3, which is the optimal one. By [EX] "
    "Lemma 5 two of its columns merged are extremal too, and where one of them is the column of the rarest letter the "
    "bound is strict. The bound itself holds.",
)
def ed_equality_in_the_first_region() -> Sequence[Finding]:
    """The prior (0.4, 0.4, 0.2), ε = log 9/8, β = 0.1: the mechanism of Theorem 3, and with its last columns merged."""
    prior, beta = Prior(["2/5", "2/5", "1/5"]), Fraction(1, 10)
    whole = Mechanism([["13/40", "9/20", "9/40"], ["9/20", "13/40", "9/40"], ["9/20", "9/20", "1/10"]])
    merged = whole.then([[1, 0], [0, 1], [0, 1]])
    bound = -math.log(1 - 0.05 * (9 / 8 - 1) / 0.2)
    return [
        compared("sensitivity with three outcomes (nats)", bound, leakage_sensitivity(whole, prior.ball(beta)),
                 within=1e-9),
        compared("sensitivity with two of them merged, also extremal (nats)", bound,
                 leakage_sensitivity(merged, prior.ball(beta)), within=1e-9, why="the bound is strict"),
        stated("ε of the merged mechanism less log 9/8", None, round(epsilon(merged, prior) - math.log(9 / 8), 12),
               abs(epsilon(merged, prior) - math.log(9 / 8)) < 1e-9),
    ]  # fmt: skip


@erratum(
    where="(16)",
    weight="loose",
    says="ε(b, δ) = 2/b - log((p̂_min - β/2)(e^{2/b} - 1) + 1), without a condition on β.",
    truth="Where β/2 is above p̂_min, with few samples, p̂_min - β/2 is to be taken as 0: no prior has a negative "
    "probability. As printed the bound is then above 2/b, the leakage under local differential privacy, or has no "
    "value.",
)
def ed_negative_mass() -> Sequence[Finding]:
    """The estimate (0.3, 0.7) with β = 1, at two scales."""
    ball = Prior({-1: 0.3, 1: 0.7}).ball(1)
    found = []
    for scale in (2.0, 1.0):
        inside = (0.3 - 0.5) * math.expm1(2 / scale) + 1
        printed = f"{2 / scale - math.log(inside):.6f}" if inside > 0 else "no value"
        true = Laplace(VALUES, scale).epsilon(ball)
        found.append(
            stated(f"leakage at b = {scale:g} (nats); 2/b is {2 / scale:g}", printed, true, False, "clamp at 0")
        )
    return found


@beyond(
    where="Theorem 4, larger radii",
    says="The bound on the sensitivity holds for β < 2 p_min, in two cases by privacy region.",
    truth="-log(1 - (β/2) min(e^ε, (e^ε-1)/p_min)) holds for every β and in every region, as long as its argument is "
    "positive.",
)
def ed_range_of_the_bound() -> Sequence[Finding]:
    """The 2-singular mechanism on ten letters at β = 0.3, beyond 2 p_min = 0.2."""
    mechanism, prior, beta = k_singular(10, 2), Prior.uniform(10), Fraction(3, 10)
    bound, exact = sensitivity_bound(lift=5, beta=beta), leakage_sensitivity(mechanism, prior.ball(beta))
    return [
        further("the bound at β = 0.3 (nats)", "not claimed", bound, "the assumption is not needed"),
        stated("the exact sensitivity there, not above it (nats)", None, exact, exact <= bound + 1e-12),
    ]


@beyond(
    where="(8) and Corollary 3",
    says="δ ≤ (2^N - 2) exp(-2m(e^{-ε} - e^{-ε'})²).",
    truth="Twice the squared difference is Pinsker's lower bound on the divergence kl(e^{-ε}‖e^{-ε'}), which may "
    "stand in its place and is much larger where e^{-ε} is small.",
)
def ed_samples_needed() -> Sequence[Finding]:
    """Samples for N = 20 and δ = 1e-5, from lift 5 at the estimate to lift 6 in truth."""
    printed, enough = (
        sample_size(20, lift=5, target_lift=6, failure=1e-5, method=method) for method in ("weissman", "layer-cake")
    )
    return [further("samples that suffice", printed, enough, "with the divergence in place of Pinsker's bound")]


@beyond(
    where="Section VI-C2, probabilistic LDP of Gaussian noise",
    says="For comparison, a theorem of another paper: δ = erfc(f) with σ = √2 (f + sqrt(f² + ε)) / ε.",
    truth="That bounds two tails by twice the larger one. The probability that the privacy loss exceeds ε is the sum "
    "of both, which is smaller; our figures have that curve as well, the stricter comparison for PML.",
)
def ed_two_tails() -> Sequence[Finding]:
    """σ = 1.5, ε = 2: |Y| > σ²ε/2."""
    noise, level = Gaussian(VALUES, 1.5), 2.0
    border = noise.scale**2 * level / 2
    exact = float(noise.mass([(-math.inf, -border), (border, math.inf)]).max())
    printed = noise.pldp_delta(level)
    return [
        further("P(privacy loss > 2): the bound, and the probability itself", printed, exact, "the sum of both tails")
    ]
