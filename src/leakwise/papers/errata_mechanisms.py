"""Notes on [EX], [WC] and [EN]: mechanisms for a known prior, and what survives post-processing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leakwise.leakage import envelope, mutual_information
from leakwise.mechanism import randomized_response
from leakwise.optimize import Gain, design, distance_utility, least_leakage, utility_safe, worst_case_curve
from leakwise.optimize.pricing.extreme_columns import extreme_columns
from leakwise.papers.errata import beyond, erratum, warning
from leakwise.papers.exhibit import Finding, compared, further, stated
from leakwise.priors import Prior

__all__: list[str] = []

_SAME = 1e-9


@beyond(
    where="Theorem 5, the assumption on μ",
    says='The linear program over extremal lift vectors is optimal "assuming that μ is permutation-symmetric".',
    truth="The theorem holds for every sublinear μ: convexity and homogeneity put the optimum on extreme rays of the "
    "cone of columns. The demonstration takes a gain that pays 1, 3 and 5 for the three letters.",
)
def ex_symmetry() -> Sequence[Finding]:
    """The best mixture of extremal lift vectors for an unsymmetric gain, and the proven optimum over all mechanisms."""
    from scipy.optimize import linprog

    prior = Prior([0.5, 0.3, 0.2])
    gains = np.diag([1.0, 3.0, 5.0])
    vertices = extreme_columns(prior, 0.5).T.astype(np.float64)
    worth = ((vertices * prior.probabilities) @ gains).max(axis=1)
    mixture = linprog(-worth, A_eq=vertices.T, b_eq=np.ones(3))
    found = design(prior, 0.5, utility=Gain(gains))
    return [
        stated(
            "the linear program with an unsymmetric gain, less the proven optimum",
            None,
            round(-mixture.fun - found.value, 12),
            abs(-mixture.fun - found.value) < 1e-9,
        ),
        stated("the gap of the proof", None, found.gap, found.gap < 1e-9),
    ]


@beyond(
    where="Section IV-B, a last privacy region, and Theorem 5",
    says="The regions are k = 1, …, N-1, the last one ending at ε_{N-1} = -log P(x1); Theorem 5 is for ε in one of "
    "them.",
    truth="A region N, from -log P(x1) to ε_max, makes the theorem cover every ε: there a column may have N-1 zeros, "
    "and such columns are needed. For two letters Theorem 2 has that case already.",
)
def ex_last_region() -> Sequence[Finding]:
    """The prior (0.8, 0.2) at ε = 0.5: the vertices without zeros cannot be mixed to a mechanism."""
    prior, level = Prior([0.8, 0.2]), 0.5
    most = max(float(vector[0]) for vector in extreme_columns(prior, level).T if (vector > 0).all())
    last = prior.region(level)
    return [
        stated("the region of ε = 0.5", None, f"region {last} of {len(prior)}", last == len(prior)),
        stated("the largest lift of x1 over the vertices without zeros (a mixture must reach 1)", None, most, most < 1),
        further("the optimum there (nats)", "not claimed", design(prior, level).value, "with the vertices of region N"),
    ]


@erratum(
    where="Example 3",
    weight="wrong",
    says="In region 2 the extremal lift vectors of three letters include (e^ε, e^ε, r_3(3)).",
    truth="r_3(3) = (1 - e^ε (1 - P(x3))) / P(x3) is negative inside region 2, which begins where it is 0.",
)
def ex_last_vector() -> Sequence[Finding]:
    """r_3(3) for the prior (0.5, 0.3, 0.2) at ε = 0.45, in region 2."""
    value = (1 - math.exp(0.45) * 0.8) / 0.2
    return [stated("r_3(3) at ε = 0.45, P(x3) = 0.2", "≥ 0", value, value >= 0, "the vector is infeasible")]


@erratum(
    where="Remark 2, (14)",
    weight="wrong",
    says="The number of extremal lift vectors is at most Σ_{l≤k} (N-l+1) C(N, l-1), with equality for a uniform prior.",
    truth="For a uniform prior only the last term is feasible inside region k: (N-k+1) C(N, k-1).",
)
def ex_number_of_vertices() -> Sequence[Finding]:
    """Vertices of a uniform prior on five letters, in the middle of each region."""
    size = 5
    prior = Prior.uniform(size)
    borders = prior.regions().tolist()
    found = []
    for region in range(2, size):
        middle = (borders[region - 1] + borders[region]) / 2
        bound = sum((size - zeros + 1) * math.comb(size, zeros - 1) for zeros in range(1, region + 1))
        count = extreme_columns(prior, middle).shape[1]
        found.append(stated(f"N = 5, region {region}", bound, count, bound == count, "the lower regions do not count"))
    return found


@erratum(
    where="Section III-D",
    weight="wrong",
    says="The matrix of randomized response is doubly stochastic, hence P_Y = P_X.",
    truth="A doubly stochastic matrix keeps the uniform distribution, not P_X: q_j = β + (α-β) π_j. The formulas (7) "
    "to (9) that follow are right.",
)
def ex_output_law() -> Sequence[Finding]:
    """The distribution of the outcomes of randomized response with ε_r = 1 for the prior (0.5, 0.3, 0.2)."""
    prior = Prior([0.5, 0.3, 0.2])
    law = prior.probabilities @ randomized_response(3, 1.0).matrix
    return [
        compared(f"P(Y = {j + 1})", float(p), float(q), within=_SAME, why="P_Y is not P_X")
        for j, (p, q) in enumerate(zip(prior.probabilities, law, strict=True))
    ]


@erratum(
    where="Section IV-F, the empirical mutual information",
    weight="harmless",
    says="Î = Σ f(x,y)/N log(N f(x,y) / (f(x) f(y))) with N the size of the alphabet.",
    truth="A misprint: N stands for the number n of samples here.",
)
def ex_empirical_information() -> Sequence[Finding]:
    """Both formulas on the expected counts of a thousand letters through randomized response."""
    prior = Prior([0.55, 0.45])
    mechanism = randomized_response(2, 1.0)
    counts = 1000 * prior.probabilities[:, None] * mechanism.matrix
    ratio = counts / (counts.sum(axis=1, keepdims=True) * counts.sum(axis=0))
    printed = float((counts / 2 * np.log(2 * ratio)).sum())
    truth = mutual_information(mechanism, prior)
    right = float((counts / 1000 * np.log(1000 * ratio)).sum())
    return [
        stated(
            "the printed formula (exact value: ours)", printed, truth, False, "a mutual information is not negative"
        ),
        compared("divided by the number of samples", right, truth, within=1e-9),
    ]


# ------------------------------------------------------------------------------------------------------------- [WC]


@beyond(
    where="Corollary 1, extended to value thresholds and ties",
    says="With strict orders, the setting of the paper, the utility-safe mechanism leaks -log min_j π(A_j).",
    truth="Value thresholds and ties, our extension, allow some letters more outputs than others. The mechanism that "
    "is uniform on the n_i allowed outputs of letter i then leaks max_j log(max_{i∈A_j} 1/n_i / Σ_{i∈A_j} π_i/n_i), "
    "which is the formula of the corollary where all n_i are equal, and can be more where they are not.",
)
def wc_unequal_rows() -> Sequence[Finding]:
    """Two letters with priors 0.1 and 0.9, one and two allowed outputs."""
    prior = Prior([0.1, 0.9])
    safe = utility_safe(prior, [[1, 0], [1, 1]], 1, by="value")
    equal = utility_safe(prior, [[1, 2], [2, 1]], 2, by="value")
    return [
        compared("ε with one allowed output for each letter, by the corollary (nats)", -math.log(0.1), equal.epsilon,
                 within=1e-9),
        further("ε with one and two allowed outputs (nats)", f"not claimed; the formula gives {-math.log(0.9):.4f}",
                safe.epsilon, "rows with different numbers of outputs, which strict orders do not have"),
    ]  # fmt: skip


@erratum(
    where="(11)",
    weight="harmless",
    says="The utility matrix has -9 at the four places below the diagonal, in rows 4 to 7, where the released value "
    "is three too low.",
    truth="The penalty makes them -10 = -(3² + 1), as it makes the other entries below the diagonal -2, -5, -17, -26 "
    "and -37. With -9 row 4 would have a tie, which the order matrix (12) does not have: the order matrix, and all "
    "that follows from it, is right.",
)
def wc_matrix() -> Sequence[Finding]:
    """The utility of releasing three too little, in rows 4 to 7, and the ranks of row 4."""
    utility = distance_utility(list(range(7)), power=2, below=1)
    ranks = (np.argsort(np.argsort(utility[3])) + 1).tolist()
    return [
        *(
            compared(f"utility of releasing {count - 3} where the count is {count} (row {count + 1})", -9.0,
                     float(utility[count, count - 3]), within=0.0, why="-(3² + 1)")
            for count in range(3, 7)
        ),
        stated("row 4 of (12)", "1 3 5 7 6 4 2", " ".join(map(str, ranks)), ranks == [1, 3, 5, 7, 6, 4, 2]),
    ]  # fmt: skip


@beyond(
    where="Section IV, the optimum for the counting query of Figure 1",
    says="The utility-safe mechanism is optimal where every output must be used, and can be suboptimal otherwise "
    '(section III-B; "in some rare situations", section IV-B). Figure 1 compares it with other mechanisms.',
    truth="The exact optimum for the same query. Where outputs may be left out the utility-safe mechanism is optimal "
    "at the lowest and at the highest of the seven levels: a constant answer leaks nothing and keeps level 4.",
)
def wc_counting_query() -> Sequence[Finding]:
    """e^ε of the utility-safe mechanism and the least e^ε, level by level."""
    curve = worst_case_curve(Prior.uniform(7), distance_utility(list(range(7)), power=2, below=1), by="order")
    return [
        further(f"e^ε at h* = {level:g}", math.exp(safe), math.exp(least), "the least over all mechanisms")
        if safe > least + 1e-9
        else compared(f"e^ε at h* = {level:g}", math.exp(safe), math.exp(least), within=1e-9)
        for level, safe, least in zip(curve.levels.tolist(), curve.utility_safe, curve.epsilon, strict=True)
    ]


@warning(
    where="Proposition 1 and Figure 1, from ε = -log π_min on",
    says="When ε ≥ -log p_min any mechanism satisfies ε-PML; otherwise ε̄ is given by a formula. Figure 1 has the "
    "exponential mechanism and randomized response up to ε = 2, which is above log 7 = 1.946, and does not say which "
    "ε̄ it takes there.",
    truth="The formula has no value there. The identity may be released, and its worst utility is 0; our Figure 1 "
    "shows it.",
)
def wc_beyond_the_largest() -> Sequence[Finding]:
    """The leakage of the identity for seven equally likely letters, and its worst utility."""
    least = least_leakage(Prior.uniform(7), np.eye(7, dtype=bool))
    return [
        stated("e^{-ε} - π_min at ε = 1.95, whose logarithm the formula takes", None, math.exp(-1.95) - 1 / 7,
               math.exp(-1.95) < 1 / 7),
        stated("ε of telling the truth (nats), at most 1.95", None, least.epsilon, least.epsilon <= 1.95),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- [EN]


@beyond(
    where="Theorem 5 and the conjecture after it",
    says="h is a lower bound under a condition on the prior, and conjectured to be the envelope there.",
    truth="The conjecture is right. h is a lower bound for every prior; without the condition, where nothing is "
    "claimed, it can be several times smaller than the envelope. Exact for every prior: e^ε_c = max_L min{α/q_L, (Lα "
    "+ (N-1-L+θ)β)/δ}.",
)
def en_without_the_condition() -> Sequence[Finding]:
    """A skewed prior on eight letters, ε_r = 6, δ = 0.3."""
    prior = Prior.from_counts([1, 2, 2, 5, 5, 5, 100, 300])
    found = envelope(randomized_response(prior.labels, 6), prior, "3/10")
    assert found.published is not None
    factor = math.exp(found.epsilon - found.published)
    return [
        further("e^ε at δ = 0.3: h, and the envelope", math.exp(found.published), math.exp(found.epsilon),
                "the condition does not hold for this prior"),
        stated("the envelope divided by h, at least 1", None, factor, factor >= 1),
    ]  # fmt: skip


@beyond(
    where="Section IV, the exact envelope",
    says='Computing the envelope is "in general, a challenging task"; bounds are given.',
    truth="It is a linear program with one flow for each letter and outcome, because N+1 post-processed outcomes "
    "suffice. For the mechanism of Example 1 it is log(8/9 + 14/(45 δ)) from δ = 0.1 on.",
)
def en_exact_value() -> Sequence[Finding]:
    """The bounds (14) and Theorem 3 with the exact envelope of Example 1 at δ = 0.2."""
    from leakwise.mechanism import Mechanism
    from leakwise.papers.leakage_envelopes import FOUR

    found = envelope(Mechanism(FOUR), Prior.uniform(4), "1/5")
    return [
        further("lower bound (14) at δ = 0.2, and the exact envelope (nats)", found.lower, found.epsilon, "exact"),
        further("upper bound of Theorem 3, and the exact envelope (nats)", found.upper, found.epsilon, "exact"),
        stated("the exact value less log(8/9 + 14/9)", None, round(found.epsilon - math.log(22 / 9), 12),
               found.lower <= found.epsilon <= found.upper),
    ]  # fmt: skip
