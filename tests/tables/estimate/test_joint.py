"""Joint tables of released columns: the most likely table, its errors, margins, tests, and what is refused."""

from __future__ import annotations

import json
import tracemalloc
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leakwise as lw
from leakwise.data import adult_table
from leakwise.tables.estimate.joint.axes import along
from leakwise.tables.estimate.joint.simplex import most_likely_table, table_gap
from leakwise.tables.estimate.mixture import mixture_proportions

SEX, INCOME = ["f", "m"], ["low", "middle", "high"]
M_SEX, M_INCOME = lw.randomized_response(SEX, lift=3), lw.randomized_response(INCOME, lift=4)
WIDE = lw.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], inputs=SEX, outputs=["x", "y", "z"])
TRUTH = np.array([[0.30, 0.15, 0.05], [0.15, 0.15, 0.20]])
RELEASED = {"sex": M_SEX, "income": M_INCOME}
SEXES, INCOMES = ["Female", "Male"], ["<=50K", ">50K"]


def drawn(generator, mechanisms, truth=TRUTH, rows=1500):
    """Values by a joint table, each released by its own mechanism: a table of outcomes."""
    cells = np.unravel_index(generator.choice(truth.size, rows, p=truth.reshape(-1)), truth.shape)
    table = {}
    for (name, m), codes in zip(mechanisms.items(), cells, strict=True):
        edges = m.matrix.cumsum(axis=1)[codes]
        places = (generator.random(rows)[:, None] > edges).sum(axis=1)
        table[name] = np.array(m.outputs)[np.minimum(places, len(m.outputs) - 1)]
    return table


def test_expected_counts_give_the_table_back():
    laws = [M_SEX.matrix, M_INCOME.matrix]
    counts = np.rint(along(TRUTH, laws) * 2**40).astype(int)
    cells = {(s, i): int(counts[a, b]) for a, s in enumerate(SEX) for b, i in enumerate(INCOME)}
    e = lw.estimate(cells, RELEASED)
    np.testing.assert_allclose(e.frequencies, TRUTH, atol=1e-9)
    assert e.frequencies.shape == (2, 3)
    assert e.intervals.shape == (2, 3, 2)
    assert e.columns == ("sex", "income")
    assert e.labels == (tuple(SEX), tuple(INCOME))
    assert e.method == "inverse"
    np.testing.assert_allclose(e.table("income").frequencies, TRUTH.sum(axis=0), atol=1e-9)
    within = e.table("income", given="sex")
    np.testing.assert_allclose(within.frequencies, (TRUTH / TRUTH.sum(axis=1, keepdims=True)).T, atol=1e-9)
    assert within.columns == ("income", "sex")
    turned = e.table("income", "sex")
    np.testing.assert_allclose(turned.frequencies, TRUTH.T, atol=1e-9)


def test_errors_are_those_of_the_product_of_the_mechanisms_which_is_never_made():
    generator = np.random.default_rng(3)
    both = {"sex": WIDE, "income": M_INCOME}
    table = drawn(generator, both)
    e = lw.estimate(table, both)
    # Here, where it is small, the product may be made to compare with: n covariance = Bᵀ (diag f - f fᵀ) B.
    b = reduce(np.kron, [e.evidence.inverses[0][0], e.evidence.inverses[1][0]])
    f = e.evidence.tables()[0].reshape(-1) / 1500
    direct = b.T @ (np.diag(f) - np.outer(f, f)) @ b / 1500
    np.testing.assert_allclose(e.covariance(), direct, atol=1e-12)
    np.testing.assert_allclose(e.standard_error.reshape(-1), np.sqrt(np.diag(direct)), rtol=1e-9)
    margin = e.table("sex")
    sums = np.kron(np.eye(2), np.ones(3))
    np.testing.assert_allclose(margin.standard_error, np.sqrt(np.diag(sums @ direct @ sums.T)), rtol=1e-9)


@pytest.mark.parametrize("first", [M_SEX, WIDE], ids=["square", "more outcomes"])
def test_the_most_likely_table_is_that_of_the_dense_method(first):
    generator = np.random.default_rng(8)
    truth = np.array([[0.6, 0.0, 0.1], [0.0, 0.3, 0.0]])
    laws = [first.matrix, M_INCOME.matrix]
    counts = generator.multinomial(400, along(truth, laws).reshape(-1)).reshape(2 + (first is WIDE), 3)
    found = most_likely_table(counts / 400, laws, along(counts / 400, [np.linalg.pinv(law) for law in laws]))
    seen = counts.reshape(-1) > 0
    dense = mixture_proportions(np.kron(*laws)[:, seen], counts.reshape(-1)[seen] / 400)
    np.testing.assert_allclose(found.proportions.reshape(-1), dense.proportions, atol=1e-6)
    assert found.gap < 1e-10
    assert table_gap(counts / 400, laws, truth) > 1e-4


