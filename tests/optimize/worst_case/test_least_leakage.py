"""The least leakage on a mask: the numbers of [WC], random masks by bisection, sets of priors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.least_ratio.large_masks import least_ratio_of
from leakwise.optimize.worst_case.least_ratio.prior_sets import robust_ratio
from leakwise.optimize.worst_case.least_ratio.search import least_ratio, safe_ratio
from optimize.worst_case.plain import bisected

COUNTING = lw.distance_utility(range(7), power=2, below=1)
# [WC] (12)
COUNTING_ORDER = np.array(
    [
        [7, 6, 5, 4, 3, 2, 1],
        [5, 7, 6, 4, 3, 2, 1],
        [3, 5, 7, 6, 4, 2, 1],
        [1, 3, 5, 7, 6, 4, 2],
        [1, 2, 3, 5, 7, 6, 4],
        [1, 2, 3, 4, 5, 7, 6],
        [1, 2, 3, 4, 5, 6, 7],
    ]
)
SQUARE = np.array([[4, 3, 2, 1], [1, 4, 3, 2], [2, 1, 4, 3], [3, 2, 1, 4]])  # [WC] (13)
CYCLE = np.array([[3, 2, 1], [1, 3, 2], [2, 1, 3]])  # [WC] (8)


@st.composite
def masks(draw: st.DrawFn, most: int = 6) -> tuple[list[Fraction], np.ndarray]:
    rows, columns = draw(st.integers(2, most)), draw(st.integers(1, most))
    allowed = np.array(draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns)))
    allowed = allowed.reshape(rows, columns)
    for row in range(rows):
        allowed[row, draw(st.integers(0, columns - 1))] = True
    weights = draw(st.lists(st.integers(1, 30), min_size=rows, max_size=rows))
    return [Fraction(weight, sum(weights)) for weight in weights], allowed


@pytest.mark.parametrize(
    ("level", "safe", "least"),
    [
        (1, 1, 1),
        (2, Fraction(7, 3), 1),
        (3, Fraction(7, 3), 1),
        (4, Fraction(7, 2), 1),
        (5, Fraction(7, 2), 2),
        (6, 7, Fraction(7, 2)),
        (7, 7, 7),
    ],
)
def test_counting_query_table(level: int, safe: Fraction, least: Fraction) -> None:
    prior = lw.Prior.uniform(7)
    found = lw.utility_safe(prior, COUNTING, level, by="order")
    assert found.epsilon == pytest.approx(math.log(safe), abs=1e-9)
    assert found.certificate.ratio == safe  # exact: -log min π(A_j), Corollary 1
    best = lw.least_leakage(prior, level <= COUNTING_ORDER)
    assert best.epsilon == pytest.approx(math.log(least), abs=1e-9)
    assert best.lower <= math.log(least) + 1e-15
    assert best.gap < 1e-12
    assert best.costs_nothing == (least == 1)
    assert found.optimal == (safe == least)


def test_counting_query_order_is_the_papers() -> None:
    from leakwise.optimize.worst_case.mask import ranks

    assert (ranks(COUNTING) == COUNTING_ORDER).all()
    assert COUNTING[4, 1] == -10  # (11) prints -9


@pytest.mark.parametrize("tail", [("0.2", "0.1"), ("0.25", "0.25"), ("0.05", "0.3"), ("0.25", "0.2")])
def test_example_1_with_the_mechanism_of_9(tail: tuple[str, str]) -> None:
    """π(x2)+π(x3) ≤ 1/2: the least ε is log 2, and (9) attains it; M*(2) leaks -log(π(x2)+π(x3)) ≥ log 2."""
    second, third = map(Fraction, tail)
    first = 1 - second - third
    prior = lw.Prior([first, second, third])
    found = lw.least_leakage(prior, CYCLE >= 2)
    assert found.epsilon == pytest.approx(math.log(2), abs=1e-12)
    nine = lw.Mechanism(
        [[(1 - 2 * third) / (2 * first), (1 - 2 * second) / (2 * first), 0], [0, 1, 0], [1, 0, 0]],
        inputs=prior.labels,
    )
    assert lw.certify(nine, prior).ratio == 2
    assert lw.utility_safe(prior, CYCLE, 2).certificate.ratio == 1 / (second + third)


@pytest.mark.parametrize("rest", [("0.3", "0.3"), ("0.3", "0.25"), (Fraction(1, 3), Fraction(1, 3))])
def test_example_1_beyond_one_half_the_safe_mechanism_is_optimal(rest: tuple[object, object]) -> None:
    second, third = (Fraction(value) for value in rest)
    prior = lw.Prior([1 - second - third, second, third])
    assert prior.fractions[0] == max(prior.fractions)
    found = lw.least_leakage(prior, CYCLE >= 2)
    assert found.epsilon == pytest.approx(-math.log(second + third), abs=1e-12)
    assert lw.utility_safe(prior, CYCLE, 2).optimal


@pytest.mark.parametrize("step", range(1, 11))
def test_figure_3_three_low_one_high(step: int) -> None:
    p = Fraction(step, 50)
    prior = lw.Prior([1 - 3 * p, p, p, p])
    two, three = (lw.least_leakage(prior, level <= SQUARE) for level in (2, 3))
    assert two.epsilon == pytest.approx(min(math.log(1.5), -math.log(3 * p)), abs=1e-12)
    assert three.epsilon == pytest.approx(-math.log(2 * p), abs=1e-12)
    assert lw.utility_safe(prior, SQUARE, 2).certificate.ratio == 1 / (3 * p)
    assert lw.utility_safe(prior, SQUARE, 3).certificate.ratio == 1 / (2 * p)
    assert lw.utility_safe(prior, SQUARE, 3).optimal
    assert lw.utility_safe(prior, SQUARE, 2).optimal == (3 * p >= Fraction(2, 3))


@pytest.mark.parametrize("step", range(1, 11))
def test_figure_2_one_low_three_high(step: int) -> None:
    p = Fraction(step, 50)
    prior = lw.Prior([p, *[(1 - p) / 3] * 3])
    for level in (2, 3):
        safe = lw.utility_safe(prior, SQUARE, level)
        assert lw.least_leakage(prior, level <= SQUARE).epsilon == pytest.approx(safe.epsilon, abs=1e-12)
        assert safe.optimal


@settings(max_examples=60, deadline=None)
@given(masks(most=5))
def test_random_masks_against_plain_bisection(case: tuple[list[Fraction], np.ndarray]) -> None:
    p, allowed = case
    found = lw.least_leakage(lw.Prior(p), allowed)
    assert found.epsilon == pytest.approx(bisected(allowed, p), abs=1e-9)
    assert found.gap < 1e-10


@settings(max_examples=60, deadline=None)
@given(masks())
def test_laws(case: tuple[list[Fraction], np.ndarray]) -> None:
    p, allowed = case
    prior = lw.Prior(p)
    found = lw.least_leakage(prior, allowed)
    mechanism = found.mechanism
    # Only allowed pairs, exact rows, leakage as said, both sides proven again.
    places = list(mechanism.outputs)
    names = found.mask.names(prior.alphabet).labels
    for column, label in enumerate(places):
        forbidden = ~allowed[:, names.index(label)]
        assert not mechanism.weights[forbidden, column].any()
    assert lw.epsilon(mechanism, prior) == pytest.approx(found.epsilon, abs=1e-12)
    found.certificate.verify()
    assert 0 <= found.lower <= found.epsilon
    assert found.gap < 1e-10
    # The utility-safe mechanism is never below; the two lower bounds of the mathematics, section 3, are never above.
    safe = lw.utility_safe(prior, allowed.astype(float), 1)
    assert safe.epsilon >= found.lower - 1e-12
    mass = np.array([float(x) for x in p]) @ allowed
    with np.errstate(divide="ignore"):
        bottleneck = np.where(allowed, 1 / mass, np.inf).min(axis=1).max()
    assert math.log(bottleneck) <= found.epsilon + 1e-12
    # A wider mask never leaks more.
    wider = allowed.copy()
    wider[0] = True
    assert lw.least_leakage(prior, wider).lower <= found.epsilon + 1e-12


REGRESSIONS = {
    # 19/6 is where a letter drops out of a column: beyond it the basis misses nothing.
    "flat beyond the root": (
        [2, 1, 3, 5, 3, 5],
        ["100010", "110001", "010101", "000010", "001100", "010110"],
        Fraction(19, 6),
    ),
    # At 7/2 an unrelated output becomes usable, and y = (0, 1, 1, -2, 0) has y·λ = 0 on an output of its own.
    "a root at a breakpoint": (
        [2, 1, 1, 2, 1],
        ["00010001", "00000100", "11000010", "01000100", "00011011"],
        Fraction(7, 2),
    ),
    # The basis is singular at its root.
    "singular at the root": ([3, 1, 2, 3, 5], ["10100", "11101", "10011", "00110", "11101"], Fraction(2)),
    # [WC] Example 1 at its border, the other two letters of mass 1/2: a gap of 1.1e-9 once.
    "example 1 at its border": ([1, 2, 3], ["00101", "10100", "10001"], Fraction(2)),
}


@pytest.mark.parametrize("case", REGRESSIONS)
def test_ties_and_degenerate_bases_are_exact_too(case: str) -> None:
    weights, rows, ratio = REGRESSIONS[case]
    found = lw.least_leakage(lw.Prior(weights), [[int(entry) for entry in row] for row in rows])
    assert found.epsilon == pytest.approx(math.log(ratio), abs=1e-10)
    assert found.gap < 1e-10


@pytest.mark.parametrize(
    ("weights", "rows"),
    [
        # The plain sums of masses lost the digits of the small ones, and the search went round in circles.
        (
            [291, 1, 6369833, 537295206, 81222182, 23, 2, 184368],
            ["00110011", "00000001", "00000100", "10000000", "01000000", "00000001", "00100000", "10000010"],
        ),
        # A lift of 1e12: on the heavy letters the columns have entries of 1e-12 of the largest possible.
        (
            [10**12, 1, 2 * 10**8, 6 * 10**5, 10**10, 1, 2 * 10**8, 2 * 10**11],
            ["000001", "000101", "100000", "000001", "001001", "000100", "100000", "010000"],
        ),
        # At a breakpoint of 4e6 the solver misses 3e-10 of a cover that is whole: that proves nothing.
        ([15744067408849900, 1786319952349049, 75557846195753621389312], ["10011110", "10001011", "01010001"]),
        # Columns that differ by 3e-10, with which the solver does not come to an end.
        ([1106602, 3, 286053, 1, 2, 1908620, 1], ["11", "10", "01", "11", "10", "01", "11"]),
        ([14158525, 2, 5, 2125, 196944, 47109849, 16], ["11", "11", "11", "11", "01", "10", "11"]),
        # A lift of 1e12 that hangs on a probability of 1e-19.
        ([4951760157146472200456372224, 4951760748377976, 4951760157141567], ["0000101", "0000010", "0011100"]),
        # Two breakpoints that differ by 1e-10.
        (
            [10**4, 5 * 10**10, 12, 1, 24 * 10**9, 25 * 10**9],
            ["101010", "011111", "101101", "110110", "010110", "011011"],
        ),
    ],
)
def test_masses_of_a_billionth(weights: list[int], rows: list[str]) -> None:
    prior = lw.Prior(weights)
    allowed = np.array([[entry == "1" for entry in row] for row in rows])
    found = lw.least_leakage(prior, allowed)
    assert found.gap < 1e-10
    assert found.epsilon == pytest.approx(bisected(allowed, prior.fractions), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(masks(), st.integers(1, 6))
def test_utility_safe_formula_for_uneven_rows(case: tuple[list[Fraction], np.ndarray], seed: int) -> None:
    """max_j max_{i∈A_j}(1/n_i) / Σ_{i∈A_j} π_i/n_i, exact: C1 is only its case of equal n_i."""
    p, allowed = case
    counts = allowed.sum(axis=1)
    expected = max(
        max(Fraction(1, int(counts[i])) for i in rows) / sum(p[i] / int(counts[i]) for i in rows)
        for rows in (np.flatnonzero(allowed[:, j]) for j in range(allowed.shape[1]))
        if len(rows)
    )
    assert lw.utility_safe(lw.Prior(p), allowed.astype(float), 1).certificate.ratio == expected


def test_corollary_2_the_posterior_keeps_the_ratios_of_the_prior() -> None:
    prior = lw.Prior([Fraction(k, 28) for k in range(1, 8)])
    safe = lw.utility_safe(prior, COUNTING_ORDER, 5)
    for column in range(7):
        letters = np.flatnonzero(safe.mechanism.weights[:, column])
        assert len(set(safe.mechanism.weights[letters, column].tolist())) == 1


@settings(max_examples=20, deadline=None)
@given(masks(), st.integers(0, 60))
def test_a_ball_leaks_more_than_its_centre_and_less_than_a_larger_ball(
    case: tuple[list[Fraction], np.ndarray], radius: int
) -> None:
    p, allowed = case
    prior = lw.Prior(p)
    beta = min(p) * Fraction(radius, 100)
    found = lw.least_leakage(prior.ball(beta), allowed)
    assert found.gap < 1e-8
    assert found.epsilon >= lw.least_leakage(prior, allowed).lower - 1e-9
    assert lw.epsilon(found.mechanism, prior.ball(beta)) == pytest.approx(found.epsilon, abs=1e-9)
    wider = lw.least_leakage(prior.ball(beta * 2), allowed)
    assert wider.epsilon >= found.lower - 1e-9


@settings(max_examples=15, deadline=None)
@given(masks(), st.data())
def test_sets_by_cuts_agree_with_the_corners(case: tuple[list[Fraction], np.ndarray], data: st.DataObject) -> None:
    """For one prior the cutting planes find what the columns find; a hull is worse than each of its corners."""
    p, allowed = case
    prior = lw.Prior(p)
    weights = data.draw(st.lists(st.integers(1, 30), min_size=len(p), max_size=len(p)))
    other = lw.Prior([Fraction(weight, sum(weights)) for weight in weights])
    single, _ = robust_ratio(prior, allowed)
    assert math.log(single.upper) == pytest.approx(lw.least_leakage(prior, allowed).epsilon, abs=1e-9)
    hull = lw.least_leakage(lw.Hull([prior, other]), allowed)
    assert hull.gap < 1e-8
    corners = [lw.least_leakage(corner, allowed).lower for corner in (prior, other)]
    assert hull.epsilon >= max(corners) - 1e-9


@pytest.mark.parametrize(
    "make",
    [
        lambda p: lw.KLBall(p, "0.01"),
        lambda p: lw.Box(p, [f / 2 for f in p.fractions], [min(1, 2 * f) for f in p.fractions]),
        lambda p: lw.Box(p, [f / 2 for f in p.fractions], [min(1, 2 * f) for f in p.fractions], beta="0.1"),
    ],
)
def test_other_sets_are_proven_too(make: object) -> None:
    prior = lw.Prior([Fraction(k, 10) for k in (1, 2, 3, 4)])
    for level in (2, 3):
        found = lw.least_leakage(make(prior), level <= SQUARE)  # type: ignore[operator]
        assert found.gap < 1e-7
        assert found.epsilon > lw.least_leakage(prior, level <= SQUARE).epsilon
        assert len(found.certificate.witnesses or ()) == 4


def test_a_kl_ball_where_a_letter_has_nearly_no_mass_keeps_its_witnesses_inside() -> None:
    prior = lw.Prior([997 * 10**9, 1, 3 * 10**9, 50])
    found = lw.least_leakage(lw.KLBall(prior, "0.06"), [[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1]])
    assert found.certificate.verify().holds
    assert found.lower > lw.least_leakage(prior, found.mask).epsilon


def test_a_kl_ball_on_a_dense_mask_is_closed() -> None:
    prior = lw.Prior(["0.244", "0.247", "0.186", "0.323"])
    mask = [[1, 0, 0, 1, 0], [1, 1, 1, 1, 1], [1, 1, 0, 1, 0], [0, 1, 1, 0, 1]]
    assert lw.least_leakage(lw.KLBall(prior, "0.006"), mask).gap < 1e-8


def test_all_priors_allow_a_constant_answer_only() -> None:
    everything = lw.AllPriors(3)
    assert lw.least_leakage(everything, [[1, 1], [1, 0], [1, 0]]).costs_nothing
    with pytest.raises(lw.Infeasible, match="no chance"):
        lw.least_leakage(everything, CYCLE >= 2)


def test_a_layer_cake_is_refused_with_a_way_out() -> None:
    cake = lw.LayerCake(lw.Prior.from_counts([50, 30, 20]), failure=0.01)
    with pytest.raises(lw.InvalidInput, match=r"prior\.ball"):
        lw.least_leakage(cake, CYCLE >= 2)


def test_a_band_is_solved_window_by_window_and_agrees_with_the_whole() -> None:
    rng = np.random.default_rng(4)
    size = 420
    p = rng.dirichlet(np.ones(size) * 5)
    place = np.arange(size)
    columns = MaskColumns(np.abs(place[:, None] - place) <= 2, p)
    local = least_ratio_of(columns)
    whole = least_ratio(columns)
    assert local.how == "columns, window by window"
    assert local.upper == pytest.approx(whole.upper, rel=1e-10)
    assert local.upper / local.lower - 1 < 1e-9
    assert safe_ratio(local.matrix, p) == pytest.approx(local.upper)
    # Shuffled, the band is found again.
    shuffle = rng.permutation(size)
    again = least_ratio_of(MaskColumns(columns.allowed[shuffle], p[shuffle]))
    assert again.upper == pytest.approx(whole.upper, rel=1e-10)


def test_letters_without_mass_keep_to_the_mask() -> None:
    prior = lw.Prior(["0.5", "0.5", "0"])
    found = lw.least_leakage(prior, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert found.epsilon == pytest.approx(math.log(2))
    assert found.mechanism.matrix.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert lw.least_leakage(prior, [[1, 1], [1, 0], [0, 1]]).costs_nothing


def test_labels_of_outputs() -> None:
    found = lw.least_leakage(lw.Prior({"a": 0.5, "b": 0.5}), [[1, 0], [0, 1]])
    assert found.mechanism.outputs == ("a", "b")
    named = lw.least_leakage([0.5, 0.5], [[1, 0], [0, 1]], outputs=["yes", "no"])
    assert named.mechanism.outputs == ("yes", "no")
    assert named.to_dict()["epsilon"] == named.epsilon
    assert "least ε" in repr(named)
    assert "<table" in named._repr_html_()
    assert named.chart()["title"]


@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        ([[1, 0], [0, 0], [1, 1]], lw.Infeasible, "the letter 1"),
        ([[1, 0], [0, 1]], lw.InvalidInput, "2 rows for the 3 letters"),
        ([[1, 0], [float("nan"), 1], [1, 1]], lw.InvalidInput, "True and False"),
        ([[1, 0], [2, 1], [1, 1]], lw.InvalidInput, "True and False"),
        ([1, 0, 1], lw.InvalidInput, "one row per letter"),
        ([["a", "b"]], lw.InvalidInput, "True and False"),
    ],
)
def test_bad_masks(mask: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lw.least_leakage([0.5, 0.25, 0.25], mask)


def test_bad_outputs() -> None:
    with pytest.raises(lw.InvalidInput, match="outputs must be as many"):
        lw.least_leakage([0.5, 0.5], [[1, 0], [0, 1]], outputs=["a", "b", "c"])


@pytest.mark.parametrize("digits", [17, 60, 246])
def test_a_letter_lighter_than_a_rounding_still_counts(digits: int) -> None:
    """Found by ``make attack`` (programs:17593): an output that lacks it was taken for one that serves every letter."""
    tiny = Fraction(1, 10**digits)
    allowed = [[0, 0, 1, 1, 1], [1, 0, 0, 0, 1]]
    found = lw.least_leakage(lw.Prior([tiny, 1 - tiny]), allowed)
    assert found.epsilon == 0
    assert found.mechanism.outputs == (4,)
    found = lw.least_leakage(lw.Prior([tiny, 1 - tiny]), [[0, 1], [1, 0]])
    assert found.epsilon == pytest.approx(digits * math.log(10), rel=1e-9)
