"""Released sets of a hundred values: drawn in memory, and their frequencies estimated, without a list of the sets."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.tables.release.exchange import Exchanger

NAMES = [f"v{number}" for number in range(100)]
FREQUENCIES = np.arange(1, 101) / 5050
MAKERS = [lw.catalog.symmetric_unary_encoding, lw.catalog.optimized_unary_encoding, lw.catalog.subset_selection]


@pytest.fixture(scope="module")
def column() -> list[str]:
    return [NAMES[place] for place in np.random.default_rng(1).choice(100, 8000, p=FREQUENCIES)]


@pytest.mark.parametrize("make", MAKERS)
def test_frequencies_come_back_from_released_sets(make: Any, column: list[str]) -> None:
    m = make(NAMES, lift=20)
    released = lw.release(column, m, unsafe_seed=3)
    e = lw.estimate(released, m, simultaneous=True, confidence=0.999)
    assert e.labels == tuple(NAMES)
    assert e.frequencies.sum() == pytest.approx(1)
    assert ((e.intervals[:, 0] <= FREQUENCIES) & (e.intervals[:, 1] >= FREQUENCIES)).all()
    p, q = (float(rate) for rate in m.rates)
    expected = FREQUENCIES * (1 - FREQUENCIES) + q * (1 - q) / (p - q) ** 2 + FREQUENCIES * (1 - p - q) / (p - q)
    np.testing.assert_allclose(e.standard_error, np.sqrt(expected / len(column)), rtol=0.1)
    np.testing.assert_allclose(np.sqrt(np.diag(e.covariance())), e.standard_error)
    np.testing.assert_array_equal(lw.estimate(Counter(released), m).frequencies, e.frequencies)


def test_it_agrees_with_the_inverse_of_the_listed_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three values, bit by bit: the unbiased estimates are close to the most likely ones, and say how close."""
    from leakwise.mechanism.catalog import sets

    dense = lw.catalog.optimized_unary_encoding(3, lift=5)
    monkeypatch.setattr(sets, "_LISTED", 0)
    many = lw.catalog.optimized_unary_encoding(3, lift=5)
    counts = {name: int(20_000 * q) for name, q in zip(dense.outputs, [0.5, 0.3, 0.2] @ dense.matrix, strict=True)}
    one, other = lw.estimate(counts, dense), lw.estimate(counts, many)
    np.testing.assert_allclose(other.frequencies, one.frequencies, atol=2e-3)
    assert other.inversion.log_likelihood <= one.inversion.log_likelihood + 1e-6
    n = sum(counts.values())
    assert one.inversion.log_likelihood - other.inversion.log_likelihood <= n * other.inversion.gap + 1e-6


@pytest.mark.parametrize("make", MAKERS)
def test_estimates_are_unbiased_and_as_good_as_the_utility_says(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from leakwise.mechanism.catalog import sets

    dense = make(6, lift=3)
    monkeypatch.setattr(sets, "_LISTED", 0)
    many = make(6, lift=3)
    for true, slack in (([1 / 6] * 6, 1e-6), ([0.3, 0.25, 0.15, 0.15, 0.1, 0.05], 0.02)):
        law = np.array(true) @ dense.matrix
        e = lw.estimate({name: int(1e9 * q) for name, q in zip(dense.outputs, law, strict=True)}, many)
        np.testing.assert_allclose(e.frequencies, true, atol=1e-7)
        variance = e.sample_size * (e.standard_error**2).sum()
        assert variance <= -lw.utility(dense, true, "frequencies") * (1 + slack)
        score = (e.intervals[:, 1] - e.intervals[:, 0]) / e.standard_error
        np.testing.assert_allclose(score, 2 * 1.959964, rtol=1e-3)


def test_a_table_in_memory_by_groups(column: list[str]) -> None:
    m = lw.catalog.optimized_unary_encoding(NAMES, lift=20)
    table = pd.DataFrame({"job": column, "sex": ["f", "m"] * 4000})
    released = lw.release(table, m, column="job", unsafe_seed=3)
    assert list(released["sex"]) == list(table["sex"])
    assert set(released["job"].str.len()) == {101}
    by = lw.estimate(released, m, column="job", by="sex")
    assert by["f"].sample_size == by["m"].sample_size == 4000
    with pytest.raises(InvalidInput, match="itself"):
        lw.estimate(released, m, column="job", by="job")
    with pytest.raises(InvalidInput, match="column must say"):
        lw.estimate(released, m)
    with pytest.raises(InvalidInput, match="100 bits"):
        lw.estimate(table, m, column="job")


def test_sets_of_another_mechanism_are_noticed(column: list[str]) -> None:
    released = lw.release(column, lw.catalog.optimized_unary_encoding(NAMES, lift=20), unsafe_seed=3)
    with pytest.warns(lw.LeakwiseWarning, match="do not fit"):
        lw.estimate(released, lw.catalog.symmetric_unary_encoding(NAMES, lift=20))
    with pytest.raises(InvalidInput, match="at least one row"):
        lw.estimate({released[0]: 0}, lw.catalog.optimized_unary_encoding(NAMES, lift=20))
    with pytest.raises(InvalidInput, match="nothing to estimate"):
        lw.estimate([released[0]], lw.catalog.optimized_unary_encoding(NAMES, lift=1))


def test_what_goes_elsewhere_is_refused_before_a_draw(tmp_path: Path) -> None:
    m = lw.catalog.optimized_unary_encoding(NAMES, lift=20)
    source, out = tmp_path / "jobs.csv", tmp_path / "released.csv"
    source.write_text("job\nv1\nv2\n")
    for data, more in ((source, {"out": out}), (pd.DataFrame({"job": ["v1"]}), {"out": out})):
        with pytest.raises(InvalidInput, match="in memory"):
            lw.release(data, m, column="job", **more)
    assert not out.exists()
    with pytest.raises(InvalidInput, match="in memory"):
        lw.estimate(source, m, column="job")
    with pytest.raises(InvalidInput, match="v999"):
        lw.release(["v999"], m)
    with pytest.raises(InvalidInput, match="too many to list"):  # as Spark and the files do
        Exchanger([(("job",), m)])


def test_rows_that_can_be_read_are_warned_of() -> None:
    with pytest.warns(lw.CertaintyWarning, match="all but certain"):
        lw.release(["v1"], lw.catalog.symmetric_unary_encoding(NAMES, epsilon=40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.release(["v1"], lw.catalog.symmetric_unary_encoding(NAMES, epsilon=5))