def test_a_table_of_4000_cells_is_proven_most_likely_without_a_matrix_of_the_cells():
    generator = np.random.default_rng(0)
    laws = [lw.randomized_response(size, lift=6).matrix for size in (20, 20, 10)]
    truth = generator.dirichlet(np.full(4000, 0.3)).reshape(20, 20, 10)
    law = along(truth, laws).reshape(-1)
    counts = generator.multinomial(1_000_000, law / law.sum()).reshape(20, 20, 10) / 1_000_000
    start = along(counts, [np.linalg.inv(one) for one in laws])
    tracemalloc.start()
    found = most_likely_table(counts, laws, start)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.gap < 1e-9
    assert (found.proportions >= 0).all()
    assert most < 20e6  # the product of the three would take 128 MB


def test_intervals_of_cells_margins_and_conditionals_cover():
    generator = np.random.default_rng(11)
    inside = []
    for _ in range(250):
        e = lw.estimate(drawn(generator, RELEASED), RELEASED)
        cell, margin, within = e.intervals[1, 2], e.table("sex").intervals[0], e.table("income", given="sex")
        assert within.intervals.shape == (3, 2, 2)
        truths = zip((cell, margin, within.intervals[2, 1]), (0.20, 0.5, 0.4), strict=True)
        inside.append([low <= value <= high for (low, high), value in truths])
    assert (np.mean(inside, axis=0) > 0.92).all()
    assert (np.mean(inside, axis=0) < 0.98).all()


def test_simultaneous_intervals_are_wider_and_cover_all_cells_at_once():
    generator = np.random.default_rng(5)
    together = 0
    for _ in range(200):
        table = drawn(generator, RELEASED)
        e = lw.estimate(table, RELEASED, simultaneous=True)
        together += bool(((e.intervals[..., 0] <= TRUTH) & (e.intervals[..., 1] >= TRUTH)).all())
    assert together >= 184
    alone = lw.estimate(table, RELEASED)
    assert (np.diff(e.intervals)[..., 0] > np.diff(alone.intervals)[..., 0]).all()


def test_p_values_of_independence_are_uniform_and_small_when_it_fails():
    generator = np.random.default_rng(2)
    apart = np.outer(TRUTH.sum(axis=1), TRUTH.sum(axis=0))
    found = [lw.estimate(drawn(generator, RELEASED, apart), RELEASED).independence().p_value for _ in range(400)]
    from scipy.stats import kstest

    assert kstest(found, "uniform").pvalue > 1e-3
    told = lw.estimate(drawn(generator, RELEASED), RELEASED).independence("income", "sex")
    assert told.p_value < 1e-3
    assert told.method == "chi-square"
    assert "Independence of the true values" in repr(told)


def test_few_rows_are_tested_by_random_tables():
    generator = np.random.default_rng(4)
    apart = np.outer(TRUTH.sum(axis=1), TRUTH.sum(axis=0))
    found = [lw.estimate(drawn(generator, RELEASED, apart, 25), RELEASED).independence() for _ in range(60)]
    assert {one.method for one in found} <= {"permutation", "chi-square"}
    assert "permutation" in {one.method for one in found}
    assert 0.3 < np.mean([one.p_value for one in found]) < 0.7


def test_few_rows_of_strata_are_tested_by_drawn_tables():
    generator = np.random.default_rng(14)
    strong, weak = lw.randomized_response(range(5), lift=8), lw.randomized_response(range(5), lift=3)
    strata = lw.StratifiedMechanism({"n": strong, "s": weak}, given={"region": ["n", "s"]}, secret="a")
    shares = [0.4, 0.3, 0.2, 0.05, 0.05]

    def shown(column, m):
        return (generator.random(column.size)[:, None] > m.matrix.cumsum(axis=1)[column]).sum(axis=1)

    def table(rows, alike):
        region, a = generator.choice(["n", "s"], rows), generator.choice(5, rows, p=shares)
        b = a if alike else generator.choice(5, rows, p=shares)
        return {"region": region, "a": np.where(region == "n", shown(a, strong), shown(a, weak)), "b": shown(b, strong)}

    found = [lw.estimate(table(150, False), {"a": strata, "b": strong}).independence() for _ in range(80)]
    assert {one.method for one in found} == {"bootstrap"}
    assert np.mean([one.p_value < 0.1 for one in found]) < 0.2  # 0.4 by Wald's statistic
    assert lw.estimate(table(800, True), {"a": strata, "b": strong}).independence().p_value < 0.01


