"""A release for margins: the least lift, from a public prior, from the table, and by given columns."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import leakwise as lw
from leakwise.data import adult_table
from leakwise.errors import Infeasible, InvalidInput, LeakwiseWarning
from leakwise.exact import level
from leakwise.workflow import accuracy

Z = 1.959963984540054
ADULT = adult_table()
MARITAL = sorted(set(ADULT["marital_status"]))
PRIOR = lw.Prior(Counter(ADULT["marital_status"]))


def released(data, column=None, **options):
    """A release whose designs are never cut short, however slow the machine is."""
    return lw.protect(data, column, **{"time_limit": 3600.0, **options})


def rows_of(prior, count, seed=1):
    return random.Random(seed).choices(prior.labels, prior.probabilities.tolist(), k=count)


def known_within(r, by=None):
    """The half-widths of the library's own estimates from the released table."""
    return Z * lw.estimate(r.table, r.mechanism, by).standard_error


def test_a_public_prior_gets_the_least_lift_with_its_proof():
    r = released(rows_of(PRIOR, 30_000), prior=PRIOR, margin=0.012)
    alone = lw.design(PRIOR, margin=0.012, rows=30_000)
    assert r.design.lift > alone.lift  # the limit for anyone, ten times the lift, costs some
    claim = r.certificate.verify().optimality
    assert claim.utility == "margin"
    assert r.design.bound >= r.design.lift / 1.01
    assert float(claim.high) == r.design.bound
    assert claim.ldp == pytest.approx(10 * claim.high, rel=1e-3)
    assert r.certificate.anyone <= 10 * r.design.lift
    assert known_within(r) == pytest.approx(np.full(7, 0.012), rel=0.03)
    told = r.facts.how
    assert told["asked of it"] == "every frequency within 0.012 (95% intervals from 30,000 rows), at the least lift"
    assert told["least lift"] == r.design.lift


def test_less_would_not_do_without_the_limit_for_anyone_either():
    r = released(rows_of(PRIOR, 30_000), prior=PRIOR, margin=0.012, anyone=None)
    assert r.design.lift == lw.design(PRIOR, margin=0.012, rows=30_000).lift


def test_from_the_table_the_margin_is_met_and_a_smaller_lift_misses_it():
    table = {"marital_status": ADULT["marital_status"]}
    options = {"prior": "table", "domain": MARITAL, "failure": 1e-6, "order": "shuffle"}
    r = released(table, "marital_status", margin=0.015, **options)
    assert known_within(r, "marital_status").max() <= 0.015 * 1.03
    lift = r.certificate.asked.above
    less = released(table, "marital_status", lift=float(1 + (lift - 1) * 97 / 100), **options)
    assert known_within(less, "marital_status").max() > 0.015


def test_with_given_columns_the_margin_is_that_of_all_rows_together():
    table = {name: ADULT[name] for name in ("marital_status", "sex")}
    options = {"prior": "table", "domain": MARITAL, "failure": 1e-6, "order": "shuffle"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)
        r = released(table, "marital_status", margin=0.02, **options)
    widths = known_within(r, "marital_status")
    assert widths.max() == pytest.approx(0.02, rel=0.04)
    assert r.mechanism.given == ("sex",)
    assert r.certificate.holds


def test_public_priors_by_stratum_are_planned_with_and_some_strata_know_the_secret():
    priors = lw.PriorByStratum(
        {"f": ["0.5", "0.3", "0.2"], "m": ["0.2", "0.3", "0.5"], "x": [1, 0, 0]},
        given="sex",
        weights={"f": 5, "m": 4, "x": 1},
    )
    generator = np.random.default_rng(2)
    sex = generator.choice(["f", "m", "x"], size=20_000, p=[0.5, 0.4, 0.1])
    law = {key: priors[key].nominal.probabilities for key in ("f", "m", "x")}
    secret = [priors.labels[generator.choice(3, p=law[key])] for key in sex]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)
        r = released({"s": secret, "sex": sex.tolist()}, "s", prior=priors, margin=0.02, order="keep")
    assert known_within(r, "s").max() == pytest.approx(0.02, rel=0.05)


