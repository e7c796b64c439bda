"""The largest lift of a row against brute force over every row and outcome, and never above the product."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.leakage.rows.row_lift import row_lift

NAMES = ["a", "b", "c", "d"]


def joint_prior(weights):
    """A prior over tuples from an array of whole numbers."""
    return lw.Prior({tuple(map(int, place)): int(weights[place]) for place in np.ndindex(weights.shape)})


def random_law(rng, shape, zeros=0.3):
    weights = rng.integers(1, 1000, size=shape) * (rng.random(shape) >= zeros)
    weights.flat[rng.integers(weights.size)] += 1
    return weights


def random_mechanism(rng, inputs, outcomes, zeros=0.2):
    table = rng.integers(1, 200, size=(inputs, outcomes)) * (rng.random((inputs, outcomes)) >= zeros)
    table[:, 0] += table.sum(axis=1) == 0
    rows = [[Fraction(int(one), int(row.sum())) for one in row] for row in table]
    return lw.Mechanism(rows)


def by_outcomes(rng, place, inputs, outcomes, earlier):
    """A mechanism of its own for every combination of earlier outcomes."""
    names = {f"{NAMES[at]} released": list(range(m)) for at, m in enumerate(earlier)}
    keys = list(itertools.product(*map(range, earlier)))
    mechanisms = {key if place > 1 else key[0]: random_mechanism(rng, inputs, outcomes) for key in keys}
    return lw.StratifiedMechanism(mechanisms, names)


def likelihood(mechanisms, rows, outcomes, exact=False):
    """P(y | s) for one joint outcome and all rows."""
    parts = []
    for place, one in enumerate(mechanisms):
        if isinstance(one, lw.StratifiedMechanism):
            one = one[outcomes[:place] if place > 1 else outcomes[0]]
        column = [Fraction(int(w), one.denominator) for w in one.weights[:, outcomes[place]]]
        parts.append(np.array(column if exact else [float(c) for c in column], dtype=object if exact else float))
    grid = parts[0]
    for part in parts[1:]:
        grid = np.multiply.outer(grid, part)
    return grid


def brute(weights, mechanisms, sizes, groups, exact=False):
    """The largest lifts by going through everything."""
    law = weights.astype(object) if exact else weights / weights.sum()
    if exact:
        total = int(weights.sum())
        law = np.array([Fraction(int(one), total) for one in weights.flat], dtype=object).reshape(weights.shape)
    largest = dict.fromkeys([(), *groups], 0)
    for outcomes in itertools.product(*map(range, sizes)):
        likely = likelihood(mechanisms, weights, outcomes, exact)
        beside = law * likely
        whole = beside.sum()
        if not whole:
            continue
        largest[()] = max(largest[()], likely[weights > 0].max() / whole)
        for group in groups:
            others = tuple(place for place in range(weights.ndim) if place not in group)
            mass, known = law.sum(axis=others), beside.sum(axis=others)
            largest[group] = max(largest[group], (known[mass > 0] / mass[mass > 0]).max() / whole)
    return largest


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_small_rows_agree_with_brute_force_exactly(seed, adaptive):
    rng = np.random.default_rng(seed)
    shape, sizes = (2, 3, 2), (3, 2, 3)
    weights = random_law(rng, shape)
    mechanisms = [
        by_outcomes(rng, place, n, m, sizes[:place]) if adaptive and place else random_mechanism(rng, n, m)
        for place, (n, m) in enumerate(zip(shape, sizes, strict=True))
    ]
    groups = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    expected = brute(weights, mechanisms, sizes, groups, exact=True)
    found = row_lift(joint_prior(weights), dict(zip(NAMES, mechanisms, strict=False)))
    assert found.row.exact
    assert found.row.upper == expected[()]
    assert [found.secrets[NAMES[place]].upper for place in range(3)] == [expected[place,] for place in range(3)]
    pairs = {(NAMES[one], NAMES[two]): expected[one, two] for one, two in groups[3:]}
    assert {key: one.upper for key, one in found.pairs.items()} == pairs
    assert found.row.upper <= found.product
    assert found.lift == found.row.upper


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [((10, 10, 10), (10, 10, 10)), ((4, 5, 3, 5), (6, 5, 7, 5)), ((40, 30), (30, 25)), ((200,), (200,))],
)
def test_up_to_a_million_cells_agree_with_brute_force_to_twelve_digits(shape, sizes):
    rng = np.random.default_rng(len(shape))
    weights = random_law(rng, shape)
    mechanisms = [random_mechanism(rng, n, m) for n, m in zip(shape, sizes, strict=True)]
    names = NAMES[: len(shape)]
    expected = brute(weights, mechanisms, sizes, [(0,)])
    found = row_lift(
        joint_prior(weights) if len(shape) > 1 else lw.Prior(weights.tolist()),
        dict(zip(names, mechanisms, strict=True)),
    )
    assert float(found.row.upper) == pytest.approx(expected[()], rel=1e-12)
    assert float(found.row.lower) == pytest.approx(expected[()], rel=1e-12)
    assert float(found.secrets["a"].upper) == pytest.approx(expected[0,] if len(shape) > 1 else expected[()], rel=1e-12)
    assert found.row.lower <= found.row.upper <= found.product


def test_a_guess_about_a_secret_or_a_pair_is_one_about_the_row():
    rng = np.random.default_rng(5)
    for _ in range(20):
        shape, sizes = (3, 2, 3), (2, 3, 2)
        mechanisms = {name: random_mechanism(rng, n, m) for name, n, m in zip(NAMES, shape, sizes, strict=False)}
        found = row_lift(joint_prior(random_law(rng, shape, 0.5)), mechanisms)
        for (one, two), pair in found.pairs.items():
            assert max(found.secrets[one].upper, found.secrets[two].upper) <= pair.upper <= found.row.upper


def test_strata_with_mechanisms_of_their_own_and_one_for_the_rest():
    rng = np.random.default_rng(7)
    laws = {key: random_law(rng, (2, 3), 0.0) for key in ("f", "m")}
    prior = lw.PriorByStratum({key: joint_prior(one) for key, one in laws.items()}, {"sex": ["f", "m"]})
    first = {key: random_mechanism(rng, 2, 2) for key in laws}
    second = {(key, y): random_mechanism(rng, 3, 2) for key in laws for y in range(2)}
    mechanisms = {
        "a": lw.StratifiedMechanism(first, {"sex": ["f", "m"]}),
        ("b", "c"): lw.StratifiedMechanism(
            {key: one for key, one in second.items() if key != ("m", 1)},
            {"sex": ["f", "m"], "a released": [0, 1]},
            otherwise=second["m", 1],
        ),
    }
    found = row_lift(prior, mechanisms)
    expected = {}
    for key, weights in laws.items():
        own = [first[key], lw.StratifiedMechanism({y: second[key, y] for y in range(2)}, {"a released": [0, 1]})]
        expected[key] = brute(weights, own, (2, 2), [(0,), (1,)], exact=True)
    assert found.row.upper == max(one[()] for one in expected.values())
    assert found.secrets["b", "c"].upper == max(one[1,] for one in expected.values())
    assert found.row.given in [("f",), ("m",)]


def test_tuples_of_columns_may_be_written_out_in_the_prior():
    rng = np.random.default_rng(8)
    m1, m2 = random_mechanism(rng, 2, 2), random_mechanism(rng, 4, 3)
    ages = [("young", "f"), ("young", "m"), ("old", "f"), ("old", "m")]
    m2 = lw.Mechanism.from_kernel(m2.kernel, ages, m2.outputs)
    weights = random_law(rng, (2, 4))
    flat = lw.Prior({(s, *ages[t]): int(weights[s, t]) for s in range(2) for t in range(4)})
    nested = lw.Prior({(s, ages[t]): int(weights[s, t]) for s in range(2) for t in range(4)})
    mechanisms = {"s": m1, ("age", "sex"): m2}
    assert row_lift(flat, mechanisms).row.upper == row_lift(nested, mechanisms).row.upper


def test_what_protect_draws_from_is_what_its_certificate_says():
    """The checker of a release of several secrets has code of its own: both find the same exact lifts."""
    rows = {
        "age": ["young", "old"] * 200 + ["old"] * 200,
        "sex": ["f", "f", "m"] * 200,
        "ill": ["no", "no", "yes", "no", "yes", "yes"] * 100,
    }
    weights = {"young f no": 5, "young m no": 3, "old f yes": 4, "old m yes": 1, "old m no": 1, "young f yes": 2}
    weights |= {"old f no": 2, "young m yes": 1}
    joint = lw.Prior({tuple(key.split()): one for key, one in weights.items()})
    domain = {"age": ["young", "old"], "sex": ["f", "m"], "ill": ["no", "yes"]}
    secrets = {("age", "sex"): 1.5, "ill": 2}
    r = lw.protect(rows, secrets, domain=domain, prior=joint, order="shuffle", unsafe_seed=1)
    found = row_lift(joint, r.mechanism)
    exact = {(0,): found.secrets["age", "sex"].upper, (1,): found.secrets["ill"].upper, (0, 1): found.row.upper}
    assert r.certificate.exact == exact
    assert found.row.upper <= found.product


# ------------------------------------------------------------------------------------------ adversarial rows


def test_a_copy_of_a_secret_multiplies_what_is_known_of_it():
    """Two releases of one value: the lift of the pair is that of the composition, and no rows contradict the copy."""
    m = lw.randomized_response(3, lift=1.5)
    copy = lw.Prior({(0, 0): 1, (1, 1): 1, (2, 2): 1})
    found = row_lift(copy, {"a": m, "copy": m})
    exact = lw.compose(m, m)
    assert found.row.upper == found.secrets["a"].upper == found.secrets["copy"].upper
    assert float(found.row.upper) == pytest.approx(math.exp(lw.epsilon(exact, lw.Prior.uniform(3))), rel=1e-12)


def test_independent_secrets_multiply_exactly():
    a, b = lw.randomized_response(3, lift=2), lw.randomized_response(2, lift=3)
    found = row_lift(joint_prior(np.ones((3, 2), dtype=int)), {"a": a, "b": b})
    assert found.secrets["a"].upper * found.secrets["b"].upper == found.row.upper
    assert float(found.product) == pytest.approx(float(found.row.upper), rel=1e-12)
    assert found.product >= found.row.upper


def test_nearly_impossible_rows_are_not_lost():
    """A row of probability 1e-18 whose outcome nothing else can cause has a lift of 1e18, not of nothing."""
    rare = lw.Prior({(0, 0): 10**18 - 1, (1, 1): 1, (0, 1): 0, (1, 0): 0})
    clear = lw.identity([0, 1])
    found = row_lift(rare, {"a": clear, "b": clear})
    assert found.row.upper == found.row.lower == 10**18
    assert found.product >= 10**18


def test_outcomes_that_contradict_each_other_do_not_occur():
    """After one copy is read in clear the other adds nothing, and no outcome has probability zero in a quotient."""
    clear = lw.identity([0, 1])
    found = row_lift(lw.Prior({(0, 0): 3, (1, 1): 1, (0, 1): 0, (1, 0): 0}), {"a": clear, "b": clear})
    assert found.row.upper == 4
    assert [float(one) for one in found.steps.values()] == pytest.approx([4, 1])


def test_many_ties_are_bounded_from_above_all_the_same():
    m = lw.randomized_response(12, lift=3)
    found = row_lift(joint_prior(np.ones((12, 12), dtype=int)), {"a": m, "b": m}, pairs=False)
    expected = brute(np.ones((12, 12), dtype=int), [m, m], (12, 12), [], exact=False)[()]
    assert found.row.lower <= found.row.upper
    assert float(found.row.upper) == pytest.approx(expected, rel=1e-12)
    assert found.pairs == {}


def test_a_hundred_million_cells_are_computed_by_contractions():
    rng = np.random.default_rng(3)
    shape, sizes = (22, 22, 21), (22, 22, 22)
    mechanisms = {name: random_mechanism(rng, n, m, 0) for name, n, m in zip(NAMES, shape, sizes, strict=False)}
    prior = joint_prior(random_law(rng, shape, 0))
    found = row_lift(prior, mechanisms)
    assert math.prod(shape) * math.prod(sizes) > 1e8
    assert float(found.row.upper - found.row.lower) <= 1e-12 * float(found.row.upper)
    assert len(found.pairs) == 3


# ------------------------------------------------------------------------------------------------ bad input


def test_what_it_does_not_take_is_refused_with_the_way_out():
    m = lw.randomized_response(2, lift=2)
    joint = lw.Prior({(0, 0): 1, (1, 1): 1})
    wrong = lw.StratifiedMechanism({(0, 0): m}, {"x": [0], "y": [0]}, otherwise=m)
    balls = lw.PriorByStratum({"f": joint.ball(0.1)}, {"sex": ["f"]})
    with pytest.raises(lw.InvalidInput, match="a mapping from each secret"):
        row_lift(joint, [m, m])
    with pytest.raises(lw.InvalidInput, match=r"must be a lw\.Mechanism"):
        row_lift(joint, {"a": m, "b": [[1, 0], [0, 1]]})
    with pytest.raises(lw.InvalidInput, match="tuples of 2 values"):
        row_lift(lw.Prior([0.5, 0.5]), {"a": m, "b": m})
    with pytest.raises(lw.InvalidInput, match="has no value 2"):
        row_lift(lw.Prior({(0, 0): 1, (1, 2): 1}), {"a": m, "b": m})
    with pytest.raises(lw.InvalidInput, match="or those of earlier secrets, whose outcomes they are"):
        row_lift(joint, {"a": m, "b": wrong})
    with pytest.raises(lw.InvalidInput, match="no exact maximum"):
        row_lift(balls, {"a": m, "b": m})
    wide = lw.Mechanism([[Fraction(1, 1000)] * 1000] * 2)
    with pytest.raises(lw.InvalidInput, match="multiplications"):
        row_lift(lw.Prior({(0, 0, 0): 1, (1, 1, 1): 1}), {"a": wide, "b": wide, "c": wide})
    many = lw.randomized_response(60, lift=2)
    with pytest.raises(lw.InvalidInput, match="combinations of values"):
        row_lift(lw.Prior({(i, i, i, i): 1 for i in range(60)}), dict.fromkeys("abcd", many))
    tiny = lw.Mechanism([[Fraction(1, 2**600), 1 - Fraction(1, 2**600)], [1, 0]])
    with pytest.raises(lw.InvalidInput, match="so small"):
        row_lift(joint, {"a": tiny, "b": tiny})


def test_it_prints_as_a_table_and_as_plain_data():
    m = lw.randomized_response(2, lift=2)
    found = row_lift(lw.Prior({(0, 0): 2, (1, 1): 1, (0, 1): 1, (1, 0): 1}), {"a": m, ("b", "c"): m})
    assert "no guess about the row becomes more than" in str(found)
    assert "b and c" in str(found)
    assert found.to_dict()["row"]["exact"] is True
