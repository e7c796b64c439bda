"""Regressions where a careless one is silently wrong: hidden values, stiff models of covariates, heavy weights."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import leakwise as lw

pytest.importorskip("formulaic")
pytest.importorskip("statsmodels")

YES, SEX = lw.randomized_response(["no", "yes"], lift=3), lw.randomized_response(["f", "m"], lift=3)


def shown(g, column, m):
    codes = np.array([m.input_alphabet.index[value] for value in np.asarray(column).tolist()])
    places = (g.random(codes.size)[:, None] > m.matrix.cumsum(axis=1)[codes]).sum(axis=1)
    return np.array(m.outputs)[np.minimum(places, len(m.outputs) - 1)]


def expit(x):
    return 1 / (1 + np.exp(-x))


def table(seed=0, rows=400):
    g = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "ill": g.choice(["no", "yes"], rows),
            "sex": g.choice(["f", "m"], rows),
            "region": g.choice(["n", "s", "w"], rows),
            "x": g.normal(size=rows),
            "village": g.integers(0, 20, rows),
        }
    )


@pytest.mark.parametrize("bent", ["square", "sine", "product"])
def test_a_covariate_that_depends_on_others_in_a_bent_way_is_not_biased(bent):
    g = np.random.default_rng(5)
    n = 60_000
    w, v = g.normal(size=n), g.normal(size=n)
    depends = {"square": 2 * w * w - 2, "sine": 3 * np.sin(2 * w), "product": 2 * w * v}[bent]
    sex = np.where(g.random(n) < expit(depends), "m", "f")
    eta = -0.3 + 0.8 * (sex == "m") + {"square": 0.5 * w * w, "sine": 0.5 * w, "product": 0.5 * w * v}[bent]
    t = pd.DataFrame({"sex": shown(g, sex, SEX), "ill": (g.random(n) < expit(eta)).astype(int), "w": w, "v": v})
    terms = {"square": "w + I(w**2)", "sine": "w", "product": "w * v"}[bent]
    f = lw.regress(f"ill ~ C(sex) + {terms}", t, {"sex": SEX})
    # A model of sex that is straight in w gives 0.61, 0.93 and 0.71.
    assert abs(f.coefficients["C(sex)[T.m]"] - 0.8) < 3 * f.standard_errors["C(sex)[T.m]"]
    assert f.standard_errors["C(sex)[T.m]"] < 0.06


def test_a_covariate_that_the_mechanism_hides_has_no_coefficient():
    hides = lw.Mechanism([[0.5, 0.5], [0.5, 0.5]], inputs=["f", "m"], outputs=["f", "m"])
    with pytest.warns(lw.LeakwiseWarning, match="do not determine 'Intercept', 'C"):
        f = lw.regress("x ~ C(sex)", table(), {"sex": hides})
    assert f.intervals["C(sex)[T.m]"] == (-np.inf, np.inf)
    partly = lw.Mechanism([[1, 0], [0.25, 0.75], [0.25, 0.75]], inputs=["n", "s", "w"], outputs=["a", "b"])
    t = table().assign(region=np.where(table().x > 0, "a", "b"))
    with pytest.warns(lw.LeakwiseWarning, match="do not determine"):
        lw.regress("x ~ C(region)", t, {"region": partly})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What the mechanism does not tell apart is not asked for.
        f = lw.regress("x ~ I(region == 'n')", t, {"region": partly})
    assert np.isfinite(list(f.intervals.values())).all()
    with pytest.warns(lw.LeakwiseWarning, match="do not determine"):
        lw.regress(
            "k ~ x", t.assign(k=t.region), {"k": lw.Mechanism(partly.matrix, inputs=[1, 2, 3], outputs=["a", "b"])}
        )


def test_values_that_a_stratum_cannot_have_are_left_out():
    kinds = lw.randomized_response(["a", "b", "c"], lift=4)
    strata = lw.StratifiedMechanism(
        {"n": kinds, "s": kinds}, given={"region": ["n", "s"]}, secret="kind", impossible={"s": ["c"]}
    )
    g = np.random.default_rng(3)
    n = 30_000
    region = g.choice(["n", "s"], n)
    kind = np.where(
        region == "n", g.choice(["a", "b", "c"], n, p=[0.3, 0.3, 0.4]), g.choice(["a", "b"], n, p=[0.6, 0.4])
    )
    t = pd.DataFrame({"region": region, "kind": shown(g, kind, kinds)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of c in the south there is none: its coefficient runs away
        f = lw.regress("kind ~ region", t, {"kind": strata})
    assert abs(f.coefficients["b", "region[T.s]"] - np.log(0.4 / 0.6)) < 4 * f.standard_errors["b", "region[T.s]"]
    assert f.predict({"region": ["s"]})[0, 2] < 1e-4
    # Of a covariate as well: the south has no c, so that its rows say more about a and b.
    t["ill"] = (g.random(n) < expit(-0.5 + 1.0 * (kind == "b") + 0.5 * (kind == "c") + 0.3 * (region == "s"))).astype(
        int
    )
    h = lw.regress("ill ~ C(kind) + region", t, {"kind": strata})
    every = lw.regress("ill ~ C(kind) + region", t, {"kind": kinds})
    for term, truth in (("C(kind)[T.b]", 1.0), ("C(kind)[T.c]", 0.5), ("region[T.s]", 0.3)):
        assert abs(h.coefficients[term] - truth) < 4 * h.standard_errors[term]
    assert h.standard_errors["C(kind)[T.b]"] < every.standard_errors["C(kind)[T.b]"]
    never = lw.identity(["a", "b", "c"])
    only = lw.StratifiedMechanism(
        {"n": never, "s": never}, given={"region": ["n", "s"]}, secret="kind", impossible={"s": ["c"]}
    )
    with pytest.raises(lw.InvalidInput, match="never gives"):
        lw.regress("kind ~ region", t, {"kind": only})


def test_strata_that_the_formula_leaves_out_do_not_bias_linear_regressions_and_are_not_warned_of():
    g = np.random.default_rng(8)
    n = 40_000
    u = g.integers(0, 2, n)
    x = g.normal(size=n) + u
    score = np.clip(np.round(1.5 + 0.5 * x + u + g.normal(size=n)), 0, 4).astype(int)
    weak, strong = lw.randomized_response(range(5), lift=2), lw.randomized_response(range(5), lift=6)
    both = lw.StratifiedMechanism({0: weak, 1: strong}, given={"u": [0, 1]}, secret="score")
    t = pd.DataFrame({"x": x, "u": u, "score": np.where(u == 0, shown(g, score, weak), shown(g, score, strong))})
    truth = np.polyfit(x, score, 1)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = lw.regress("score ~ x", t, {"score": both})
    assert abs(f.coefficients["x"] - truth) < 4 * f.standard_errors["x"]


def test_a_few_heavy_weights_count_as_a_few_rows():
    g = np.random.default_rng(12)
    inside, degrees = [], []
    for _ in range(150):
        n = 400
        x, w = g.normal(size=n), np.exp(1.3 * g.normal(size=n))
        t = pd.DataFrame({"x": x, "y": 1 + 0.8 * x + g.normal(size=n), "w": w})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = lw.regress("y ~ x", t, weights="w")
        inside.append(f.intervals["x"][0] <= 0.8 <= f.intervals["x"][1])
        degrees.append(f.degrees)
    assert 0.92 < np.mean(inside) < 0.98
    assert max(degrees) < 150
    assert lw.regress("y ~ x", t.assign(w=2.0), weights="w").degrees == pytest.approx(n - 1)
    with pytest.warns(lw.LeakwiseWarning, match=r"400 rows count as 1\.0"):
        lw.regress("y ~ x", t.assign(w=[1e6, *[1.0] * (n - 1)]), weights="w")
    heavy = {"sex": ["f", "m"] * 10, "w": [1e6, *[1.0] * 19], "village": [row // 2 for row in range(20)]}
    with pytest.warns(lw.LeakwiseWarning, match=r"10 clusters count as 1\.0"):
        lw.estimate(heavy, {"sex": SEX}, weights="w", clusters="village")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: lw.regress("ill ~ x", t.assign(x=np.inf), {"ill": YES}), "'x' is infinite in some rows"),
        (
            lambda t: lw.regress("x ~ C(sex)", t.assign(x=[np.inf, *t.x[1:]]), {"sex": SEX}),
            "'x' is infinite in some rows",
        ),
        (lambda t: lw.regress("ill ~ x", t, {"ill": YES}, confidence="a"), "confidence must be a number"),
        (lambda t: lw.regress("ill ~ x", t, {"ill": None}), "does not carry one"),
        (
            lambda t: lw.regress("ill ~ x", t.assign(village=[None, *t.village[1:]]), {"ill": YES}, clusters="village"),
            "1 rows have no value in clusters",
        ),
        (
            lambda t: lw.estimate(t.assign(village=[None, *t.village[1:]]), {"ill": YES}, clusters="village"),
            "1 rows have no value in clusters",
        ),
        (
            lambda t: lw.estimate(t.assign(region=[None, *t.region[1:]]), {"ill": YES}, strata="region"),
            "1 rows have no value in strata",
        ),
        (lambda t: lw.regress("ill ~ x", t.assign(ill=[None, *t.ill[1:]]), {"ill": YES}), "1 missing value"),
        (lambda t: lw.regress("ill ~ x", t.assign(ill=["maybe", *t.ill[1:]]), {"ill": YES}), "outside the declared"),
        (
            lambda t: lw.regress("ill ~ x + region", t, {"ill": YES}).predict({"x": [0.0], "region": ["east"]}),
            "categories that the fitted rows do not have: 'east'",
        ),
        (
            lambda t: lw.regress("ill ~ C(sex)", t, {"sex": SEX}).predict({"sex": ["x"]}),
            "'x' is not a value of 'sex'",
        ),
        (
            lambda t: lw.regress(
                "ill ~ sex",
                t,
                {("ill", "sex"): lw.randomized_response([(a, b) for a in ("no", "yes") for b in ("f", "m")], lift=3)},
            ),
            "was released together, by one mechanism: lw.estimate",
        ),
        (
            lambda t: lw.estimate(t, {"ill": YES, "sex": SEX}, by=["region"]).difference("n", "q"),
            "'q' is not a group by 'region'",
        ),
    ],
)
def test_what_would_be_silently_wrong_is_refused(call, words):
    with pytest.raises(lw.InvalidInput, match=words):
        call(table())


def test_a_quantile_that_the_outcomes_do_not_determine_has_no_error():
    hides = lw.Mechanism([[1, 0], [0, 1], [0, 1]], inputs=[1, 2, 3], outputs=["low", "high"])
    e = lw.estimate({"low": 30, "high": 70}, hides)
    assert np.isnan(e.quantile(0.5).standard_error)
    assert e.quantile(0.5).interval == (2.0, 3.0)
    assert np.isfinite(e.quantile(0.2).standard_error)
