"""The certificate says what the Fractions say, to the last digit, and a wrong one is refused."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.charts.shown import Table
from leakwise.charts.words import Broken, Kept
from leakwise.exact import log_at_most
from leakwise.proof import load_certificate
from leakwise.proof.ratio import worst_outcome
from strategies import laws, matrices, pml_ratio


@given(st.data())
def test_certify_equals_the_largest_lift_in_fractions(data):
    matrix = data.draw(matrices())
    prior = data.draw(laws(len(matrix)))
    certificate = lw.certify(lw.Mechanism(matrix), lw.Prior(prior))
    assert certificate.ratio == pml_ratio(matrix, prior)
    assert certificate.holds
    assert log_at_most(certificate.ratio, Fraction(certificate.epsilon_upper))
    assert certificate.epsilon_upper <= math.log(certificate.ratio) + 1e-15


@given(st.data())
def test_structured_and_dense_kernels_have_the_same_ratio(data):
    size = data.draw(st.integers(2, 5))
    prior = lw.Prior(data.draw(laws(size)))
    structured = lw.randomized_response(size, lift=data.draw(st.fractions(1, 20)))
    dense = lw.Mechanism.from_kernel(structured.kernel.take_rows(np.arange(size)))
    assert worst_outcome(structured.kernel, prior).ratio == worst_outcome(dense.kernel, prior).ratio


@given(st.data())
def test_the_bound_is_decided_without_rounding(data):
    matrix = data.draw(matrices())
    prior = data.draw(laws(len(matrix)))
    ratio = pml_ratio(matrix, prior)
    mechanism, known = lw.Mechanism(matrix), lw.Prior(prior)
    assert lw.certify(mechanism, known, lift=ratio).holds
    if ratio > 1:
        assert not lw.certify(mechanism, known, lift=ratio - Fraction(1, 10**40)).holds
        below = Fraction(lw.epsilon(mechanism, known)) - Fraction(1, 10**14)
        assert below < 0 or not lw.certify(mechanism, known, epsilon=below).holds
    assert lw.certify(mechanism, known, epsilon=lw.epsilon(mechanism, known)).holds


def test_a_certificate_file_is_verified_from_its_integers_alone(tmp_path):
    design = lw.design(lw.Prior({"no": "3/4", "yes": "1/4"}), epsilon=0.5)
    path = tmp_path / "certificate.json"
    design.certificate.save(path)
    again = lw.verify(path)
    assert again.holds
    assert again.ratio == design.certificate.ratio
    assert again.mechanism == design.mechanism
    assert "times as likely" in repr(again)
    assert "<table" in again._repr_html_()
    assert again.to_dict()["holds"] is True


def test_a_certificate_that_claims_less_than_the_truth_is_rejected(tmp_path):
    import hashlib

    path = tmp_path / "certificate.json"
    lw.certify(lw.randomized_response(2, lift=3), lw.Prior.uniform(2), lift=2).save(path)
    envelope = json.loads(path.read_text())
    envelope["body"]["ratio_numerator"], envelope["body"]["ratio_denominator"] = "0x5", "0x4"
    body = json.dumps(envelope["body"], separators=(",", ":"))
    envelope["sha256"] = hashlib.sha256(body.encode()).hexdigest()
    raw = json.dumps({key: value for key, value in envelope.items() if key != "body"}, separators=(",", ":"))
    path.write_text(raw[:-1] + ',"body":' + body + "}")
    assert load_certificate(path).ratio == Fraction(5, 4)
    with pytest.raises(lw.CertificateRejected, match=r"claims a largest lift of 1\.25"):
        lw.verify(path)


def test_a_promise_that_does_not_hold_says_so():
    certificate = lw.certify(lw.identity(["a", "b"]), lw.Prior({"a": 0.5, "b": 0.5}), lift="3/2")
    assert not certificate.holds
    assert "does not hold" in certificate.sentence
    assert "NO" in repr(certificate)
    with pytest.raises(lw.CertificateRejected, match="more than asked"):
        certificate.verify()


def test_bad_input_is_refused_in_words():
    with pytest.raises(lw.InvalidInput, match=r"lw\.Mechanism"):
        lw.certify([[1]], lw.Prior([1]))
    with pytest.raises(lw.InvalidInput, match="values"):
        lw.certify(lw.identity(["a", "b"]), lw.Prior({"a": 0.5, "c": 0.5}))
    with pytest.raises(lw.InvalidInput, match="either"):
        lw.certify(lw.identity(2), lw.Prior.uniform(2), epsilon=1, lift=2)


def test_zero_mass_letters_are_left_out_of_the_leakage():
    mechanism = lw.Mechanism([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    certificate = lw.certify(mechanism, lw.Prior(["1/2", "1/2", 0]))
    assert certificate.ratio == 2


def test_a_float_matrix_a_hair_over_the_limit_shows_the_digits_and_the_way_out() -> None:
    matrix = np.full((4, 4), 0.5 / 3)
    np.fill_diagonal(matrix, 0.5)
    certificate = lw.certify(lw.Mechanism(matrix), lw.Prior.uniform(4), lift=2)
    assert not certificate.holds
    proven = "2.000000000000000112"
    assert Fraction(proven) >= certificate.ratio > 2
    shown = repr(certificate)
    assert f"the largest lift is {proven}, the limit 2." in shown
    assert f"e^ε             {proven}" in shown
    assert "slightly larger limit, lift=2.0001" in shown
    assert lw.certify(certificate.mechanism, certificate.prior, lift=2.0001).holds
    with pytest.raises(lw.CertificateRejected, match=proven):
        certificate.verify()


def test_a_limit_in_nats_missed_by_a_hair_shows_its_digits_too() -> None:
    matrix = np.full((4, 4), 0.5 / 3)
    np.fill_diagonal(matrix, 0.5)
    words = lw.certify(lw.Mechanism(matrix), lw.Prior.uniform(4), math.log(2)).sentence
    lift, limit = re.search(r"largest lift is (\S+), the limit (\S+)\. The", words).groups()
    assert 0 < Fraction(lift) - Fraction(limit) < Fraction(1, 10**15)
    assert "slightly larger limit, epsilon=0.69315" in words


def test_the_rounding_that_is_offered_keeps_the_limit() -> None:
    mechanism, prior = lw.Mechanism([[2 / 3, 1 / 3], [1 / 3, 2 / 3]]), lw.Prior.uniform(2)
    missed = lw.certify(mechanism, prior, lift="1.3333333")
    offered = re.search(r"m\.dyadic\((\d+)\)", missed.sentence)
    assert offered is not None
    assert lw.certify(mechanism.dyadic(int(offered[1])), prior, lift="1.3333333").holds


def test_a_limit_missed_by_far_offers_no_rounding() -> None:
    words = lw.certify(lw.randomized_response(2, lift=3), lw.Prior.uniform(2), lift="1.4").sentence
    assert "more than 1.5 times as likely" in words
    assert "the largest lift is 1.5, the limit 1.4" in words
    assert "rounding" not in words


@pytest.mark.parametrize("lift", [1.1, 1.05, 2.2, 1.3, 2])
def test_a_design_prints_the_limit_that_was_typed(lift: float) -> None:
    design = lw.design(lw.Prior(["0.5", "0.3", "0.2"]), lift=lift)
    assert f"more than {lift} times as likely" in design.certificate.sentence
    assert design.certificate.ratio <= Fraction(str(lift))


def test_a_certificate_that_does_not_hold_is_not_shown_as_kept() -> None:
    response, prior = lw.randomized_response(2, lift=3), lw.Prior.uniform(2)
    for limit, kind in ((1.5, Kept), (1.2, Broken)):
        (table,) = lw.certify(response, prior, lift=limit)._shown()
        assert isinstance(table, Table)
        assert type(table.title) is kind


def test_a_missing_outcome_is_null_in_plain_data_and_not_a_word():
    kept = lw.certify(lw.Mechanism([[0.9, 0.1], [0.2, 0.8]], inputs=["no", None], outputs=["no", None]), [0.8, 0.2])
    assert (kept.outcome, kept.letter) == (None, None)
    assert (kept.to_dict()["outcome"], kept.to_dict()["letter"]) == (None, None)
