"""One call verifies every kind of certificate file."""

from __future__ import annotations

import pytest

import leakwise as lw


def test_certificates_of_every_kind_are_verified(tmp_path):
    mechanism, prior = lw.randomized_response(3, lift=4), lw.Prior([0.5, 0.3, 0.2])
    lw.certify(mechanism, prior).save(tmp_path / "leakage.json")
    lw.envelope(mechanism, prior, 0.1).certificate.save(tmp_path / "envelope.json")
    lw.least_leakage(prior, [[True, True, False], [False, True, True], [True, False, True]]).certificate.save(
        tmp_path / "mask.json"
    )
    for name, words in (("leakage", "times as likely"), ("envelope", "whatever is done"), ("mask", "")):
        assert words in lw.verify(tmp_path / f"{name}.json").sentence


def test_other_files_are_refused(tmp_path):
    lw.Prior.uniform(2).save(tmp_path / "prior.json")
    with pytest.raises(lw.InvalidInput, match=r"holds a 'leakwise\.prior'"):
        lw.verify(tmp_path / "prior.json")
