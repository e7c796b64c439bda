"""The way back: exact expectations, coverage, what cannot be known, groups, and what is refused."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binom

import leakwise as lw
from leakwise.tables import Estimate, GroupedEstimate
from leakwise.tables.estimate.estimate import estimate
from leakwise.tables.release.release import release

# The tables here are made of patterns, whose order tells everything; their tests are about something else.
pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning")

# The package exports the function under the name of the module.
counting_module = importlib.import_module("leakwise.tables.release.checking")
groups_module = importlib.import_module("leakwise.tables.estimate.groups")

LABELS = ["no", "perhaps", "yes"]
STRUCTURED = lw.randomized_response(LABELS, lift=6)  # 6/8 and 1/8
NEVER_ITSELF = lw.symmetric_channel(LABELS, flip=1)  # diagonal below zero
DENSE = lw.Mechanism(
    [["1/2", "1/4", "1/8", "1/8"], ["1/8", "1/2", "1/4", "1/8"], ["1/8", "1/8", "1/4", "1/2"]],
    inputs=LABELS,
    outputs=["w", "x", "y", "z"],
)
HALF_KNOWN = lw.Mechanism([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]], inputs=LABELS, outputs=["u", "v"])
CONSTANT = lw.Mechanism([[0.5, 0.5], [0.5, 0.5]], inputs=["no", "yes"])


def expected_counts(mechanism, p, rows=1 << 20):
    counts = np.asarray(p) @ mechanism.matrix * rows
    assert np.array_equal(counts, np.round(counts))
    return {outcome: int(count) for outcome, count in zip(mechanism.outputs, counts, strict=True)}


@pytest.mark.parametrize(
    "mechanism", [STRUCTURED, NEVER_ITSELF, DENSE, lw.Mechanism(STRUCTURED.matrix, LABELS, LABELS)]
)
@pytest.mark.parametrize("p", [[0.5, 0.25, 0.25], [0, 0.25, 0.75], [1, 0, 0]])
def test_expected_counts_give_the_truth(mechanism, p):
    e = estimate(expected_counts(mechanism, p), mechanism)
    assert e.identifiable
    assert e.identifiable_letters.all()
    assert e.labels == tuple(LABELS)
    np.testing.assert_allclose(e.frequencies, p, atol=1e-6)
    assert (e.intervals[:, 0] <= np.add(p, 1e-6)).all()
    assert (e.intervals[:, 1] >= np.subtract(p, 1e-6)).all()
    # Randomisation never makes a sample better.
    assert (e.standard_error >= e.plain_standard_error - 1e-9).all()


def test_the_standard_error_is_that_of_the_inverse():
    n, p = 1 << 20, np.array([0.5, 0.25, 0.25])
    e = estimate(expected_counts(STRUCTURED, p, n), STRUCTURED)
    q = p @ STRUCTURED.matrix
    np.testing.assert_allclose(e.standard_error, np.sqrt(q * (1 - q) / n) / 0.625, rtol=1e-9)
    np.testing.assert_allclose(e.plain_standard_error, np.sqrt(p * (1 - p) / n), rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(e.covariance())), e.standard_error, rtol=1e-9)
    np.testing.assert_allclose(e.covariance(["yes"]), [[e.standard_error[2] ** 2]], rtol=1e-9)
    assert e.method == "inverse"
    assert e.sample_size == n
    assert e.confidence == 0.95


@pytest.mark.parametrize("mechanism", [STRUCTURED, DENSE], ids=["structured", "dense"])
def test_intervals_hold_the_truth_as_often_as_they_say(mechanism):
    # Two-sided binomial test at a false-alarm rate of 1e-6 for each mechanism and letter.
    p, rows, trials = np.array([0.6, 0.3, 0.1]), 4000, 1500
    law = p @ mechanism.matrix
    draws = np.random.default_rng(20_240).multinomial(rows, law / law.sum(), size=trials)
    hits = np.zeros(3, dtype=int)
    for counts in draws:
        e = estimate(dict(zip(mechanism.outputs, counts.tolist(), strict=True)), mechanism)
        hits += (e.intervals[:, 0] <= p) & (p <= e.intervals[:, 1])
    assert (hits >= binom.ppf(5e-7, trials, 0.95)).all()
    assert (hits <= binom.ppf(1 - 5e-7, trials, 0.95)).all()


def test_simultaneous_intervals_are_wider_and_say_so():
    counts = expected_counts(STRUCTURED, [0.5, 0.25, 0.25])
    alone, together = estimate(counts, STRUCTURED), estimate(counts, STRUCTURED, simultaneous=True)
    assert (np.diff(together.intervals) > np.diff(alone.intervals)).all()
    assert "95% together" in repr(together)
    wide = estimate(counts, STRUCTURED, confidence=0.999)
    assert (np.diff(wide.intervals) > np.diff(alone.intervals)).all()


# ------------------------------------------------------------------------------------------------- every kind of data

ROWS = ["no"] * 600 + ["perhaps"] * 100 + ["yes"] * 300


@pytest.mark.parametrize(
    "column",
    [
        ROWS,
        tuple(ROWS),
        np.array(ROWS),
        pd.Series(ROWS),
        pd.Series(ROWS, dtype="category"),
        pl.Series(ROWS),
        pl.Series(ROWS, dtype=pl.Categorical),
        pa.array(ROWS),
        pa.chunked_array([ROWS[:7], ROWS[7:]]),
        pa.array(ROWS).dictionary_encode(),
    ],
    ids=lambda column: type(column).__module__.partition(".")[0] + "." + type(column).__name__,
)
def test_every_kind_of_column_gives_the_same(column):
    e = estimate(column, STRUCTURED)
    same = estimate({"no": 600, "perhaps": 100, "yes": 300}, STRUCTURED)
    assert isinstance(e, Estimate)
    assert e.to_dict() == same.to_dict()


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_kind_of_table_and_groups(make):
    sexes = ["f", "m"] * 500
    table = make({"id": list(range(1000)), "sex": sexes, "smokes": ROWS})
    e = estimate(table, STRUCTURED, column="smokes")
    assert e.to_dict() == estimate(ROWS, STRUCTURED).to_dict()
    grouped = estimate(table, STRUCTURED, column="smokes", by="sex")
    assert isinstance(grouped, GroupedEstimate)
    assert list(grouped) == ["f", "m"]
    for sex in grouped:
        mine = [row for row, other in zip(ROWS, sexes, strict=True) if other == sex]
        assert grouped[sex].to_dict() == estimate(mine, STRUCTURED).to_dict()


def test_counts_and_groups_in_blocks(monkeypatch):
    monkeypatch.setattr(counting_module, "_BLOCK", 64)
    monkeypatch.setattr(groups_module, "_BLOCK", 64)
    table = {"sex": ["f", "m", "m", "m"] * 250, "smokes": ROWS}
    assert (
        estimate(ROWS, STRUCTURED).to_dict() == estimate({"no": 600, "perhaps": 100, "yes": 300}, STRUCTURED).to_dict()
    )
    assert estimate(table, STRUCTURED, column="smokes", by="sex")["m"].sample_size == 750


@pytest.mark.parametrize("mechanism", [STRUCTURED, DENSE], ids=["structured", "dense"])
def test_there_and_back(mechanism):
    # The truth is at most 6 standard errors away: false alarm about 2e-9 for each of three letters.
    rows = np.array(ROWS * 100)
    truth = np.array([0.6, 0.1, 0.3])
    e = estimate(release(pd.DataFrame({"s": rows}), mechanism, column="s"), mechanism, column="s")
    assert (np.abs(e.frequencies - truth) < 6 * e.standard_error).all()


def test_joint_secrets_there_and_back():
    pairs = list(itertools.product(LABELS, ["f", "m"]))
    m = lw.identity(pairs)
    table = pd.DataFrame({"smokes": ROWS, "sex": ["f", "m"] * 500, "region": ["n"] * 250 + ["s"] * 750})
    e = estimate(table, m, column=("smokes", "sex"))
    assert e.labels == tuple(pairs)
    assert e.frequencies.tolist() == [0.3, 0.3, 0.05, 0.05, 0.15, 0.15]
    assert e.to_pandas().loc[("yes", "m"), "frequency"] == 0.15
    grouped = estimate(table, m, column=("smokes", "sex"), by="region")
    assert grouped["n"].frequencies.tolist() == [0.5, 0.5, 0, 0, 0, 0]
    assert grouped.to_pandas().loc[("n", "no", "f"), "frequency"] == 0.5


def test_binned_numbers_there_and_back():
    m = lw.randomized_response(lw.bins(0, 100, 4), lift=1e6)
    ages = np.repeat([10.0, 30.0, 60.0, 99.0], [400, 300, 200, 100])
    e = estimate(release(ages, m), m)
    assert e.labels == ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 100]")
    # All thousand answers are true but with probability 3e-3; each lie moves a frequency by a thousandth.
    np.testing.assert_allclose(e.frequencies, [0.4, 0.3, 0.2, 0.1], atol=0.01)


def test_many_letters_need_no_matrix():
    size = 100_000  # its matrix would take 80 GB
    m = lw.randomized_response(size, lift=4 * size)
    codes = np.arange(size)
    e = estimate(release(codes, m), m)
    assert len(e) == size
    assert e.frequencies.sum() == pytest.approx(1)
    assert "The 20 most frequent" in repr(e)
    assert "The 20 most frequent" in e._repr_html_()
    assert len(repr(e).splitlines()) == 24


# ------------------------------------------------------------------------------------------- what cannot be known


def test_a_constant_mechanism_tells_nothing():
    e = estimate({0: 600, 1: 400}, CONSTANT)
    assert e.identifiable is False
    assert not e.identifiable_letters.any()
    assert np.isnan(e.standard_error).all()
    assert np.isnan(e.plain_standard_error).all()
    assert e.intervals.tolist() == [[0, 1], [0, 1]]
    assert "2 of 2 values cannot be estimated from the outcomes" in repr(e)
    assert "cannot be estimated" in e._repr_html_()
    assert e.to_dict()["standard_error"] == [None, None]


def test_what_can_be_known_is_told_apart_from_what_cannot():
    e = estimate({"u": 500, "v": 500}, HALF_KNOWN)
    assert e.identifiable is False
    assert e.identifiable_letters.tolist() == [True, False, False]
    assert e.frequencies[0] == pytest.approx(0.5)
    assert 0 < e.standard_error[0] < 0.1
    assert np.isnan(e.standard_error[1:]).all()
    # The two others share one half in any way.
    assert e.intervals[1, 0] == 0
    assert e.intervals[1, 1] >= 0.5
    assert "2 of 3 values cannot be estimated" in repr(e)
    assert "'perhaps', 'yes'" in repr(e)
    line = next(line for line in repr(e).splitlines() if line.startswith("yes"))
    assert line.split()[1:3] == ["—", "—"]
    json.dumps(e.to_dict(), allow_nan=False)


# ------------------------------------------------------------------------------------------- how it shows itself


def test_looks():
    e = estimate({"no": 600, "perhaps": 100, "yes": 300}, STRUCTURED)
    text = repr(e)
    assert "Frequencies of 3 values from 1,000 released rows" in text
    assert "cannot be told" not in text
    assert "1 released row," in repr(estimate({"no": 1}, STRUCTURED))
    assert "<table" in e._repr_html_()
    frame = e.to_pandas()
    assert frame.index.tolist() == LABELS
    assert frame.columns.tolist() == [
        "frequency", "standard_error", "low", "high", "identifiable", "plain_standard_error"
    ]  # fmt: skip
    assert frame["frequency"].tolist() == e.frequencies.tolist()
    json.dumps(e.to_dict())
    assert e.gap <= 1e-9
    for array in (e.frequencies, e.standard_error, e.intervals, e.identifiable_letters, e.plain_standard_error):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        e.inversion = None


def test_charts_can_be_drawn():
    for e in (
        estimate({"no": 600, "perhaps": 100, "yes": 300}, STRUCTURED),
        estimate({"u": 500, "v": 500}, HALF_KNOWN),
        estimate({"s": ["u", "v"], "g": [1, 2]}, HALF_KNOWN, "s", by="g"),
    ):
        assert e.plot().to_dict()["layer"]
    assert "cannot be estimated" in json.dumps(e.chart())


def test_grouped_looks():
    table = {"sex": ["f", "m"] * 500, "smokes": ROWS}
    g = estimate(table, STRUCTURED, "smokes", by="sex")
    assert "3 values within 2 groups by sex\nfrom 1,000 released rows" in repr(g)
    assert max(map(len, repr(g).splitlines())) <= 80
    assert "<table" in g._repr_html_()
    frame = g.to_pandas()
    assert frame.index.names == ["sex", "letter"]
    assert len(frame) == 6
    assert frame["joint_frequency"].sum() == pytest.approx(1)
    assert frame.loc[("m", "yes"), "frequency"] == g["m"].frequencies[2]
    assert frame["rows"].tolist() == [500] * 6
    assert json.loads(json.dumps(g.to_dict()))["groups"][0]["group"] == "f"
    assert len(g) == 2
    assert g.identifiable
    assert g.labels == tuple(LABELS)
    with pytest.raises(KeyError, match="'x' is not a value of 'sex'"):
        g["x"]
    assert "cannot be estimated" in repr(estimate({"s": ["u"], "g": [1]}, HALF_KNOWN, "s", by="g"))


def test_simultaneous_groups_share_the_failure():
    table = {"sex": ["f", "m"] * 500, "smokes": ROWS}
    g = estimate(table, STRUCTURED, "smokes", by="sex", simultaneous=True)
    assert g.confidence == 0.95
    assert g["f"].confidence == pytest.approx(0.975)
    assert "95% all together" in repr(g)


def test_many_groups_and_many_letters_are_shortened():
    table = {"g": list(range(300)), "s": [0] * 300}
    g = estimate(table, lw.randomized_response(2, lift=3), "s", by="g")
    assert "The first 200 groups of 300" in repr(g)
    assert len(repr(g).splitlines()) < 70


def test_letters_that_are_partly_tuples():
    e = estimate({"a": 1}, lw.identity(["a", ("b", 1)]))
    with pytest.raises(lw.InvalidInput, match="partly tuples"):
        e.to_pandas()


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("released", "options", "words"),
    [
        ({"no": 1, "ye": 1}, {}, "Did you mean 'yes'"),
        ({"no": -1}, {}, "whole number"),
        ({"no": 1.5}, {}, "whole number"),
        ({"no": True}, {}, "whole number"),
        ({"no": 1 << 60}, {}, "2\\^53"),
        ({"no": 0}, {}, "at least one row"),
        ({}, {}, "at least one row"),
        ({"no": 1}, {"by": "sex"}, "needs the released table"),
        ([], {}, "at least one row"),
        (["no", "never"], {}, "1 of 2 rows.*'never'"),
        (["no"], {"column": "smokes"}, "need a table"),
        (["no"], {"by": "smokes"}, "need a table"),
        ("out.parquet", {}, "does not exist"),
        ({"smokes": ["no"]}, {}, "column must say which"),
        ({"smokes": ["no"]}, {"column": "smoke"}, "Did you mean 'smokes'"),
        ({"smokes": ["no"]}, {"column": "smokes", "by": "sex"}, "'sex' is not in the table"),
        ({"smokes": ["no"]}, {"column": "smokes", "by": "smokes"}, "released column itself"),
        ({"smokes": ["no"], "sex": []}, {"column": "smokes", "by": "sex"}, "no rows"),
        ({"smokes": ["no"], "sex": ["f", "m"]}, {"column": "smokes", "by": "sex"}, "2 rows"),
        (["no"], {"confidence": 1.0}, "confidence"),
        (["no"], {"confidence": 95}, "confidence"),
        (["no"], {"confidence": float("nan")}, "confidence"),
        (["no"], {"confidence": "high"}, "confidence"),
    ],
)
def test_bad_input(released, options, words):
    with pytest.raises(lw.InvalidInput, match=words):
        estimate(released, STRUCTURED, **options)


def test_no_mechanism_and_another_mechanism():
    with pytest.raises(lw.InvalidInput, match="must be a Mechanism"):
        estimate(["no"], [[1.0]])
    never = lw.Mechanism([[1.0, 0.0], [1.0, 0.0]], outputs=["a", "b"])
    with pytest.raises(lw.InvalidInput, match=r"2 rows with outcomes that this mechanism never gives: 'b'"):
        estimate(["a", "b", "b"], never)


def test_too_many_groups(monkeypatch):
    monkeypatch.setattr(groups_module, "_MOST_CELLS", 10)
    with pytest.raises(lw.InvalidInput, match="fewer values"):
        estimate({"s": ["no"] * 4, "g": [1, 2, 3, 4]}, STRUCTURED, "s", by="g")


def test_a_search_that_stopped_early_says_so():
    e = estimate({"no": 600, "perhaps": 100, "yes": 300}, STRUCTURED)
    unfinished = Estimate(e.alphabet, dataclasses.replace(e.inversion, gap=1e-3))
    assert "stopped within 0.0010 nats per row" in repr(unfinished)
    assert "stopped" not in repr(e)


@pytest.mark.parametrize(("size", "releases"), [(5, 1000), (50, 150)])
def test_intervals_of_a_default_design_cover_as_often_as_they_say(size, releases):
    # A slice of benchmarks/interval_coverage.py: the counts of a release are one draw from a multinomial distribution.
    weights = 1 / np.arange(1, size + 1)
    prior = lw.Prior(weights / weights.sum())
    mechanism = lw.design(prior, lift=2, anyone=20, utility="frequencies").mechanism
    p, generator = prior.probabilities, np.random.default_rng(size)
    law = p @ mechanism.matrix
    inside = 0.0
    for counts in generator.multinomial(10_000_000, law / law.sum(), size=releases).tolist():
        low, high = lw.estimate(dict(zip(mechanism.outputs, counts, strict=True)), mechanism).intervals.T
        inside += float(((low <= p) & (p <= high)).mean())
    assert 0.93 <= inside / releases <= 0.97


def test_a_file_without_a_mechanism_says_what_to_give(tmp_path):
    (tmp_path / "lost.csv").write_text("s\nno\nyes\n", encoding="utf-8")
    with pytest.raises(lw.InvalidInput, match=r"StratifiedMechanism\.load reads it, and so does -m FILE"):
        lw.estimate(tmp_path / "lost.csv")
