"""Whether the order of the rows tells the secret: the test finds what is there, and rarely what is not."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from leakwise.errors import InvalidInput
from leakwise.tables.release import row_order_tests
from leakwise.tables.release.row_order import FALSE_ALARM, RowOrder
from leakwise.tables.release.row_order_ratios import log_won
from leakwise.tables.release.row_order_tests import Trace


def seen(codes, values=2, parts=None):
    order = RowOrder(list(range(values)))
    codes = np.asarray(codes)
    if parts is None:
        order.add(codes)
    else:
        for part, piece in enumerate(np.split(codes, parts)):
            order.add(piece, part)
    return order.verdict()


rng = np.random.default_rng(7)


# ------------------------------------------------------------------------------------------------ what must be found


@pytest.mark.parametrize("rows", [100, 1_000, 100_000])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_sorted_rows_are_found(rows, share):
    codes = np.zeros(rows, np.uint8)
    codes[: int(share * rows)] = 1
    assert seen(codes).dependent
    assert seen(codes[::-1]).dependent


def test_rows_sorted_within_blocks_are_found():
    block = np.repeat([0, 1, 2], [12, 8, 5])
    assert seen(np.tile(block, 8), 3).dependent


@pytest.mark.parametrize("pattern", [[0, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2], [1] + [0] * 15, [1] + [0] * 49])
def test_periodic_rows_are_found(pattern):
    assert seen(np.tile(pattern, max(200, 20 * len(pattern)) // len(pattern)), max(pattern) + 1).dependent


def test_a_secret_that_grows_more_frequent_is_found():
    codes = rng.random(5_000) < np.linspace(0.3, 0.5, 5_000)
    verdict = seen(codes.astype(int))
    assert verdict.dependent
    assert "on average at row" in verdict.evidence


def test_a_secret_more_frequent_in_the_middle_is_found():
    share = 0.3 + 0.25 * np.sin(np.linspace(0, np.pi, 8_000))
    verdict = seen((rng.random(8_000) < share).astype(int))
    assert verdict.dependent
    assert "block" in verdict.evidence


def test_files_split_by_the_secret_are_found():
    mixed = (rng.random(300) < 0.5).astype(int)
    shares = [0.2] * 10 + [0.6] * 10
    # Alternating files: neither a trend nor long runs.
    codes = np.concatenate([(rng.random(60) < shares[k % 2 * 10]).astype(int) for k in range(40)])
    verdict = seen(codes, parts=np.arange(60, codes.size, 60))
    assert verdict.dependent
    assert not seen(mixed, parts=[100, 200]).dependent


def test_sorted_values_that_never_repeat_are_found():
    assert seen(np.arange(500), 500).dependent
    assert not seen(rng.permutation(500), 500).dependent


@pytest.mark.parametrize(("rows", "values"), [(40, 40), (60, 12), (90, 30), (128, 64), (100, 50)])
def test_a_few_sorted_rows_of_many_values_are_found(rows, values):
    """Each value is too rare to stand out by itself."""
    codes = np.sort(np.random.default_rng(rows).integers(0, values, rows))
    assert seen(codes, values).dependent


def test_equal_values_that_come_together_are_found_whatever_the_order_of_the_values():
    generator = np.random.default_rng(3)
    codes = generator.permutation(50)[np.sort(generator.integers(0, 50, 100))]
    assert seen(codes, 50).dependent


@pytest.mark.parametrize("period", [11, 47, 97, 1009])
def test_every_period_up_to_a_thousand_is_found(period):
    assert seen((np.arange(20 * period) % period == 3).astype(int), 2).dependent
    assert seen(np.arange(4 * period) % period, period).dependent


def test_a_joint_secret_sorted_by_one_of_its_columns_is_found():
    left, right = rng.permutation(400) % 40, np.arange(400) // 16
    order = RowOrder(list(itertools.product(range(40), range(25))))
    order.add(left * 25 + right)
    assert order.verdict().dependent


# ------------------------------------------------------------------------------------------------ what must not


@pytest.mark.parametrize("shares", [(5, 5), (7, 2), (4, 3, 2), (9, 1)])
def test_runs_of_every_arrangement_keep_the_level(shares):
    """All arrangements of a few rows: no p-value is reached more often than it says."""
    codes = np.repeat(np.arange(len(shares)), shares)
    found = Counter()
    for rows in set(itertools.permutations(codes.tolist())) if len(codes) < 10 else _arrangements(codes):
        trace = Trace(len(shares))
        trace.add(np.array(rows))
        trace.close()
        finding = trace._runs(("",) * len(shares), trace.counts, trace.rows, trace._equal, 1)
        found[min(finding.log_p, 0.0)] += 1
    _keeps_level(found)
    assert min(found) < 0


@pytest.mark.parametrize("distance", [2, 3])
def test_runs_of_rows_apart_keep_the_level(distance):
    found = Counter()
    for rows in _arrangements(np.repeat([0, 1], [5, 5])):
        taken = np.concatenate([rows[start::distance] for start in range(distance)])
        trace = Trace(2)
        trace.add(taken)
        trace.close()
        found[min(trace._runs(("",) * 2, trace.counts, trace.rows, trace._equal, distance).log_p, 0.0)] += 1
    _keeps_level(found)


@pytest.mark.parametrize("count", [1, 4, 8])
def test_mean_positions_of_every_arrangement_keep_the_level(count):
    found = Counter()
    for rows in _arrangements(np.repeat([0, 1], [12 - count, count])):
        trace = Trace(2)
        trace._levels.block = 1
        trace.add(rows)
        trace.close()
        found[min(trace._mean(("",) * 2, np.array([0, 1])).log_p, 0.0)] += 1
    _keeps_level(found)


@pytest.mark.parametrize("shares", [(5, 5), (8, 2), (4, 3, 2)])
def test_likelihood_ratios_have_expectation_at_most_one(shares):
    """Blocks of two rows and parts of three: the mean over all arrangements."""
    size, codes = len(shares), np.repeat(np.arange(len(shares)), shares)
    blocks, parts = [], []
    for rows in _arrangements(codes):
        trace = Trace(size)
        trace._levels.block = 2
        trace.add(rows)
        trace.close()
        assert len(trace._levels.scores) == 2
        blocks.append(np.mean([math.exp(score - trace._arranged()) for score in trace._levels.scores]))
        trace = Trace(size)
        for start in range(0, len(rows), 3):
            trace.add(rows[start : start + 3])
            trace.close()
        parts.append(math.exp(trace._whole - trace._arranged()))
    assert np.mean(blocks) <= 1 + 1e-12
    assert np.mean(parts) <= 1 + 1e-12


@pytest.mark.parametrize("shares", [(3, 2, 2), (1, 1, 1, 1, 2), (5, 2)])
def test_bets_on_neighbours_have_expectation_one(shares):
    codes = np.repeat(np.arange(len(shares)), shares)
    assert np.mean([math.exp(log_won(rows, np.zeros_like(rows))) for rows in _arrangements(codes)]) == pytest.approx(
        1, abs=1e-12
    )


def _arrangements(codes):
    """Every distinct arrangement once."""
    if not len(codes):
        yield np.empty(0, int)
        return
    for value in np.unique(codes):
        rest = list(codes)
        rest.remove(value)
        for tail in _arrangements(np.array(rest, int)):
            yield np.concatenate([[value], tail])


def _keeps_level(found):
    total, below = sum(found.values()), 0
    for log_p in sorted(found):
        below += found[log_p]
        assert below / total <= math.exp(log_p) * (1 + 1e-9)


@pytest.mark.parametrize("values", [2, 3, 30, 300])
def test_random_orders_are_not_suspected(values):
    """The p-value over 400 random orders: as often below 0.05 as it says, or less."""
    below = 0
    for rows in (1, 2, 7, 40, 1_000):
        for _ in range(80):
            codes = rng.choice(values, rows, p=rng.dirichlet(np.ones(values)))
            verdict = seen(codes, values, parts=[rows // 3] if rows > 2 else None)
            below += verdict.p_value < 0.05
            assert not verdict.dependent
    # 400 trials at 0.05: 38 or more have probability 0.0001.
    assert below < 38


@pytest.mark.parametrize("codes", [[0], [0] * 1_000, [0, 1], [0] * 999 + [1], [1] + [0] * 99_999])
def test_constant_columns_and_single_rows_are_not_suspected(codes):
    assert not seen(codes).dependent


def test_a_dozen_rows_can_be_sorted_by_chance():
    verdict = seen([0] * 6 + [1] * 6)
    assert verdict.p_value >= 2 / math.comb(12, 6) > FALSE_ALARM


# ------------------------------------------------------------------------------------------------ batches and parts


def test_batches_do_not_matter_and_merging_goes_on_where_the_first_ended():
    codes = rng.choice(5, 30_000)
    whole, pieces = RowOrder(range(5)), RowOrder(range(5))
    for part, rows in enumerate(np.split(codes, [10_000, 17_000])):
        whole.add(rows, part)
        for piece in np.array_split(rows, 7):
            pieces.add(piece, part)
    assert pieces.verdict().p_value == pytest.approx(whole.verdict().p_value)
    first, last = RowOrder(range(5)), RowOrder(range(5))
    first.add(codes[:10_000], 0)
    last.add(codes[10_000:17_000], 1)
    last.add(codes[17_000:], 2)
    first.merge(last)
    one, other = first._traces[0], whole._traces[0]
    assert first.rows == whole.rows == 30_000
    assert (one.counts == other.counts).all()
    assert (one._equal == other._equal).all()
    assert one._positions == pytest.approx(other._positions)
    assert one._levels.scores == pytest.approx(other._levels.scores)
    assert one._whole == pytest.approx(other._whole)
    assert (np.concatenate(one._kept) == np.concatenate(other._kept)).all()


def test_merging_finds_partitions_split_by_the_secret():
    total = RowOrder(["a", "b", "c"])
    for value in (0, 1, 2, 0):
        one = RowOrder(["a", "b", "c"])
        one.add(np.full(50, value))
        total.merge(one)
    total.merge(RowOrder(["a", "b", "c"]))
    assert total.rows == 200
    assert total.verdict().dependent


def test_wrong_codes_are_refused():
    order = RowOrder(["a", "b"])
    for wrong in ([2], [-1], [0.5], [[0]]):
        with pytest.raises(InvalidInput, match="codes"):
            order.add(wrong)
    with pytest.raises(InvalidInput, match="merged"):
        order.merge(RowOrder(["a"]))
    order.add([])
    assert order.verdict().p_value == 1


def test_distances_are_searched_among_the_values_that_occur() -> None:
    """A million declared values, all different: the search of distances takes memory for those that occur alone."""
    order = RowOrder(range(1_000_000))
    order.add(np.random.default_rng(3).permutation(1_000_000)[:100_000])
    assert not order.verdict().dependent


def test_groups_of_values_are_not_called_values() -> None:
    order = RowOrder(range(70))
    order.add(range(70))
    verdict = order.verdict()
    assert verdict.dependent
    assert "have the value of the row before" not in verdict.evidence


@pytest.mark.parametrize("rows", [5, 50, 3000])
@pytest.mark.parametrize("values", [2, 7, 24])
def test_the_distances_counted_at_once_are_those_counted_one_by_one(monkeypatch, rows, values):
    codes = np.random.default_rng(rows).integers(0, values, rows)
    far = min(rows // 2, 1024)
    at_once = row_order_tests._equal_apart(codes, values, far)
    monkeypatch.setattr(row_order_tests, "_FEW", 0)
    assert np.array_equal(at_once, row_order_tests._equal_apart(codes, values, far))