def test_a_stated_value_and_a_mean():
    rows = rows_of(PRIOR, 30_000)
    every = released(rows, prior=PRIOR, margin=0.012)
    stated = released(rows, prior=PRIOR, margin={"Divorced": 0.012})
    assert stated.design.lift < every.design.lift
    mean = released(rows, prior=PRIOR, margin=0.05, values=dict(zip(PRIOR.labels, range(7), strict=True)))
    found = lw.estimate(mean.table, mean.mechanism).mean(dict(zip(PRIOR.labels, range(7), strict=True)))
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(0.05, rel=0.05)


def test_a_dry_run_tells_the_lift_and_draws_nothing():
    r = released(rows_of(PRIOR, 30_000), prior=PRIOR, margin=0.012, dry_run=True)
    assert r.table is None
    assert r.design.lift == released(rows_of(PRIOR, 30_000), prior=PRIOR, margin=0.012).design.lift


def test_a_given_mechanism_that_misses_the_margin_is_told_of():
    rows = rows_of(PRIOR, 30_000)
    good = lw.design(PRIOR, margin=0.012, rows=30_000).mechanism
    released(rows, prior=PRIOR, mechanism=good, margin=0.012)
    with pytest.warns(LeakwiseWarning, match=r"not within the margin of 0\.011"):
        released(rows, prior=PRIOR, mechanism=good, margin=0.011)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"margin": 0.02, "lift": 2}, "does not go with lift"),
        ({"margin": 0.02, "epsilon": 1}, "does not go with lift"),
        ({"margin": 0.02, "use": "reading"}, "goes with use='statistics'"),
        ({"margin": 0.02, "prior": "table", "failure": 1e-6, "domain": MARITAL, "prior_cost": 0.1}, "prior_cost"),
        ({"values": [1] * 7, "lift": 2}, "values"),
        ({"margin": 0.0005}, "rows would do"),
        ({"margin": 0.7}, "costs no leakage"),
    ],
)
def test_bad_input_is_told(options, words):
    with pytest.raises(InvalidInput, match=words):
        released(rows_of(PRIOR, 3_000), **{"prior": PRIOR, **options})


def test_limits_that_no_lift_helps_beyond_are_told_with_the_rows_that_would_do():
    with pytest.raises(Infeasible, match="rows would do"):
        released(rows_of(PRIOR, 3_000), prior=PRIOR, margin=0.03, anyone=2)


def test_designs_that_were_cut_short_do_not_decide_the_lift(monkeypatch):
    whole, made = accuracy.chosen_mechanism, rows_of(PRIOR, 30_000)

    def hasty(request, *others):
        if request.time_limit < 3600:  # one of the designs that share the time
            lift = request.asked.level.below
            request = replace(request, asked=replace(request.asked, level=level(lift=1 + (lift - 1) / 2)))
        return whole(request, *others)

    least = released(made, prior=PRIOR, margin=0.012)
    monkeypatch.setattr(accuracy, "chosen_mechanism", hasty)
    found = released(made, prior=PRIOR, margin=0.012)
    assert least.design.lift <= found.design.lift <= 1 + 1.03 * (least.design.lift - 1)
    assert max(found.design.half_widths.values()) <= 0.012
    monkeypatch.setattr(accuracy, "_AGAIN", 0)
    with pytest.warns(LeakwiseWarning, match="With a larger time_limit .* it may find a smaller one"):
        released(made, prior=PRIOR, margin=0.012)


def test_several_secrets_have_lifts_of_their_own():
    with pytest.raises(InvalidInput, match="margin"):
        released({"a": [0, 1], "b": [0, 1]}, {"a": 2, "b": 2}, margin=0.02, prior="table", failure=0.1)
