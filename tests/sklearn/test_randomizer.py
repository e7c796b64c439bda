"""LeakageRandomizer: scikit-learn's own checks, pipelines, what it learns and what it promises."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

import leakwise as lw
from leakwise.sklearn import LeakageRandomizer

# The tables here are made of patterns, whose order tells everything; the tests are about something else.
pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning")

FALSE_ALARM = 1e-9
PUBLIC = {"no": 0.75, "yes": 0.25}

# Every check that does not apply, and why. All others must pass.
EXPECTED = {
    "check_estimators_pickle": "compares two calls of transform, which are two draws; see test_pickled_and_cloned",
    "check_fit_idempotent": "compares two calls of transform, which are two draws; see test_fit_is_repeatable",
}


# What scikit-learn itself leaves out for an estimator whose answers are random, or without its array API.
LEFT_OUT = {
    "check_array_api_input",
    "check_pipeline_consistency",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
}


def test_the_checks_of_scikit_learn():
    estimator = LeakageRandomizer(lift=1.5, domain=lw.bins(-1000, 1000, 2), prior=[0.5, 0.5])
    done = check_estimator(estimator, expected_failed_checks=EXPECTED, on_skip=None, on_fail=None)
    by_status = {
        status: {one["check_name"]: str(one["exception"]) for one in done if one["status"] == status}
        for status in ("passed", "failed", "xfail", "skipped")
    }
    assert by_status["failed"] == {}
    assert set(by_status["xfail"]) == set(EXPECTED)
    assert set(by_status["skipped"]) <= LEFT_OUT
    assert len(by_status["passed"]) > 30


def survey(rows: int = 400) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "smokes": ["yes" if row % 4 == 0 else "no" for row in range(rows)],
            "age": [row % 90 for row in range(rows)],
            "steps": np.arange(rows) / rows,
        }
    )


# ------------------------------------------------------------------------------------------------------ the law


def test_the_outcomes_have_the_law_of_the_mechanism():
    rows = 200_000
    letters = np.arange(rows) % 3
    x = np.array(["a", "b", "c"])[letters][:, None]
    randomizer = LeakageRandomizer(lift=2, prior={"a": 0.5, "b": 0.3, "c": 0.2}).fit(x[:3])
    (mechanism,) = randomizer.mechanisms_
    outcomes = randomizer.transform(x).ravel()
    codes = np.array([mechanism.output_alphabet.index[outcome] for outcome in outcomes])
    statistic, degrees = 0.0, 0
    for letter, row in enumerate(mechanism.matrix):
        seen = np.bincount(codes[letters == letter], minlength=row.size)
        assert not seen[row == 0].any()
        expected = row[row > 0] * (letters == letter).sum()
        statistic += float(((seen[row > 0] - expected) ** 2 / expected).sum())
        degrees += int((row > 0).sum()) - 1
    assert chi2.sf(statistic, degrees) > FALSE_ALARM


def test_a_given_prior_is_all_that_is_designed_from():
    """The mechanism does not depend on the rows, and its promise is proven."""
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    first = LeakageRandomizer(lift=2, prior=prior).fit([["a"]])
    second = LeakageRandomizer(lift=2, prior=prior).fit([["c"], ["b"]])
    assert (
        first.mechanisms_
        == second.mechanisms_
        == (lw.design(prior, lift=2, anyone=20, utility="frequencies").mechanism,)
    )
    assert lw.certify(first.mechanisms_[0], prior, lift=2, anyone=20).holds
    (alone,) = LeakageRandomizer(lift=2, anyone=None, allow_certainty=True, prior=prior).fit([["a"]]).mechanisms_
    assert alone == lw.design(prior, lift=2, utility="frequencies").mechanism
    assert first.epsilons_[0] <= np.log(2) + 1e-12
    assert first.guarantees[0].startswith("No guess about the secret becomes more than 2 times as likely")


def test_a_learnt_prior_goes_the_safe_way():
    sample = survey(4000)[["smokes"]]
    randomizer = LeakageRandomizer(lift=2, domain=["no", "yes"], failure=1e-6).fit(sample)
    (found,) = randomizer.designs_
    assert isinstance(found, lw.results.DataDesign)
    assert found.failure <= 1e-6
    assert found.epsilon <= np.log(2)
    assert "the rows that were used for the design are not covered" in randomizer.guarantees["smokes"]
    # Its mechanism keeps the promise not for the estimate alone but for priors near it as well.
    assert lw.epsilon(randomizer.mechanisms_[0], lw.Prior({"no": 0.76, "yes": 0.24})) <= np.log(2)


def test_releasing_the_rows_that_were_learnt_from_is_said():
    sample = survey(2000)[["smokes"]]
    learnt = LeakageRandomizer(lift=2, domain=["no", "yes"], failure=1e-6)
    with pytest.warns(lw.LeakwiseWarning, match="designed from are released by it"):
        learnt.fit_transform(sample)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", lw.RowOrderWarning)
        learnt.fit(sample).transform(sample[:10])
        LeakageRandomizer(lift=2, prior=PUBLIC).fit_transform(sample)


def test_every_call_draws_anew():
    x = [["no"]] * 500
    randomizer = LeakageRandomizer(lift=1.5, prior=PUBLIC).fit(x)
    # Equal by chance with probability below 0.6^500.
    assert (randomizer.transform(x) != randomizer.transform(x)).any()
    assert "random_state" not in randomizer.get_params()


def test_fit_is_repeatable():
    x = survey(2000)[["smokes"]]
    given = LeakageRandomizer(lift=2, prior=PUBLIC)
    assert given.fit(x).mechanisms_ == given.fit(x).mechanisms_


# ------------------------------------------------------------------------------------------------- in scikit-learn


def test_several_columns_names_and_pandas_output():
    table = survey()
    ages = lw.bins(0, 100, 4)
    randomizer = LeakageRandomizer(lift=2, domain={"age": ages}, prior={"smokes": PUBLIC, "age": [0.25] * 4})
    out = randomizer.set_output(transform="pandas").fit_transform(table[["smokes", "age"]])
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == ["smokes", "age"] == list(randomizer.get_feature_names_out())
    assert out.index.equals(table.index)
    assert set(out["age"]) <= set(randomizer.mechanisms_[1].outputs)
    assert list(randomizer.guarantees) == ["smokes", "age"]
    e = lw.estimate(out, randomizer.mechanisms_[0], column="smokes")
    assert e.sample_size == 400
    with pytest.raises(ValueError, match="feature names should match"):
        randomizer.transform(table[["age", "smokes"]])


def test_polars_arrays_and_lists_and_their_types():
    table = survey()
    randomizer = LeakageRandomizer(lift=2, prior=PUBLIC)
    for given in (pl.from_pandas(table[["smokes"]]), table[["smokes"]].to_numpy(), table[["smokes"]].values.tolist()):
        out = randomizer.fit(given).transform(given)
        assert isinstance(out, np.ndarray)
        assert out.shape == (400, 1)
    categorical = table[["smokes"]].astype("category")
    assert set(randomizer.fit_transform(categorical).ravel()) <= set(randomizer.mechanisms_[0].outputs)
    polars = randomizer.set_output(transform="polars").fit_transform(pl.from_pandas(table[["smokes"]]))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["smokes"]


def test_columns_of_numbers_and_of_texts_stay_what_they_are():
    x = np.array([["a", 1], ["b", 2]], dtype=object)
    same = lw.Expected(np.eye(2))
    randomizer = LeakageRandomizer(lift=1.9, utility=same, prior={0: {"a": 0.5, "b": 0.5}, 1: {1: 0.5, 2: 0.5}})
    out = randomizer.fit_transform(x)
    assert {type(value) for value in out[:, 0]} == {str}
    assert {type(value) for value in out[:, 1]} == {int}


def test_missing_values_where_they_are_letters():
    x = np.array([["a"], [None], [np.nan]], dtype=object)
    domain = ["a", "b", None]
    randomizer = LeakageRandomizer(lift=1.5, domain=domain, prior=[0.5, 0.25, 0.25]).fit(x)
    assert randomizer.transform(x).shape == (3, 1)
    assert randomizer.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        LeakageRandomizer(lift=1.5, prior={"a": 0.5, "b": 0.5}).fit(x)


def test_in_pipelines_and_column_transformers():
    table = survey()
    target = (table["age"] > 40).to_numpy()
    columns = ColumnTransformer(
        [("secret", make_pipeline(LeakageRandomizer(lift=2, prior=PUBLIC), OneHotEncoder()), ["smokes"])],
        remainder="passthrough",
    )
    model = Pipeline([("columns", columns), ("model", LogisticRegression(max_iter=1000))]).fit(table, target)
    assert model.predict(table).shape == (400,)
    names = model[:-1].get_feature_names_out().tolist()
    assert names[-2:] == ["remainder__age", "remainder__steps"]
    assert names[0].startswith("secret__smokes_")
    # A search over the limit, with workers that get clones.
    search = GridSearchCV(model, {"columns__secret__leakagerandomizer__lift": [1.5, 2]}, cv=2, error_score="raise")
    assert set(search.fit(table, target).cv_results_["rank_test_score"]) <= {1, 2}


def test_pickled_and_cloned():
    prior, domain = lw.Prior({"no": 0.75, "yes": 0.25}), ["no", "yes"]
    fitted = LeakageRandomizer(lift=2, domain=domain, prior=prior).fit([["no"]])
    fitted.transform([["no"]])  # the sampler is there, and draws go on independently in the copy
    again = pickle.loads(pickle.dumps(fitted))
    assert again.mechanisms_ == fitted.mechanisms_
    x = [["no"]] * 500
    assert (again.transform(x) != fitted.transform(x)).any()
    copy = clone(fitted)
    assert not hasattr(copy, "mechanisms_")
    assert copy.get_params()["prior"] == prior
    assert copy.set_params(lift=3).lift == 3
    assert repr(LeakageRandomizer(1.0)) == "LeakageRandomizer(epsilon=1.0)"


# ------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lift": 2}, "domain must be declared for column 'smokes'"),
        ({"lift": 2, "domain": ["no", "yes"]}, "prior must be given for column 'smokes'.*or failure"),
        ({"lift": 2, "prior": PUBLIC, "failure": 1e-6}, "failure must be left out"),
        ({"prior": PUBLIC}, "epsilon|lift"),
        ({"lift": 2, "prior": {"no": 1.0}}, "column 'smokes' has .*outside the declared domain: 'yes'"),
        ({"lift": 2, "domain": ["no"], "failure": 1e-6}, "column 'smokes' has .*outside the declared domain: 'yes'"),
        ({"lift": 2, "domain": ["no", "maybe"], "prior": PUBLIC}, "domain has values that the prior does not have"),
        ({"lift": 2, "domain": {"smoke": ["no", "yes"]}, "failure": 1e-6}, "Did you mean 'smokes'"),
        ({"lift": 2, "prior": {"smoke": PUBLIC}}, "Did you mean 'smokes'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(lw.InvalidInput, match=message):
        LeakageRandomizer(**options).fit(survey()[["smokes"]])


def test_unknown_values_stop_before_anything_is_drawn(monkeypatch):
    randomizer = LeakageRandomizer(lift=2, prior=PUBLIC).fit(survey()[["smokes"]])
    monkeypatch.setattr("leakwise.sklearn.draw_codes", lambda *_: pytest.fail("drawn"))
    with pytest.raises(lw.InvalidInput, match="'perhaps'"):
        randomizer.transform(pd.DataFrame({"smokes": ["no", "perhaps"]}))
    with pytest.raises(NotFittedError):
        LeakageRandomizer(lift=2, prior=PUBLIC).transform([["no"]])
    with pytest.raises(lw.InvalidInput, match="no rows"):
        randomizer.transform(survey()[["smokes"]][:0])


def test_sets_of_priors():
    ball = lw.Prior({"no": 0.75, "yes": 0.25}).ball(beta=0.05)
    randomizer = LeakageRandomizer(lift=1.8, prior=ball, utility="mutual_information").fit([["no"], ["yes"]])
    assert lw.epsilon(randomizer.mechanisms_[0], ball) <= np.log(1.8) + 1e-9


def test_without_scikit_learn():
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import leakwise as lw\n"
        "try:\n    lw.sklearn\n"
        "except lw.MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'leakwise[sklearn]'" in done.stdout


def test_values_of_mass_zero_stop_fit_and_transform():
    randomizer = LeakageRandomizer(lift=2, prior={"no": 0.8, "yes": 0.2, "rare": 0})
    with pytest.raises(lw.InvalidInput, match="no probability: 'rare'"):
        randomizer.fit([["no"], ["rare"]])
    randomizer.fit([["no"], ["yes"]])
    with pytest.raises(lw.InvalidInput, match="no probability: 'rare'"):
        randomizer.transform([["no"], ["rare"]])
    again = pickle.loads(pickle.dumps(randomizer))
    with pytest.raises(lw.InvalidInput, match="no probability: 'rare'"):
        again.transform([["rare"]])


def test_a_pickled_transformer_tells_no_exact_count():
    """Two samples that differ in one row are one and the same to who gets the fitted transformer."""
    pickled = []
    for yes in (2500, 2501):
        sample = [["yes"]] * yes + [["no"]] * (10007 - yes)
        fitted = LeakageRandomizer(lift=2, domain=["no", "yes"], failure=1e-6).fit(sample)
        assert fitted.designs_[0].prior.weights[1] == yes  # who fitted it keeps everything
        assert fitted.designs_[0].certificate.verify().holds
        pickled.append(pickle.dumps(fitted))
    assert pickled[0] == pickled[1]
    again = pickle.loads(pickled[0])
    assert again.designs_[0].certificate is None
    assert again.transform([["yes"]] * 3).shape == (3, 1)
    assert again.guarantees == fitted.guarantees
    assert pickle.loads(pickle.dumps(again)).guarantees == fitted.guarantees


def test_rows_sorted_by_the_secret_are_warned_of():
    randomizer = LeakageRandomizer(lift=2, prior=PUBLIC).fit([["no"], ["yes"]])
    rows = np.array([["no"]] * 150 + [["yes"]] * 50)
    with pytest.warns(lw.RowOrderWarning, match=r"reveals column 0: .*sklearn\.utils\.shuffle"):
        randomizer.transform(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        randomizer.transform(np.random.default_rng(0).permutation(rows))