def test_groups_are_tested_each_by_itself_and_all_together():
    generator = np.random.default_rng(15)
    parts = [drawn(generator, RELEASED, np.outer(TRUTH.sum(axis=1), TRUTH.sum(axis=0))), drawn(generator, RELEASED)]
    table = {name: np.concatenate([part[name] for part in parts]) for name in RELEASED}
    table["region"] = np.repeat(["n", "s"], [len(part["sex"]) for part in parts])
    by = lw.estimate(table, RELEASED, by=["region"])
    tests = by.independence()
    assert list(tests) == ["n", "s"]
    assert tests["n"].p_value == by["n"].independence().p_value > 1e-3
    assert tests["s"].p_value < 1e-3
    assert tests.p_value == 2 * tests["s"].p_value
    assert "All groups together" in repr(tests)
    assert max(map(len, repr(tests).splitlines())) <= 80
    assert [one["group"] for one in tests.to_dict()["groups"]] == ["n", "s"]


def test_income_by_sex_of_adult_is_unbiased_where_the_naive_share_is_not():
    """Both columns at lift 3: the naive share of >50K among women is 0.19 for 0.109."""
    table = adult_table()
    mechanisms = {"sex": lw.randomized_response(SEXES, lift=3), "income": lw.randomized_response(INCOMES, lift=3)}
    truth = pd.crosstab(pd.Series(table["sex"]), pd.Series(table["income"]), normalize=True).to_numpy()
    generator = np.random.default_rng(1)
    laws = [m.matrix for m in mechanisms.values()]
    found, naive = [], []
    for _ in range(100):
        counts = sum(
            generator.multinomial(round(32561 * truth[a, b]), np.outer(laws[0][a], laws[1][b]).reshape(-1))
            for a in range(2)
            for b in range(2)
        ).reshape(2, 2)
        pairs = np.ndindex(2, 2)
        e = lw.estimate({(SEXES[a], INCOMES[b]): int(counts[a, b]) for a, b in pairs}, mechanisms)
        found.append(e.frequencies)
        naive.append((counts[0, 1] / counts[0].sum() - 0.25) / 0.5)  # the income corrected, the sex taken for true
    error = np.std(found, axis=0) / 10
    assert (np.abs(np.mean(found, axis=0) - truth) < 4 * error).all()
    assert 0.18 < np.mean(naive) < 0.21


def test_groups_are_estimated_each_by_itself_and_differ_as_they_do():
    generator = np.random.default_rng(9)
    other = np.array([[0.05, 0.15, 0.30], [0.20, 0.15, 0.15]])
    north, south = drawn(generator, RELEASED, rows=20_000), drawn(generator, RELEASED, other, 20_000)
    table = {name: np.concatenate((north[name], south[name])) for name in north}
    table["region"] = np.repeat(["north", "south"], 20_000)
    table["year"] = np.tile([1, 2], 20_000)
    e = lw.estimate(table, RELEASED, by=["region"])
    assert list(e) == ["north", "south"]
    np.testing.assert_allclose(e["south"].frequencies, lw.estimate(south, RELEASED).frequencies, atol=1e-12)
    d = e.difference("south", "north")
    assert (np.abs(d.frequencies - (other - TRUTH)) < 5 * d.standard_error).all()
    expected = np.sqrt(e["north"].standard_error ** 2 + e["south"].standard_error ** 2)
    np.testing.assert_allclose(d.standard_error, expected, rtol=1e-9)
    both = lw.estimate(table, RELEASED, by=["region", "year"])
    assert list(both) == [("north", 1), ("north", 2), ("south", 1), ("south", 2)]
    assert both.to_pandas().shape[0] == 24
    json.dumps(both.to_dict())
    with pytest.raises(KeyError, match="not a group"):
        e["east"]


# ------------------------------------------------------------------------------------------ mechanisms by strata


def by_stratum():
    weak, strong = lw.randomized_response(SEX, lift=5), WIDE
    return lw.StratifiedMechanism({"a": weak, "b": strong}, given={"region": ["a", "b"]}, secret="sex")


def test_rows_are_undone_by_the_mechanism_of_their_stratum():
    generator = np.random.default_rng(6)
    sm = by_stratum()
    other = TRUTH[::-1]
    parts = [
        drawn(generator, {"sex": sm["a"], "income": M_INCOME}, TRUTH, 60_000),
        drawn(generator, {"sex": sm["b"], "income": M_INCOME}, other, 40_000),
    ]
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    table["region"] = np.repeat(["a", "b"], [60_000, 40_000])
    e = lw.estimate(table, {"sex": sm, "income": M_INCOME})
    truth = 0.6 * TRUTH + 0.4 * other
    assert e.method == "pooled"
    assert (np.abs(e.frequencies - truth) < 5 * e.standard_error).all()
    assert e.independence().method == "wald"
    within = lw.estimate(table, {"sex": sm, "income": M_INCOME}, by=["region"])
    assert (np.abs(within["b"].frequencies - other) < 5 * within["b"].standard_error).all()


