"""Designs with the frequencies kept: the numbers of Adult, the exact integers, the proof, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw
from leakwise.data import adult_table
from leakwise.optimize.search import kept_frequencies as transport


@pytest.fixture(scope="module")
def adult():
    return lw.Prior.from_counts(Counter(adult_table()["marital_status"]))


def agreement(prior, **limits):
    return lw.design(prior, utility=lw.Expected(np.eye(len(prior))), **limits)


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"lift": 2}, 0.680),
        ({"lift": 2, "anyone": 20}, 0.677),
        ({"lift": 3}, 0.773),
        ({"lift": 5}, 0.888),
        ({"lift": 1}, 0.340),
    ],
)
def test_the_share_of_adult_rows_that_keep_their_value(adult, limits, share):
    design = agreement(adult, keep_frequencies=True, **limits)
    assert round(design.value, 3) == share
    assert design.gap < 1e-9
    design.certificate.verify()


def test_without_the_constraint_more_rows_keep_their_value(adult):
    assert round(agreement(adult, lift=2).value, 3) == 0.788


@pytest.mark.parametrize("lift", [2, 3, 5])
def test_the_frequencies_are_kept_exactly_on_the_integers(adult, lift):
    mechanism = agreement(adult, lift=lift, keep_frequencies=True).mechanism
    law = mechanism.kernel.output_law(adult.weights)
    assert [Fraction(int(mass), mechanism.denominator) for mass in law] == [int(w) for w in adult.weights]


@pytest.mark.parametrize("masses", [[0.3, 0.7], [0.1, 0.2, 0.7], [1e-9, 0.4, 0.6], np.full(40, 1 / 40)])
def test_frequencies_are_kept_within_the_units_whatever_the_prior(masses):
    prior = lw.Prior(np.asarray(masses) / np.sum(masses))
    design = lw.design(prior, lift=1.5, utility="guessing", keep_frequencies=True)
    law = design.mechanism.kernel.output_law(prior.weights)
    misses = [abs(Fraction(int(m), 2**60 * prior.denominator) - f) for m, f in zip(law, prior.fractions, strict=True)]
    assert max(misses) <= Fraction(1, 1 << 50)
    assert ("within" in design.constraint) == (max(misses) > 0)


def optimum(prior, lift, gains):
    """The same by SciPy: max Σ π_i u_ij p_ij with rows that sum to one, πP = π, and p_ij ≤ lift·π_j."""
    p, size = prior.probabilities, len(prior)
    rows, columns = np.kron(np.eye(size), np.ones(size)), np.kron(p, np.eye(size))
    return -linprog(
        -(p[:, None] * gains).ravel(),
        A_eq=np.vstack([rows, columns[1:]]),
        b_eq=np.concatenate([np.ones(size), p[1:]]),
        bounds=[(0, min(1.0, lift * mass)) for mass in np.tile(p, size)],
    ).fun


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("decimal", [True, False])
def test_keeping_the_frequencies_exactly_gives_up_no_utility(size, decimal):
    random = np.random.default_rng(size)
    distance = -np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    for lift in (1.2, 1.5, 2.0, 3.0, *random.uniform(1, 6, 8)):
        masses = random.dirichlet(np.ones(size))
        if decimal:
            masses = (1 + random.multinomial(100 - size, masses)) / 100
        prior = lw.Prior(masses)
        for gains in (np.eye(size), distance):
            design = lw.design(prior, lift=lift, utility=lw.Expected(gains), keep_frequencies=True)
            best = optimum(prior, lift, gains)
            assert design.value >= best - 1e-11 * abs(best) - 1e-13
            assert design.bound >= best - 1e-13
            assert best - design.value - 1e-13 <= design.gap < 1e-11
            shift = lw.measures.frequency_shift(design.mechanism, prior)
            assert shift <= 2.0**-50
            assert ("within" in design.constraint) == (shift > 0)
            design.certificate.verify()


def test_two_values_of_two_decimals_reach_what_can_be_found_by_hand():
    """P(no→no) = 1 - 0.3·0.4/0.7 and P(yes→yes) = 2·0.3, so 0.7 - 0.12 + 0.18 = 0.76 of the rows keep their value."""
    design = lw.design({"no": 0.7, "yes": 0.3}, lift=2, utility="guessing", keep_frequencies=True)
    assert design.value == pytest.approx(0.76, rel=2e-12)
    assert design.gap < 2e-12
    assert "frequencies kept within" in design.constraint


def test_a_step_below_the_tolerance_of_the_solver_costs_no_utility():
    """A degenerate optimum: further in by 2^-40, the solver leaves a lift of 7e-12 at zero, and its integers miss."""
    prior = lw.Prior([0.25, 0.32, 0.18, 0.22, 0.03])
    assert lw.design(prior, lift=3, utility="guessing", keep_frequencies=True).gap < 1e-11


def test_a_forged_claim_is_rejected(adult):
    certificate = agreement(adult, lift=2, keep_frequencies=True).certificate
    claim = certificate.optimality
    free = agreement(adult, lift=2).certificate
    for forged in (
        replace(certificate, optimality=replace(claim, bound=claim.bound - 1e-6)),
        replace(certificate, optimality=replace(claim, value=claim.value + 1e-6)),
        # The better mechanism without the constraint is not among those that keep the frequencies.
        replace(free, optimality=replace(claim, value=0.7, bound=0.8)),
        # The bound with the constraint is below what is possible without it.
        replace(certificate, optimality=replace(claim, kept=None)),
        replace(certificate, optimality=replace(claim, kept=Fraction(-1))),
        replace(certificate, optimality=replace(claim, guesses=claim.guesses[::-1])),
    ):
        with pytest.raises(lw.LeakwiseError):
            forged.verify()


def test_the_certificate_is_stored_and_read(adult, tmp_path):
    certificate = agreement(adult, lift=2, keep_frequencies=True).certificate
    certificate.save(tmp_path / "proof.json")
    assert json.loads((tmp_path / "proof.json").read_text())["version"] == 2
    read = lw.verify(tmp_path / "proof.json")
    assert read.optimality.kept == 0
    assert "outcomes as frequent as the values" in read.optimality.words


@pytest.mark.parametrize("utility", ["frequencies", "mutual_information", lw.FInformation(lambda x: (x - 1) ** 4)])
def test_utilities_that_do_not_say_what_an_outcome_is_are_refused(utility):
    with pytest.raises(lw.InvalidInput, match="keep_frequencies does not go with utility="):
        lw.design([0.5, 0.5], lift=1.5, utility=utility, keep_frequencies=True)


def test_what_else_is_refused():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    ask = {"lift": 2, "utility": "guessing", "keep_frequencies": True}
    for words, more in {
        "forbidden names 'z'": {"forbidden": [("a", "z")]},
        "pairs": {"forbidden": ["ab"]},
        "does not go with anyone=": {"forbidden": [("a", "b")], "anyone": 20},
        "keep_at_least must be": {"keep_at_least": 1.5},
        "keep_at_least names": {"keep_at_least": {"z": 0.5}},
        "square": {"utility": lw.Expected(np.ones((3, 2)))},
        "no outcome 'c'": {"utility": lw.Expected(np.eye(3), outputs=["a", "b", "x"])},
        "enumeration": {"method": "enumeration"},
        "must be True or False": {"keep_frequencies": "no"},
        "WorstCase": {"utility": lw.WorstCase(np.eye(3))},
        "go with keep_frequencies": {"keep_frequencies": False, "keep_at_least": 0.1},
    }.items():
        with pytest.raises(lw.InvalidInput, match=words):
            lw.design(prior, **{**ask, **more})


def test_a_share_beyond_the_limits_says_how_much_can_be_kept():
    prior = lw.Prior({"a": 0.9, "b": 0.1})
    with pytest.raises(lw.Infeasible, match=r"'b' with probability 0.3.*at most 0.2") as error:
        lw.design(prior, lift=2, utility="guessing", keep_frequencies=True, keep_at_least={"b": 0.3})
    assert error.value.witness[0] == "b"
    with pytest.raises(lw.Infeasible, match="leave no room"):
        lw.design(
            prior, lift=2, utility="guessing", keep_frequencies=True, forbidden=[("a", "a")], keep_at_least={"b": 0.1}
        )


def test_an_outcome_is_worth_what_it_says_not_the_best_guess_after_it():
    """A rare outcome at lift 2 still makes the common value the best guess: that is not agreement."""
    prior = lw.Prior({"common": 0.9, "rare": 0.1})
    design = lw.design(prior, lift=1.2, utility="guessing", keep_frequencies=True)
    share = float((prior.probabilities * np.diag(design.mechanism.matrix)).sum())
    assert design.value == pytest.approx(share, abs=1e-12)
    assert design.value < 0.9


def test_labels_in_another_order_are_matched():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    swapped = lw.Expected(np.eye(3)[:, [2, 0, 1]], outputs=["c", "a", "b"])
    ask = {"lift": 1.5, "keep_frequencies": True}
    assert lw.design(prior, utility=swapped, **ask).value == lw.design(prior, utility="guessing", **ask).value


def test_values_of_probability_zero_never_come_out():
    prior = lw.Prior({"a": 0.5, "b": 0.5, "never": 0})
    design = lw.design(prior, lift=1.5, utility="guessing", keep_frequencies=True)
    assert design.mechanism.outputs == ("a", "b")
    assert design.value == pytest.approx(0.75)
    design.certificate.verify()
    with pytest.raises(lw.InvalidInput, match="probability zero"):
        lw.design(prior, lift=1.5, utility="guessing", keep_frequencies=True, forbidden=[("never", "a")])


@pytest.mark.parametrize("around", [lw.AllPriors, lambda p: p.ball(0.02), lambda p: p.confidence(1e-6, "layer-cake")])
@pytest.mark.filterwarnings("ignore::leakwise.LeakwiseWarning")
def test_a_set_of_priors_keeps_the_frequencies_of_the_nominal_one(adult, around):
    priors = around(adult)
    design = agreement(priors, lift=2, keep_frequencies=True)
    law = design.mechanism.kernel.output_law(adult.weights)
    most = max(abs(int(mass) - int(w) * 2**60) for mass, w in zip(law, adult.weights, strict=True))
    assert Fraction(most, adult.denominator << 60) <= Fraction(1, 1 << 50)
    assert lw.certify(design.mechanism, priors, lift=2).holds
    assert 0.4 < design.value <= design.bound


def test_the_time_limit_leaves_an_independent_draw():
    prior = lw.Prior(np.arange(1, 120))
    with pytest.warns(lw.LeakwiseWarning):
        design = lw.design(prior, lift=2, utility="guessing", keep_frequencies=True, time_limit=1e-9)
    assert design.value <= design.bound
    assert lw.certify(design.mechanism, prior, lift=2).holds


def test_integers_at_hand_are_kept_when_a_later_program_runs_out_of_time(monkeypatch):
    """These frequencies are kept nearly at the first step already; exact ones are looked for after it."""
    solve = transport.search_transport

    def late(cone, gains, masks, margin, limits):
        if margin > 2.0**-40:
            raise lw.NotConverged("out of time", lower=0.0, upper=1.0)
        return solve(cone, gains, masks, margin, limits)

    monkeypatch.setattr(transport, "search_transport", late)
    design = lw.design([0.7, 0.3], lift=2, utility="guessing", keep_frequencies=True)
    assert design.gap < 2e-12


@pytest.mark.parametrize("around", [lw.AllPriors, lambda p: p.ball(0.02), lambda p: p.confidence(1e-6, "layer-cake")])
@pytest.mark.filterwarnings("ignore::leakwise.LeakwiseWarning")
def test_a_set_of_priors_with_a_limit_for_anyone(adult, around):
    priors = around(adult)
    design = agreement(priors, lift=2, anyone=20, keep_frequencies=True)
    assert lw.certify(design.mechanism, priors, lift=2, anyone=20).holds
    assert lw.measures.frequency_shift(design.mechanism, adult) <= 2.0**-50
    assert 0.4 < design.value <= design.bound


def test_limits_of_single_values_are_kept_as_well(adult):
    design = agreement(adult, lift=3, keep_frequencies=True, lift_of={"Widowed": 1.5}, ceiling={"Divorced": 0.2})
    lifts = design.mechanism.matrix / adult.probabilities
    widowed, divorced = adult.labels.index("Widowed"), adult.labels.index("Divorced")
    assert lifts[widowed].max() <= 1.5 + 1e-9
    assert adult.probabilities[divorced] * lifts[divorced].max() <= 0.2 + 1e-9
    assert design.gap < 1e-6
    assert design.certificate.verify().holds


def reference(p, lift, gains, zeros, shares, tops, floors, sets):
    """max Σ F_ij g_ij as one dense program of scipy's, with every limit written out: nothing of ours is in it."""
    size = len(p)
    rows, most, equal, right = [], [], [], []
    for i in range(size):
        equal += [np.kron(np.eye(size)[i], np.ones(size)), np.kron(np.ones(size), np.eye(size)[i])]
        right += [p[i], p[i]]
    for inside, share in sets:
        for j in range(size):
            rows.append(np.kron(np.isin(np.arange(size), inside), np.eye(size)[j]))
            most.append(share * p[j])
    bounds = [
        (
            max(floors[i] * p[i] * p[j], shares[i] * p[i] if i == j else 0.0),
            0.0 if zeros[i, j] else min(lift, tops[i]) * p[i] * p[j],
        )
        for i in range(size)
        for j in range(size)
    ]
    return linprog(
        -gains.ravel(), np.array(rows) if rows else None, most or None, np.array(equal), right, bounds, method="highs"
    )


