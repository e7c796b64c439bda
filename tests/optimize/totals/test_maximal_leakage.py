"""Designs under a limit on maximal leakage, against rays found from the inequalities and programs of SciPy."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import level
from leakwise.optimize.problem.cones import LDPCone, pml_cone
from leakwise.optimize.totals.cone import LeakageTotal
from leakwise.optimize.totals.search import leakage_columns
from optimize.brute_force import best_of, rays

FOUR = [Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), Fraction(1, 10)]
WORTH = {
    "mutual_information": lambda x: x * np.log(np.where(x > 0, x, 1.0)),
    "chi_square": lambda x: (x - 1) ** 2,
    "total_variation": lambda x: np.abs(x - 1) / 2,
    "hellinger": lambda x: (1 - np.sqrt(x)) ** 2,
}


def maxima(mechanism):
    return sum(Fraction(max(column), mechanism.denominator) for column in mechanism.weights.T.tolist())


def paid_rays(law, lift=None, anyone=None):
    """Rays of {(v, s): v ≤ s, and the other limits}, from the inequalities alone: lifts, and what they pay."""
    size = len(law)
    rows = [[-int(i == k) for i in range(size)] + [1] for k in range(size)]
    if lift is not None:
        rows += [[lift * mass - (i == k) for i, mass in enumerate(law)] + [0] for k in range(size)]
    if anyone is not None:
        pairs = itertools.permutations(range(size), 2)
        rows += [[anyone * (i == low) - (i == high) for i in range(size)] + [0] for high, low in pairs]
    found = [ray for ray in rays(rows, size + 1) if any(ray[:-1])]
    masses = [sum(p * v for p, v in zip(law, ray[:-1], strict=True)) for ray in found]
    return np.array([[float(v / mass) for v in ray] for ray, mass in zip(found, masses, strict=True)]).T


def best_within(columns, worth, total):
    """The optimum over weights of paid columns, what is left of the total being free."""
    rest = np.zeros((len(columns), 1))
    rest[-1] = 1
    scaled = np.concatenate([columns[:-1], columns[-1:] / total])
    return best_of(np.concatenate([scaled, rest], axis=1), np.append(worth, 0.0))


@pytest.mark.parametrize("utility", WORTH)
@pytest.mark.parametrize("limits", [{}, {"lift": 2}, {"anyone": 3}, {"lift": Fraction(8, 5), "anyone": 4}])
def test_no_ray_of_the_paid_columns_does_better(utility, limits):
    law = FOUR if "anyone" not in limits else [Fraction(k, 10) for k in (5, 3, 2)]
    columns, prior = paid_rays(law, **limits), lw.Prior(law)
    p = prior.probabilities
    for leakage in (0.1, 0.25, 0.45):
        best = best_within(columns, p @ WORTH[utility](columns[:-1]), math.exp(leakage))
        d = lw.design(prior, utility=utility, maximal_leakage=leakage, **limits)
        assert d.value == pytest.approx(best, abs=2e-6)
        assert best - 1e-9 <= d.bound <= best + 1e-7
        assert maxima(d.mechanism) <= Fraction(math.exp(leakage) * (1 + 1e-12))
        assert d.certificate.verify().holds


def test_the_extreme_columns_are_indicators_and_the_vertices_of_lifts():
    for lift in (2, 3, Fraction(25, 10)):
        cone = LeakageTotal(pml_cone(lw.Prior(FOUR), Fraction(lift)), Fraction(3, 2))
        expected = paid_rays(FOUR, lift=lift)
        found = leakage_columns(cone)
        found[-1] *= 1.5
        assert {tuple(c) for c in found.T.round(9)} == {tuple(c) for c in expected.T.round(9)}
    alone = paid_rays(FOUR)
    assert {tuple(c > 0) for c in alone[:-1].T} == set(itertools.product([False, True], repeat=4)) - {(False,) * 4}
    assert all(len(set(c[c > 0])) == 1 for c in alone[:-1].T.round(12))


def test_linear_functions_are_largest_where_a_linear_program_says():
    generator = np.random.default_rng(2)
    for inner in (pml_cone(lw.Prior(FOUR), Fraction(2)), LDPCone(lw.Prior(FOUR), Fraction(3))):
        cone = LeakageTotal(inner, Fraction(4, 3))
        objectives = generator.standard_normal((5, 30))
        values, columns = cone.linear_max(objectives)
        plain = [super(LeakageTotal, cone).relaxed(objective)[0] for objective in objectives.T]
        assert values == pytest.approx(plain, abs=1e-8)
        assert np.einsum("ij,ij->j", objectives, columns) == pytest.approx(values, abs=1e-8)


def test_two_values_on_a_grid_of_mechanisms_with_three_outcomes():
    p, leakage = np.array([0.7, 0.3]), 0.35
    steps = np.arange(0, 25) / 24
    rows = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-12]).clip(0)
    best = 0.0
    for first in rows:
        total = np.maximum(first, rows).sum(axis=1)
        second = rows[total <= math.exp(leakage)]
        law = p[0] * first + p[1] * second
        with np.errstate(all="ignore"):
            ratio = [np.where(row > 0, row * np.log(row / law), 0.0) for row in (first + 0 * second, second)]
        best = max(best, float((p[0] * ratio[0] + p[1] * ratio[1]).sum(axis=1).max()))
    d = lw.design(p, maximal_leakage=leakage)
    assert d.bound >= best
    assert d.value >= best
    assert d.value == pytest.approx(best, abs=0.02)


def test_labelled_utilities_by_the_program_over_entries_and_maxima():
    p = np.array([0.4, 0.3, 0.2, 0.1])
    worth = -np.abs(np.subtract.outer(range(4), range(4))).astype(float)
    for leakage in (0.2, 0.6, 1.0):
        costs = np.concatenate([-(p[:, None] * worth).ravel(), np.zeros(4)])
        rows = np.concatenate([np.kron(np.eye(4), np.ones(4)), np.zeros((4, 4))], axis=1)
        below = np.concatenate([np.eye(16), -np.tile(np.eye(4), (4, 1))], axis=1)
        total = np.concatenate([np.zeros(16), np.ones(4)])[None, :]
        answer = linprog(
            costs,
            A_ub=np.concatenate([below, total]),
            b_ub=[*np.zeros(16), math.exp(leakage)],
            A_eq=rows,
            b_eq=np.ones(4),
            method="highs",
        )
        d = lw.design(p, utility=lw.Expected(worth), maximal_leakage=leakage)
        assert d.value == pytest.approx(-answer.fun, abs=1e-7)
        assert d.bound == pytest.approx(-answer.fun, abs=1e-7)
        assert set(d.mechanism.outputs) <= {0, 1, 2, 3}


def test_chi_square_and_frequencies_in_closed_form():
    generator = np.random.default_rng(3)
    for size in (2, 3, 5):
        p = generator.dirichlet(np.full(size, 2.0))
        d = lw.design(p, utility="chi_square", maximal_leakage=0.4)
        assert d.value == pytest.approx(math.exp(0.4) - 1, abs=1e-8)
        f = lw.design(p, utility="frequencies", maximal_leakage=0.4)
        across = np.eye(size) - np.sqrt(np.outer(p, p))
        spread = np.sqrt(np.linalg.eigvalsh(across @ np.diag(p) @ across)[1:]).sum()
        assert f.value == pytest.approx(-(spread**2) / (math.exp(0.4) - 1), rel=1e-6)
        assert 0 <= f.gap < 1e-6 * abs(f.value)


def test_more_values_than_are_listed():
    p = np.random.default_rng(5).dirichlet(np.ones(14))
    alone = lw.design(p, maximal_leakage=0.4)
    assert alone.gap < 1e-8
    narrow = lw.design(p, maximal_leakage=0.4, lift=2)
    assert lw.design(p, epsilon=0.4).value <= narrow.value <= alone.bound
    many = lw.design(np.random.default_rng(6).dirichlet(np.ones(24)), maximal_leakage=0.4)
    assert many.bound <= 0.4 + 1e-9
    assert many.gap < 1e-3


def test_limits_that_say_nothing_or_everything():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    assert lw.design(prior, maximal_leakage=0).certificate.ratio == 1
    assert lw.design(prior, maximal_leakage=0, utility="guessing").value == pytest.approx(0.5)
    plain, idle = lw.design(prior, lift=2), lw.design(prior, lift=2, maximal_leakage=0.7)
    assert idle.value == pytest.approx(plain.value, abs=1e-10)
    assert idle.certificate.further.maximal_leakage is not None
    whole = lw.design(prior, maximal_leakage=math.log(3) + 0.01)
    assert whole.value == pytest.approx(lw.mutual_information(lw.randomized_response(3, lift=10**12), prior), abs=1e-6)
    values = [lw.design(prior, maximal_leakage=leakage).value for leakage in (0.1, 0.3, 0.5, 0.9)]
    assert values == sorted(values)


def test_values_of_probability_zero_are_left_out():
    d = lw.design({"a": 0.5, "b": 0.3, "c": 0.2, "never": 0.0}, maximal_leakage=0.5)
    assert d.value == pytest.approx(lw.design([0.5, 0.3, 0.2], maximal_leakage=0.5).value, abs=1e-9)
    assert d.certificate.verify().holds


def test_forged_certificates_are_refused(tmp_path):
    d = lw.design([0.5, 0.3, 0.2], maximal_leakage=0.5)
    path = tmp_path / "proof.json"
    d.certificate.save(path)
    assert lw.verify(path).holds
    assert json.loads(path.read_text())["version"] == 6
    most = d.certificate.further.maximal_leakage
    assert most.allows(maxima(d.mechanism))
    asked = replace(d.certificate.further, maximal_leakage=level(Fraction(499, 1000)))
    replace(d.certificate, further=asked).save(path)
    with pytest.raises(CertificateRejected, match=r"maximal leakage is to be at most 0\.499 nats"):
        lw.verify(path)
    weights = [[int(value) for value in row] for row in d.mechanism.weights.tolist()]
    weights[0][1] += 2**30  # the outcome 'not 2' says a little more of the first value
    weights[0][2] -= 2**30
    clearer = lw.Mechanism([[Fraction(v, d.mechanism.denominator) for v in row] for row in weights])
    with pytest.raises(CertificateRejected, match=r"maximal leakage is to be at most 0\.5 nats"):
        lw.certify(clearer, [0.5, 0.3, 0.2], maximal_leakage=0.5).verify()
    assert not lw.certify(d.mechanism, [0.5, 0.3, 0.2], maximal_leakage=0.49).holds


def test_what_it_does_not_go_with():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    with pytest.raises(InvalidInput, match="maximal_leakage= does not go with a set of priors"):
        lw.design(prior.ball(0.1), lift=2, maximal_leakage=0.3)
    with pytest.raises(InvalidInput, match="enumeration"):
        lw.design(prior, maximal_leakage=0.3, method="enumeration")
    with pytest.raises(InvalidInput, match="keep_frequencies"):
        lw.design(prior, maximal_leakage=0.3, utility="guessing", keep_frequencies=True)
    with pytest.raises(InvalidInput, match="WorstCase"):
        lw.design(prior, lift=2, maximal_leakage=0.3, utility=lw.WorstCase(np.eye(3)))
    with pytest.raises(InvalidInput, match="margin"):
        lw.design(prior, maximal_leakage=0.3, margin=0.05, rows=10_000)
    with pytest.raises(InvalidInput, match="maximal_leakage must be at least 0"):
        lw.design(prior, maximal_leakage=-0.3)
    strata = lw.PriorByStratum({"m": prior, "f": prior}, given=["sex"])
    with pytest.raises(InvalidInput, match="stratum"):
        lw.design(strata, lift=2, maximal_leakage=0.3)


def test_the_rarest_value_alone_is_a_column_however_its_inverse_is_rounded():
    # Its mass times its inverse is below 1 in floats: the column was left out, and the bound was wrong.
    p = [0.522159369974922, 0.13154234826232822, 0.34629828176274974]
    found = lw.design(p, utility="total_variation", maximal_leakage=1.0316422524935818)
    assert found.value == pytest.approx(0.572419087, abs=1e-8)
    assert found.certificate.optimality.bound == found.bound


def test_a_price_that_is_a_rounding_of_zero_keeps_the_proof():
    p = [0.3981368, 0.46883887, 0.13302433]
    found = lw.design(p, utility="guessing", maximal_leakage=0.7492347695959954, lift=2.235818166094239)
    assert found.certificate.verify().optimality is not None
    assert found.certificate.optimality.duals[-1] >= 0
    assert found.gap < 1e-7
