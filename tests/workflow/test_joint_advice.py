"""One mechanism for all secrets compared with one after the other: by the covariances that both have."""

import math

import numpy as np
import pytest

import leakwise as lw
from leakwise.report.comparison import worth
from leakwise.workflow.joint_advice import joint_advice
from leakwise.workflow.limits import release_limits

SMOKES, SEX = ["no", "yes"], ["f", "m"]
JOINT = lw.Prior({("no", "f"): 0.4, ("no", "m"): 0.3, ("yes", "f"): 0.1, ("yes", "m"): 0.2})


def designed(prior, lift):
    return lw.design(prior, release_limits(lift=lift), utility="frequencies").mechanism


def test_independent_secrets_have_the_errors_of_each_and_their_product():
    """J of independent secrets is a product: so is the trace of its inverse."""
    first, second = lw.Prior({"no": 0.7, "yes": 0.3}), lw.Prior({"f": 0.6, "m": 0.4})
    joint = lw.Prior({(s, t): p * q for s, p in zip(SMOKES, first.fractions, strict=True)
                      for t, q in zip(SEX, second.fractions, strict=True)})  # fmt: skip
    each = {"smokes": designed(first, 2), "sex": designed(second, 2)}
    alone = [sum(np.array(worth(each[name], prior, 1).standard_error) ** 2) for name, prior in
             (("smokes", first), ("sex", second))]  # fmt: skip
    squares = [float(sum(p * p for p in prior.fractions)) for prior in (first, second)]
    table = math.prod(one + square for one, square in zip(alone, squares, strict=True)) - math.prod(squares)
    one = designed(joint, 4)
    errors = np.array(worth(one, lw.Prior.from_integers(one.inputs, joint.weights.tolist()), 1).standard_error)
    found = joint_advice(joint, each, 4)
    assert found.table == pytest.approx(math.sqrt(sum(errors**2) / table), rel=1e-6)


def test_one_mechanism_for_the_same_outcomes_is_no_better():
    """Several in turn written as one: with a total that allows no more, nothing is gained or lost by it."""
    noise = lw.randomized_response(SMOKES, lift=2)
    copies = lw.Prior({("no", "no"): 1, ("yes", "yes"): 1})
    found = joint_advice(copies, {"a": noise, "b": lw.constant(SMOKES)}, 1.5)
    assert found.secrets["a"] == pytest.approx(found.secrets["b"], rel=1e-9)


def test_a_secret_that_is_nearly_a_copy_of_another_is_told():
    joint = lw.Prior({("no", "healthy"): 0.58, ("no", "ill"): 0.02, ("yes", "healthy"): 0.01, ("yes", "ill"): 0.39})
    each = {
        "drug": designed(lw.Prior({"no": 0.6, "yes": 0.4}), 2),
        "state": lw.randomized_response(["healthy", "ill"], lift=2),
    }
    found = joint_advice(joint, each, 4)
    assert [(one.secret, one.by) for one in found.copies] == [("drug", "state"), ("state", "drug")]
    assert found.copies[1].right == pytest.approx(0.97)
    assert "drug nearly says what state is: the best guess from it is right for 97% of the rows" in found.words
    assert "joint=True" in found.words


def test_it_says_when_one_mechanism_is_better_and_when_it_is_not():
    weak = {"smokes": lw.randomized_response(SMOKES, lift=1.2), "sex": lw.randomized_response(SEX, lift=1.2)}
    better = joint_advice(JOINT, weak, 4)
    assert better.better
    assert better.table < 0.9
    assert "times as large for the table of all combinations" in better.words
    assert "not better" not in better.words
    strong = {"smokes": lw.randomized_response(SMOKES, lift=20), "sex": lw.randomized_response(SEX, lift=20)}
    worse = joint_advice(JOINT, strong, 1.2)
    assert not worse.better
    assert worse.table > 1.1
    assert "That is not better for all." in worse.words
    assert "all combinations" in str(worse)
    assert worse.to_dict()["better"] is False


