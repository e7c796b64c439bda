"""NoiseAwareClassifier: scikit-learn's own checks, its equals without protection, and labels learnt through noise."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import leakwise as lw
from leakwise.data import adult_table
from leakwise.sklearn import NoiseAwareClassifier

M = lw.randomized_response(["no", "yes"], lift=1.8)
FLIPPED = lw.Mechanism([[0.4, 0.6], [0.7, 0.3]], inputs=["no", "yes"], outputs=["no", "yes"])


def sample(seed=0, rows=6000):
    g = np.random.default_rng(seed)
    X = g.normal(size=(rows, 3))
    p = 1 / (1 + np.exp(-(0.5 + 2 * X[:, 0] - 1.5 * X[:, 1])))
    return X, np.where(g.random(rows) < p, "yes", "no"), g


def released(g, y, m):
    codes = (y == "yes").astype(int)
    return np.array(m.outputs)[(g.random(y.size) > m.matrix[codes, 0]).astype(int)]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # from within the checks
@pytest.mark.parametrize("inner", [None, GaussianNB()], ids=["likelihood", "em"])
def test_the_checks_of_scikit_learn(inner):
    done = check_estimator(NoiseAwareClassifier(inner), on_skip=None, on_fail=None)
    assert {one["check_name"]: str(one["exception"]) for one in done if one["status"] == "failed"} == {}
    assert {one["check_name"] for one in done if one["status"] == "skipped"} <= {"check_array_api_input"}
    assert len(done) > 50


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("options", [{}, {"C": 0.1}, {"fit_intercept": False}])
def test_without_protection_it_is_the_logistic_regression(labels, options):
    X, _, g = sample(1, 800)
    y = np.array(list("abc"))[np.clip((X[:, 0] + g.normal(size=800)).astype(int) + 1, 0, labels - 1)]
    known = LogisticRegression(tol=1e-10, max_iter=5000, **options).fit(X, y)
    for mechanism in (None, lw.identity(sorted(set(y)))):
        found = NoiseAwareClassifier(LogisticRegression(**options), mechanism).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), known.predict_proba(X), atol=1e-6)
        np.testing.assert_allclose(found.estimator_.coef_, known.coef_, atol=1e-5)
        assert found.score(X, y) == pytest.approx(known.score(X, y))
    weight = g.integers(0, 3, 800)
    known = LogisticRegression(tol=1e-10, max_iter=5000).fit(X, y, weight)
    found = NoiseAwareClassifier().fit(X, y, weight)
    np.testing.assert_allclose(found.predict_proba(X), known.predict_proba(X), atol=1e-6)


def test_other_estimators_are_themselves_without_protection():
    X, y, _ = sample(2, 600)
    found = NoiseAwareClassifier(GaussianNB()).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("m", [M, FLIPPED], ids=["weak", "outcomes that mean the opposite"])
@pytest.mark.parametrize(
    "inner",
    [LogisticRegression(), GaussianNB(), HistGradientBoostingClassifier(max_depth=3, max_iter=40)],
    ids=["logistic", "bayes", "boosting"],
)
def test_true_labels_are_learnt_from_released_ones(m, inner):
    X, y, g = sample(3, 12_000)
    train, test = slice(0, 8000), slice(8000, None)
    clean = (clone(inner).fit(X[train], y[train]).predict(X[test]) == y[test]).mean()
    found = NoiseAwareClassifier(inner, m).fit(X[train], released(g, y[train], m))
    assert found.classes_.tolist() == ["no", "yes"]
    assert (found.predict(X[test]) == y[test]).mean() > clean - 0.035
    if m is FLIPPED:
        naive = clone(inner).fit(X[train], released(g, y[train], m))
        assert (naive.predict(X[test]) == y[test]).mean() < 0.4


def test_the_score_is_the_accuracy_for_true_labels_without_bias():
    X, y, g = sample(4, 20_000)
    model = NoiseAwareClassifier(mechanism=M).fit(X[:5000], released(g, y[:5000], M))
    rest, true = X[5000:], y[5000:]
    accuracy = (model.predict(rest) == true).mean()
    scores = [model.score(rest, released(g, true, M)) for _ in range(100)]
    assert abs(np.mean(scores) - accuracy) < 4 * np.std(scores) / 10
    assert abs((model.predict(rest) == released(g, true, M)).mean() - accuracy) > 0.1  # what the plain score says


def test_grid_searches_choose_by_the_corrected_score():
    X, y, g = sample(5, 4000)
    shown = released(g, y, FLIPPED)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(
        NoiseAwareClassifier(inner, FLIPPED, max_iter=3), {"estimator__logisticregression__C": [1e-7, 1.0]}, cv=2
    ).fit(X, shown)
    assert search.best_params_ == {"estimator__logisticregression__C": 1.0}
    assert (search.predict(X) == y).mean() > 0.75
    scores = cross_val_score(make_pipeline(StandardScaler(), NoiseAwareClassifier(mechanism=FLIPPED)), X, shown, cv=3)
    assert scores.mean() > 0.7


def test_frames_go_to_pipelines_as_they_are():
    table = pd.DataFrame(adult_table()).iloc[:6000]
    m = lw.randomized_response(["<=50K", ">50K"], lift=4)
    shown = lw.release(table.income.to_numpy(), m, order="keep")
    inner = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model = NoiseAwareClassifier(inner, m, max_iter=2).fit(table[["sex", "marital_status", "occupation"]], shown)
    assert (model.predict(table[["sex", "marital_status", "occupation"]]) == table.income).mean() > 0.78
    assert model.feature_names_in_.tolist() == ["sex", "marital_status", "occupation"]


def test_adult_labels_at_lift_one_and_a_half_are_learnt_as_from_the_clean_table():
    table = pd.DataFrame(adult_table())
    X = OneHotEncoder(sparse_output=False).fit_transform(table[["sex", "marital_status", "occupation"]])
    y, train = table.income.to_numpy(), np.arange(len(table)) < 24_000
    clean = LogisticRegression().fit(X[train], y[train]).score(X[~train], y[~train])
    prior = lw.Prior({"<=50K": "0.76", ">50K": "0.24"})
    m = lw.design(prior, lift="1.5", anyone=15).mechanism
    shown = lw.release(y[train], m, order="keep", unsafe_seed=1)
    model = NoiseAwareClassifier(mechanism=m).fit(X[train], shown)
    assert abs((model.predict(X[~train]) == y[~train]).mean() - clean) < 0.01


def test_it_is_pickled_and_repeatable():
    X, y, g = sample(6, 500)
    shown = released(g, y, M)
    model = NoiseAwareClassifier(GaussianNB(), M).fit(X, shown)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(model).fit(X, shown).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (NoiseAwareClassifier(mechanism=M), ["no", "maybe"] * 10, "outside the declared domain: 'maybe'"),
        (NoiseAwareClassifier(mechanism="m"), ["no", "yes"] * 10, "must be a lw.Mechanism"),
        (NoiseAwareClassifier(KNeighborsClassifier(), M), ["no", "yes"] * 10, "must take sample_weight"),
        (NoiseAwareClassifier(mechanism=lw.constant(["no", "yes"])), None, "does not tell its 2 labels apart"),
    ],
)
def test_bad_input_names_the_argument_and_the_way_out(model, y, words):
    X = np.random.default_rng(0).normal(size=(20, 2))
    if y is None:
        y = [model.mechanism.outputs[0]] * 20
    with pytest.raises(lw.InvalidInput, match=words):
        model.fit(X, y)


def test_nothing_warns_in_an_ordinary_fit():
    X, y, g = sample(7, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NoiseAwareClassifier(mechanism=M).fit(X, released(g, y, M))
