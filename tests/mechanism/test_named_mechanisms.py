"""Every named mechanism keeps its level in integers, is the one of its paper, and varies as published."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.mechanism import CodeKernel, Mechanism
from strategies import exact_matrix, exp_bracket, laws, ldp_ratio, pml_ratio

UNIT = 1 << 60
Maker = Callable[..., Mechanism]

LOCAL: dict[str, Maker] = {
    "symmetric_unary_encoding": lw.catalog.symmetric_unary_encoding,
    "optimized_unary_encoding": lw.catalog.optimized_unary_encoding,
    "subset_selection": lw.catalog.subset_selection,
    "binary_local_hashing": lw.catalog.binary_local_hashing,
    "optimized_local_hashing": lw.catalog.optimized_local_hashing,
    "hadamard_response": lw.catalog.hadamard_response,
    "staircase": lw.catalog.staircase,
    "geometric": lw.catalog.geometric,
}
local = pytest.mark.parametrize("name", sorted(LOCAL))

epsilons = st.one_of(st.floats(0, 8), st.sampled_from([0.0, 1e-300, 1e-18, 1e-12, 20.0, 41.0, 60.0, 5000.0]))
priors = st.integers(2, 5).flatmap(lambda size: laws(size, zeros=False))


# -- the level that was asked for ------------------------------------------------------------------------------


@local
@settings(max_examples=30)
@given(size=st.integers(2, 6), epsilon=epsilons)
def test_the_integers_satisfy_the_level_and_come_close_to_it(name: str, size: int, epsilon: float) -> None:
    m = LOCAL[name](size, epsilon)
    ratio = ldp_ratio(exact_matrix(m))
    assert m.denominator == UNIT
    assert ratio is not None
    assert ratio <= exp_bracket(Fraction(epsilon))[0] if epsilon else ratio == 1
    if 1e-6 <= epsilon <= 8:  # beyond, the least integer is the limit
        assert float(ratio) >= math.exp(epsilon) * (1 - 1e-9)


@local
@settings(max_examples=20)
@given(lift=st.fractions(min_value=1, max_value=500, max_denominator=1000), size=st.integers(2, 6))
def test_a_lift_is_the_level_too(name: str, lift: Fraction, size: int) -> None:
    ratio = ldp_ratio(exact_matrix(LOCAL[name](size, lift=lift)))
    assert ratio is not None
    assert lift * (1 - Fraction(1, 10**8)) <= ratio <= lift


@local
def test_a_single_value_and_no_leakage_at_all_are_fine(name: str) -> None:
    one = LOCAL[name](["only"], epsilon=1.0)
    assert one.inputs == ("only",)
    assert lw.epsilon(one, lw.Prior(["1"], labels=["only"])) == 0.0
    silent = exact_matrix(LOCAL[name](5, lift=1))
    assert all(row == silent[0] for row in silent)


@local
def test_labels_stay_and_must_differ(name: str) -> None:
    assert LOCAL[name](["no", "yes", "maybe"], lift=2).inputs == ("no", "yes", "maybe")
    with pytest.raises(InvalidInput, match="different"):
        LOCAL[name](["no", "yes", "no"], lift=2)
    with pytest.raises(InvalidInput, match="epsilon"):
        LOCAL[name](3)
    with pytest.raises(InvalidInput, match="lift"):
        LOCAL[name](3, lift="1/2")


# -- the mechanism of the paper --------------------------------------------------------------------------------


def unary(size: int, p: float, q: float) -> np.ndarray:
    """P(bits | value), one bit after the other."""
    rows = []
    for value in range(size):
        law = []
        for bits in itertools.product([0, 1], repeat=size):
            ones = [p if place == value else q for place in range(size)]
            law.append(math.prod(one if bit else 1 - one for bit, one in zip(bits, ones, strict=True)))
        rows.append(law)
    return np.array(rows)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("t", [1.0, 1.5, 3.0, 40.0])
def test_unary_encodings_are_bits_flipped_one_by_one(size: int, t: float) -> None:
    root = math.sqrt(t)
    np.testing.assert_allclose(
        lw.catalog.symmetric_unary_encoding(size, lift=t).matrix, unary(size, root / (1 + root), 1 / (1 + root)), 1e-12
    )
    np.testing.assert_allclose(
        lw.catalog.optimized_unary_encoding(size, lift=t).matrix, unary(size, 0.5, 1 / (1 + t)), 1e-10
    )


@pytest.mark.parametrize(("size", "t", "members"), [(2, 2, 1), (6, 1, 3), (6, 2, 2), (8, 1.5, 3), (5, 9, 1)])
def test_subset_selection_takes_the_best_number_of_values(size: int, t: float, members: int) -> None:
    m = lw.catalog.subset_selection(size, lift=t)
    sets = [[place for place in range(size) if name[1 + place] == "1"] for name in map(str, m.outputs)]
    assert sorted(map(tuple, sets)) == list(itertools.combinations(range(size), members))
    weights = np.array([[t if value in one else 1.0 for one in sets] for value in range(size)])
    np.testing.assert_allclose(m.matrix, weights / weights.sum(axis=1, keepdims=True), 1e-12)


@pytest.mark.parametrize(("size", "t", "blocks", "words"), [(3, 2, 1, 4), (4, 2, 1, 8), (6, 4, 2, 4), (20, 7, 4, 8)])
def test_hadamard_response_has_the_blocks_of_its_paper(size: int, t: int, blocks: int, words: int) -> None:
    m = lw.catalog.hadamard_response(size, lift=t)
    own = m.matrix > 1.5 * m.matrix.min()
    assert m.shape == (size, blocks * words)
    assert (own.sum(axis=1) == words // 2).all()
    for one, other in itertools.combinations(range(size), 2):
        shared = words // 4 if one % blocks == other % blocks else 0
        assert (own[one] & own[other]).sum() == shared


@pytest.mark.parametrize(("size", "t"), [(2, 3), (5, 2), (9, 2), (26, 5), (100, 3)])
def test_hashes_collide_less_than_once_in_as_many_as_there_are(size: int, t: int) -> None:
    m = lw.catalog.optimized_local_hashing(size, lift=t)
    kernel = m.kernel
    assert isinstance(kernel, CodeKernel)
    g, count = kernel.places.q, kernel.places.count
    hashes = np.array([kernel.row(code).reshape(count, g).argmax(axis=1) for code in range(size)])
    for one, other in itertools.islice(itertools.combinations(range(size), 2), 300):
        assert (hashes[one] == hashes[other]).sum() * g <= count
    truth = np.array([kernel.row(code).reshape(count, g).max(axis=1) / UNIT * count for code in range(size)])
    np.testing.assert_allclose(truth, t / (t + g - 1), 1e-12)


def test_the_number_of_hashes_follows_the_level() -> None:
    def hashes(m: Mechanism) -> int:
        assert isinstance(m.kernel, CodeKernel)
        return m.kernel.places.q

    assert [hashes(lw.catalog.optimized_local_hashing(1000, lift=t)) for t in (1, 2, 4, 10)] == [2, 3, 5, 11]
    assert hashes(lw.catalog.binary_local_hashing(1000, lift=10)) == 2
    with pytest.raises(InvalidInput, match="prime"):
        lw.catalog.optimized_local_hashing(5, lift=2, hashes=4)


@pytest.mark.parametrize("far", [1, 2, 4])
@pytest.mark.parametrize("width", [1, None])
def test_staircase_is_its_noise_with_the_ends_put_together(far: int, width: int | None) -> None:
    size, b = 6, 0.4
    m = lw.catalog.staircase(size, lift=1 / b, sensitivity=far, width=width)
    candidates = [width] if width else range(1, far + 1)
    found = []
    for stair in candidates:
        noise = np.array([b ** (d // far + (d % far >= stair)) for d in range(400)])
        law = np.concatenate([noise[:0:-1], noise])
        law /= law.sum()
        cost = float((np.abs(np.arange(-399, 400)) * law).sum())
        rows = [np.bincount(np.clip(np.arange(-399, 400) + x, 0, size - 1), law, size) for x in range(size)]
        found.append((cost, np.array(rows)))
    np.testing.assert_allclose(m.matrix, min(found, key=lambda one: one[0])[1], 1e-9)
    rows = exact_matrix(m)
    near = [(x, y) for x in range(size) for y in range(size) if abs(x - y) <= far]
    assert max(rows[x][j] / rows[y][j] for x, y in near for j in range(size)) <= Fraction(5, 2)


@pytest.mark.parametrize("far", [None, 1, 3])
def test_geometric_is_for_values_so_many_places_apart(far: int | None) -> None:
    rows = exact_matrix(lw.catalog.geometric(5, lift=3, sensitivity=far))
    near = [(x, y) for x in range(5) for y in range(5) if abs(x - y) <= (far or 4)]
    worst = max(rows[x][j] / rows[y][j] for x, y in near for j in range(5))
    assert 3 * (1 - Fraction(1, 10**9)) <= worst <= 3
    if far == 1:
        assert lw.catalog.geometric(5, lift=3, sensitivity=1) == lw.truncated_geometric(5, lift=3)


@pytest.mark.parametrize("name", sorted(LOCAL))
@pytest.mark.parametrize("epsilon", [1e-9, 0.7, 41.5, 44.0])
def test_many_values_keep_the_level_too(name: str, epsilon: float) -> None:
    for size in (17, 130):
        assert lw.ldp(LOCAL[name](size, epsilon)) <= math.nextafter(epsilon, math.inf)


@pytest.mark.parametrize("make", [lw.catalog.geometric, lw.catalog.staircase])
@pytest.mark.parametrize("far", [0, 5, 1.5, True])
def test_a_distance_that_no_two_values_have_is_refused(make: Maker, far: Any) -> None:
    with pytest.raises(InvalidInput, match="sensitivity"):
        make(5, lift=2, sensitivity=far)


@given(prior=laws(6, zeros=False), to=st.sampled_from([1, 2, 5, "1.5"]))
def test_rounding_leaks_the_logarithm_of_what_its_group_has(prior: list[Fraction], to: Any) -> None:
    values = [3, 4, 5, 9, 10, 11]
    m = lw.catalog.rounding(values, to=to)
    known = lw.Prior(prior, labels=values)
    step = Fraction(to)
    groups = [step * math.floor(value / step + Fraction(1, 2)) for value in values]
    for value, group in zip(values, groups, strict=True):
        assert m.probability(value, int(group) if group.denominator == 1 else float(group)) == 1
    least = min(sum(p for p, g in zip(prior, groups, strict=True) if g == group) for group in groups)
    assert lw.epsilon(m, known) == pytest.approx(-math.log(least))
    assert lw.ldp(m) == (math.inf if len(set(groups)) > 1 else 0.0)


def test_decimals_are_rounded_as_they_read() -> None:
    """The binary value of 0.15 is below it: a half of 0.1 is rounded upwards all the same."""
    m = lw.catalog.rounding([0.1, 0.15, 0.25], to=0.1)
    assert m.outputs == (0.1, 0.2, 0.3)


def test_rounding_to_intervals_keeps_the_order_and_refuses_texts() -> None:
    m = lw.catalog.rounding([30, 10, 20], edges=[20])
    assert m.outputs == ("[10, 20)", "[20, 30]")
    assert m.probability(20, "[20, 30]") == m.probability(10, "[10, 20)") == 1
    for letters, wrong in ((["a", "b"], {"to": 2}), (3, {}), (3, {"to": 0}), (3, {"edges": [2, 1]}), (3, {"to": "x"})):
        with pytest.raises(InvalidInput):
            lw.catalog.rounding(letters, **wrong)


# -- shuffled --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "law"), [(1, ["1/2", "1/2"]), (3, ["1/4", "3/4"]), (3, ["1/2", "1/3", "1/6"])])
def test_shuffled_reports_are_the_histogram_of_all_of_them(n: int, law: list[str]) -> None:
    prior = [Fraction(mass) for mass in law]
    size = len(prior)
    rr = exact_matrix(lw.randomized_response(size, lift=3))
    m = lw.catalog.shuffled_randomized_response(size, lift=3, people=n, prior=prior)
    expected = [dict.fromkeys(m.outputs, Fraction(0)) for _ in range(size)]
    for value in range(size):
        for others in itertools.product(range(size), repeat=n - 1):
            for reports in itertools.product(range(size), repeat=n):
                chance = math.prod((prior[other] for other in others), start=Fraction(1))
                for one, report in zip((value, *others), reports, strict=True):
                    chance *= rr[one][report]
                expected[value][tuple(reports.count(place) for place in range(size))] += chance
    assert exact_matrix(m) == [[row[outcome] for outcome in m.outputs] for row in expected]


def test_more_people_hide_one_better_and_never_worse_than_published() -> None:
    local, delta = math.log(2), 0.1
    leaks = [
        lw.epsilon(lw.catalog.shuffled_randomized_response(2, local, people=n), lw.Prior.uniform(2)) for n in (1, 9)
    ]
    assert leaks[0] == pytest.approx(lw.epsilon(lw.randomized_response(2, local), lw.Prior.uniform(2)))
    assert leaks[1] <= leaks[0]
    m = lw.catalog.shuffled_randomized_response(2, local, people=400)
    bound = lw.catalog.shuffle_amplification(local, people=400, delta=delta)
    t, more = 2.0, 8 * math.sqrt(2 * math.log(4 / delta) / 400) + 8 * 2 / 400
    assert bound == pytest.approx(min(local, math.log1p((t - 1) / (t + 1) * more)), rel=1e-9)
    assert bound < local
    assert lw.ldp(m, delta=delta) <= bound
    assert lw.catalog.shuffle_amplification(local, people=10, delta=1e-9) == local  # too few people for the theorem
    with pytest.raises(InvalidInput, match="too many"):
        lw.catalog.shuffled_randomized_response(10, local, people=100)
    with pytest.raises(InvalidInput, match="too many"):  # few histograms, with integers of a megabyte each
        lw.catalog.shuffled_randomized_response(2, local, people=99_998)
    for n in (0, 1.5, True):
        with pytest.raises(InvalidInput, match="people must"):
            lw.catalog.shuffled_randomized_response(2, local, people=n)  # type: ignore[arg-type]


# -- measures and variances ------------------------------------------------------------------------------------


@local
@settings(max_examples=15)
@given(prior=priors, t=st.sampled_from([1.2, 2.0, 7.0]))
def test_measures_are_those_of_the_listed_matrix(name: str, prior: list[Fraction], t: float) -> None:
    m = LOCAL[name](len(prior), lift=t)
    rows = exact_matrix(m)
    assert lw.epsilon(m, prior) == pytest.approx(math.log(pml_ratio(rows, prior)), abs=1e-12)
    q = [sum(p * row[j] for p, row in zip(prior, rows, strict=True)) for j in range(m.shape[1])]
    assert lw.maximal_leakage(m) == pytest.approx(math.log(sum(max(column) for column in zip(*rows, strict=True))))
    information = sum(
        float(p * row[j]) * math.log(row[j] / q[j]) for p, row in zip(prior, rows, strict=True) for j in range(len(q))
    )
    assert lw.mutual_information(m, prior) == pytest.approx(information, abs=1e-12)


def supports(m: Mechanism) -> np.ndarray:
    """Which outcomes speak for each value: the sets that have it, or what it makes more likely than most values do."""
    if str(m.outputs[0]).startswith("b"):
        return np.array([[name[1 + value] == "1" for name in map(str, m.outputs)] for value in range(m.shape[0])])
    found: np.ndarray = m.matrix > m.matrix.min() * 1.2
    return found


def exact_variance(m: Mechanism, f: np.ndarray) -> np.ndarray:
    """Of one record drawn by these frequencies: what ([y speaks for x] - q) / (p - q) varies, given the true value."""
    speaks = supports(m).astype(float)
    hits = m.matrix @ speaks.T
    p, q = float(hits[0, 0]), float(hits[0, 1])
    np.testing.assert_allclose(hits, np.where(np.eye(len(f)) > 0, p, q), 1e-9)
    return np.asarray(f @ (hits * (1 - hits)) / (p - q) ** 2)


def rates(name: str, k: int, t: float) -> tuple[float, float]:
    """The p and q of the papers."""
    if name == "randomized_response":
        return t / (t + k - 1), 1 / (t + k - 1)
    if name == "symmetric_unary_encoding":
        return math.sqrt(t) / (1 + math.sqrt(t)), 1 / (1 + math.sqrt(t))
    if name == "optimized_unary_encoding":
        return 0.5, 1 / (1 + t)
    if name == "subset_selection":
        d = round(k / (1 + t))
        p = d * t / (d * t + k - d)
        return p, (p * (d - 1) + (1 - p) * d) / (k - 1)
    if name == "hadamard_response":
        return t / (1 + t), 0.5
    g = 2 if name == "binary_local_hashing" else next(g for g in (2, 3, 5) if k <= g**2 and (g, t) in HASHES)
    digits = next(m for m in range(1, 9) if g**m >= k)
    collide, p = (g ** (digits - 1) - 1) / (g**digits - 1), t / (t + g - 1)
    return p, collide * p + (1 - collide) * (1 - p) / (g - 1)


HASHES = {(3, 1.5), (5, 4.0)}


@pytest.mark.parametrize("name", ["randomized_response", *sorted(set(LOCAL) - {"staircase", "geometric"})])
@pytest.mark.parametrize("t", [1.5, 4.0])
def test_the_variance_of_a_frequency_is_the_published_one(name: str, t: float) -> None:
    k = 8
    options = {"blocks": 1} if name == "hadamard_response" else {}
    options |= {"hashes": next(g for g, at in HASHES if at == t)} if name == "optimized_local_hashing" else {}
    m = getattr(lw.catalog, name)(k, lift=t, **options)
    f = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05, 0.0, 0.0])
    p, q = rates(name, k, t)
    published = q * (1 - q) / (p - q) ** 2 + f * (1 - p - q) / (p - q)
    np.testing.assert_allclose(exact_variance(m, f), published, rtol=1e-9)


def sum_of_variances(m: Mechanism, p: np.ndarray) -> float:
    """Of the frequencies, from one row and with the best of all estimators: trace of J⁻¹ less Σ p²."""
    law = p @ m.matrix
    return float(np.trace(np.linalg.inv((m.matrix / law) @ m.matrix.T)) - p @ p)


@pytest.mark.parametrize("t", [1.5, 3.0, 8.0])
@pytest.mark.parametrize(
    "law", [[1 / 8] * 8, [0.4, 0.2, 0.1, 0.1] + [0.05] * 4, [0.7, 0.2, 0.1], [0.5, 0.3, 0.1, 0.05, 0.05]]
)
def test_no_mechanism_of_the_catalogue_is_above_the_design_at_equal_ldp(t: float, law: list[float]) -> None:
    p = np.array(law) / sum(law)
    designed = sum_of_variances(lw.design(lw.Prior(law), anyone=t, utility="frequencies").mechanism, p)
    for name in ("randomized_response", *LOCAL):
        m = getattr(lw.catalog, name)(len(law), lift=t)
        if np.linalg.matrix_rank(m.matrix) == len(law):
            assert designed <= sum_of_variances(m, p) * (1 + 1e-8), name


def test_the_variances_near_zero_have_their_short_forms() -> None:
    t, k = 3.0, 8
    short = {
        "symmetric_unary_encoding": math.sqrt(t) / (math.sqrt(t) - 1) ** 2,
        "optimized_unary_encoding": 4 * t / (t - 1) ** 2,
        "randomized_response": (t + k - 2) / (t - 1) ** 2,
        "hadamard_response": ((t + 1) / (t - 1)) ** 2,
    }
    for name, value in short.items():
        p, q = rates(name, k, t)
        assert q * (1 - q) / (p - q) ** 2 == pytest.approx(value)
