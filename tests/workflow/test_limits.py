"""The second limit of a release: on at ten times the lift, said where it is off, idle for all priors."""

import math

import numpy as np
import pytest

import leakwise as lw
from leakwise.workflow.limits import release_limits

HALF = lw.Prior.uniform(["no", "yes"])
ROWS = {"s": ["no", "yes", "yes", "no", "yes"]}


def test_the_default_is_ten_times_the_lift_however_it_was_given():
    assert release_limits(lift=2).anyone.above == 20
    assert release_limits(lift=1.1).anyone.above == 11
    assert release_limits(epsilon=0.5).anyone.above <= 10 * math.exp(0.5)
    assert release_limits(lift=2, anyone=7).anyone.above == 7
    assert release_limits(lift=2, anyone=None).anyone is None
    assert release_limits(lift=2, prior=lw.AllPriors(["no", "yes"])).anyone is None
    m = lw.randomized_response(["no", "yes"], lift=3)
    assert release_limits(mechanism=m).anyone is None
    assert release_limits(lift=2, mechanism=m).anyone.above == 20


def test_a_uniform_yes_or_no_column_is_not_handed_out_in_clear():
    r = lw.protect(ROWS, "s", prior=HALF, lift=2)
    assert r.mechanism.matrix.min() > 0.04
    assert r.certificate.anyone <= 20
    assert "nor more than 20 times as likely for anyone, whatever they knew" in r.guarantee
    assert "nor more than 20 times as likely for anyone" in r.facts.for_whom


def test_a_limit_that_is_switched_off_is_said_to_be(tmp_path):
    prior = lw.Prior({"no": 0.8, "yes": 0.2})
    r = lw.protect(ROWS, "s", prior=prior, lift=2, anyone=None, allow_certainty=True)
    assert r.certificate.anyone is None
    assert "whatever they knew" not in r.guarantee
    page = r.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "there is no limit (no limit for anyone was asked for" in page
    kept = lw.protect(ROWS, "s", prior=prior, lift=2).report(tmp_path / "kept.html").read_text(encoding="utf-8")
    assert "no limit for anyone was asked for" not in kept
    assert "nor more than 20 times as likely for anyone" in kept


def test_limits_of_values_are_kept_by_a_release_and_in_its_report(tmp_path):
    prior = lw.Prior({"HIV": "1/50", "flu": "29/50", "none": "2/5"})
    rows = {"s": ["HIV", "flu", "none", "flu"]}
    r = lw.protect(rows, "s", prior=prior, lift=3, lift_of={"HIV": 1.2}, ceiling={("HIV", "flu"): 0.8})
    assert r.certificate.verify().holds
    said = "Given the prior, no outcome makes 'HIV' more than 1.2 times as likely."
    assert said in r.guarantee
    assert said.split("'")[0] in r.report(tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_given_mechanism_that_rules_values_out_needs_the_limit_switched_off():
    m = lw.Mechanism([["1", "0"], ["1/2", "1/2"]], inputs=["no", "yes"])
    with pytest.raises(lw.CertificateRejected, match="largest lift for any prior is to be at most 20"):
        lw.protect(ROWS, "s", prior=HALF, lift=2, mechanism=m)
    assert lw.protect(ROWS, "s", prior=HALF, lift=2, mechanism=m, anyone=None, allow_certainty=True).certificate.holds


def test_a_prior_from_the_table_keeps_both_limits():
    rows = np.random.default_rng(2).choice(["a", "b", "c"], 6000, p=[0.5, 0.3, 0.2]).tolist()
    r = lw.protect({"s": rows}, "s", domain=["a", "b", "c"], lift=2, prior="table", failure=1e-6)
    assert r.certificate.verify().holds
    assert r.certificate.anyone <= 20
    assert "for anyone who knew the true prior, nor more than 20 times as likely for anyone" in r.guarantee


def test_design_from_data_keeps_limits_of_values_for_every_prior_that_the_rows_leave():
    sample = lw.Prior.from_counts({"HIV": 2000, "flu": 58_000, "none": 40_000})
    found = lw.design_from_data(
        sample, lift=3, failure=1e-6, anyone=30, lift_of={"HIV": 1.5}, strategy="certified", utility="frequencies"
    )
    assert found.certificate.verify().holds
    assert found.certificate.limits.lift_of == found.limits.lift_of
    assert "nor more than 30 times as likely for anyone" in found.guarantee


def test_tradeoff_keeps_the_limit_for_anyone_at_every_point():
    curve = lw.tradeoff([0.5, 0.3, 0.2], [0.2, 0.6], anyone=6)
    free = lw.tradeoff([0.5, 0.3, 0.2], [0.2, 0.6])
    assert all(one.certificate.anyone <= 6 for one in curve.designs)
    assert (curve.values <= free.values + 1e-9).all()
    assert curve.values[1] < free.values[1]
