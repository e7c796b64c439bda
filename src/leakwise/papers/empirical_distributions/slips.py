"""Further errata of [ED], met while its figures were recomputed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.leakage import leakage_sensitivity, output_divergence, sample_size, sensitivity_bound
from leakwise.mechanism import Mechanism, k_singular
from leakwise.noise import Gaussian, Laplace
from leakwise.papers.empirical_distributions.laplace import VALUES, empirical_information
from leakwise.papers.errata import erratum
from leakwise.papers.exhibit import Finding, compared, stated
from leakwise.priors import Prior

__all__ = ["ERRATA"]


@erratum(
    paper="ED",
    where="Section VI-C, the empirical mutual information",
    weight="wrong",
    says="Î(X;Y) = Σ f(x,y)/m · log(N f(x,y) / (f(x) f(y))).",
    truth="N is the size of the alphabet; the frequencies must be normalised by the sample size: log(m f(x,y) / "
    "(f(x) f(y))).",
)
def ed_information_of_a_sample() -> Sequence[Finding]:
    """A thousand bits, 300 of them 1, beside themselves: their entropy is 0.6109 nats."""
    counts = np.array([[300.0, 0.0], [0.0, 700.0]])
    right = float(empirical_information(counts))
    entropy = -0.3 * math.log(0.3) - 0.7 * math.log(0.7)
    return [
        compared("with N = 2 (nats)", right + math.log(2 / 1000), entropy, within=1e-9, why="N is not m"),
        compared("with m = 1000 (nats)", right, entropy, within=1e-9),
    ]


@erratum(
    paper="ED",
    where="Section IV-C, S = max D∞(P_Y‖Q_Y), and Remark 2",
    weight="loose",
    says="The leakage sensitivity is the largest divergence of order infinity between the output laws.",
    truth="It is at most that. The outcome whose probability falls most need not be the one that leaks most; the two "
    "are equal where every outcome leaks the same, as for extremal mechanisms.",
)
def ed_sensitivity_and_divergence() -> Sequence[Finding]:
    """A mechanism on three equally likely letters, β = 0.1."""
    mechanism = Mechanism([["0.6", "0", "0.4"], ["0.2", "0.45", "0.35"], ["0.2", "0.45", "0.35"]])
    ball = Prior.uniform(3).ball("1/10")
    divergence, sensitivity = output_divergence(mechanism, ball), leakage_sensitivity(mechanism, ball)
    return [
        compared("sensitivity (nats)", divergence, sensitivity, within=1e-9, why="another outcome leaks most"),
        stated("the sensitivity is never above the divergence", None, sensitivity, sensitivity <= divergence),
    ]


@erratum(
    paper="ED",
    where="(16)",
    weight="wrong",
    says="ε(b, δ) = 2/b - log((p̂_min - β/2)(e^{2/b} - 1) + 1), for every δ.",
    truth="p̂_min - β/2 must be taken as at least 0: no prior has a negative mass. With few samples the formula "
    "exceeds the leakage 2/b under local differential privacy, and then has no value at all.",
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


@erratum(
    paper="ED",
    where="Theorem 4, β < 2 p_min",
    weight="loose",
    says="The bound on the sensitivity holds for β < 2 p_min, in two cases by privacy region.",
    truth="-log(1 - (β/2) min(e^ε, (e^ε-1)/p_min)) holds for every β and in every region, as long as its argument is "
    "positive.",
)
def ed_range_of_the_bound() -> Sequence[Finding]:
    """The 2-singular mechanism on ten letters at β = 0.3, beyond 2 p_min = 0.2."""
    mechanism, prior, beta = k_singular(10, 2), Prior.uniform(10), Fraction(3, 10)
    bound, exact = sensitivity_bound(lift=5, beta=beta), leakage_sensitivity(mechanism, prior.ball(beta))
    return [
        stated("the bound at β = 0.3 (nats)", "nothing is claimed", bound, False, "the assumption is not needed"),
        compared("the exact sensitivity there (nats)", bound, exact, within=1e-9),
    ]


@erratum(
    paper="ED",
    where="(8) and Corollary 3",
    weight="loose",
    says="δ ≤ (2^N - 2) exp(-2m(e^{-ε} - e^{-ε'})²).",
    truth="Twice the squared difference bounds the divergence kl(e^{-ε}‖e^{-ε'}) from below (Pinsker), loosely where "
    "e^{-ε} is small. The divergence itself may stand in its place.",
)
def ed_samples_needed() -> Sequence[Finding]:
    """Samples for N = 20 and δ = 1e-5, from lift 5 at the estimate to lift 6 in truth."""
    printed, enough = (
        sample_size(20, lift=5, target_lift=6, failure=1e-5, method=method) for method in ("weissman", "layer-cake")
    )
    return [compared("samples that suffice", printed, enough, within=0, why="Pinsker's inequality is loose here")]


@erratum(
    paper="ED",
    where="Section VI-C2, probabilistic LDP of Gaussian noise",
    weight="loose",
    says="δ = erfc(f) with σ = √2 (f + sqrt(f² + ε)) / ε.",
    truth="That is twice the larger of two tails. The probability that the privacy loss exceeds ε is the sum of both, "
    "which is smaller: the figures are harder on LDP than they need be.",
)
def ed_two_tails() -> Sequence[Finding]:
    """σ = 1.5, ε = 2: |Y| > σ²ε/2."""
    noise, level = Gaussian(VALUES, 1.5), 2.0
    border = noise.scale**2 * level / 2
    exact = float(noise.mass([(-math.inf, -border), (border, math.inf)]).max())
    printed = noise.pldp_delta(level)
    return [
        compared("P(privacy loss > 2)", printed, exact, within=1e-6, why="the smaller tail is counted as the larger")
    ]


ERRATA = (
    ed_information_of_a_sample,
    ed_sensitivity_and_divergence,
    ed_negative_mass,
    ed_range_of_the_bound,
    ed_samples_needed,
    ed_two_tails,
)
