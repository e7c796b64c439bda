"""The least lift that meets margins: by brute force for few values, in simulated releases, proven that less fails."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import leakwise as lw
from leakwise.data import adult_table
from leakwise.errors import Infeasible, InvalidInput
from leakwise.optimize.least_lift import least_lift
from optimize.brute_force import rays

Z = 1.959963984540054


def worst(matrix, p):
    """The largest variance of a frequency from one row, from the definition."""
    law = p @ matrix
    lifts = matrix / law
    return float((np.diag(np.linalg.inv((lifts * law) @ lifts.T)) - p**2).max())


def vertices(p, lift):
    """Every vertex of the lift vectors, from inequalities."""
    size, t = len(p), Fraction(lift)
    cone = [[t * Fraction(p[j]) - (i == j) for j in range(size)] for i in range(size)]
    columns = np.array(rays(cone, size), dtype=float).T
    return columns / (p @ columns)


def least_worst(lifts, p):
    """min over weights of the largest variance: SciPy on the epigraph, from several starts."""
    count, best = lifts.shape[1], math.inf
    generator = np.random.default_rng(5)

    def variances(w):
        return np.diag(np.linalg.pinv((lifts * w) @ lifts.T)) - p**2

    for _ in range(6):
        start = generator.dirichlet(np.ones(count))
        found = minimize(
            lambda x: x[-1],
            np.append(start, variances(start).max()),
            method="SLSQP",
            bounds=[(1e-9, 1)] * count + [(0, None)],
            constraints=[
                {"type": "eq", "fun": lambda x: lifts @ x[:-1] - 1},
                {"type": "ineq", "fun": lambda x: x[-1] - variances(x[:-1])},
            ],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if found.success and np.abs(lifts @ found.x[:-1] - 1).max() < 1e-7:
            best = min(best, float(variances(found.x[:-1]).max()))
    return best


@pytest.mark.parametrize(
    ("p", "allowed"), [([0.5, 0.5], 1.0), ([0.7, 0.3], 2.5), ([0.5, 0.3, 0.2], 1.5), ([0.6, 0.3, 0.1], 0.9)]
)
def test_by_brute_force_the_lift_is_the_least_to_a_thousandth(p, allowed):
    rows, p = 10_000, np.array(p)
    d = lw.design(p.tolist(), margin=Z * math.sqrt(allowed / rows), rows=rows)
    assert worst(d.mechanism.matrix, p) <= allowed * (1 + 1e-9)
    less = 1 + (d.lift - 1) * 0.999
    assert least_worst(vertices(p, less), p) > allowed
    assert d.bound < d.lift <= 1 + (d.bound - 1) * 1.0102


def test_the_design_of_least_total_variance_needs_a_larger_lift():
    prior, rows = lw.Prior([0.35, 0.3, 0.25, 0.1]), 10_000
    p = prior.probabilities
    d = lw.design(prior, margin=0.02, rows=rows, anyone=6)
    total = lw.design(prior, lift=d.lift, anyone=6, utility="frequencies")
    allowed = rows * (0.02 / Z) ** 2
    assert worst(d.mechanism.matrix, p) <= allowed < 0.99 * worst(total.mechanism.matrix, p)


@pytest.mark.parametrize("column", ["sex", "marital_status", "occupation"])
def test_margins_of_adult_are_met_in_simulated_releases(column):
    prior = lw.Prior(Counter(adult_table()[column]))
    rows, margin, p = 20_000, 0.015, prior.probabilities
    d = lw.design(prior, margin=margin, rows=rows)
    law = p @ d.mechanism.matrix
    lifts = d.mechanism.matrix / law
    inverse = np.linalg.inv((lifts * law) @ lifts.T)
    counts = np.random.default_rng(3).multinomial(rows, law, size=10_000)
    inside = (np.abs(counts / rows @ (inverse @ lifts).T - p) <= margin).mean(axis=0)
    assert inside.min() == pytest.approx(0.95, abs=0.01)
    assert max(d.half_widths.values()) == pytest.approx(margin, rel=1e-3)
    # And the library's own estimate agrees about its error.
    released = np.repeat(np.array(d.mechanism.outputs, dtype=object), counts[0]).tolist()
    errors = lw.estimate(released, d.mechanism).standard_error
    assert Z * errors.max() == pytest.approx(margin, rel=0.1)


def test_one_percent_less_is_proven_not_to_suffice_and_the_certificate_says_so(tmp_path):
    prior = lw.Prior(Counter(adult_table()["marital_status"]))
    d = lw.design(prior, margin=0.015, rows=20_000)
    assert d.lift / 1.01 <= d.bound < d.lift
    path = tmp_path / "proof.json"
    d.certificate.save(path)
    found = lw.verify(path)
    claim = found.optimality
    assert claim.utility == "margin"
    assert claim.bound < -1 <= claim.value
    assert float(claim.high) == d.bound
    assert "largest variance, of what margins allow" in str(found)


def test_a_limit_for_anyone_costs_lift():
    alone = lw.design([0.4, 0.3, 0.2, 0.1], margin=0.02, rows=12_000)
    both = lw.design([0.4, 0.3, 0.2, 0.1], margin=0.02, rows=12_000, anyone=8)
    assert both.lift > 1.02 * alone.lift
    assert both.certificate.anyone <= 8
    assert both.bound >= both.lift / 1.01
    assert both.certificate.verify().holds


def test_a_stated_value_and_a_mean_need_less_than_every_frequency():
    prior = lw.Prior({"HIV": 0.02, "flu": 0.58, "none": 0.4})
    every = lw.design(prior, margin=0.01, rows=40_000)
    one = lw.design(prior, margin={"HIV": 0.01}, rows=40_000)
    assert lw.design(prior, margin={"flu": 0.01}, rows=40_000).lift < 0.99 * every.lift
    assert list(one.half_widths) == ["frequency of HIV"]
    # Two outcomes, one for the value: no mechanism does better than (1 - π)²/(t - 1).
    assert one.lift == pytest.approx(1 + 0.98**2 / (40_000 * (0.01 / Z) ** 2), rel=2e-3)
    mean = lw.design(prior, margin=0.05, rows=40_000, values={"HIV": 10, "flu": 1, "none": 0})
    p, numbers = prior.probabilities, np.array([10, 1, 0])
    law = p @ mean.mechanism.matrix
    lifts = mean.mechanism.matrix / law
    inverse = np.linalg.inv((lifts * law) @ lifts.T)
    error = math.sqrt((numbers @ inverse @ numbers - (numbers @ p) ** 2) / 40_000)
    assert Z * error == pytest.approx(0.05, rel=1e-3)
    assert mean.half_widths["mean"] == pytest.approx(Z * error, rel=1e-6)


def test_values_without_mass_need_no_margin():
    d = lw.design({"a": 0.6, "b": 0.4, "never": 0}, margin=0.02, rows=20_000)
    assert list(d.half_widths) == ["frequency of a", "frequency of b"]
    assert d.lift == lw.design({"a": 0.6, "b": 0.4}, margin=0.02, rows=20_000).lift


def test_a_set_of_priors_needs_a_larger_lift():
    prior = lw.Prior([0.5, 0.3, 0.2])
    ball = lw.design(prior.ball(0.02), margin=0.02, rows=15_000)
    assert ball.lift > lw.design(prior, margin=0.02, rows=15_000).lift
    assert ball.certificate.verify_for_the_set().holds
    assert ball.half_widths["frequency of 0"] <= 0.02


def test_it_prints_the_least_lift_and_what_is_known():
    d = lw.design({"a": 0.5, "b": 0.3, "c": 0.2}, margin=0.02, rows=15_000)
    text = str(d)
    assert "least lift" in text
    assert "no lift suffices up to" in text
    assert "frequency of b" in text
    told = d.to_dict()
    assert told["lift"] == d.lift
    assert told["rows"] == 15_000
    assert [one["margin"] for one in told["margins"]] == [0.02] * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"margin": 0.02}, "rows is missing"),
        ({"margin": 0.02, "rows": 0}, "rows must be a positive integer"),
        ({"margin": 0.02, "rows": 5000.5}, "rows must be a positive integer"),
        ({"margin": 0.02, "rows": 5000, "lift": 2}, "does not go with a lift"),
        ({"margin": 0.02, "rows": 5000, "epsilon": 1}, "does not go with a lift"),
        ({"margin": 0.02, "rows": 5000, "utility": "guessing"}, "no other utility"),
        ({"margin": 0.02, "rows": 5000, "keep_frequencies": True}, "no other utility"),
        ({"margin": 0.5, "rows": 5000}, "costs no leakage: without any release every frequency is within 0.5"),
        ({"margin": 2.5, "rows": 5000, "values": [0, 1, 5]}, "costs no leakage: without any release the mean"),
        ({"margin": 0, "rows": 5000}, "margin must be above 0"),
        ({"margin": -0.1, "rows": 5000}, "margin must be above 0"),
        ({"margin": True, "rows": 5000}, "margin must be a number"),
        ({"margin": {}, "rows": 5000}, "empty mapping"),
        ({"margin": {"q": 0.02}, "rows": 5000}, "not a value of the prior"),
        ({"margin": 0.02, "rows": 5000, "values": [1, 1, 1]}, "not all the same"),
        ({"margin": 0.02, "rows": 5000, "values": [1, 2]}, "each of the 3 values"),
        ({"margin": 0.02, "rows": 5000, "values": {"a": 1}}, "'b' has none"),
        ({"rows": 5000, "lift": 2}, "rows, values and of go with margin"),
    ],
)
def test_bad_input_is_told(options, words):
    with pytest.raises(InvalidInput, match=words):
        lw.design({"a": 0.5, "b": 0.3, "c": 0.2}, **options)


def test_a_margin_that_no_lift_reaches_says_how_many_rows_would_do():
    with pytest.raises(InvalidInput, match=r"2,401 rows would do without any protection") as caught:
        lw.design([0.5, 0.5], margin=0.02, rows=2000)
    assert "from 2,000 rows" in str(caught.value)
    with pytest.raises(InvalidInput, match="cannot be met"):
        lw.design([0.5, 0.5], margin=0.02, rows=2400)
    # Just enough rows: the column as it is, at the largest lift there is.
    assert lw.design([0.5, 0.5], margin=0.02, rows=2402).lift == pytest.approx(2, rel=1e-2)
    # With a limit for anyone no lift may do, whatever it is; the rows that the message names do.
    with pytest.raises(Infeasible, match=r"([\d,]+) rows would do") as refused:
        lw.design([0.5, 0.3, 0.2], margin=0.02, rows=3000, anyone=2)
    needed = int(str(refused.value).split(": ")[-1].split(" rows")[0].replace(",", ""))
    assert lw.design([0.5, 0.3, 0.2], margin=0.02, rows=needed, anyone=2).lift <= 2
    with pytest.raises(Infeasible):
        lw.design([0.5, 0.3, 0.2], margin=0.02, rows=int(0.98 * needed), anyone=2)


def test_a_lift_next_to_one_is_printed_apart_from_what_does_not_suffice():
    d = lw.design([0.5, 0.3, 0.2], margin=0.4, rows=10**9)
    assert 1 < d.bound < d.lift < 1.0001
    words = d.sentence.split()
    assert float(words[3]) >= d.lift > float(words[-2]) > 1
    assert float(words[-2]) <= d.bound


def test_one_value_costs_nothing():
    with pytest.raises(InvalidInput, match="one value only"):
        lw.design({"a": 1.0}, margin=0.02, rows=100)


def test_the_root_search_meets_a_power_of_any_kind():
    class Found:
        def __init__(self, value):
            self.value = value

    for power in (0.5, 1, 2, 4):
        tried = []

        def attempt(lift, power=power, tried=tried):
            tried.append(lift)
            return Found(-((0.37 / (lift - 1)) ** power))

        found, lift = least_lift(attempt, 3.0, 100.0, 1000)
        assert found.value >= -1
        assert 1.37 <= lift <= 1.3703
        assert len(tried) <= 6


@pytest.mark.parametrize("begin", [1000, 10**9])
def test_a_mean_is_as_well_known_wherever_its_numbers_begin(begin):
    prior = lw.Prior([0.1, 0.2, 0.3, 0.25, 0.15])
    near, far = (lw.design(prior, margin=0.1, rows=5000, values=[start + k for k in range(5)]) for start in (0, begin))
    assert far.lift == near.lift
    assert far.bound == near.bound > 1
    assert far.half_widths == near.half_widths
    assert far.certificate.verify().optimality is not None


@pytest.mark.parametrize("rare", [1e-8, 1e-11])
def test_margins_are_proven_beside_a_value_of_next_to_no_probability(rare):
    found = lw.design(lw.Prior({"a": 0.6, "b": 0.4 - rare, "c": rare}), margin=0.05, rows=5000)
    assert 1 < found.bound < found.lift <= 1.02 * found.bound
    assert max(found.half_widths.values()) <= 0.05
    assert found.certificate.verify().optimality.bound < -1
