"""Estimates from tables released by strata: unbiased, of the stated variance, with intervals that cover."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import leakwise as lw
from leakwise.data import adult_table
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.tables.strata.pooling import Cell, pooled

COUNTS = {"f": [300, 500, 200], "m": [900, 50, 550], "x": [0, 60, 40]}


def known(cp: lw.PriorByStratum) -> lw.PriorByStratum:
    """The same priors, as known ones: where they come from is not said."""
    return cp.replaced({key: lw.Prior.from_integers(cp.alphabet, cp[key].nominal.weights.tolist()) for key in cp})


@cache
def designed() -> tuple[lw.PriorByStratum, lw.results.StratifiedDesign]:
    cp = known(lw.PriorByStratum.from_counts(COUNTS, given="sex", secret="s"))
    return cp, lw.design(cp, lift=1.6, anyone=16, utility="frequencies")


def drawn(generator: np.random.Generator) -> list[Cell]:
    """One release: secrets of given stratum sizes drawn from their priors, outcomes from their mechanisms."""
    cp, d = designed()
    cells = []
    for u in cp:
        m, prior = d.mechanism[u], cp[u].nominal
        secrets = generator.multinomial(sum(COUNTS[str(u)]), prior.probabilities)
        counts = sum(generator.multinomial(n, row) for n, row in zip(secrets, m.matrix, strict=True))
        cells.append(Cell(m.matrix, d.mechanism.support(u), np.asarray(counts)))
    return cells


def test_intervals_over_all_strata_cover_and_the_variance_is_that_of_the_formula() -> None:
    cp, d = designed()
    generator = np.random.default_rng(11)
    found = [pooled(drawn(generator), confidence=0.95, simultaneous=False) for _ in range(1000)]
    truth = cp.marginal.probabilities
    inside = [(one.intervals[:, 0] <= truth) & (truth <= one.intervals[:, 1]) for one in found]
    assert ((np.mean(inside, axis=0) > 0.93) & (np.mean(inside, axis=0) < 0.97)).all()
    rows = sum(map(sum, COUNTS.values()))
    formula = -d.value / rows
    stated = float(np.mean([(one.standard_error**2).sum() for one in found]))
    seen = float(np.var([one.frequencies for one in found], axis=0).sum())
    assert abs(stated / formula - 1) < 0.03
    assert abs(seen / formula - 1) < 0.1  # a thousand draws show a variance to some percent
    assert np.abs(np.mean([one.frequencies for one in found], axis=0) - truth).max() < 5 * np.sqrt(formula / 1000)


def test_intervals_within_a_stratum_cover() -> None:
    from leakwise.tables.estimate.inversion import invert

    cp, _ = designed()
    generator = np.random.default_rng(5)
    truth = cp["f"].nominal.probabilities
    inside = []
    for _ in range(1000):
        cell = drawn(generator)[0]
        ends = invert(cell.counts, cell.matrix).intervals
        inside.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    assert ((np.mean(inside, axis=0) > 0.93) & (np.mean(inside, axis=0) < 0.97)).all()


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_a_released_table_gives_back_its_frequencies_over_all_and_by_given_columns() -> None:
    table = adult_table()
    marital = sorted(set(table["marital_status"]))
    cp = lw.PriorByStratum.from_data(table, "marital_status", given=["sex", "income"], domain=marital)
    sm = lw.design(known(cp), lift=2, anyone=20, utility="frequencies").mechanism
    released = lw.release(table, sm)
    e = lw.estimate(released, sm)
    truth = cp.marginal.probabilities
    assert (np.abs(e.frequencies - truth) < 6 * e.standard_error).all()
    assert e.sample_size == 32_561
    assert e.frequencies.sum() == pytest.approx(1)
    assert "pooled over strata" in repr(e)
    assert e.inversion.covariance().shape == (7, 7)
    by = lw.estimate(released, sm, by="sex")
    assert list(by) == ["Female", "Male"]
    for sex in by:
        rows = [place for place, one in enumerate(table["sex"]) if one == sex]
        own = lw.Prior.from_data([table["marital_status"][row] for row in rows], marital).probabilities
        assert (np.abs(by[sex].frequencies - own) < 6 * by[sex].standard_error).all()
    both = lw.estimate(released, sm, by=["sex", "income"], simultaneous=True)
    assert list(both) == [("Female", "<=50K"), ("Female", ">50K"), ("Male", "<=50K"), ("Male", ">50K")]
    assert both.by == ("sex", "income")
    assert both["Male", ">50K"].sample_size == cp.sample_sizes["Male", ">50K"]


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_an_untouched_column_that_is_not_given_may_group_too() -> None:
    generator = np.random.default_rng(2)
    table = {
        "sex": generator.choice(["f", "m"], 6000).tolist(),
        "s": generator.choice([0, 1, 2], 6000).tolist(),
        "g": generator.choice(["p", "q"], 6000).tolist(),
    }
    _, d = designed()
    released = lw.release(table, d.mechanism, order="keep")
    by = lw.estimate(released, d.mechanism, by="g")
    assert set(by) == {"p", "q"}
    assert (np.abs(by["p"].frequencies - 1 / 3) < 6 * by["p"].standard_error).all()


def test_a_value_that_a_stratum_cannot_have_is_exactly_zero_there() -> None:
    _, d = designed()
    table = {"sex": ["x"] * 400, "s": [1, 2] * 200}
    e = lw.estimate(lw.release(table, d.mechanism, order="keep"), d.mechanism)
    assert e.frequencies[0] == 0
    assert e.intervals[0].tolist() == [0, 0]
    assert e.identifiable


def test_what_a_stratum_does_not_tell_widens_the_interval() -> None:
    told = lw.randomized_response(["no", "yes"], lift=4)
    nothing = lw.Mechanism([["1/2", "1/2"], ["1/2", "1/2"]], inputs=["no", "yes"], outputs=["no", "yes"])
    sm = lw.StratifiedMechanism({"f": told, "m": nothing}, given={"sex": ["f", "m"]}, secret="s")
    table = {"sex": ["f"] * 3000 + ["m"] * 1000, "s": ["no"] * 4000}
    with pytest.warns(lw.UnsafeSeedWarning):
        released = lw.release(table, sm, order="keep", unsafe_seed=1)
    e = lw.estimate(released, sm)
    assert not e.identifiable
    low, high = e.intervals[1]
    assert low < 0.01
    assert 0.25 <= high < 0.32


def test_outcomes_of_another_mechanism_are_refused_or_warned_of() -> None:
    weak = lw.randomized_response(["no", "yes"], lift=2)
    other = lw.Mechanism([["1/2", "1/2"], ["1/4", "3/4"]], inputs=["no", "yes"], outputs=["no", "maybe"])
    sm = lw.StratifiedMechanism({"f": weak, "m": other}, given={"sex": ["f", "m"]}, secret="s")
    with pytest.raises(InvalidInput, match="Where sex = f, released has outcomes that the mechanism never gives"):
        lw.estimate({"sex": ["f", "m"], "s": ["maybe", "maybe"]}, sm)
    with pytest.raises(InvalidInput, match="is a released column itself"):
        lw.estimate({"sex": ["f", "m"], "s": ["no", "maybe"]}, sm, by="s")
    with pytest.raises(InvalidInput, match="outside the declared domain"):
        lw.estimate({"sex": ["f", "m"], "s": ["no", "perhaps"]}, sm)
    rows: dict[str, list[Any]] = {"sex": ["m"] * 4000, "s": ["no"] * 3900 + ["maybe"] * 100}
    with pytest.warns(LeakwiseWarning, match="do not fit this mechanism in 1 strata"):
        lw.estimate(rows, sm)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.estimate({"sex": ["m"] * 4, "s": ["no"] * 4}, sm)


def test_given_numbers_go_out_as_bins_and_are_read_back() -> None:
    generator = np.random.default_rng(8)
    table = {"age": generator.integers(0, 100, 4000).tolist(), "s": generator.choice(["no", "yes"], 4000).tolist()}
    given = {"age": lw.bins(0, 100, 4)}
    cp = lw.PriorByStratum.from_data(table, "s", given=given, domain=["no", "yes"])
    sm = lw.design(known(cp), lift=1.4, anyone=10, utility="frequencies").mechanism
    released = lw.release(table, sm)
    assert set(released["age"]) == set(given["age"])
    by = lw.estimate(released, sm, by="age")
    assert list(by) == sorted(given["age"])
    e = lw.estimate(released, sm)
    assert (np.abs(e.frequencies - cp.marginal.probabilities) < 6 * e.standard_error).all()


# --------------------------------------------------------------------------- a released CSV file that others read


def texts_by_town(towns=("1", "2")):
    """A release of which the mechanism knows the given column by its texts, as one of a CSV file does."""
    other, weak = lw.randomized_response(["no", "yes"], lift=5), lw.randomized_response(["no", "yes"], lift=9)
    m = lw.StratifiedMechanism({towns[0]: weak, towns[1]: weak}, {"town": list(towns)}, otherwise=other, secret="ill")
    town = [towns[0], towns[1]] * 3000
    ill = np.random.default_rng(1).choice(["no", "yes"], 6000, p=[0.7, 0.3]).tolist()
    return m, lw.release({"town": town, "ill": ill}, m, unsafe_seed=1)


@pytest.mark.parametrize("towns", [("1", "2"), ("1.5", "-2.0"), ("True", "False")])
@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
def test_numbers_that_a_reader_made_of_texts_are_known(tmp_path, towns, read):
    m, released = texts_by_town(towns)
    pd.DataFrame(released).to_csv(tmp_path / "out.csv", index=False)
    elsewhere = read(tmp_path / "out.csv")
    known = lw.estimate(released, m)
    assert lw.estimate(elsewhere, m).frequencies == pytest.approx(known.frequencies)
    assert lw.estimate(elsewhere, {"ill": m}).frequencies == pytest.approx(known.frequencies)
    by_texts = lw.regress("ill ~ C(town)", released, {"ill": m})
    found = lw.regress("ill ~ C(town)", elsewhere, {"ill": m})
    assert sorted(found.coefficients.values()) == pytest.approx(sorted(by_texts.coefficients.values()), abs=1e-5)


def test_a_regression_of_a_file_knows_the_strata_that_are_numbers(tmp_path):
    m, released = texts_by_town()
    pd.DataFrame(released).to_csv(tmp_path / "out.csv", index=False)
    m.save(tmp_path / "out.mechanism.json")
    found = lw.regress("ill ~ C(town)", str(tmp_path / "out.csv"))
    known = lw.regress("ill ~ C(town)", released, {"ill": m})
    assert list(found.coefficients.values()) == pytest.approx(list(known.coefficients.values()), abs=1e-5)


def test_a_regression_warns_of_given_columns_without_any_known_value():
    m, released = texts_by_town(("a", "b"))
    with pytest.warns(LeakwiseWarning, match="No row has a value of 'town' that the mechanism knows"):
        lw.regress("ill ~ C(town)", released | {"town": ["A", "B"] * 3000}, {"ill": m})


def test_a_regression_of_many_strata_with_many_outcomes():
    # More pairs of a mechanism and an outcome than the numbers of 16 strata could count.
    generator = np.random.default_rng(5)
    towns = list("abcdefghijklmnop")
    nearly_true = {town: lw.randomized_response(range(20), lift=10**9 + place) for place, town in enumerate(towns)}
    m = lw.StratifiedMechanism(nearly_true, {"town": towns}, secret="s")
    table = {"town": generator.choice(towns, 4000).tolist(), "s": generator.choice(20, 4000).tolist()}
    found = lw.regress("s ~ C(town)", lw.release(table, m, unsafe_seed=3), {"s": m})
    means = pd.DataFrame(table).groupby("town").s.mean()
    assert found.coefficients["Intercept"] == pytest.approx(means["a"], abs=1e-5)
    assert found.coefficients["C(town)[T.p]"] == pytest.approx(means["p"] - means["a"], abs=1e-5)


def test_a_value_that_a_reader_took_for_missing_is_warned_of(tmp_path):
    m, released = texts_by_town(("None", "two"))
    pd.DataFrame(released).to_csv(tmp_path / "out.csv", index=False)
    with pytest.warns(
        LeakwiseWarning, match="the given column 'town' are missing. The released table has 'None' there"
    ):
        lw.estimate(pd.read_csv(tmp_path / "out.csv"), m)
    kept = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert lw.estimate(kept, m).frequencies == pytest.approx(lw.estimate(released, m).frequencies)