@pytest.mark.parametrize("seed", range(12))
def test_masks_and_limits_of_values_together_are_the_optimum_of_an_independent_program(seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(3, 7))
    weights = random.integers(1, 20, size)
    p, labels = weights / weights.sum(), [f"v{i}" for i in range(size)]
    prior = lw.Prior(dict(zip(labels, weights.tolist(), strict=True)))
    p, gains, lift = prior.probabilities, random.random((size, size)), float(random.uniform(1.5, 4))
    zeros = np.zeros((size, size), dtype=bool)
    zeros[0, 1] = zeros[1, 0] = True
    tops, floors, shares = np.full(size, np.inf), np.zeros(size), np.zeros(size)
    tops[2], floors[2], shares[1] = 1.4, 0.3, 0.6 * min(1.0, lift * p[1])
    sets = [((0, 2), float(min(0.999, 1.3 * (p[0] + p[2]))))]
    expected = reference(p, lift, gains, zeros, shares, tops, floors, sets)
    ask = {
        "lift": lift,
        "utility": lw.Expected(gains, outputs=labels),
        "keep_frequencies": True,
        "forbidden": [("v0", "v1"), ("v1", "v0")],
        "keep_at_least": {"v1": shares[1]},
        "lift_of": {"v2": 1.4},
        "floor": {"v2": 0.3},
        "ceiling": {("v0", "v2"): sets[0][1]},
    }
    if expected.status == 2:
        with pytest.raises(lw.Infeasible):
            lw.design(prior, **ask)
        return
    d = lw.design(prior, **ask)
    assert d.value == pytest.approx(-expected.fun, abs=1e-8)
    assert d.value <= d.bound <= d.value + 1e-6
    m = d.mechanism
    assert d.certificate.verify().holds
    assert not m.matrix[0, m.outputs.index("v1")]
    assert not m.matrix[1, m.outputs.index("v0")]
    assert m.matrix[1, m.outputs.index("v1")] >= shares[1] - 1e-15
    assert lw.measures.frequency_shift(m, prior) <= 2.0**-50


