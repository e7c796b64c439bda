"""The order of rows whose given columns no other row has: a name for each must not hide that the table is sorted."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.tables.strata.order import StratifiedOrder

ROWS = 600
LIMITS = {"domain": ["no", "yes"], "lift": 1.5, "prior": "table", "failure": 1e-6}


def sorted_by_secret() -> list[str]:
    return ["no"] * 400 + ["yes"] * 200


def watched(codes: np.ndarray, *given: np.ndarray, batch: int = 100) -> StratifiedOrder:
    """The test with one stratum for each row, in batches."""
    order, strata = StratifiedOrder(["no", "yes"]), np.arange(codes.size)
    for start in range(0, codes.size, batch):
        part = slice(start, start + batch)
        order.add(codes[part], strata[part], None, [column[part] for column in given])
    return order


def test_table_sorted_by_its_secret_is_refused_though_every_row_has_a_number_of_its_own() -> None:
    numbers = np.random.default_rng(1).permutation(ROWS).tolist()
    with pytest.raises(lw.InvalidInput, match="order of the rows reveals 'ill'"):
        lw.protect({"ill": sorted_by_secret(), "number": numbers}, "ill", **LIMITS)


def test_file_sorted_by_its_secret_is_refused_though_no_stratum_can_be_named(tmp_path) -> None:
    lists = [[place] for place in np.random.default_rng(1).permutation(ROWS).tolist()]
    pq.write_table(pa.table({"ill": sorted_by_secret(), "visits": lists}), tmp_path / "t.parquet")
    with pytest.raises(lw.InvalidInput, match="order of the rows reveals 'ill'"):
        lw.protect(tmp_path / "t.parquet", "ill", out=tmp_path / "out.parquet", **LIMITS)
    assert not (tmp_path / "out.parquet").exists()


def test_order_that_a_given_column_explains_tells_nothing_more() -> None:
    ills = np.array([0] * 400 + [1] * 200)
    numbers = np.random.default_rng(1).permutation(ROWS)
    assert watched(ills, numbers).verdict().dependent
    for rising in (np.arange(ROWS), np.arange(ROWS)[::-1]):
        assert not watched(ills, numbers, rising).verdict().dependent


def test_table_sorted_by_age_passes_unless_it_is_sorted_by_the_secret_within_age() -> None:
    rng = np.random.default_rng(2)
    ages, names = np.sort(rng.integers(0, 30, 3000)), rng.permutation(3000)
    ills = (rng.random(3000) < ages / 30).astype(np.int64)
    assert watched(ills, names).verdict().dependent
    assert not watched(ills, names, ages).verdict().dependent
    within = ills[np.lexsort((ills, ages))]
    assert watched(within, names, ages).verdict().dependent


def test_constant_given_column_explains_no_order() -> None:
    ills = np.array([0] * 400 + [1] * 200)
    numbers = np.random.default_rng(1).permutation(ROWS)
    assert watched(ills, numbers, np.zeros(ROWS, dtype=np.int64)).verdict().dependent
    assert watched(ills, numbers, np.full(ROWS, -1)).verdict().dependent


def test_random_order_passes_with_numbers_of_their_own() -> None:
    rng = np.random.default_rng(3)
    verdicts = [watched(rng.integers(0, 2, 200), rng.permutation(200)).verdict() for _ in range(50)]
    assert min(one.p_value for one in verdicts) > 1e-4
