"""Certificates of mechanisms over sets that are not listed: those of the listed ones, and none can be forged."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.documents import write_document, write_integer
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.mechanism.catalog import sets
from leakwise.proof.certificate import FORMAT, VERSION, certificate_from_body
from leakwise.proof.certificate_file import SurvivingBody
from strategies import laws, ldp_ratio, pml_ratio

MAKERS: dict[str, Any] = {
    "symmetric": lw.catalog.symmetric_unary_encoding,
    "optimized": lw.catalog.optimized_unary_encoding,
    "subset": lw.catalog.subset_selection,
}
every = pytest.mark.parametrize("name", sorted(MAKERS))
PRIOR = lw.Prior(np.arange(1, 41) / 820)


def unlisted(name: str, values: int, lift: Any) -> lw.Mechanism:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "_LISTED", 0)
        return MAKERS[name](values, lift=lift)


@every
@settings(max_examples=20)
@given(prior=st.integers(2, 6).flatmap(laws), lift=st.sampled_from(["1", "3/2", "4", "1e12"]))
def test_the_certificate_is_that_of_the_listed_sets(name: str, prior: list[Fraction], lift: str) -> None:
    m = unlisted(name, len(prior), lift)
    found = lw.certify(m, prior, anyone="1e13").verify()
    names = ["b" + "".join(bits) for bits in itertools.product("01", repeat=len(prior))]
    rows = [[m.probability(value, name) for name in names] for value in m.inputs]
    assert found.ratio == pml_ratio(rows, prior)
    assert found.anyone == ldp_ratio(rows)
    # The set and the value that are shown reach it, by the definition of a lift.
    here = [m.probability(value, found.outcome) for value in range(len(prior))]
    law = sum(p * chance for p, chance in zip(prior, here, strict=True))
    assert here[found.letter] / law == found.ratio
    assert prior[found.letter] > 0


@every
def test_forty_values_are_certified_saved_and_checked_again(name: str, tmp_path: Path) -> None:
    m = MAKERS[name](40, epsilon=1)
    assert m.shape[1] > 10**9
    certificate = lw.certify(m, PRIOR, lift="2.7127", anyone="2.7183")
    assert certificate.holds
    assert certificate.epsilon_upper == lw.epsilon(m, PRIOR)
    certificate.save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert (again.ratio, again.outcome, again.letter) == (certificate.ratio, certificate.outcome, certificate.letter)
    assert again.mechanism == m
    assert "2.7183 times as likely for anyone" in again.sentence
    assert json.loads((tmp_path / "c.json").read_text())["version"] == VERSION
    broken = lw.certify(m, PRIOR, lift="2")
    assert not broken.holds
    with pytest.raises(CertificateRejected, match="more than asked"):
        broken.verify()


@every
def test_no_number_of_it_can_be_changed_for_the_better(name: str, tmp_path: Path) -> None:
    certificate = lw.certify(MAKERS[name](40, epsilon=1), PRIOR, lift="2.7127")
    body = certificate.to_body()
    least = 1 << 38 if name != "subset" else int(certificate.outcome[1:], 2) ^ 3 << 38
    fields = {name: getattr(body, name) for name in body.__struct_fields__}
    for change in (
        {"ratio_numerator": write_integer(certificate.ratio.numerator - 1)},
        {"ratio_numerator": write_integer(2), "ratio_denominator": write_integer(1)},
        {"outcome": least},
        {"letter": 39},
    ):
        with pytest.raises(CertificateRejected):
            certificate_from_body(SurvivingBody(**(fields | change)), "f").verify()
    for outcome in (-1, 1 << 40):
        write_document(tmp_path / "w.json", FORMAT, VERSION, SurvivingBody(**(fields | {"outcome": outcome})))
        with pytest.raises(InvalidInput, match="place of its worst outcome"):
            lw.verify(tmp_path / "w.json")


def test_what_needs_a_list_and_sets_of_priors_are_refused() -> None:
    m = MAKERS["optimized"](40, epsilon=1)
    with pytest.raises(InvalidInput, match="certified for one prior"):
        lw.certify(m, PRIOR.ball(beta=0.01), lift=3)
    with pytest.raises(InvalidInput, match="too many to list"):
        lw.certify(m, PRIOR, lift_of={0: 2})
