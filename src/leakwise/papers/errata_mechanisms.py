"""Errata of [EX], [WC] and [EN]: mechanisms for a known prior, and what survives post-processing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leakwise.leakage import envelope, mutual_information
from leakwise.mechanism import randomized_response
from leakwise.optimize import Gain, design, distance_utility, least_leakage, utility_safe, worst_case_curve
from leakwise.papers.errata import erratum
from leakwise.papers.exhibit import Finding, compared, stated
from leakwise.papers.extremal_mechanisms import lift_vertices
from leakwise.papers.extremal_mechanisms_simulations import correlation, high_privacy_mechanism
from leakwise.priors import Prior

__all__: list[str] = []

_SAME = 1e-9


@erratum(
    paper="EX",
    where="Theorem 5",
    weight="harmless",
    says="The linear program over extremal lift vectors is optimal «assuming that μ is permutation-symmetric».",
    truth="Any sublinear μ will do: convexity and homogeneity put the optimum on extreme rays of the cone of columns. "
    "The demonstration takes a gain that pays 1, 3 and 5 for the three letters.",
)
def ex_symmetry() -> Sequence[Finding]:
    """The best mixture of extremal lift vectors for an unsymmetric gain, and the proven optimum over all mechanisms."""
    from scipy.optimize import linprog

    prior = Prior([0.5, 0.3, 0.2])
    gains = np.diag([1.0, 3.0, 5.0])
    vertices = np.array(lift_vertices(prior, 0.5))
    worth = ((vertices * prior.probabilities) @ gains).max(axis=1)
    mixture = linprog(-worth, A_eq=vertices.T, b_eq=np.ones(3))
    found = design(prior, 0.5, utility=Gain(gains))
    return [
        compared(
            "Theorem 5 with an unsymmetric gain, against the proven optimum", -mixture.fun, found.value, within=1e-9
        ),
        stated("the gap of the proof", None, found.gap, found.gap < 1e-9),
    ]


@erratum(
    paper="EX",
    where="Section IV-B, privacy regions",
    weight="wrong",
    says="The regions are k = 1, …, N-1, the last one ending at ε_{N-1} = -log P(x1); Theorem 5 is for ε in one of "
    "them.",
    truth="The region from -log P(x1) to ε_max is missing: there a column may have N-1 zeros. With the prior (0.8, "
    "0.2) and ε = 0.5 the vertices with at most N-2 = 0 zeros cannot be mixed to a mechanism at all.",
)
def ex_last_region() -> Sequence[Finding]:
    """The smallest mean lift of letter 1 over the listed vertices: a mixture must reach 1 for both letters."""
    prior = Prior([0.8, 0.2])
    level = 0.5
    without_zeros = [vector for vector in lift_vertices(prior, level) if (vector > 0).all()]
    most = max(vector[0] for vector in without_zeros)
    return [
        stated(
            "the largest lift of x1 over the vertices of regions up to N-1 (a mixture must reach 1)",
            "≥ 1",
            most,
            most >= 1,
            "no mixture of them is a mechanism",
        ),
        stated("the region of ε = 0.5", "none of 1..N-1", f"region {prior.region(level)}", False, "region N is needed"),
        stated("the optimum there (nats)", None, design(prior, level).value, True),
    ]


@erratum(
    paper="EX",
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
    paper="EX",
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
        count = len(lift_vertices(prior, middle))
        found.append(stated(f"N = 5, region {region}", bound, count, bound == count, "the lower regions do not count"))
    return found


@erratum(
    paper="EX",
    where="Section III-D",
    weight="wrong",
    says="The matrix of randomized response is doubly stochastic, hence P_Y = P_X.",
    truth="A doubly stochastic matrix keeps the uniform law, not P_X: q_j = β + (α-β) π_j. Formulas (7) to (9) are "
    "right.",
)
def ex_output_law() -> Sequence[Finding]:
    """The output law of randomized response with ε_r = 1 for the prior (0.5, 0.3, 0.2)."""
    prior = Prior([0.5, 0.3, 0.2])
    law = prior.probabilities @ randomized_response(3, 1.0).matrix
    return [
        compared(f"P(Y = {j + 1})", float(p), float(q), within=_SAME, why="P_Y is not P_X")
        for j, (p, q) in enumerate(zip(prior.probabilities, law, strict=True))
    ]


@erratum(
    paper="EX",
    where="Section IV-F, the empirical mutual information",
    weight="wrong",
    says="Î = Σ f(x,y)/N log(N f(x,y) / (f(x) f(y))) with N the size of the alphabet.",
    truth="The frequencies are to be divided by the number n of samples, not by that of letters.",
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


@erratum(
    paper="EX",
    where="Figure 3b",
    weight="loose",
    says="The optimal high-privacy mechanism increases the coefficient of correlation compared with randomized "
    "response.",
    truth="Theorem 3's mechanism is e^ε 1πᵀ - (e^ε - 1) I: its correlation is -(e^ε - 1), negative. A coefficient of "
    "correlation, unlike a sub-convex utility, is not indifferent to the order of the columns; only its size is "
    "larger.",
)
def ex_correlation() -> Sequence[Finding]:
    """The exact correlations at ε = 0.1 for the prior of the figure."""
    prior = Prior([0.3, 0.2, 0.2, 0.2, 0.1])
    values = [
        correlation(prior.probabilities[:, None] * made.matrix)
        for made in (
            high_privacy_mechanism(prior, 0.1),
            randomized_response(prior.labels, pml=0.1, prior=prior),
        )
    ]
    return [
        stated("correlation of Theorem 3's mechanism, ε = 0.1", "> 0", values[0], values[0] > 0, "negative"),
        compared("-(e^ε - 1)", -(math.exp(0.1) - 1), values[0], within=1e-9),
        stated("correlation of randomized response", None, values[1], True),
    ]


# ------------------------------------------------------------------------------------------------------------- [WC]


@erratum(
    paper="WC",
    where="Corollary 1, for value thresholds and ties",
    weight="wrong",
    says="The utility-safe mechanism leaks -log min_j π(A_j).",
    truth="Only where every letter has equally many allowed outputs, as with strict orders. In general it leaks "
    "max_j log(max_{i∈A_j} 1/n_i / Σ_{i∈A_j} π_i/n_i), which can be much more.",
)
def wc_unequal_rows() -> Sequence[Finding]:
    """Two letters with priors 0.1 and 0.9, one and two allowed outputs."""
    prior = Prior([0.1, 0.9])
    safe = utility_safe(prior, [[1, 0], [1, 1]], 1, by="value")
    return [
        compared(
            "ε of the utility-safe mechanism (nats)",
            -math.log(0.9),
            safe.epsilon,
            within=1e-9,
            why="the rows are unequal",
        )
    ]


@erratum(
    paper="WC",
    where="(11)",
    weight="harmless",
    says="The utility matrix has -9 at three places below the diagonal, where the released value is three too low.",
    truth="The penalty makes them -10 = -(3² + 1). With -9 row 4 would have a tie, which the order matrix (12) does "
    "not.",
)
def wc_matrix() -> Sequence[Finding]:
    """The utility of releasing 0 for 3, and the ranks of row 4."""
    utility = distance_utility(list(range(7)), power=2, below=1)
    ranks = (np.argsort(np.argsort(utility[3])) + 1).tolist()
    return [
        compared(
            "utility of releasing 0 where the count is 3", -9.0, float(utility[3, 0]), within=0.0, why="-(3² + 1)"
        ),
        stated("row 4 of (12)", "1 3 5 7 6 4 2", " ".join(map(str, ranks)), ranks == [1, 3, 5, 7, 6, 4, 2]),
    ]


@erratum(
    paper="WC",
    where="Section IV, Figure 1 and «in some rare situations»",
    weight="loose",
    says="The utility-safe mechanism is suboptimal in rare situations; Figure 1 shows it without the optimum.",
    truth="In the paper's own counting query it is optimal for the lowest and for the highest level only: a constant "
    "answer is free and keeps level 4.",
)
def wc_counting_query() -> Sequence[Finding]:
    """e^ε of the utility-safe mechanism and the least e^ε, level by level."""
    curve = worst_case_curve(Prior.uniform(7), distance_utility(list(range(7)), power=2, below=1), by="order")
    return [
        compared(
            f"e^ε at h* = {level:g}",
            math.exp(safe),
            math.exp(least),
            within=1e-9,
            why="leaving outputs out costs less",
        )
        for level, safe, least in zip(curve.levels.tolist(), curve.utility_safe, curve.epsilon, strict=True)
    ]


@erratum(
    paper="WC",
    where="Figure 1, exponential and randomized response from ε = log 7 on",
    weight="loose",
    says="Their worst utility does not increase at all up to ε = 2.",
    truth="Proposition 1 has no ε̄ from ε = -log π_min on, because every mechanism is ε-PML there: the identity is, "
    "and its worst utility is 0.",
)
def wc_beyond_the_largest() -> Sequence[Finding]:
    """The leakage of the identity for seven equally likely letters, and its worst utility."""
    least = least_leakage(Prior.uniform(7), np.eye(7, dtype=bool))
    return [
        stated("ε of telling the truth (nats), to be at most 1.95", None, least.epsilon, least.epsilon <= 1.95),
        compared("the best worst utility at ε = 1.95", -37.0, 0.0, within=0.0, why="the truth may be told"),
    ]


# ------------------------------------------------------------------------------------------------------------- [EN]


@erratum(
    paper="EN",
    where="Theorem 5 and the conjecture after it",
    weight="loose",
    says="h is a lower bound under a condition on the prior, and conjectured to be the envelope there.",
    truth="The conjecture is right, h is a lower bound for every prior, and without the condition it can be several "
    "times too small. Exact for every prior: e^ε_c = max_L min{α/q_L, (Lα + (N-1-L+θ)β)/δ}.",
)
def en_without_the_condition() -> Sequence[Finding]:
    """A skewed prior on eight letters, ε_r = 6, δ = 0.3."""
    prior = Prior.from_counts([1, 2, 2, 5, 5, 5, 100, 300])
    found = envelope(randomized_response(prior.labels, 6), prior, "3/10")
    assert found.published is not None
    factor = math.exp(found.epsilon - found.published)
    return [
        compared("e^ε at δ = 0.3", math.exp(found.published), math.exp(found.epsilon), within=1e-9, why="no condition"),
        stated("h is too small by the factor", None, factor, True),
    ]


@erratum(
    paper="EN",
    where="Section IV",
    weight="loose",
    says="Computing the envelope is «in general, a challenging task»; bounds are given.",
    truth="It is a linear program with one flow for each letter and outcome, because N+1 post-processed outcomes "
    "suffice. For the mechanism of Example 1 it is log(8/9 + 14/(45 δ)) from δ = 0.1 on.",
)
def en_exact_value() -> Sequence[Finding]:
    """The bounds (14) and Theorem 3 beside the exact envelope of Example 1 at δ = 0.2."""
    from leakwise.mechanism import Mechanism
    from leakwise.papers.leakage_envelopes import FOUR

    found = envelope(Mechanism(FOUR), Prior.uniform(4), "1/5")
    return [
        stated("lower bound (14) at δ = 0.2 (nats)", found.lower, found.epsilon, False, "the exact value is above it"),
        stated("upper bound of Theorem 3 (nats)", found.upper, found.epsilon, False, "and below this one"),
        compared("log(8/9 + 14/9)", math.log(22 / 9), found.epsilon, within=1e-9),
    ]
