"""Releases of overlapping columns: every budget that one of them tells about is kept, on the true total."""

from __future__ import annotations

import itertools
import math
import sqlite3
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw

VALUES = {"a": ("no", "yes"), "b": ("f", "m"), "c": (1, 2, 3)}


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def letters(columns):
    return list(itertools.product(*(VALUES[name] for name in columns)))


def labels(columns):
    return [value[0] if len(columns) == 1 else value for value in letters(columns)]


def random_joint(generator, columns=("a", "b", "c")):
    weights = generator.integers(1, 9, len(letters(columns))).tolist()
    return {value: Fraction(weight, sum(weights)) for value, weight in zip(letters(columns), weights, strict=True)}


def marginal(joint, columns, names=("a", "b", "c")):
    found = dict.fromkeys(letters(columns), Fraction(0))
    for value, mass in joint.items():
        found[tuple(value[names.index(name)] for name in columns)] += mass
    return found


def random_release(generator, joint, columns, *, zeros=False):
    """A random mechanism over some columns, certified for what the joint prior says of them."""
    size = len(letters(columns))
    weights = generator.integers(0 if zeros else 1, 5, (size, 2))
    weights[weights.sum(axis=1) == 0] = 1
    m = lw.Mechanism(
        [[Fraction(int(w), int(row.sum())) for w in row] for row in weights], inputs=labels(columns), outputs=["x", "y"]
    )
    prior = lw.Prior(dict(zip(labels(columns), marginal(joint, columns).values(), strict=True)))
    return lw.certify(m, prior)


def true_lift(joint, releases, secret, names=("a", "b", "c")):
    """max P(secret | outcomes) / P(secret) over all outcomes, in fractions."""
    worst = Fraction(1)
    before = marginal(joint, secret)
    for outcome in itertools.product("xy", repeat=len(releases)):
        mass = {}
        for value, prior in joint.items():
            p = prior
            for (columns, certificate), seen in zip(releases, outcome, strict=True):
                part = tuple(value[names.index(name)] for name in columns)
                p *= certificate.mechanism.probability(part[0] if len(columns) == 1 else part, seen)
            mass[value] = p
        total = sum(mass.values())
        if total:
            after = marginal(mass, secret)
            worst = max(worst, *(after[s] / total / before[s] for s in before))
    return worst


def test_a_joint_release_counts_for_the_budget_of_its_part(ledger):
    joint = lw.Prior.uniform(labels(("a", "b")))
    ledger.set_budget("d", "a", lift=2)
    with pytest.raises(lw.Infeasible, match="which the budget of 'a' counts, too"):
        ledger.reserve("d", ("a", "b"), lw.certify(lw.design(joint, lift=3).mechanism, joint))
    assert ledger.entries() == []
    assert ledger.reserve("d", ("a", "b"), lw.certify(lw.design(joint, lift=2).mechanism, joint))


def test_a_release_of_a_part_counts_for_the_joint_budget(ledger):
    prior = lw.Prior.uniform(VALUES["a"])
    ledger.set_budget("d", ("a", "b"), lift=1.5)
    with pytest.raises(lw.Infeasible, match="Nothing was released"):
        ledger.reserve("d", "a", lw.certify(lw.randomized_response(VALUES["a"], lift=4), prior))
    assert ledger.reserve("d", "a", lw.certify(lw.randomized_response(VALUES["a"], lift=2), prior))


def test_a_chain_of_releases_reaches_a_budget(ledger):
    """(a, b) as "equal or not" says nothing of a; with b in clear before it says all."""
    joint = lw.Prior.uniform(labels(("a", "b")))
    equal = [[1, 0] if (a == "no") == (b == "f") else [0, 1] for a, b in labels(("a", "b"))]
    ledger.set_budget("d", "a", lift=2)
    prior = lw.Prior.uniform(VALUES["b"])
    clear = lw.certify(lw.Mechanism([[1, 0], [0, 1]], inputs=VALUES["b"]), prior)
    assert ledger.reserve("d", "b", clear)  # a guess about b, or about an a that is a copy of it, becomes certain
    with pytest.raises(lw.Infeasible):
        ledger.reserve("d", ("a", "b"), lw.certify(lw.Mechanism(equal, inputs=labels(("a", "b"))), joint))
    assert ledger.total("d", "a").lift == pytest.approx(2)


def test_a_release_of_a_correlated_column_counts_for_a_budget(ledger):
    """Before, a column that no release joined with another was not counted for it: b may be a copy of a."""
    ledger.set_budget("d", "a", lift=Fraction(19, 10))
    prior = lw.Prior.uniform(VALUES["b"])
    with pytest.raises(lw.Infeasible, match="which the budget of 'a' counts, too"):
        ledger.reserve("d", "b", lw.certify(lw.Mechanism([[1, 0], [0, 1]], inputs=VALUES["b"]), prior))
    assert ledger.total("d", "a").epsilon == 0


def test_without_a_joint_prior_the_limits_for_every_prior_add_up(ledger):
    for name in ("a", "b"):
        m = lw.randomized_response(VALUES[name], lift=3)
        ledger.confirm(ledger.reserve("d", name, lw.certify(m, lw.Prior.uniform(VALUES[name]))))
    total = ledger.total("d", ("a", "b"))
    assert not total.exact
    assert total.epsilon == pytest.approx(math.log(1.5) + math.log(3))  # one exact, the other for every prior
    zeros = lw.Mechanism([[1, 0], [0.5, 0.5]], inputs=VALUES["b"])
    ledger.confirm(ledger.reserve("d", "b", lw.certify(zeros, lw.Prior.uniform(VALUES["b"]))))
    zeros = lw.Mechanism([[1, 0], [0.5, 0.5]], inputs=VALUES["a"])
    ledger.confirm(ledger.reserve("d", "a", lw.certify(zeros, lw.Prior.uniform(VALUES["a"]))))
    assert math.isinf(ledger.total("d", ("a", "b")).epsilon)
    ledger.set_budget("d", ("a", "b"), lift=1000)
    response = lw.certify(lw.randomized_response(VALUES["a"], lift=1.01), lw.Prior.uniform(VALUES["a"]))
    with pytest.raises(lw.Infeasible, match="prior of all their columns together is needed"):
        ledger.reserve("d", "a", response)