def test_mechanisms_that_follow_outcomes_and_strata_count():
    by = lw.PriorByStratum({"A": JOINT, "B": lw.Prior(dict.fromkeys(JOINT.labels, 1))}, {"site": ["A", "B"]})
    weak, strong = lw.randomized_response(SEX, lift=1.5), lw.randomized_response(SEX, lift=3)
    first = lw.StratifiedMechanism(
        {site: lw.randomized_response(SMOKES, lift=2) for site in "AB"}, {"site": ["A", "B"]}
    )
    keys = [(site, y) for site in "AB" for y in SMOKES]
    given = {"site": ["A", "B"], "smokes": SMOKES}

    def following(of_yes):
        return lw.StratifiedMechanism({key: of_yes if key[1] == "yes" else strong for key in keys}, given)

    one, other = (joint_advice(by, {"smokes": first, "sex": following(m)}, 4) for m in (weak, strong))
    assert one.table < other.table
    assert one.secrets["sex"] < other.secrets["sex"]


def test_a_prior_from_few_rows_costs_more():
    counts = lw.Prior.from_counts({key: int(1000 * p) for key, p in zip(JOINT.labels, JOINT.fractions, strict=True)})
    each = {"smokes": lw.randomized_response(SMOKES, lift=2), "sex": lw.randomized_response(SEX, lift=2)}
    assert joint_advice(counts, each, 2, failure=1e-6).table > joint_advice(counts, each, 2).table


def test_where_nothing_can_be_compared_nothing_is_said():
    assert joint_advice(JOINT, {"smokes": lw.constant(SMOKES), "sex": lw.randomized_response(SEX, lift=2)}, 4) is None
    many = lw.Prior({(i, j): 1 for i in range(21) for j in range(20)})
    each = {"a": lw.randomized_response(21, lift=2), "b": lw.randomized_response(20, lift=2)}
    assert joint_advice(many, each, 4) is None
    assert joint_advice(lw.Prior({"no": 1, "yes": 1}), {"smokes": lw.randomized_response(SMOKES, lift=2)}, 2) is None


def survey(rows=4000):
    """Income goes with marriage, and who lives together nearly says who is married."""
    rng = np.random.default_rng(5)
    married = rng.random(rows) < 0.5
    income = np.where(rng.random(rows) < 0.1 + 0.4 * married, "high", "low")
    lives = np.where(married ^ (rng.random(rows) < 0.03), "together", "alone")
    site = rng.choice(["A", "B"], rows)
    return {"income": income, "married": np.where(married, "yes", "no"), "lives": lives, "site": site}


DOMAIN = {"income": ["high", "low"], "married": ["no", "yes"], "lives": ["alone", "together"]}


def test_protect_tells_of_secrets_that_nearly_copy_each_other_within_strata_and_in_tuples():
    secrets = {("income", "married"): 2, "lives": 2}
    r = lw.protect(survey(), secrets, given="site", domain=DOMAIN, prior="table", failure=1e-6)
    assert [(one.secret, one.by) for one in r.joint_advice.copies] == [("lives", ("income", "married"))]
    assert "income and married nearly say what lives is: the best guess from them is right for" in str(r)
    assert "nearly say" not in str(r.to_dict())


def test_a_comparison_that_fails_does_so_before_anything_is_entered_or_drawn(tmp_path, monkeypatch):
    def failing(*_args, **_options):
        raise lw.InvalidInput("no comparison")

    monkeypatch.setattr("leakwise.workflow.several.advice_on_secrets", failing)
    table = {name: column for name, column in survey().items() if name != "site"}
    options = {"domain": DOMAIN, "prior": "table", "failure": 1e-6, "dataset": "survey"}
    book = lw.Ledger(tmp_path / "ledger.db")
    with pytest.raises(lw.InvalidInput, match="no comparison"):
        lw.protect(table, {"income": 2, "married": 2, "lives": 2}, ledger=book, **options)
    assert not book.entries("survey")