def test_outcomes_of_a_stratum_that_cannot_come_from_its_mechanism_are_told():
    generator = np.random.default_rng(2)
    table = drawn(generator, {"sex": by_stratum()["a"], "income": M_INCOME}, rows=8000)
    table["region"] = np.repeat("a", 8000)
    both = {"sex": by_stratum(), "income": M_INCOME}
    lw.estimate(table | {"region": np.repeat(["a"], 8000)}, both)
    lied = {name: np.concatenate((column, column)) for name, column in table.items()}
    lied["region"] = np.repeat(["a", "b"], 8000)
    lied["sex"][8000:] = np.where(lied["income"][8000:] == "low", "x", "y")  # as if one column told the other
    with pytest.warns(lw.LeakwiseWarning, match="do not fit these mechanisms"):
        lw.estimate(lied, both)


def test_a_mechanism_chosen_by_another_released_column_is_undone_first():
    """The outcome of sex says which mechanism released the income: E[F_jk] = Σ P(j|a) θ_ab P_j(k|b)."""
    generator = np.random.default_rng(7)
    weak = lw.randomized_response(INCOME, lift=8)
    sm = lw.StratifiedMechanism({"f": weak, "m": M_INCOME}, given={"sex": SEX}, secret="income")
    n = 60_000
    sex, income = np.unravel_index(generator.choice(6, n, p=TRUTH.reshape(-1)), (2, 3))
    shown = np.where(generator.random(n) < M_SEX.matrix[sex, sex], sex, 1 - sex)
    law = np.where((shown == 0)[:, None], weak.matrix[income], M_INCOME.matrix[income]).cumsum(axis=1)
    outcome = (generator.random(n)[:, None] > law).sum(axis=1)
    table = {"sex": np.array(SEX)[shown], "income": np.array(INCOME)[outcome]}
    e = lw.estimate(table, {"sex": M_SEX, "income": sm})
    assert (np.abs(e.frequencies - TRUTH) < 5 * e.standard_error).all()


# ------------------------------------------------------------------------------------------ files and bad input


def test_mechanisms_are_found_in_the_file(tmp_path: Path):
    generator = np.random.default_rng(1)
    plain = pd.DataFrame({"sex": generator.choice(SEX, 3000), "income": generator.choice(INCOME, 3000), "g": 1})
    plain.to_parquet(tmp_path / "plain.parquet")
    lw.release(tmp_path / "plain.parquet", RELEASED, out=tmp_path / "out.parquet")
    e = lw.estimate(tmp_path / "out.parquet", ["sex", "income"])
    again = lw.estimate(pd.read_parquet(tmp_path / "out.parquet"), RELEASED)
    np.testing.assert_allclose(e.frequencies, again.frequencies, atol=1e-12)
    by = lw.estimate(tmp_path / "out.parquet", RELEASED, by=["g"])
    np.testing.assert_allclose(by[1].frequencies, again.frequencies, atol=1e-12)
    with pytest.raises(lw.InvalidInput, match="must be given"):
        lw.estimate(pd.read_parquet(tmp_path / "out.parquet"), ["sex", "income"])


def test_what_a_singular_mechanism_tells_is_given_and_the_rest_is_said():
    half = lw.Mechanism([[0.8, 0.2], [0.3, 0.7], [0.3, 0.7]], inputs=INCOME, outputs=["u", "v"])
    both = {"sex": M_SEX, "income": half}
    e = lw.estimate(drawn(np.random.default_rng(3), both, rows=20_000), both)
    assert not e.identifiable
    assert e.identifiable_cells.tolist() == [[True, False, False], [True, False, False]]
    assert np.isnan(e.standard_error[0, 1])
    assert e.intervals[0, 1, 0] == 0
    assert TRUTH[0, 1] < e.intervals[0, 1, 1] < 0.6  # at most the share of women
    margin = e.table("sex")
    assert margin.identifiable.all()
    assert abs(margin.frequencies[0] - 0.5) < 5 * margin.standard_error[0]
    assert "cannot be estimated" in repr(e)
    low_or_not = e.mean({"low": 1, "middle": 0, "high": 0})
    assert abs(float(low_or_not) - 0.45) < 5 * low_or_not.standard_error
    assert np.isnan(e.mean({"low": 0, "middle": 1, "high": 0}).standard_error)


