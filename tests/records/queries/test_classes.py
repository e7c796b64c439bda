"""Class reduction: exact multiplicities, nothing lost, symmetric records solved once."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.errors import InvalidInput
from leakwise.records.bounds.branch import solve
from leakwise.records.queries.problem import Problem, entropy_of, information


def full_problem(channel: records.Channel, record: int) -> Problem:
    """Every dataset its own class: the problem before any reduction."""
    shape = channel.query.shape
    rows = np.moveaxis(channel.by_dataset().reshape(*shape, -1), record, 0)
    size = rows.shape[0]
    flat = rows.reshape(-1, rows.shape[-1])
    return Problem(flat, np.repeat(np.arange(size), len(flat) // size), (1,) * len(flat))


QUERIES = {
    "parity": records.parity(4),
    "mod 3": records.modular_sum(4, 3),
    "ternary": records.modular_sum(2, 3, alphabet=3),
    "count": records.count(4),
    "pairs": records.pairs(4),
    "weighted": records.weighted_sum([1, 2, 2, 3]),
    "max": records.Query(max, [3, 2, 2]),
    "table": records.Query(np.arange(8).reshape(2, 2, 2) % 3, [2, 2, 2]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_multiplicities_count_every_dataset(name: str) -> None:
    query = QUERIES[name]
    channel = query.laplace(1.0)
    seen: list[int] = []
    for case in channel.cases:
        assert case.problem.total == query.datasets
        for a, block in enumerate(case.problem.blocks):
            assert sum(case.problem.multiplicities[block]) * len(case.letters) == query.datasets, a
        seen += case.records
    assert sorted(seen) == list(range(query.records))


@pytest.mark.parametrize("name", QUERIES)
def test_structure_and_table_agree(name: str) -> None:
    query = QUERIES[name]
    for place, x in enumerate(itertools.product(*query.alphabets)):
        assert query.value(x) == query.answers[query.table()[place]]


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("fraction", [0.3, 0.75, 0.95])
def test_a_reduced_belief_is_a_belief_over_datasets(name: str, fraction: float) -> None:
    """Spread uniformly inside the classes, the belief has the same information and the same entropy."""
    query = QUERIES[name]
    channel = query.laplace(1.0)
    r = records.leakage(channel, fraction * query.max_entropy, tolerance=5e-2)
    case = next(c for c in channel.cases if r.record in c.records)
    full = full_problem(channel, r.record)
    u = np.zeros(len(full.letter))
    left = np.ones(len(u), dtype=bool)
    for k, (letter, size) in enumerate(zip(case.problem.letter, case.problem.multiplicities, strict=True)):
        same = left & (full.letter == letter) & (np.abs(full.rows - case.problem.rows[k]).max(axis=1) < 1e-15)
        assert same.sum() == size
        u[same] = r.belief[k] / size
        left &= ~same
    assert not left.any()
    assert information(full, u[None])[0] == pytest.approx(r.value, abs=1e-12)
    assert entropy_of(u[None], np.zeros(len(u)))[0] >= r.entropy - 1e-12
    assert r.adversary.entropy == pytest.approx(float(entropy_of(u[None], np.zeros(len(u)))[0]), abs=1e-9)


@given(st.integers(0, 10**6), st.sampled_from(sorted(QUERIES)))
@settings(max_examples=40)
def test_averaging_inside_a_class_keeps_information_and_adds_entropy(seed: int, name: str) -> None:
    query = QUERIES[name]
    channel = query.laplace(0.7)
    full = full_problem(channel, 0)
    u = np.random.default_rng(seed).dirichlet(np.full(len(full.letter), 0.4))
    _, kind = np.unique(np.column_stack([full.letter, full.rows]), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    even = (np.bincount(kind, weights=u) / np.bincount(kind))[kind]
    zeros = np.zeros(len(u))
    assert information(full, even[None])[0] == pytest.approx(information(full, u[None])[0], abs=1e-12)
    assert entropy_of(even[None], zeros)[0] >= entropy_of(u[None], zeros)[0] - 1e-12


@pytest.mark.parametrize("query", [records.parity(3), records.modular_sum(3, 3), records.count(3)])
@pytest.mark.parametrize("fraction", [0.6, 0.9])
def test_the_full_problem_has_the_same_value(query: records.Query, fraction: float) -> None:
    channel = query.symmetric_channel(flip=0.25)
    b = fraction * query.max_entropy
    reduced = records.leakage(channel, b, tolerance=1e-4, closed_form=False)
    full = solve(full_problem(channel, 0), b, tolerance=1e-4)
    assert full.closed
    assert full.value == pytest.approx(reduced.value, abs=1e-4)
    assert max(full.value, reduced.value) <= min(full.bound, reduced.bound)


def test_large_sums_stay_exact() -> None:
    problem = records.modular_sum(1000, 3).symmetric_channel(0.3).cases[0].problem
    counts = [sum(math.comb(999, k) for k in range(r, 1000, 3)) for r in range(3)]
    assert sorted(problem.multiplicities[:3]) == sorted(counts)
    assert problem.total == 2**1000
    assert records.count(20).laplace(1.0).cases[0].problem.multiplicities[:20] == tuple(
        math.comb(19, k) for k in range(20)
    )


def test_symmetric_records_are_solved_once() -> None:
    assert [c.records for c in records.count(5).laplace(1.0).cases] == [(0, 1, 2, 3, 4)]
    assert [c.records for c in records.weighted_sum([1, 2, 1]).laplace(1.0).cases] == [(0, 2), (1,)]
    assert [c.records for c in records.Query(max, [3, 2, 3]).laplace(1.0).cases] == [(0, 2), (1,)]


def test_orbits_are_histograms_or_answers() -> None:
    assert len(records.modular_sum(6, 3).orbit_space()) == 7
    assert len(records.parity(6).orbit_space()) == 2
    assert len(records.modular_sum(5, 3, alphabet=3).orbit_space()) == 3
    assert len(records.parity(4).orbit_space([0.3, 0.7])) == 5  # biased data: flipping bits is no symmetry any more
    assert len(records.Query(max, [2, 2, 2]).orbit_space()) == 4
    assert records.count(6).orbit_space().mass == pytest.approx([math.comb(6, k) / 64 for k in range(7)])


def test_a_function_too_large_for_a_table_says_what_helps() -> None:
    with pytest.raises(InvalidInput, match=r"1,073,741,824 datasets.*weighted_sum"):
        records.Query(sum, [2] * 30)
    with pytest.raises(InvalidInput, match="states"):
        records.weighted_sum([3**k for k in range(13)]).laplace(1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: records.parity(0), "n is 0"),
        (lambda: records.modular_sum(3, 1), "modulus is 1"),
        (lambda: records.weighted_sum([0.5]), r"weights\[0\]"),
        (lambda: records.weighted_sum([]), "empty"),
        (lambda: records.Query(max, []), "alphabets"),
        (lambda: records.Query(max, [[1, 1]]), "each once"),
        (lambda: records.Query({(0,): 1}, [2]), "no answer for 1 datasets"),
        (lambda: records.Query(np.zeros((2, 3)), [2, 2]), "shape"),
        (lambda: records.parity(2).value((0,)), "expected one for each"),
        (lambda: records.parity(2).value((0, 5)), "outside"),
    ],
)
def test_bad_queries(make: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make()  # type: ignore[operator]


def test_answers_without_numbers() -> None:
    query = records.Query(lambda x: "yes" if sum(x) > 1 else "no", [2, 2, 2])
    assert query.answers == ("no", "yes")
    c = query.symmetric_channel(flip=0.2)
    assert c.distortion(metric="hamming") == pytest.approx(0.2)
    with pytest.raises(InvalidInput, match="not numbers"):
        c.distortion()
    assert records.leakage(c, 1.0, tolerance=1e-4).closed


def test_what_is_left_of_the_entropy_has_all_its_digits() -> None:
    """log max m is 690 for a thousand bits, and its rounding alone was as large as 1e-13."""
    problem = records.count(1000).geometric(0.5).cases[0].problem
    for part in (0.3, 0.99, 0.9999):
        b = part * problem.max_entropy
        with localcontext() as context:
            context.prec = 60
            left = Decimal(b) - Decimal(problem.largest).ln()
            missed = float(left - Decimal(problem.shifted(b)))
        assert 0 <= missed <= 2 * math.ulp(float(left))
    assert problem.shifted(problem.max_entropy) == problem.room
    assert problem.shifted(math.nextafter(problem.max_entropy, 0)) < problem.room


def test_beliefs_too_small_for_a_product_of_floats() -> None:
    problem = Problem(np.eye(2), np.array([0, 1]), (1, 1))
    assert information(problem, np.array([[1.0, 1e-200], [1.0, 5e-324]])) == pytest.approx([0.0, 0.0])