def test_a_floor_and_a_forbidden_pair_of_one_value_exclude_each_other():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    ask = {"lift": 2, "utility": "guessing", "keep_frequencies": True, "floor": {"a": 0.5}}
    with pytest.raises(lw.Infeasible, match=r"forbidden \('a', 'b'\) and floor=\{'a': 0.5\} exclude each other"):
        lw.design(prior, **ask, forbidden=[("a", "b")])
    assert lw.design(prior, **ask, forbidden=[("c", "b")]).certificate.verify().holds


@pytest.mark.parametrize("around", [lambda p: p.ball(0.02), lambda p: p.confidence(1e-6, "layer-cake")])
@pytest.mark.filterwarnings("ignore::leakwise.LeakwiseWarning")
def test_a_set_of_priors_with_masks_and_limits_of_values(adult, around):
    priors = around(adult)
    pair, limits = ("Widowed", "Never-married"), {"lift_of": {"Divorced": 1.5}, "ceiling": {"Separated": 0.06}}
    design = agreement(priors, lift=2, keep_frequencies=True, forbidden=[pair], **limits)
    assert lw.certify(design.mechanism, priors, lift=2, **limits).holds
    assert design.mechanism.matrix[adult.labels.index(pair[0]), design.mechanism.outputs.index(pair[1])] == 0
    assert 0.4 < design.value <= design.bound
