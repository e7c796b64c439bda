"""Frequencies recovered from released counts: exact where they must be, honest where they cannot be."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import binom

from leakwise.errors import InvalidInput
from leakwise.lp import solve_lp
from leakwise.tables.estimate.inversion import Inversion, invert, invert_structured
from leakwise.tables.estimate.mixture import likelihood_gap, mixture_proportions

Floats = NDArray[np.float64]


def kernel(rng: np.random.Generator, letters: int, outcomes: int, spread: float = 1.0) -> Floats:
    return rng.dirichlet(np.full(outcomes, spread), size=letters)


def draw(rng: np.random.Generator, n: int, law: Floats, runs: int | None = None) -> NDArray[np.int64]:
    return rng.multinomial(n, law / law.sum(), size=runs)


def response(letters: int, keep: float) -> Floats:
    """Tell the truth with probability ``keep``, else any letter at random."""
    return keep * np.eye(letters) + (1 - keep) / letters


def brute_force(counts: Floats, matrix: Floats) -> float:
    """The largest log-likelihood per row over the simplex, by a general optimiser."""
    w = counts / counts.sum()
    seen = w > 0

    def loss(p: Floats) -> float:
        return -float(w[seen] @ np.log(np.maximum(p @ matrix, 1e-300)[seen]))

    start = np.full(matrix.shape[0], 1 / matrix.shape[0])
    result = minimize(
        loss,
        start,
        jac=lambda p: -matrix[:, seen] @ (w[seen] / (p @ matrix)[seen]),
        method="SLSQP",
        bounds=[(1e-15, 1.0)] * start.size,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return -float(result.fun)


# ------------------------------------------------------------------------------------------- exact recovery


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 4))
def test_counts_in_exact_proportion_give_the_exact_frequencies(seed: int, letters: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = letters + more
    # Integer kernels and frequencies: pP has a common denominator, so the counts are exact.
    matrix = rng.integers(0, 30, size=(letters, outcomes)) + 1
    matrix[np.arange(letters), np.arange(letters)] += 60
    matrix[:, -1] += matrix.sum(axis=1).max() - matrix.sum(axis=1)
    p = rng.integers(0, 50, size=letters) + np.eye(letters, dtype=np.int64)[0]
    counts = p @ matrix
    laws = matrix / matrix.sum(axis=1, keepdims=True)
    result = invert(counts, laws)
    if np.linalg.cond(laws) < 1e6:
        assert result.identifiable.all()
        assert result.frequencies == pytest.approx(p / p.sum(), abs=1e-9)
    assert result.frequencies @ laws == pytest.approx(counts / counts.sum(), abs=1e-9)
    assert result.converged
    assert result.frequencies.sum() == pytest.approx(1.0, abs=1e-14)


def test_randomized_response_has_its_closed_form() -> None:
    keep, counts = 0.4, np.array([520, 240, 240])
    result = invert(counts, response(3, keep))
    q = counts / 1000
    assert result.method == "inverse"
    assert result.frequencies == pytest.approx((q - 0.2) / keep, abs=1e-12)
    assert result.standard_error == pytest.approx(np.sqrt(q * (1 - q) / 1000) / keep, rel=1e-10)
    assert result.log_likelihood == pytest.approx(counts @ np.log(q), rel=1e-13)
    assert result.sample_size == 1000


def test_without_noise_the_interval_is_that_of_wilson() -> None:
    counts, z = np.array([3, 17, 0]), 1.959963984540054
    x, n = counts / 20, 20
    centre = (x + z * z / (2 * n)) / (1 + z * z / n)
    width = z * np.sqrt(x * (1 - x) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    for result in (invert(counts, np.eye(3)), invert_structured(counts, np.zeros(3), 1.0)):
        assert result.frequencies == pytest.approx(x, abs=1e-15)
        assert result.intervals[:, 0] == pytest.approx(np.maximum(centre - width, 0), abs=1e-12)
        assert result.intervals[:, 1] == pytest.approx(centre + width, abs=1e-12)


# ------------------------------------------------------------------------------------------ the most likely p


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 8), st.sampled_from([5, 50, 5000]))
def test_no_frequencies_are_more_likely(seed: int, letters: int, outcomes: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = 0.9 * kernel(rng, letters, outcomes) + 0.1 / outcomes
    counts = draw(rng, n, rng.dirichlet(np.ones(letters)) @ matrix)
    result = invert(counts, matrix)
    assert result.converged
    assert (result.frequencies >= 0).all()
    assert result.log_likelihood / n >= brute_force(counts, matrix) - 1e-9
    seen = counts > 0
    assert likelihood_gap(matrix[:, seen], counts[seen] / n, result.frequencies) <= 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_the_gap_bounds_the_loss_of_any_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = kernel(rng, 5, 7)
    weights = rng.dirichlet(np.ones(7))
    best = mixture_proportions(laws, weights).proportions
    other = rng.dirichlet(np.ones(5))
    loss = weights @ (np.log(best @ laws) - np.log(other @ laws))
    assert -1e-12 <= loss <= likelihood_gap(laws, weights, other) + 1e-12


def test_a_mixture_that_rules_out_what_was_seen_has_an_infinite_gap() -> None:
    assert likelihood_gap(np.eye(2), np.array([0.5, 0.5]), np.array([1.0, 0.0])) == np.inf


def test_hard_mixtures_converge_in_few_steps() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        letters, outcomes = int(rng.integers(1, 40)), int(rng.integers(1, 40))
        laws = kernel(rng, letters, outcomes, 10 ** rng.uniform(-1.5, 1))
        laws = laws * 0.1 + 0.9 * rng.dirichlet(np.ones(outcomes)) if rng.random() < 0.5 else laws
        counts = draw(rng, int(10 ** rng.uniform(0, 6)), np.full(letters, 1 / letters) @ laws)
        seen = counts > 0
        answer = mixture_proportions(laws[:, seen], counts[seen] / counts.sum())
        assert answer.gap <= 1e-11
        assert answer.iterations <= 60


def test_an_inverse_outside_the_simplex_is_not_clipped_but_replaced() -> None:
    matrix, counts = response(3, 0.4), np.array([600, 290, 110])
    assert ((counts / 1000 - 0.2) / 0.4).min() < 0
    result = invert(counts, matrix)
    assert result.method == "maximum_likelihood"
    assert result.frequencies[2] == 0.0
    # By hand: letter 2 out; the others c t - ½ with t from the sum.
    assert result.frequencies[:2] == pytest.approx(np.array([600, 290]) * (2 / 890) - 0.5, abs=1e-10)


# ----------------------------------------------------------------------------------------------------- errors


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_covariance_is_that_of_the_inverse(seed: int, letters: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = 0.5 * np.eye(letters) + 0.5 * kernel(rng, letters, letters)
    p = 0.5 * rng.dirichlet(np.ones(letters)) + 0.5 / letters
    counts = np.round(p @ matrix * 1e6)
    result = invert(counts, matrix)
    q, inverse, m = result.frequencies @ matrix, np.linalg.inv(matrix), counts.sum()
    direct = inverse.T @ (np.diag(q) - np.outer(q, q)) @ inverse / m
    information = (matrix / q) @ matrix.T
    pi = result.frequencies
    by_information = (np.linalg.inv(information) - np.outer(pi, pi)) / m
    assert result.covariance() == pytest.approx(direct, abs=1e-14)
    assert result.covariance() == pytest.approx(by_information, abs=1e-14)
    assert result.standard_error == pytest.approx(np.sqrt(np.diag(direct)), rel=1e-8)
    assert result.covariance([1, 0]) == pytest.approx(direct[:2, :2][::-1, ::-1], abs=1e-14)
    assert result.covariance().sum() == pytest.approx(0.0, abs=1e-15)  # the frequencies add up to one


def test_covariance_of_a_wide_kernel_is_the_inverse_information() -> None:
    rng = np.random.default_rng(4)
    matrix = kernel(rng, 4, 9)
    counts = draw(rng, 10_000, np.array([0.4, 0.3, 0.2, 0.1]) @ matrix)
    result = invert(counts, matrix)
    p, q = result.frequencies, result.frequencies @ matrix
    expected = (np.linalg.inv((matrix / q) @ matrix.T) - np.outer(p, p)) / 10_000
    assert result.covariance() == pytest.approx(expected, abs=1e-13)


def test_standard_errors_are_the_spread_seen_in_repetition() -> None:
    rng = np.random.default_rng(8)
    matrix = 0.6 * np.eye(3, 5) + 0.4 * kernel(rng, 3, 5)
    matrix /= matrix.sum(axis=1, keepdims=True)
    p, n, runs = np.array([0.5, 0.3, 0.2]), 20_000, 400
    found = np.array([invert(c, matrix).frequencies for c in draw(rng, n, p @ matrix, runs)])
    stated = invert(np.round(p @ matrix * n), matrix).standard_error
    # The sample deviation of 400 runs is within 20 % but with probability below 1e-7.
    assert found.std(axis=0, ddof=1) == pytest.approx(stated, rel=0.2)


FALSE_ALARM = 1e-6


def check_coverage(hits: int, runs: int, at_least: float) -> None:
    """Fails with probability at most 1e-6 if every run covers with probability ``at_least``."""
    assert binom.cdf(hits, runs, at_least) > FALSE_ALARM, f"covered {hits} of {runs}, wanted {at_least}"


@pytest.mark.parametrize(
    ("shape", "p"),
    [
        ("response", (0.5, 0.3, 0.15, 0.05)),
        ("response", (0.97, 0.03, 0.0, 0.0)),
        ("response", (0.0, 0.0, 0.0, 1.0)),
        ("wide", (0.5, 0.3, 0.15, 0.05)),
        ("wide", (0.97, 0.03, 0.0, 0.0)),
        ("against", (0.97, 0.03, 0.0, 0.0)),
    ],
)
def test_intervals_cover(shape: str, p: tuple[float, ...]) -> None:
    rng = np.random.default_rng(12)
    if shape == "response":
        matrix = response(4, 0.3)
    elif shape == "wide":
        matrix = 0.5 * np.eye(4, 6) + 0.5 * kernel(rng, 4, 6)
        matrix /= matrix.sum(axis=1, keepdims=True)
    else:
        matrix = (1 - np.eye(4)) / 3
    runs, n = 300, 800
    samples = draw(rng, n, np.array(p) @ matrix, runs)
    single, joint = np.zeros(4, dtype=int), 0
    for c in samples:
        ends = invert(c, matrix).intervals
        single += (ends[:, 0] <= p) & (p <= ends[:, 1])
        if shape == "response":
            both = invert(c, matrix, simultaneous=True).intervals
            joint += bool(((both[:, 0] <= p) & (p <= both[:, 1])).all())
    # Score intervals are asymptotic: one point of the 95 is left to n = 800.
    for hits in single:
        check_coverage(int(hits), runs, 0.94)
    if shape == "response":
        check_coverage(joint, runs, 0.94)


def test_intervals_hold_the_estimate_and_grow_with_confidence() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        matrix = 0.2 * np.eye(5) + 0.8 * kernel(rng, 5, 5)
        counts = draw(rng, 60, rng.dirichlet(np.full(5, 0.3)) @ matrix)
        results = [
            invert(counts, matrix, confidence=0.8),
            invert(counts, matrix, confidence=0.95),
            invert(counts, matrix, confidence=0.95, simultaneous=True),
        ]
        for result in results:
            low, high = result.intervals.T
            assert (low <= result.frequencies).all()
            assert (result.frequencies <= high).all()
            assert (low >= 0).all()
            assert (high <= 1).all()
        for narrow, wide in pairwise(results):
            assert (wide.intervals[:, 0] <= narrow.intervals[:, 0] + 1e-12).all()
            assert (wide.intervals[:, 1] >= narrow.intervals[:, 1] - 1e-12).all()


# --------------------------------------------------------------------------------------- what cannot be known


def test_letters_with_the_same_row_are_known_only_together() -> None:
    matrix = np.array([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]])
    result = invert([550, 450], matrix)
    assert result.identifiable.tolist() == [True, False, False]
    assert not result.unique
    assert np.isnan(result.standard_error).tolist() == [False, True, True]
    merged = invert([550, 450], matrix[:2])
    assert result.frequencies[0] == pytest.approx(merged.frequencies[0], abs=1e-12)
    assert result.frequencies[1] == result.frequencies[2] == pytest.approx(merged.frequencies[1] / 2)
    assert result.intervals[0] == pytest.approx(merged.intervals[0], abs=1e-12)
    assert result.intervals[1] == pytest.approx([0.0, merged.intervals[1, 1]], abs=1e-12)
    covariance = result.covariance()
    assert covariance[0, 0] == pytest.approx(merged.covariance()[0, 0])
    assert np.isnan(covariance[1:]).all()


DEFICIENT = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.45, 0.45, 0.1], [0.1, 0.1, 0.8]])


def test_a_row_that_is_a_mixture_of_others_hides_all_three() -> None:
    result = invert([400, 350, 250], DEFICIENT)
    assert result.identifiable.tolist() == [False, False, False, True]
    alone = np.vstack((DEFICIENT[:2], DEFICIENT[3:]))
    assert result.intervals[3] == pytest.approx(invert([400, 350, 250], alone).intervals[2], abs=1e-9)


def test_intervals_by_programs_hold_every_frequency_that_fits_the_counts() -> None:
    counts = np.array([400, 350, 250])
    result = invert(counts, DEFICIENT)
    # Every p with pP equal to the observed law is as good as any other.
    equations = np.vstack((DEFICIENT.T, np.ones(4)))
    target = np.append(counts / 1000, 1.0)
    for i in range(3):
        unit = np.eye(4)[i]
        low = solve_lp(unit, equations, target, target).objective
        high = solve_lp(unit, equations, target, target, maximize=True).objective
        assert high > low + 0.1
        assert result.intervals[i, 0] <= low
        assert result.intervals[i, 1] >= high
    more = invert(counts * 10_000, DEFICIENT)
    sharp = solve_lp(np.eye(4)[0], equations, target, target, maximize=True).objective
    assert more.intervals[0, 1] == pytest.approx(sharp, abs=2e-3)


@pytest.mark.parametrize("p", [(0.3, 0.3, 0.2, 0.2), (0.0, 0.0, 1.0, 0.0), (0.5, 0.5, 0.0, 0.0)])
def test_intervals_of_hidden_letters_cover(p: tuple[float, ...]) -> None:
    rng = np.random.default_rng(5)
    runs = 150
    hits = np.zeros(4, dtype=int)
    joint = 0
    for c in draw(rng, 300, np.array(p) @ DEFICIENT, runs):
        ends = invert(c, DEFICIENT).intervals
        hits += (ends[:, 0] <= p) & (p <= ends[:, 1])
        both = invert(c, DEFICIENT, simultaneous=True).intervals
        joint += bool(((both[:, 0] <= p) & (p <= both[:, 1])).all())
    for count in hits[:3]:
        check_coverage(int(count), runs, 0.95)  # exact: nothing is left to asymptotics
    check_coverage(int(hits[3]), runs, 0.94)
    check_coverage(joint, runs, 0.94)


def test_more_letters_than_outcomes() -> None:
    result = invert([60, 40], np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]))
    assert not result.identifiable.any()
    assert result.converged
    assert not result.unique
    assert (result.intervals[:, 1] - result.intervals[:, 0] > 0.3).all()


def test_counts_that_no_frequencies_explain_still_get_intervals() -> None:
    result = invert([1000, 0, 0], DEFICIENT)
    assert result.frequencies == pytest.approx([1, 0, 0, 0], abs=1e-12)
    assert result.intervals[0, 1] == 1.0
    assert (result.intervals[:, 0] <= result.frequencies).all()


def test_a_single_letter_is_certain() -> None:
    for result in (
        invert([3, 7], [[0.5, 0.5]]),
        invert_structured([5], [0.3], 0.7),
        invert_structured([5], [1.0], 0.0),
    ):
        assert result.frequencies.tolist() == [1.0]
        assert result.standard_error.tolist() == [0.0]
        assert result.intervals.tolist() == [[1.0, 1.0]]
        assert result.covariance().tolist() == [[0.0]]
        assert result.identifiable.all()


def test_outcomes_never_seen_leave_ties_that_are_reported() -> None:
    # Under "anything but the truth", letters whose outcome never came explain the data equally well.
    result = invert([0, 0, 50, 50], (1 - np.eye(4)) / 3)
    assert result.identifiable.all()
    assert not result.unique
    assert result.frequencies == pytest.approx([0.5, 0.5, 0, 0], abs=1e-6)
    assert invert([0, 20, 40, 40], (1 - np.eye(4)) / 3).unique


# -------------------------------------------------------------------------------------------------- structured


def structured_case(seed: int) -> tuple[Floats, Floats, float]:
    rng = np.random.default_rng(seed)
    letters = int(rng.integers(2, 8))
    base = rng.dirichlet(np.full(letters, 2.0))
    if rng.random() < 0.5:
        d = float(rng.uniform(0.05, 1.0))
    else:
        d = -float(rng.uniform(0.1, 0.99)) * base.min() / (1 - base.min())  # keeps common + d ≥ 0
    common = base * (1 - d)
    truth = rng.dirichlet(np.full(letters, 0.5))
    law = common + d * truth
    return rng.multinomial(int(10 ** rng.uniform(0.5, 5)), law / law.sum()).astype(float), common, d


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_structured_equals_dense(seed: int) -> None:
    counts, common, d = structured_case(seed)
    matrix = common + d * np.eye(common.size)
    fast, slow = invert_structured(counts, common, d), invert(counts, matrix)
    assert fast.gap <= 1e-12
    assert fast.log_likelihood == pytest.approx(slow.log_likelihood, rel=1e-11)
    assert fast.unique == slow.unique
    assert fast.identifiable.tolist() == slow.identifiable.tolist()
    if not fast.unique:  # each names one of the most likely answers
        assert slow.gap <= 1e-12
        return
    tolerance = 1e-6 / min(abs(d), 1.0)
    assert fast.frequencies == pytest.approx(slow.frequencies, abs=tolerance)
    assert fast.standard_error == pytest.approx(slow.standard_error, abs=tolerance, rel=1e-6)
    assert fast.covariance() == pytest.approx(slow.covariance(), abs=tolerance, rel=1e-6)
    assert fast.intervals == pytest.approx(slow.intervals, abs=tolerance)


def test_structured_recovers_exact_expectations() -> None:
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    a, d = [Fraction(1, 4), Fraction(3, 8), Fraction(1, 2)], Fraction(-1, 8)
    law = [x + d * y for x, y in zip(a, p, strict=True)]
    result = invert_structured([int(48 * v) for v in law], [float(x) for x in a], float(d))
    assert result.method == "inverse"
    assert result.frequencies == pytest.approx([float(v) for v in p], abs=1e-14)


def test_a_million_letters_need_no_matrix() -> None:
    rng = np.random.default_rng(1)
    letters, keep = 1_000_000, 0.5
    p = rng.dirichlet(np.full(letters, 0.3))
    common = np.full(letters, (1 - keep) / letters)
    law = common + keep * p
    counts = rng.multinomial(10_000_000, law / law.sum())
    result = invert_structured(counts, common, keep)
    assert result.method == "maximum_likelihood"
    assert result.converged
    assert result.frequencies.sum() == pytest.approx(1.0, abs=1e-12)
    inside = (result.intervals[:, 0] <= p) & (p <= result.intervals[:, 1])
    assert inside.mean() > 0.94  # a mean over a million letters
    assert result.covariance([0, 999_999]).shape == (2, 2)
    with pytest.raises(InvalidInput, match="name at most 5000 letters"):
        result.covariance()


def test_structured_without_a_diagonal_knows_nothing() -> None:
    result = invert_structured([5, 5, 5], np.full(3, 1 / 3), 0.0)
    assert not result.identifiable.any()
    assert not result.unique
    assert result.intervals.tolist() == [[0.0, 1.0]] * 3
    assert np.isnan(result.standard_error).all()
    assert np.isnan(result.covariance()).all()


# ------------------------------------------------------------------------------------------------------ inputs


@pytest.mark.parametrize(
    ("counts", "matrix", "words"),
    [
        ([0, 0], np.eye(2), "all zero"),
        ([1, 2, 3], np.eye(2), "shape"),
        ([1, -1], np.eye(2), r"counts\[1\] is -1"),
        ([1, 0.5], np.eye(2), r"counts\[1\] is 0\.5"),
        ([1, np.nan], np.eye(2), r"counts\[1\] is nan"),
        (["a", "b"], np.eye(2), "type"),
        ([1, 1], [[1.0, 0.0], [1.0, 0.0]], "outcome 1 was counted 1 times"),
        ([1, 1], [[0.5, 0.4], [0.5, 0.5]], "row 0 of matrix sums to 0.9"),
        ([1, 1], [[1.5, -0.5], [0.5, 0.5]], r"matrix\[0, 1\] is -0\.5"),
        ([1, 1], [1.0, 0.0], "two dimensions"),
    ],
)
def test_bad_input_is_refused_by_name(counts: object, matrix: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        invert(counts, matrix)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("common", "diagonal", "words"),
    [
        ([0.5, 0.4], 0.0, "must make 1"),
        ([0.9, 0.3], -0.4, r"common\[1\] = 0\.3"),
        ([[0.5, 0.5]], 0.0, "shape"),
        ([0.5, 0.5], np.nan, "diagonal is nan"),
        ([1.0, 0.0], 0.0, "outcome 1 was counted"),
    ],
)
def test_bad_structure_is_refused_by_name(common: object, diagonal: float, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        invert_structured([1, 1], common, diagonal)  # type: ignore[arg-type]


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        invert([1, 1], np.eye(2), confidence=1.0)
    result: Inversion = invert([1, 1], np.eye(2))
    with pytest.raises(InvalidInput, match="letters"):
        result.covariance([2])


def test_an_outcome_that_cannot_happen_and_did_not_is_no_harm() -> None:
    with_it = invert([6, 4, 0], [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]])
    assert with_it.frequencies == pytest.approx(invert([6, 4], [[0.8, 0.2], [0.2, 0.8]]).frequencies, abs=1e-15)