def test_a_joint_prior_gives_the_exact_total_over_the_union(ledger):
    """In either order of the columns, with zeros that no limit for every prior could speak of."""
    joint = random_joint(np.random.default_rng(4), ("a", "b"))
    zeros = lw.Mechanism([[1, 0], ["1/2", "1/2"]], inputs=VALUES["a"], outputs=["x", "y"])
    pair = lw.Mechanism(
        [["1/2", "1/2"], ["1/4", "3/4"], [1, 0], ["1/3", "2/3"]],
        inputs=[(b, a) for a, b in letters(("a", "b"))],
        outputs=["x", "y"],
    )
    of_a = lw.Prior({"no": joint["no", "f"] + joint["no", "m"], "yes": joint["yes", "f"] + joint["yes", "m"]})
    ledger.confirm(ledger.reserve("d", "a", lw.certify(zeros, of_a)))
    certificate = lw.certify(pair, lw.Prior({(b, a): mass for (a, b), mass in joint.items()}))
    ledger.confirm(ledger.reserve("d", ("b", "a"), certificate))
    releases = [(("a",), lw.certify(zeros, of_a)), (("b", "a"), certificate)]
    truth = true_lift(joint, releases, ("a", "b"), ("a", "b"))
    total = ledger.total("d", ("a", "b"))
    assert total.exact
    assert total.epsilon == pytest.approx(math.log(truth))
    assert total.epsilon >= math.log(truth) * (1 - 1e-15)
    assert math.log(true_lift(joint, releases, ("a",), ("a", "b"))) <= ledger.total("d", "a").epsilon <= total.epsilon


def test_somebody_with_another_prior_of_a_part_is_counted(ledger):
    """a was entered as rare; a joint prior that calls it common does not make the total smaller."""
    rare = lw.Prior({"no": 0.99, "yes": 0.01})
    m = lw.randomized_response(VALUES["a"], lift=3)
    ledger.confirm(ledger.reserve("d", "a", lw.certify(m, rare)))
    joint = lw.Prior.uniform(labels(("a", "b")))
    ledger.confirm(ledger.reserve("d", ("a", "b"), lw.certify(lw.randomized_response(joint.labels, lift=2), joint)))
    alone = lw.epsilon(m, rare)
    assert ledger.total("d", "a").epsilon > alone > lw.epsilon(m, lw.Prior.uniform(VALUES["a"]))


@pytest.mark.parametrize("seed", range(12))
def test_no_total_is_below_the_truth(seed, tmp_path):
    """Random overlapping releases, every secret, against all joint outcomes in fractions."""
    generator = np.random.default_rng(seed)
    joint = random_joint(generator)
    subsets = [tuple(generator.permutation(one)) for k in (1, 2, 3) for one in itertools.combinations("abc", k)]
    ledger = lw.Ledger(tmp_path / "l.db")
    releases = []
    for _ in range(int(generator.integers(2, 5))):
        columns = tuple(map(str, subsets[generator.integers(len(subsets))]))
        releases.append((columns, random_release(generator, joint, columns, zeros=bool(generator.integers(2)))))
        ledger.confirm(ledger.reserve("d", *releases[-1]))
    for secret in subsets:
        total = ledger.total("d", tuple(map(str, secret)))
        assert total.releases == len(releases)
        truth = math.log(true_lift(joint, releases, tuple(map(str, secret))))
        assert total.epsilon >= truth * (1 - 1e-12)
        assert not total.exact or total.epsilon == pytest.approx(truth)


def test_a_ledger_of_version_1_is_read_and_its_budgets_are_kept(ledger):
    """Its joint entries do not say the order of their columns: they count with their limits for every prior."""
    pairs = lw.Prior.uniform(labels(("a", "b")))
    for m in (lw.randomized_response(pairs.labels, lift=2), lw.randomized_response(pairs.labels, lift=3)):
        ledger.confirm(ledger.reserve("d", ("a", "b"), lw.certify(m, pairs)))
    response = lw.randomized_response(VALUES["c"], lift=2)
    ledger.confirm(ledger.reserve("d", "c", lw.certify(response, lw.Prior.uniform(VALUES["c"]))))
    exact = ledger.total("d", ("a", "b"))
    with sqlite3.connect(ledger.path) as db:
        db.execute("ALTER TABLE releases DROP COLUMN columns")
        db.execute("PRAGMA user_version = 1")
    db.close()
    old = lw.Ledger(ledger.path)
    assert [one.columns for one in old.entries()] == [None, None, ("c",)]
    total = old.total("d", ("a", "b"))
    assert exact.epsilon <= total.epsilon <= math.log(12) + 1e-9
    old.set_budget("d", "a", lift=3)
    with pytest.raises(lw.Infeasible):
        old.reserve("d", ("a", "b"), lw.certify(lw.randomized_response(pairs.labels, lift=2), pairs))
    assert lw.Ledger(ledger.path).total("d", "a").budget is not None
