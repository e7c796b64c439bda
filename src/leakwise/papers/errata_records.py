"""Notes on [PR], datasets against an entropy-bounded adversary, and on counts of records in [EN]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leakwise.aggregate import count
from leakwise.leakage import envelope
from leakwise.papers.errata import beyond, erratum
from leakwise.papers.exhibit import Finding, compared, stated
from leakwise.records import leakage, least_leakage, parity
from leakwise.records.bounds.closed_form import binary_entropy, inverse_binary_entropy
from leakwise.types import Floats

__all__: list[str] = []


@erratum(
    where="Table 3",
    weight="safety-critical",
    says="The maximal per-record leakage, computed by Algorithm 1, of the Laplace mechanism on the parity of four "
    "bits is 0.009 at b = 2.0, that of the exponential mechanism 0.003.",
    truth="The maximum is larger: 0.0795 and 0.0303. (The paper says that its algorithms may stop at local optima, "
    "section 3.1.) An adversary who knows only the parity of the other bits has entropy 3 log 2 = 2.079 and learns "
    "the full capacity, so that the leakage does not fall before that b.",
)
def pr_local_optima() -> Sequence[Finding]:
    """Table 3 at b = 2.0, and what our run of the algorithms reaches for a symmetric channel with flip 0.3."""
    query = parity(4)
    found = [
        compared(f"{name}, b = 2.0 (nats)", printed, leakage(channel, 2.0).value, within=5e-4, why="not the maximum")
        for name, printed, channel in (
            ("Laplace", 0.009, query.laplace(1.0)),
            ("exponential", 0.003, query.exponential(1.0)),
        )
    ]
    channel = query.symmetric_channel(flip=0.3)
    reached = leakage(channel, 2.0, method="alternating", restarts=1, time_limit=1e6).value
    true = leakage(channel, 2.0).value
    found.append(
        stated(
            "flip 0.3, b = 2.0 (nats)", f"{reached:.4f}, our run", true, abs(true - reached) < 1e-6, "a local optimum"
        )
    )
    return found


@erratum(
    where="Figure 4, caption, and section 7.2, the exponential mechanism",
    weight="wrong",
    says="At b = 0 the symmetric channel with flip 0.3 leaks 0.0931 nats (the caption), the exponential mechanism "
    "with ε = 1 leaks 0.693 - 0.661 = 0.032 (section 7.2).",
    truth="The channel leaks log 2 - h(0.3) = 0.0823, as section 7.2 rightly has it. The binary entropy of 0.3775 is "
    "0.663, so that the exponential mechanism leaks 0.0303. (0.079 for Laplace is 0.0795 up to the rounding of its "
    "two terms.)",
)
def pr_capacities() -> Sequence[Finding]:
    """The two capacities."""
    channel = leakage(parity(4).symmetric_channel(flip=0.3)).value
    return [
        compared("flip 0.3, b = 0, the caption of Figure 4 (nats)", 0.0931, channel, within=5e-5, why="arithmetic"),
        compared("flip 0.3, b = 0, section 7.2 (nats)", 0.0823, channel, within=5e-5),
        compared(
            "exponential, ε = 1, b = 0 (nats)",
            0.032,
            leakage(parity(4).exponential(1.0)).value,
            within=5e-4,
            why="arithmetic",
        ),
    ]


@beyond(
    where="Problems 2 and 3, convexity",
    says="For a fixed adversary the leakage is convex in the mechanism. Because of the maximization over adversaries "
    "the design problems are treated as non-convex, and solved by alternating to a stationary point.",
    truth="The maximum of convex functions is convex, so that both problems are convex in the mechanism. A list of "
    "adversaries, each a certified answer to Problem 1, gives the optimum with a proven gap.",
)
def pr_convexity() -> Sequence[Finding]:
    """The worst-case leakage of a mixture of two mechanisms, and a design with both sides proven."""
    query, b = parity(3), 1.5
    ends = [leakage(query.symmetric_channel(flip=flip), b).value for flip in (0.1, 0.4)]
    middle = leakage(query.symmetric_channel(flip=0.25), b).value
    found = least_leakage(query, distortion=0.2, entropy=b)
    h = -0.2 * math.log(0.2) - 0.8 * math.log(0.8)
    half = 2 * math.log(2)
    alpha = max(0.0, b - half)
    apart = abs(found.value - (_mixed(0.2, alpha) if alpha else math.log(2) - h))
    mean = sum(ends) / 2
    return [
        stated(
            f"a mixture of two mechanisms leaks at most the mean of the two, {mean:.4f} (nats)",
            None,
            middle,
            middle <= mean,
        ),
        stated("least leakage at distortion 0.2: the gap between both sides (nats)", None, found.gap, found.gap < 1e-4),
        stated("its distance from the closed form log 2 - h(0.2 * α) (nats)", None, round(apart, 6), apart < 1e-4),
    ]


def _mixed(flip: float, entropy: float) -> float:
    """log 2 - h(p*α) with h(α) = entropy."""
    alpha = inverse_binary_entropy(entropy)
    return math.log(2) - binary_entropy(flip * (1 - alpha) + (1 - flip) * alpha)


@erratum(
    where="(37)",
    weight="wrong",
    says="∂I/∂p(x_-i|x_i) = p(x_i) + p(x_i) Σ_y q log(p(y|x_i)/p(y)) - p(x_i)² Σ_y p(y|x_i) q / p(y).",
    truth="The terms of the other values of x_i are missing; with them it is p(x_i) Σ_y q(y|x) log(p(y|x_i)/p(y)).",
)
def pr_derivative() -> Sequence[Finding]:
    """The slope of I along a direction that keeps the sum, by differences, and by both formulas."""
    rng = np.random.default_rng(37)
    marginal = np.array([0.3, 0.7])
    conditional = rng.dirichlet(np.ones(3), size=2)
    kernel = rng.dirichlet(np.ones(2), size=(2, 3))
    direction = np.array([1.0, -0.4, -0.6])

    def information(rows: Floats) -> float:
        law = np.einsum("ac,acy->ay", rows, kernel)
        return float((marginal[:, None] * law * np.log(law / (marginal @ law))).sum())

    step = 1e-6
    moved = [conditional + sign * step * np.array([direction, np.zeros(3)]) for sign in (1, -1)]
    slope = (information(moved[0]) - information(moved[1])) / (2 * step)
    law = np.einsum("ac,acy->ay", conditional, kernel)
    out = marginal @ law
    right = marginal[0] * kernel[0] @ np.log(law[0] / out)
    printed = marginal[0] + right - marginal[0] ** 2 * kernel[0] @ (law[0] / out)
    return [
        compared("the slope by (37)", float(printed @ direction), slope, within=1e-6, why="terms are missing"),
        compared("the slope by the right formula", float(right @ direction), slope, within=1e-6),
    ]


@erratum(
    where="(18)",
    weight="harmless",
    says="c_i^k = (b - H(X_i))/p(x_ik) - Σ_{ℓ=1}^{n_i} p(x_iℓ)/p(x_ik) H(X_-i|x_iℓ).",
    truth="A misprint: the sum leaves out ℓ = k, as line 9 of Algorithm 3 rightly has it. c is the entropy that row k "
    "must have, given the others.",
)
def pr_required_entropy() -> Sequence[Finding]:
    """A joint distribution whose entropy is b: row k must have exactly the entropy that it has."""
    marginal = np.array([0.4, 0.6])
    conditional = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]])
    entropies = [-float((row * np.log(row)).sum()) for row in conditional]
    own = -float((marginal * np.log(marginal)).sum())
    b = own + float(marginal @ entropies)
    printed = (b - own) / marginal[0] - sum(p / marginal[0] * h for p, h in zip(marginal, entropies, strict=True))
    right = (b - own) / marginal[0] - marginal[1] / marginal[0] * entropies[1]
    return [
        compared(
            "the entropy that row 1 must have, by (18) (nats)", float(printed), entropies[0], within=1e-9, why="ℓ = k"
        ),
        compared("the same without ℓ = k (nats)", float(right), entropies[0], within=1e-9),
    ]


@erratum(
    where="Algorithm 5",
    weight="wrong",
    says="softmax_β(v) with a root β of H = t projects v onto the distributions of entropy t.",
    truth="It has that entropy where a root exists, but it is not the nearest such distribution, and it keeps ties: "
    "for a uniform v every softmax is uniform, whatever the target, and there is no root.",
)
def pr_ties() -> Sequence[Finding]:
    """The least entropy that the softmax of a uniform vector reaches, for β up to 10⁶; the target is log 2."""
    v = np.full(4, 0.25)
    reached = []
    for beta in (0.0, 1.0, 1e3, 1e6):
        w = np.exp(beta * (v - v.max()))
        w /= w.sum()
        reached.append(-float((w * np.log(w)).sum()))
    least = min(reached)
    return [compared("entropy reached (nats), target log 2", math.log(2), least, within=1e-6, why="ties stay ties")]


@erratum(
    where="Algorithms 7 and 10, the penalty",
    weight="wrong",
    says="The penalty λ is multiplied or divided by 1.5 where the constraint is missed by more than 0.01, until it is "
    "met to a tolerance ε.",
    truth="With ε below 0.01 the loop need not end: within ±0.01 of the constraint λ is not changed, and with it the "
    "mechanism; elsewhere a factor of 1.5 can go from one side to the other again and again. (And the previous value "
    "is overwritten before it is compared.) Limit the rounds, or search for λ.",
)
def pr_frozen_penalty() -> Sequence[Finding]:
    """One uniform bit through a symmetric channel, ε = 0.001, each round solved exactly; 200 rounds."""
    flips = np.linspace(1e-6, 0.5, 20_001)
    leaked = math.log(2) + flips * np.log(flips) + (1 - flips) * np.log1p(-flips)
    found = []
    for bound in (0.2, 0.25):
        penalty = np.log1p(np.exp(flips - bound)) ** 2
        factor, away, still = 1.0, math.inf, 0
        for _ in range(200):
            reached = float(flips[(leaked + factor * penalty).argmin()])
            away = abs(reached - bound)
            if away < 1e-3:
                break
            step = 1.5 if reached > bound + 0.01 else 1 / 1.5 if reached < bound - 0.01 else 1.0
            still = still + 1 if step == 1.0 else 0
            factor *= step
        why = f"nothing moved in the last {still} rounds" if still else "λ alternates between two values"
        found.append(stated(f"distance from D = {bound:g} after 200 rounds", "< 0.001", away, away < 1e-3, why))
    return found


@beyond(
    where="Section IV, counts of many records",
    says="For a mechanism with many outcomes the envelope lies between the bounds of Theorem 3 and (14).",
    truth="For a count of independent records, with two-sided geometric noise or none, it is exact for any number of "
    "records: a threshold on the count is the worst event for either value. Its largest lift is that of one record "
    "alone, its envelope falls as the root of the number of records, and so it says whether a count needs noise at "
    "all. The rarer a value, the more is told about it, so that an interval of priors is bounded by its ends.",
)
def en_counts() -> Sequence[Finding]:
    """A count of twelve records by thresholds and by the linear program; of ten thousand; and an interval of priors."""
    few, delta = count(unknown=12, prior="0.3", noise=1), "0.01"
    apart = abs(few.envelope(delta).epsilon - envelope(few.mechanism, few.prior, delta).epsilon)
    many = count(unknown=10_000, prior="0.3")
    proven = many.envelope("1e-6")
    inside = [count(unknown=10_000, prior=p).envelope("1e-6").epsilon for p in ("0.2", "0.3", "0.4")]
    wide = count(unknown=10_000, prior=("0.2", "0.4")).envelope("1e-6").epsilon
    return [
        stated("twelve records: distance from the linear program (nats)", None, round(apart, 12), apart < 1e-9),
        stated("ten thousand, without noise: largest lift", None, many.lift, math.isclose(many.lift, 10 / 3)),
        stated("except with probability 1e-6: lift", None, proven.lift, proven.gap < 1e-12 and proven.lift < 1.08),
        stated("priors from 0.2 to 0.4 (nats)", None, wide, max(inside) <= wide <= max(inside) * 1.001),
    ]
