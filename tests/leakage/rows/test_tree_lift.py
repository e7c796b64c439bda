"""The largest lift of a row whose columns form a tree: proven bounds on both sides, against the exact maximum."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import leakwise as lw
from leakwise.leakage.rows.tree_lift import tree_lift
from leakwise.leakage.rows.tree_sets import below_all, possible, products
from leakwise.measures import TreePrior, row_lift

ADULT = json.loads(Path(__file__).with_name("adult_tree.json").read_text(encoding="utf-8"))


def random_tree(rng, sizes, zeros=0.0):
    """A tree whose columns are by a random column before them."""
    priors = {"x0": lw.Prior([int(one) for one in rng.integers(1, 50, size=sizes[0])])}
    for place in range(1, len(sizes)):
        parent = int(rng.integers(place))
        rows = {}
        for value in range(sizes[parent]):
            row = rng.integers(1, 50, size=sizes[place]) * (rng.random(sizes[place]) >= zeros)
            row[rng.integers(sizes[place])] += 1
            rows[value] = lw.Prior([int(one) for one in row])
        priors[f"x{place}"] = lw.PriorByStratum(rows, {f"x{parent}": list(range(sizes[parent]))})
    return TreePrior(priors)


def random_mechanism(rng, inputs, outcomes, zeros=0.0):
    table = rng.integers(1, 50, size=(inputs, outcomes)) * (rng.random((inputs, outcomes)) >= zeros)
    table[:, 0] += table.sum(axis=1) == 0
    return lw.Mechanism([[Fraction(int(one), int(row.sum())) for one in row] for row in table])


def written_out(tree):
    """The joint prior of a tree over all combinations."""
    names = list(tree.priors)
    joint = {}
    for row in itertools.product(*(tree.labels(name) for name in names)):
        mass = Fraction(1)
        for name, value in zip(names, row, strict=True):
            one, parent = tree.priors[name], tree.parents[name]
            law = one if parent is None else one[row[names.index(parent)]]
            mass *= law.fractions[value]
        joint[row] = mass
    return lw.Prior(joint)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(8))
def test_the_bounds_contain_the_exact_maximum_and_are_close(seed, zeros):
    rng = np.random.default_rng(seed)
    sizes = [int(one) for one in rng.integers(2, 5, size=4)]
    tree = random_tree(rng, sizes, zeros)
    mechanisms = {f"x{place}": random_mechanism(rng, size, 4, zeros / 2) for place, size in enumerate(sizes)}
    exact = row_lift(written_out(tree), mechanisms, pairs=False).row.upper
    found = row_lift(tree, mechanisms)
    assert found.row.lower <= exact * (1 + Fraction(1, 10**12))
    assert exact <= found.row.upper <= Fraction("1.006") * found.row.lower
    assert found.product is None or found.product >= exact


def test_a_bound_of_few_vectors_is_still_one(monkeypatch):
    """With next to nothing kept the bound is loose, and on the safe side."""
    monkeypatch.setattr("leakwise.leakage.rows.tree_lift._FIRST", 2)
    monkeypatch.setattr("leakwise.leakage.rows.tree_lift._LAST", 2)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, [3, 4, 3, 2], 0.3)
        mechanisms = {f"x{place}": random_mechanism(rng, size, 5) for place, size in enumerate([3, 4, 3, 2])}
        exact = row_lift(written_out(tree), mechanisms, pairs=False).row.upper
        found, _ = tree_lift(tree, mechanisms)
        assert found.lower <= exact * (1 + Fraction(1, 10**12))
        assert exact <= found.upper


def test_a_chain_of_copies_multiplies():
    """Columns that say the same: the row has two values, and the lift that of all outcomes together."""
    half = lw.Prior([1, 1])
    same = {0: lw.Prior([1, 0]), 1: lw.Prior([0, 1])}
    links = {f"x{place}": lw.PriorByStratum(same, {f"x{place - 1}": [0, 1]}) for place in range(1, 6)}
    m = lw.randomized_response(2, lift=3)
    found = row_lift(TreePrior({"x0": half, **links}), {f"x{place}": m for place in range(6)})
    exact = math.exp(lw.epsilon(m.repeat(6), half))
    assert float(found.row.lower) == pytest.approx(exact, rel=1e-9)
    assert float(found.row.upper) == pytest.approx(exact, rel=1e-9)


def test_ten_adult_columns_have_a_certified_total():
    priors, mechanisms = {}, {}
    for one in ADULT:
        if one["by"] is None:
            priors[one["column"]] = lw.Prior(dict(zip(one["values"], one["counts"], strict=True)))
            shares = np.array(one["counts"], dtype=float)
        else:
            above = next(other["values"] for other in ADULT if other["column"] == one["by"])
            # Half a row more for each pair of values: none is impossible.
            rows = {
                value: lw.Prior.from_integers(one["values"], [2 * count + 1 for count in row])
                for value, row in zip(above, one["counts"], strict=True)
            }
            priors[one["column"]] = lw.PriorByStratum(rows, {one["by"]: above})
            shares = np.array(one["counts"], dtype=float).sum(axis=0)
        known = lw.Prior.from_integers(one["values"], [int(share) for share in shares])
        mechanisms[one["column"]] = lw.randomized_response(one["values"], pml=math.log(2), prior=known)
    tree = TreePrior(priors)
    assert math.prod(len(tree.labels(name)) for name in tree.priors) > 10**8
    found = row_lift(tree, mechanisms, seconds=10)
    assert len(found.row.outcomes) == 10
    assert 2 < found.row.lower <= found.row.upper <= Fraction("1.006") * found.row.lower
    assert found.product > found.row.upper
    assert found.lift == found.row.upper
    assert "no guess about the row becomes more than" in str(found)


def test_fewer_vectors_lie_below_all():
    rng = np.random.default_rng(1)
    vectors = rng.random((300, 4))
    few = below_all(vectors, 10, np.ones(4))
    assert len(few) <= 10
    assert all((few <= one + 1e-15).all(axis=1).any() for one in vectors)
    assert below_all(vectors, 400, np.ones(4)).min(axis=0) == pytest.approx(vectors.min(axis=0))
    assert products(vectors[:3], few[:2]).shape == (6, 4)
    assert possible(vectors, few, 1e9).all()
    assert not possible(vectors, few, 0.0).any()


def test_the_best_tree_follows_the_columns_that_tell_most():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 5000)
    b = np.where(rng.random(5000) < 0.9, a, rng.integers(0, 3, 5000))
    c = np.where(rng.random(5000) < 0.9, b, rng.integers(0, 3, 5000))
    tree = TreePrior.from_data({"a": a, "c": c, "b": b}, ["a", "c", "b"])
    assert tree.parents == {"a": None, "b": "a", "c": "b"}
    assert tree.matrix("b").sum(axis=1) == pytest.approx(np.ones(3))
    assert "each by one other" in str(tree)
    assert tree.to_dict()["b"]["by"] == "a"
    plain = TreePrior.from_data({"a": [0, 1], "b": [0, 1]}, ["a", "b"], extra=False, domain={"a": [0, 1, 2]})
    assert plain.matrix("b").tolist() == [[1, 0], [0, 1], [0.5, 0.5]]


def test_trees_that_are_none_are_refused():
    half = lw.Prior([1, 1])
    by = lw.PriorByStratum({0: half, 1: half}, {"x": [0, 1]})
    with pytest.raises(lw.InvalidInput, match="at least one column"):
        TreePrior({})
    with pytest.raises(lw.InvalidInput, match=r"must be a lw\.Prior"):
        TreePrior({"y": by})
    with pytest.raises(lw.InvalidInput, match="by one of the columns before it, 'z'"):
        TreePrior({"z": half, "y": by})
    with pytest.raises(lw.InvalidInput, match="has none where 'x' is 1"):
        TreePrior({"x": half, "y": lw.PriorByStratum({0: half}, {"x": [0, 1]})})
    with pytest.raises(lw.InvalidInput, match="must be one prior, not a set"):
        TreePrior({"x": half, "y": lw.PriorByStratum({0: half.ball(0.1), 1: half}, {"x": [0, 1]})})
    with pytest.raises(lw.InvalidInput, match="different columns"):
        TreePrior.from_data({"a": [1]}, ["a", "a"])
    with pytest.raises(lw.InvalidInput, match="same number of rows"):
        TreePrior.from_data({"a": [1], "b": [1, 2]}, ["a", "b"])
    tree, m = TreePrior({"x": half, "y": by}), lw.randomized_response(2, lift=2)
    with pytest.raises(lw.InvalidInput, match="one mechanism for each column"):
        row_lift(tree, {"x": m})
    with pytest.raises(lw.InvalidInput, match="none depends on others"):
        row_lift(tree, {"x": m, "y": lw.StratifiedMechanism({0: m, 1: m}, {"x": [0, 1]})})
