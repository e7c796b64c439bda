"""Certificates for sets of priors: proven by duality, stored, read back, and refused when they claim too much."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
import strategies as own
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, LayerCake, Prior, PriorSet
from leakwise.proof.sets import is_exact, least_mass_prover
from leakwise.proof.tails import check_failure


@st.composite
def sets(draw: st.DrawFn) -> PriorSet:
    size = draw(st.integers(1, 5))
    law = draw(own.laws(size))
    prior = Prior(law)
    kind = draw(st.sampled_from(["ball", "box", "box in ball", "hull", "all", "kl", "cake", "one"]))
    share = own.fractions_between(Fraction(0), Fraction(1), 5)
    if kind == "ball":
        return prior.ball(2 * draw(share))
    if kind.startswith("box"):
        lower = [p * draw(share) for p in law]
        upper = [p + (1 - p) * draw(share) for p in law]
        return Box(prior, lower, upper, 2 * draw(share) if kind == "box in ball" else None)
    if kind == "hull":
        return Hull([law, draw(own.laws(size))])
    if kind == "all":
        return AllPriors(prior)
    if kind == "kl":
        return KLBall(prior, draw(st.sampled_from(["0", "0.001", "0.2", "3"])))
    if kind == "cake":
        return LayerCake(Prior.from_counts([int(weight) * 10 for weight in prior.weights]), "0.01")
    return prior


@given(sets(), st.data())
def test_the_checkers_least_mass_agrees_with_the_sets_own(priors: PriorSet, data: st.DataObject) -> None:
    size = len(priors.alphabet)
    column = data.draw(st.lists(st.integers(0, 2**60), min_size=size, max_size=size))
    mine, theirs = least_mass_prover(priors)(column), priors.exact_least_mass(column)
    if is_exact(priors):
        assert mine == theirs
    else:
        assert float(mine) == pytest.approx(float(theirs), rel=1e-2 if isinstance(priors, LayerCake) else 1e-6)


@given(sets(), st.data())
def test_epsilon_and_certificate_agree(priors: PriorSet, data: st.DataObject) -> None:
    matrix = data.draw(own.matrices(rows=len(priors.alphabet)))
    mechanism = lw.Mechanism(matrix)
    certificate = lw.certify(mechanism, priors)
    found = lw.epsilon(mechanism, priors)
    if math.isinf(found):
        assert certificate.ratio is None
        assert not certificate.holds
        assert certificate.epsilon_upper == math.inf
        assert "without any bound" in certificate.sentence
        with pytest.raises(CertificateRejected):
            certificate.verify()
    else:
        tolerance = 0.03 if isinstance(priors, LayerCake) else 1e-6 if isinstance(priors, KLBall) else 1e-12
        assert certificate.epsilon_upper == pytest.approx(found, rel=tolerance, abs=tolerance)
        assert certificate.verify() is certificate


def counted() -> Prior:
    return Prior.from_counts({"a": 500, "b": 300, "c": 200})


MECHANISM = lw.Mechanism([["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], ["1/4", "1/4", "1/2"]], inputs=["a", "b", "c"])

STORED: list[PriorSet] = [
    counted(),
    counted().ball("0.1"),
    *(
        counted().confidence("0.001", method)
        for method in ("weissman", "weissman-phi", "clopper-pearson", "kl", "layer-cake", "best")
    ),
    Box(counted(), [0, 0, 0], [1, 1, "0.5"]),
    Hull([counted(), Prior({"c": "0.1", "a": "0.1", "b": "0.8"})]),
    AllPriors(counted()),
    KLBall(counted(), "1/10"),
]


@pytest.mark.parametrize("priors", STORED, ids=lambda s: f"{type(s).__name__}-{getattr(s, 'method', '')}")
def test_a_certificate_for_a_set_is_stored_and_verified(priors: PriorSet, tmp_path: Path) -> None:
    certificate = lw.certify(MECHANISM, priors)
    certificate.save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert again.ratio == certificate.ratio
    assert again.prior == priors
    assert again.prior.failure == priors.failure
    assert again.outcome == certificate.outcome
    if priors.failure:
        assert "with probability at most" in again.sentence


def tampered(path: Path, change: Any) -> None:
    """Change the body of a certificate and repair its checksum: the integers themselves must give it away."""
    import hashlib

    document = json.loads(path.read_text(encoding="utf-8"))
    change(document["body"])
    raw = msgspec.json.encode(document["body"], order="deterministic")
    document["sha256"] = hashlib.sha256(raw).hexdigest()
    envelope = {"format": document["format"], "version": document["version"], "sha256": document["sha256"]}
    path.write_bytes(json.dumps(envelope).encode()[:-1] + b', "body": ' + raw + b"}")


def smaller(body: dict[str, Any]) -> None:
    numerator = int(body["ratio_numerator"], 16)
    body["ratio_numerator"] = hex(numerator - max(1, numerator >> 10))


@pytest.mark.parametrize("priors", STORED, ids=lambda s: f"{type(s).__name__}-{getattr(s, 'method', '')}")
def test_a_smaller_claim_is_rejected(priors: PriorSet, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    lw.certify(MECHANISM, priors).save(path)
    tampered(path, smaller)
    with pytest.raises(CertificateRejected, match="claims a largest lift"):
        lw.verify(path)


def shrink(body: dict[str, Any]) -> None:
    around = body["around"]
    name = "radius" if "radius" in around else "beta" if around.get("beta") else "lower"
    if name == "lower":
        around["lower"][0] = {"numerator": "0x1", "denominator": "0x2"}
    else:
        number = around[name]
        number["numerator"] = hex(int(number["numerator"], 16) * 9 // 10)


@pytest.mark.parametrize("method", ["weissman", "weissman-phi", "clopper-pearson", "kl", "best"])
def test_a_set_too_small_for_its_failure_is_rejected(method: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    lw.certify(MECHANISM, counted().confidence("0.001", method)).save(path)
    tampered(path, shrink)
    with pytest.raises(CertificateRejected, match="too small for its claim"):
        lw.verify(path)


@pytest.mark.parametrize("method", ["weissman", "weissman-phi", "clopper-pearson", "kl", "best"])
@pytest.mark.parametrize("counts", [(1, 0), (3, 97), (40, 30, 30), (980, 10, 5, 5, 0), (10**6, 1)])
@pytest.mark.parametrize("failure", ["0.5", "0.05", "1e-9"])
def test_every_set_stands_up_to_its_own_claim(method: str, counts: tuple[int, ...], failure: str) -> None:
    check_failure(Prior.from_counts(counts).confidence(failure, method))


def test_an_unbounded_certificate_is_stored_as_such(tmp_path: Path) -> None:
    everything = AllPriors(2)
    certificate = lw.certify(lw.identity(2), everything, epsilon=1.0)
    assert certificate.ratio is None
    assert not certificate.holds
    assert certificate.to_dict()["ratio"] == math.inf
    assert "∞" in repr(certificate)
    certificate.save(tmp_path / "c.json")
    with pytest.raises(CertificateRejected):
        lw.verify(tmp_path / "c.json")


def test_a_claim_without_a_sample_or_with_a_foreign_method_is_rejected() -> None:
    with pytest.raises(CertificateRejected, match="does not come from a sample"):
        check_failure(Ball(Prior([0.5, 0.5]), "0.1", "0.01", "weissman"))
    with pytest.raises(CertificateRejected, match="names a method"):
        check_failure(Ball(Prior.from_counts([5, 5]), "0.1", "0.01", "kl"))
    check_failure(Ball(Prior([0.5, 0.5]), "0.1"))  # an assumption of the user's


def test_a_set_of_another_kind_is_certified_but_not_stored(tmp_path: Path) -> None:
    class Halves(PriorSet):
        alphabet = counted().alphabet
        nominal = counted()
        failure = 0.0
        support = np.ones(3, dtype=bool)

        def least_mass(self, columns: Any) -> Any:
            return np.asarray(columns).min(axis=0)

        def exact_least_mass(self, column: Any) -> Fraction:
            return Fraction(min(column))

        def reordered(self, order: Any) -> PriorSet:
            return self

    certificate = lw.certify(MECHANISM, Halves())
    assert certificate.ratio == 4
    with pytest.raises(InvalidInput, match="cannot be stored"):
        certificate.save(tmp_path / "c.json")
