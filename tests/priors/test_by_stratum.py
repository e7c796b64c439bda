"""Priors by stratum: from counts, joint priors and tables, as sets, and in files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

import leakwise as lw
from leakwise.data import adult_table
from leakwise.errors import InvalidInput, LeakwiseWarning

TABLE = {
    "sex": ["f", "f", "f", "m", "m", "m", "m", "m"],
    "age": [20, 30, 70, 20, 80, 30, 20, 25],
    "ill": ["no", "yes", "no", "no", "no", "no", "yes", "no"],
}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_a_table_of_every_kind_gives_the_same_priors(make: Any) -> None:
    cp = lw.PriorByStratum.from_data(make(TABLE), "ill", given=["sex"], domain=["no", "yes", "unknown"])
    assert cp.strata == ("f", "m")
    assert (cp.given, cp.secret, cp.labels) == (("sex",), "ill", ("no", "yes", "unknown"))
    assert dict(cp.weights) == {"f": Fraction(3, 8), "m": Fraction(5, 8)}
    assert dict(cp.sample_sizes) == {"f": 3, "m": 5}
    assert cp["f"] == lw.Prior.from_counts({"no": 2, "yes": 1, "unknown": 0})
    assert cp["m"].nominal.fractions == (Fraction(4, 5), Fraction(1, 5), Fraction(0))
    assert cp.marginal == lw.Prior.from_data(TABLE["ill"], ["no", "yes", "unknown"])


def test_several_columns_make_tuples_and_numbers_are_binned() -> None:
    cp = lw.PriorByStratum.from_data(
        TABLE, "ill", given={"sex": ["f", "m", "x"], "age": lw.bins(0, 100, 2)}, domain=["no", "yes"]
    )
    assert cp.strata == (("f", "[0, 50)"), ("f", "[50, 100]"), ("m", "[0, 50)"), ("m", "[50, 100]"))
    assert cp["m", "[0, 50)"].nominal.sample_size == 4
    assert cp.absent == 2
    assert ("x", "[0, 50)") not in cp
    with pytest.raises(InvalidInput, match=r"sex = x, age = .* does not occur"):
        cp["x", "[0, 50)"]
    with pytest.raises(InvalidInput, match=r"'y' is not a declared value of the given column 'sex'"):
        cp["y", "[0, 50)"]
    with pytest.raises(InvalidInput, match="tuple of 2 values, one for each of sex and age"):
        cp["m"]


def test_counts_a_joint_prior_and_the_table_agree() -> None:
    table = adult_table()
    marital = sorted(set(table["marital_status"]))
    cp = lw.PriorByStratum.from_data(table, "marital_status", given=["sex", "income"], domain=marital)
    assert len(cp) == 4
    counts: dict[Any, dict[str, int]] = {}
    for sex, status, income in zip(table["sex"], table["marital_status"], table["income"], strict=True):
        counts.setdefault((sex, income), dict.fromkeys(marital, 0))[status] += 1
    domains = {"sex": ["Female", "Male"], "income": ["<=50K", ">50K"]}
    assert lw.PriorByStratum.from_counts(counts, given=domains, secret="marital_status") == cp
    joint = lw.Prior.from_counts({(u[0], s, u[1]): n for u, one in counts.items() for s, n in one.items()})
    found = lw.PriorByStratum.from_joint(joint, ["sex", "marital_status", "income"], "marital_status")
    for key in cp:
        assert found[key].nominal.sample_size == cp[key].nominal.sample_size
        assert dict(zip(found.labels, found[key].nominal.fractions, strict=True)) == dict(
            zip(cp.labels, cp[key].nominal.fractions, strict=True)
        )


def test_a_joint_secret_is_counted_over_its_combinations() -> None:
    table = {"a": [0, 0, 1, 1], "b": ["x", "y", "x", "x"], "u": ["p", "p", "p", "p"]}
    domain = [(0, "x"), (0, "y"), (1, "x"), (1, "y")]
    cp = lw.PriorByStratum.from_data(table, ("a", "b"), given="u", domain=domain)
    assert cp["p"].nominal.probabilities.tolist() == [0.25, 0.25, 0.5, 0.0]


@pytest.mark.parametrize("method", ["weissman", "clopper-pearson", "best", "kl", "layer-cake"])
def test_every_stratum_gets_its_share_of_the_failure_probability(method: str) -> None:
    cp = lw.PriorByStratum.from_data(TABLE, "ill", given="sex", domain=["no", "yes"])
    sets = cp.confidence("1e-6", method)
    assert sets.exact_failure == Fraction(1, 10**6)
    assert all(5e-7 <= sets[one].failure <= 5.0001e-7 for one in sets)
    assert sets["f"].support.all()
    assert sets.weights == cp.weights
    with pytest.raises(InvalidInput, match="counted priors"):
        sets.confidence(1e-6)


@pytest.mark.parametrize("sets", [False, True])
def test_a_file_gives_back_the_same_priors(tmp_path: Path, sets: bool) -> None:
    cp = lw.PriorByStratum.from_data(
        TABLE, "ill", given={"sex": ["f", "m", None], "age": lw.bins(0, 100, 2)}, domain=["no", "yes"]
    )
    cp = cp.confidence(1e-3, "best") if sets else cp
    cp.save(tmp_path / "cp.json")
    assert lw.PriorByStratum.load(tmp_path / "cp.json") == cp
    text = (tmp_path / "cp.json").read_text()
    (tmp_path / "cp.json").write_text(text.replace('"m"', '"n"'))
    with pytest.raises(InvalidInput, match="damaged"):
        lw.PriorByStratum.load(tmp_path / "cp.json")


def test_it_prints_its_strata_and_what_does_not_occur() -> None:
    cp = lw.PriorByStratum.from_data(TABLE, "ill", given={"sex": ["f", "m", "x"]}, domain=["no", "yes"])
    text = repr(cp.confidence(1e-6))
    assert "Prior of 'ill' over 2 values in 2 strata by sex" in text
    assert "1 declared combination does not occur" in text
    assert "misses the true prior with probability at most 0.000001" in text
    assert cp.to_dict()["strata"][1]["sample_size"] == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"given": ["sex", "ill"]}, "given must not name the secret"),
        ({"given": ["sex", "sex"]}, "each column once"),
        ({"given": []}, "at least one column"),
        ({"given": ["sexx"]}, "Did you mean 'sex'"),
        ({"given": {"sex": ["f"]}}, "outside the declared domain: 'm'"),
        ({"domain": ["no"]}, "outside the declared domain: 'yes'"),
        ({"domain": None}, "domain must be declared"),
        ({"given": ["sex", "age"]}, "cut 8 rows into 7 strata"),
    ],
)
def test_bad_tables_are_refused_with_the_way_out(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"given": ["sex"], "domain": ["no", "yes"], **change}
    with pytest.raises(InvalidInput, match=message):
        lw.PriorByStratum.from_data(TABLE, "ill", **arguments)


def test_a_given_column_that_determines_the_secret_is_said_with_what_it_tells() -> None:
    table = {"code": ["a", "a", "b", "b", "b", "b"], "ill": ["yes", "yes", "no", "no", "no", "no"]}
    with pytest.warns(LeakwiseWarning, match="code determines 'ill' in every row.*only 1 in 3 rows has"):
        lw.PriorByStratum.from_data(table, "ill", given="code", domain=["no", "yes"])


def test_columns_in_the_place_of_the_priors_are_refused_by_name() -> None:
    for wrong in (["sex"], {}):
        with pytest.raises(
            InvalidInput, match=r"priors must map each stratum.* the columns come second \(given\)\. Got"
        ):
            lw.PriorByStratum(wrong, {"f": [0.5, 0.5]})


def test_priors_of_different_domains_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"one domain, in one order\. Stratum 'm' has 'no'"):
        lw.PriorByStratum.from_counts({"f": {"no": 1, "yes": 1}, "m": {"no": 1}}, given="sex")
    with pytest.raises(InvalidInput, match="weights and priors must be of the same strata"):
        lw.PriorByStratum({"f": [0.5, 0.5]}, {"sex": ["f", "m"]}, {"m": 1})
    with pytest.raises(InvalidInput, match="positive"):
        lw.PriorByStratum({"f": [0.5, 0.5]}, "sex", {"f": 0})


@given_by(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_marginal_is_the_mixture_of_the_strata(rows: list[list[int]]) -> None:
    kept = {place: row for place, row in enumerate(rows) if any(row)}
    if not kept:
        return
    cp = lw.PriorByStratum.from_counts(dict(enumerate(rows)), given="u")
    assert cp.strata == tuple(kept)
    mixed = sum((float(cp.weights[key]) * cp[key].nominal.probabilities for key in cp), np.zeros(3))
    assert np.allclose(mixed, cp.marginal.probabilities, atol=1e-15)