def test_more_cells_than_rows_is_said():
    with pytest.warns(lw.LeakwiseWarning, match="fewer rows than the 6 cells"):
        lw.estimate({"sex": ["f", "m"], "income": ["low", "high"]}, RELEASED)


def test_outcomes_that_cannot_come_from_the_mechanisms_are_told():
    generator = np.random.default_rng(0)
    table = {"sex": np.repeat(["f", "m"], 5000), "income": np.repeat(["low", "high"], 5000)}
    with pytest.warns(lw.LeakwiseWarning, match="do not fit these mechanisms"):
        lw.estimate(table, RELEASED)
    never = lw.Mechanism([[1, 0, 0], [0, 1, 0]], inputs=SEX, outputs=["f", "m", "x"])
    table = drawn(generator, RELEASED)
    table["sex"][3] = "x"
    with pytest.raises(lw.InvalidInput, match=r"'sex' has 1 rows with outcomes that its mechanism never gives: 'x'"):
        lw.estimate(table, {"sex": never, "income": M_INCOME})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: lw.estimate(t, RELEASED, by=["income"]), "names released columns: 'income'"),
        (lambda t: lw.estimate(t, {"sex": M_SEX, "income": "x"}), "The mechanism of 'income' must be"),
        (lambda t: lw.estimate(t, {"sex": M_SEX, "incom": M_INCOME}), "Did you mean 'income'"),
        (lambda t: lw.estimate(t, {"sex": M_INCOME, "income": M_INCOME}), "outside the declared domain"),
        (lambda t: lw.estimate(t, {"sex": M_SEX, ("sex", "income"): M_INCOME}), "released once only"),
        (lambda t: lw.estimate(t, RELEASED).table("age"), "not one of the released columns"),
        (lambda t: lw.estimate(t, RELEASED).table("sex", "sex"), "named once"),
        (lambda t: lw.estimate(t, RELEASED).independence("sex"), "two different columns"),
        (lambda t: lw.estimate(t, RELEASED).mean([0, 1, 2, 3]), "column must say which"),
        (lambda t: lw.estimate(t, RELEASED).mean(column="sex"), "values must say which number"),
        (lambda t: lw.estimate(t, RELEASED).mean([1, 2], "income"), "values must be 3 finite numbers"),
        (lambda t: lw.estimate({("f", "low"): 1.5}, RELEASED), "must be a whole number"),
        (lambda t: lw.estimate({"sex": [], "income": []}, RELEASED), "at least one row"),
    ],
)
def test_bad_input_names_the_argument_and_the_way_out(call, words):
    table = drawn(np.random.default_rng(0), RELEASED)
    with pytest.raises(lw.InvalidInput, match=words):
        call(table)


def test_values_say_which_column_they_are_for():
    e = lw.estimate(drawn(np.random.default_rng(0), RELEASED), RELEASED)
    assert float(e.mean([0, 1])) == pytest.approx(float(e.mean({"f": 0, "m": 1}))) == e.table("sex").frequencies[1]
    assert float(e.mean([0, 1, 2])) == float(e.mean([0, 1, 2], "income"))


def test_a_small_table_takes_few_steps():
    """A step for few cells is one small system, not a search of its own."""
    laws = [M_SEX.matrix, M_INCOME.matrix]
    counts = np.random.default_rng(1).multinomial(60, along(TRUTH, laws).reshape(-1)).reshape(2, 3) / 60
    found = most_likely_table(counts, laws, along(counts, [np.linalg.inv(law) for law in laws]))
    assert found.gap < 1e-11
    assert found.iterations < 40


def test_pictures_and_plain_data():
    e = lw.estimate(drawn(np.random.default_rng(0), RELEASED), RELEASED)
    assert "Shares of sex × income" in repr(e)
    assert e.to_pandas().loc[("m", "high"), "frequency"] == e.frequencies[1, 2]
    json.dumps(e.to_dict())
    json.dumps(e.table("sex").chart())
    assert "Released values taken for true" in json.dumps(e.chart())
    np.testing.assert_allclose(e.naive.sum(), 1)
    table = drawn(np.random.default_rng(0), RELEASED)
    assert e.naive[1, 2] == ((table["sex"] == "m") & (table["income"] == "high")).mean()
    wide = {"sex": WIDE, "income": M_INCOME}
    assert lw.estimate(drawn(np.random.default_rng(0), wide), wide).naive is None
    with pytest.raises(ValueError, match="read-only"):
        e.frequencies[0, 0] = 1
