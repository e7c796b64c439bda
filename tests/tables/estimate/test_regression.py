"""Regression on released tables: equal to statsmodels without protection, right with it, and clear about its limits."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.optimize import minimize

import leakwise as lw
from leakwise.tables.estimate.regression.likelihood import Categories, Likelihood

YES = lw.randomized_response(["no", "yes"], lift=5)
SEX = lw.randomized_response(["f", "m"], lift=5)


def sample(seed=0, rows=1500):
    """A table with outcomes of every kind."""
    g = np.random.default_rng(seed)
    t = pd.DataFrame({"age": g.normal(0, 1, rows), "sex": g.choice(["f", "m"], rows), "town": g.integers(0, 3, rows)})
    eta = -0.5 + 0.8 * t.age + 1.0 * (t.sex == "m")
    t["ill"] = np.where(g.random(rows) < 1 / (1 + np.exp(-eta)), "yes", "no")
    t["size"] = 1 + 0.5 * t.age - 0.7 * (t.sex == "m") + g.normal(0, 1, rows)
    t["visits"] = g.poisson(np.exp(0.3 + 0.3 * t.age + 0.4 * (t.sex == "m")))
    t["kind"] = np.array(["a", "b", "c"])[np.clip((g.random(rows) * 3 + 0.5 * (t.sex == "m")).astype(int), 0, 2)]
    return t


def shown(g, column, m):
    """A column released by randomized response, quickly."""
    labels = np.array(m.inputs)
    codes = np.searchsorted(labels, column) if list(labels) == sorted(labels) else [m.inputs.index(x) for x in column]
    law = m.matrix[np.asarray(codes)].cumsum(axis=1)
    return np.array(m.outputs)[np.minimum((g.random(len(column))[:, None] > law).sum(axis=1), len(m.outputs) - 1)]


def close(found, params, ends, tolerance=1e-6):
    assert set(found.coefficients) == set(params.index)
    for term, value in params.items():
        assert found.coefficients[term] == pytest.approx(value, abs=tolerance)
        assert found.intervals[term] == pytest.approx(tuple(ends.loc[term]), abs=tolerance)


# ----------------------------------------------------------------------------- without protection it is statsmodels


@pytest.mark.parametrize("mechanisms", [{}, {"ill": lw.identity(["no", "yes"]), "sex": lw.identity(["f", "m"])}])
def test_logistic_is_that_of_statsmodels(mechanisms):
    t = sample()
    known = smf.logit("y ~ age * C(sex)", t.assign(y=(t.ill == "yes").astype(int))).fit(disp=0, tol=1e-12)
    f = lw.regress("ill ~ age * C(sex)", t, mechanisms)
    close(f, known.params, known.conf_int())
    assert f.family == "logistic"
    assert f.labels[-1] == "yes"
    assert f.p_values["age"] == pytest.approx(known.pvalues["age"], abs=1e-9)
    if not mechanisms:
        assert f.log_likelihood == pytest.approx(known.llf)
    robust = smf.logit("y ~ age * C(sex)", t.assign(y=(t.ill == "yes").astype(int))).fit(
        disp=0, tol=1e-12, cov_type="HC0"
    )
    close(lw.regress("ill ~ age * C(sex)", t, mechanisms, errors="sandwich"), robust.params, robust.conf_int())


@pytest.mark.parametrize("mechanisms", [{}, {"sex": lw.identity(["f", "m"])}])
def test_linear_and_poisson_are_those_of_statsmodels(mechanisms):
    t = sample(1)
    known = smf.ols("size ~ age + C(sex)", t).fit()
    close(lw.regress("size ~ age + C(sex)", t, mechanisms), known.params, known.conf_int())
    known = smf.poisson("visits ~ age + C(sex)", t).fit(disp=0, tol=1e-12)
    close(lw.regress("visits ~ age + C(sex)", t, mechanisms, family="poisson"), known.params, known.conf_int())


def test_multinomial_is_that_of_statsmodels_and_keyed_by_value_and_term():
    t = sample(2)
    known = smf.mnlogit("y ~ age + C(sex)", t.assign(y=t.kind.map({"a": 0, "b": 1, "c": 2}))).fit(disp=0, tol=1e-12)
    for f in (
        lw.regress("kind ~ age + C(sex)", t),
        lw.regress("kind ~ age + C(sex)", t, {"kind": lw.identity(list("abc"))}),
    ):
        assert f.family == "multinomial"
        for place, value in enumerate(["b", "c"]):
            for term, number in known.params[place].items():
                assert f.coefficients[value, term] == pytest.approx(number, abs=1e-6)
                assert f.standard_errors[value, term] == pytest.approx(known.bse[place][term], abs=1e-6)
        probabilities = f.predict(t)
        np.testing.assert_allclose(probabilities, known.predict(t), atol=1e-6)


def test_clusters_are_those_of_statsmodels():
    t = sample(3)
    t["village"] = np.arange(len(t)) % 60
    known = smf.ols("size ~ age + C(sex)", t).fit(
        cov_type="cluster", cov_kwds={"groups": t.village, "use_correction": False}
    )
    f = lw.regress("size ~ age + C(sex)", t, clusters="village")
    for term, error in known.bse.items():
        # statsmodels without its correction lacks the factor of sampling with replacement, 60/59.
        assert f.standard_errors[term] == pytest.approx(error * np.sqrt(60 / 59), abs=1e-8)
    assert f.degrees == 59


def test_weights_are_those_of_the_survey_formula():
    """Weighted least squares with the linearized variance: A⁻¹ Σ w² e² x xᵀ A⁻¹ n/(n - 1), as svyglm."""
    t = sample(4, 300)
    t["w"] = np.random.default_rng(0).uniform(1, 5, 300)
    f = lw.regress("size ~ age", t, weights="w")
    x, w = sm.add_constant(t.age.to_numpy()), t.w.to_numpy()
    bread = np.linalg.inv((x * w[:, None]).T @ x)
    beta = bread @ (x * w[:, None]).T @ t["size"].to_numpy()
    scores = x * (w * (t["size"].to_numpy() - x @ beta))[:, None]
    spread = bread @ (scores.T @ scores) @ bread * 300 / 299
    np.testing.assert_allclose(list(f.coefficients.values()), beta, atol=1e-10)
    np.testing.assert_allclose(f.covariance, spread, rtol=1e-8)


def test_terms_that_are_computed_from_all_rows_are_and_odd_names_are_read():
    t = pd.DataFrame({"a b": [1, 1, 1, 1, 1, 2, 3, 3] * 40, "y": [0.0, 1.0, 5.0, 2.0] * 80})
    f = lw.regress("y ~ center(`a b`)", t)
    assert f.coefficients["Intercept"] == pytest.approx(t.y.mean())
    assert lw.regress("y ~ I(`a b` ** 2) + np.exp(`a b`)", t).sample_size == 320


# ------------------------------------------------------------------------------------------------- with protection


def test_warners_design_has_the_likelihood_of_the_literature():
    """P(yes said) = (1-p) + (2p-1) expit(xβ): the logistic regression of randomized response, maximised directly."""
    g = np.random.default_rng(5)
    t = sample(5, 3000)
    t["said"] = shown(g, t.ill, YES)
    p, x = YES.matrix[1, 1], sm.add_constant(t.age.to_numpy())
    y = (t.said == "yes").to_numpy()

    def minus_log_likelihood(beta):
        law = (1 - p) + (2 * p - 1) / (1 + np.exp(-x @ beta))
        return -np.log(np.where(y, law, 1 - law)).sum()

    known = minimize(minus_log_likelihood, np.zeros(2), method="BFGS", options={"gtol": 1e-8})
    f = lw.regress("said ~ age", t, {"said": YES})
    np.testing.assert_allclose(list(f.coefficients.values()), known.x, atol=1e-4)
    assert f.log_likelihood == pytest.approx(-known.fun, abs=1e-6)
    assert f.naive["age"] < 0.7 * f.coefficients["age"]


@pytest.mark.parametrize("kinds", [1, 2])
def test_derivatives_of_the_likelihood_are_its_differences(kinds):
    g = np.random.default_rng(1)
    rows = 40
    x = g.normal(size=(rows, 3))
    outcome = Categories(g.dirichlet(np.ones(kinds + 1), size=4), g.integers(0, 4, rows))
    shown_ = [(g.dirichlet(np.ones(3), size=5), g.integers(0, 5, rows))]
    like = Likelihood([x, x + 1, x * 2], outcome, g.random(rows), shown_, g.normal(size=(rows, 2)))
    at = g.normal(size=sum(like.sizes)) * 0.5
    found = like.derivatives(at)
    step = 1e-5
    for place in range(at.size):
        move = np.zeros(at.size)
        move[place] = step
        above, below = like.derivatives(at + move), like.derivatives(at - move)
        assert (above.value - below.value) / (2 * step) == pytest.approx(found.score[place], rel=1e-6, abs=1e-7)
        np.testing.assert_allclose(
            (below.score - above.score) / (2 * step), found.information[place], rtol=1e-5, atol=1e-6
        )
    like.weight[:] = 0
    like.weight[7] = 1
    alone = like.derivatives(at).score[: like.sizes[0]]
    np.testing.assert_allclose(like.scores(at)[7, : like.sizes[0]], alone, atol=1e-9)


def logistic_table(g, rows=1200):
    """P(ill) = expit(-0.5 + x + 0.8 [m]), x in {0, 1} and related to sex."""
    sex = g.choice(["f", "m"], rows, p=[0.6, 0.4])
    x = (g.random(rows) < np.where(sex == "m", 0.6, 0.3)).astype(int)
    law = 1 / (1 + np.exp(-(-0.5 + x + 0.8 * (sex == "m"))))
    return pd.DataFrame({"sex": sex, "x": x, "ill": np.where(g.random(rows) < law, "yes", "no")})


@pytest.mark.parametrize(
    ("released", "runs"),
    [({"ill": YES}, 250), ({"sex": SEX}, 250), ({"ill": YES, "sex": SEX}, 250)],
    ids=["outcome", "covariate", "both"],
)
def test_intervals_of_logistic_coefficients_cover(released, runs):
    g = np.random.default_rng(12)
    inside, found = [], []
    for _ in range(runs):
        t = logistic_table(g, 2500)
        for name, m in released.items():
            t[name] = shown(g, t[name], m)
        f = lw.regress("ill ~ x + C(sex)", t, released)
        inside.append(
            [
                f.intervals["x"][0] <= 1 <= f.intervals["x"][1],
                f.intervals["C(sex)[T.m]"][0] <= 0.8 <= f.intervals["C(sex)[T.m]"][1],
            ]
        )
        found.append([f.coefficients["x"], f.coefficients["C(sex)[T.m]"]])
    assert (np.mean(inside, axis=0) > 0.91).all()
    assert (np.mean(inside, axis=0) < 0.99).all()
    error = np.std(found, axis=0) / np.sqrt(runs)
    assert (np.abs(np.median(found, axis=0) - [1, 0.8]) < 5 * error + 0.02).all()


def test_intervals_with_weights_and_clusters_cover():
    g = np.random.default_rng(3)
    inside = []
    for _ in range(250):
        clusters = 50
        town = np.repeat(np.arange(clusters), 25)
        level = g.normal(0, 0.4, clusters)
        x = g.integers(0, 2, town.size)
        size = 1 + 0.5 * x + level[town] + g.normal(0, 1, town.size)
        t = pd.DataFrame({"x": x, "size": size, "town": town, "w": g.choice([1.0, 3.0], town.size)})
        t["shown"] = shown(g, np.where(x == 1, "yes", "no"), YES)
        f = lw.regress("size ~ shown", t, {"shown": YES}, weights="w", clusters="town")
        low, high = f.intervals["shown[T.yes]"]
        inside.append(low <= 0.5 <= high)
    assert 0.91 < np.mean(inside) < 0.985


@pytest.mark.parametrize("family", ["linear", "poisson"])
@pytest.mark.parametrize("released", [["n"], ["sex"], ["n", "sex"]], ids=["outcome", "covariate", "both"])
def test_linear_and_poisson_are_unbiased_from_released_columns(family, released):
    g = np.random.default_rng(7)
    numbers = list(range(9))
    mechanisms = {"n": lw.randomized_response(numbers, lift=12), "sex": SEX}
    mechanisms = {name: mechanisms[name] for name in released}
    found, inside = [], []
    for _ in range(60):
        rows = 3000
        sex, x = g.choice(["f", "m"], rows), g.integers(0, 2, rows)
        mean = np.exp(0.2 + 0.3 * x + 0.4 * (sex == "m")) if family == "poisson" else 2 + x + 1.5 * (sex == "m")
        n = np.minimum(g.poisson(mean), 8) if family == "poisson" else g.binomial(8, mean / 8)
        t = pd.DataFrame({"sex": sex, "x": x, "n": n})
        for name, m in mechanisms.items():
            t[name] = shown(g, t[name], m)
        f = lw.regress("n ~ x + C(sex)", t, mechanisms, family=family)
        found.append(list(f.coefficients.values()))
        truth = [0.2, 0.3, 0.4] if family == "poisson" else [2, 1, 1.5]
        inside.append([low <= one <= high for (low, high), one in zip(f.intervals.values(), truth, strict=True)])
    error = np.std(found, axis=0) / np.sqrt(60)
    assert (np.abs(np.mean(found, axis=0) - truth) < 4.5 * error + 0.01).all()
    assert np.mean(inside) > 0.88


def test_the_naive_coefficient_of_sex_is_half_of_the_true_one():
    g = np.random.default_rng(2)
    t = logistic_table(g, 40_000)
    t["ill"], t["sex"] = shown(g, t.ill, YES), shown(g, t.sex, SEX)
    f = lw.regress("ill ~ x + C(sex)", t, {"ill": YES, "sex": SEX})
    assert abs(f.coefficients["C(sex)[T.m]"] - 0.8) < 4 * f.standard_errors["C(sex)[T.m]"]
    assert f.naive["C(sex)[T.m]"] < 0.5
    assert "naive" in repr(f)


def test_a_mechanism_by_strata_is_used_stratum_by_stratum_and_a_forgotten_column_is_said():
    g = np.random.default_rng(9)
    t = logistic_table(g, 30_000)
    weak = lw.randomized_response(["no", "yes"], lift=2)
    both = lw.StratifiedMechanism({0: YES, 1: weak}, given={"x": [0, 1]}, secret="ill")
    t["ill"] = np.where(t.x == 0, shown(g, t.ill, YES), shown(g, t.ill, weak))
    f = lw.regress("ill ~ x + C(sex)", t, {"ill": both})
    for term, truth in (("x", 1.0), ("C(sex)[T.m]", 0.8)):
        assert abs(f.coefficients[term] - truth) < 4 * f.standard_errors[term]
    with pytest.warns(lw.LeakwiseWarning, match="depend on 'x', which the formula leaves out"):
        lw.regress("ill ~ C(sex)", t, {"ill": both})


def test_continuous_covariates_beside_a_released_one_are_modelled():
    g = np.random.default_rng(4)
    t = sample(6, 20_000)
    t["sex"] = np.where(g.random(20_000) < 1 / (1 + np.exp(-t.age)), "m", "f")
    eta = -0.5 + 0.8 * t.age + 1.0 * (t.sex == "m")
    t["ill"] = np.where(g.random(20_000) < 1 / (1 + np.exp(-eta)), "yes", "no")
    t["sex"] = shown(g, t.sex, SEX)
    f = lw.regress("ill ~ age + C(sex)", t, {"sex": SEX})
    for term, truth in (("Intercept", -0.5), ("age", 0.8), ("C(sex)[T.m]", 1.0)):
        assert abs(f.coefficients[term] - truth) < 4 * f.standard_errors[term]


# ------------------------------------------------------------------------------------- what cannot be known, and input


def test_what_the_released_data_cannot_identify_is_said():
    t = sample(7)
    nothing = lw.Mechanism([[0.5, 0.5], [0.5, 0.5]], inputs=["no", "yes"], outputs=["no", "yes"])
    with pytest.warns(lw.LeakwiseWarning, match="do not determine 'Intercept', 'age'"):
        f = lw.regress("ill ~ age", t, {"ill": nothing})
    assert f.intervals["age"] == (-np.inf, np.inf)
    assert np.isnan(f.coefficients["age"])
    assert "do not determine" in repr(f)
    with pytest.warns(lw.LeakwiseWarning, match="do not determine"):
        f = lw.regress("ill ~ age + twice", t.assign(twice=2 * t.age), {"ill": YES})
    assert np.isfinite(f.coefficients["Intercept"])


def test_perfect_separation_is_told():
    t = pd.DataFrame({"x": np.repeat([0, 1], 50), "y": np.repeat(["no", "yes"], 50)})
    with pytest.warns(lw.LeakwiseWarning, match="Perfect separation"):
        lw.regress("y ~ x", t)
    with pytest.warns(lw.LeakwiseWarning, match="Perfect separation"):
        lw.regress("y ~ x", t, {"y": YES})  # more yes than the mechanism lets through


def test_every_kind_of_table_and_file_gives_the_same(tmp_path):
    t = sample(8, 400)[["age", "sex", "ill"]]
    want = lw.regress("ill ~ age + C(sex)", t, {"ill": YES}).coefficients
    t.to_csv(tmp_path / "t.csv", index=False)
    t.to_parquet(tmp_path / "t.parquet")
    for table in (t.to_dict("list"), pl.from_pandas(t), pa.table(t), str(tmp_path / "t.csv"), tmp_path / "t.parquet"):
        found = lw.regress("ill ~ age + C(sex)", table, {"ill": YES}).coefficients
        assert found == pytest.approx(want)


def test_the_file_says_how_its_columns_were_released(tmp_path):
    t = sample(9, 2000)[["age", "sex", "ill"]]
    t.to_parquet(tmp_path / "t.parquet")
    lw.release(tmp_path / "t.parquet", {"ill": YES}, out=tmp_path / "out.parquet")
    found = lw.regress("ill ~ age", tmp_path / "out.parquet")
    assert found.coefficients == pytest.approx(
        lw.regress("ill ~ age", tmp_path / "out.parquet", {"ill": YES}).coefficients
    )
    assert found.naive is not None


def test_whole_numbers_name_their_terms_as_such():
    t = sample(3, 500)
    m = lw.randomized_response([0, 1, 2], lift=9)
    terms = {"Intercept", "C(town)[T.1]", "C(town)[T.2]"}
    assert set(lw.regress("size ~ C(town)", t, {"town": m}).coefficients) == terms
    assert set(lw.regress("size ~ C(town)", t).coefficients) == terms


def test_predictions_take_true_values():
    t = sample(1)
    f = lw.regress("ill ~ age + C(sex)", t, {"ill": YES, "sex": SEX})
    both = f.predict({"age": [0.0, 0.0], "sex": ["f", "m"]})
    eta = f.coefficients["Intercept"]
    np.testing.assert_allclose(both[0], 1 / (1 + np.exp(-eta)))
    assert f.predict({"age": 0.0, "sex": "m"})[0] == both[1]
    with pytest.raises(lw.InvalidInput, match="'x' is not a value of 'sex'"):
        f.predict({"age": [0.0], "sex": ["x"]})
    linear = lw.regress("size ~ age", t)
    np.testing.assert_allclose(linear.predict(t), smf.ols("size ~ age", t).fit().predict(t))
    counts = lw.regress("visits ~ age", t, family="poisson")
    assert (counts.predict(t) > 0).all()


def test_a_result_prints_is_drawn_and_pickled():
    t = sample(1)
    f = lw.regress("ill ~ age + C(sex)", t, {"ill": YES})
    text = str(f.summary())
    assert "logistic, for yes" in text
    assert "C(sex)[T.m]" in text
    assert "[0.025" in text
    json.dumps(f.to_dict())
    json.dumps(f.chart())
    json.dumps(lw.regress("size ~ age", t).chart())
    assert f.to_pandas().loc["age", "coefficient"] == f.coefficients["age"]
    back = pickle.loads(pickle.dumps(f))
    assert repr(back) == repr(f)
    np.testing.assert_allclose(back.predict(t), f.predict(t))
    wide = lw.regress("ill ~ age + C(sex)", t, {"ill": YES}, simultaneous=True)
    assert wide.intervals["age"][0] < f.intervals["age"][0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: lw.regress("ill", t), "must be a text such as"),
        (lambda t: lw.regress("ill ~ age +", t), "cannot be read"),
        (lambda t: lw.regress("ill ~ agee", t), "Did you mean 'age'"),
        (lambda t: lw.regress("ill ~ nothing(age)", t), "cannot be computed"),
        (lambda t: lw.regress("ill ~ age", t, YES), "must be a mapping"),
        (lambda t: lw.regress("ill ~ age", t, {"ill": "m"}), "mechanism of 'ill' must be"),
        (lambda t: lw.regress("ill ~ age", t, {"ill": SEX}), "outside the declared domain"),
        (lambda t: lw.regress("ill ~ age", t, family="probit"), "family must be one of"),
        (lambda t: lw.regress("kind ~ age", t, family="logistic"), "needs an outcome of two values"),
        (lambda t: lw.regress("size ~ age", t, family="poisson"), "needs counts"),
        (lambda t: lw.regress("ill ~ age", t, family="linear"), "must be numbers"),
        (lambda t: lw.regress("np.log(n) ~ age", t.assign(n=1), {"n": lw.identity([1, 2])}), "changed by the formula"),
        (lambda t: lw.regress("ill ~ age + ill", t, {"ill": YES}), "both sides"),
        (lambda t: lw.regress("ill ~ age", t.assign(age=[None, *t.age[1:]])), "1 rows have missing values in 'age'"),
        (lambda t: lw.regress("ill ~ age", t, errors="jackknife"), "errors must be"),
        (lambda t: lw.regress("ill ~ age", t, confidence=2), "confidence must be"),
        (lambda t: lw.regress("ill ~ age", t, weights=-np.ones(len(t))), "not negative"),
        (lambda t: lw.regress("ill ~ age", t, clusters=np.zeros(len(t))), "single unit"),
        (lambda t: lw.regress("ill ~ age", list(t.age)), "released must be a table"),
        (lambda t: lw.regress("ill ~ age", t[:0]), "at least one row"),
    ],
)
def test_bad_input_names_the_argument_and_the_way_out(call, words):
    with pytest.raises(lw.InvalidInput, match=words):
        call(sample())


def test_nothing_warns_in_an_ordinary_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.regress("ill ~ age", sample(), {"ill": YES})


def test_what_is_not_installed_is_named_with_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(lw.MissingExtra, match=r"leakwise\[analysis\]"):
        lw.regress("ill ~ age", sample())


def test_a_file_without_its_mechanism_is_not_taken_for_true_in_silence(tmp_path):
    sample(rows=200).to_csv(tmp_path / "lost.csv", index=False)
    with pytest.warns(lw.errors.LeakwiseWarning, match=r"No mechanism was given, or found in '.*lost.csv'"):
        lw.regress("ill ~ age", str(tmp_path / "lost.csv"))
