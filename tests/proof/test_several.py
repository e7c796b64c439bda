"""A certificate of several secrets is believed only where its parts are linked as the mathematics needs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import CertificateRejected
from leakwise.exact import level
from leakwise.mechanism import StratifiedMechanism
from leakwise.priors import Box
from leakwise.proof import SecretPart, SeveralCertificate

LAW = {
    ("x", "no"): Fraction(4, 10),
    ("x", "yes"): Fraction(1, 10),
    ("y", "no"): Fraction(1, 10),
    ("y", "yes"): Fraction(4, 10),
}
MARGINS = {"a": lw.Prior({"x": 0.5, "y": 0.5}), "b": lw.Prior({"no": 0.5, "yes": 0.5})}
TABLE = {"a": ["x", "y"] * 20, "b": ["no", "yes"] * 20}


def made(prior: Any = None, **options: Any) -> SeveralCertificate:
    prior = lw.Prior(LAW) if prior is None else prior
    done = lw.protect(TABLE, {"a": 1.5, "b": 1.25}, prior=prior, order="keep", **options)
    certificate = done.certificate
    assert isinstance(certificate, SeveralCertificate)
    return certificate


def refused(certificate: SeveralCertificate, words: str) -> None:
    with pytest.raises(CertificateRejected, match=words):
        certificate.verify()


@pytest.mark.parametrize("prior", [lw.Prior(LAW), MARGINS], ids=["joint", "margins"])
def test_the_file_is_verified_again(prior: Any, tmp_path: Path) -> None:
    certificate = replace(made(prior), total=level(lift=2))
    path = tmp_path / "certificate.json"
    certificate.save(path)
    again = lw.verify(path)
    assert isinstance(again, SeveralCertificate)
    assert (again.ratio, again.total, again.exact) == (certificate.ratio, certificate.total, certificate.exact)
    assert again.sentence == certificate.sentence
    assert again.to_dict() == certificate.to_dict()
    damaged = path.read_text(encoding="utf-8").replace('"columns":["b"]', '"columns":["a"]')
    path.write_text(damaged, encoding="utf-8")
    with pytest.raises(lw.InvalidInput, match="checksum"):
        lw.verify(path)


def test_parts_in_another_order_are_refused() -> None:
    certificate = made()
    refused(replace(certificate, parts=certificate.parts[::-1], joint=None), "b is drawn for by a, which is not drawn")


def test_a_later_part_without_the_earlier_one_is_refused() -> None:
    certificate = made(MARGINS)
    refused(replace(certificate, parts=certificate.parts[1:]), "is missing")


def test_a_part_that_leaves_an_outcome_out_is_refused() -> None:
    certificate = made(MARGINS)
    second = certificate.parts[1]
    alone = lw.certify(lw.design(MARGINS["b"], lift=1.25, anyone=12.5).mechanism, MARGINS["b"], lift=1.25)
    refused(replace(certificate, parts=(certificate.parts[0], SecretPart(("b",), alone))), "says nothing of someone")
    # What was known alone, with priors that are too few.
    box = second.known
    assert isinstance(box, Box)
    narrow = Box(box.nominal, box.lower, [min(one, Fraction(3, 5)) for one in box.upper])
    smaller = SecretPart(("b",), lw.certify(second.mechanism, narrow, lift=1.25), MARGINS["b"])
    refused(replace(certificate, parts=(certificate.parts[0], smaller)), "leave out some that the earlier outcomes")
    # The right box, around another prior than it was made from.
    other = replace(second, alone=lw.Prior({"no": 0.9, "yes": 0.1}))
    refused(replace(certificate, parts=(certificate.parts[0], other)), "leave out some that the earlier outcomes")


def test_a_prior_that_does_not_follow_from_the_joint_one_is_refused() -> None:
    certificate = made()
    other = lw.Prior({**LAW, ("x", "no"): Fraction(1, 10), ("x", "yes"): Fraction(4, 10)})
    refused(replace(certificate, joint=other), "does not follow from the joint prior")


def test_a_total_that_is_exceeded_is_refused() -> None:
    certificate = replace(made(), total=level(lift=1.2))
    assert not certificate.holds
    refused(certificate, "more than asked \\(total lift = 1.2\\)")


def test_parts_relative_to_other_columns_are_refused() -> None:
    strata = lw.PriorByStratum({"f": MARGINS["b"], "m": MARGINS["b"]}, {"sex": ["f", "m"]})
    box = strata.replaced({key: made(MARGINS).parts[1].known for key in strata})  # type: ignore[misc]
    design = lw.design(box, lift=1.25, anyone=12.5)
    part = SecretPart(("b",), design.certificate, strata)
    refused(replace(made(MARGINS), parts=(made(MARGINS).parts[0], part)), "relative to")


def test_a_column_twice_and_no_column_are_refused() -> None:
    part = made(MARGINS).parts[0]
    refused(SeveralCertificate((part, part)), "each once")
    refused(SeveralCertificate(()), "each once")


def test_later_frequencies_pay_for_the_choice_of_earlier_mechanisms() -> None:
    """The mechanism of the first secret follows from rounded frequencies: each possible one has its share."""
    generator = np.random.default_rng(0)
    a = generator.choice(2, 5000)
    table = {"a": np.array(["x", "y"])[a], "b": np.array(["no", "yes"])[a ^ (generator.random(5000) < 0.2)]}
    done = lw.protect(
        table, {"a": 1.5, "b": 1.25}, prior="table", failure=1e-6, domain={"a": ["x", "y"], "b": ["no", "yes"]}
    )
    first, second = done.certificate.parts
    parts = int(5000**0.5)
    possible = (parts + 2) * (parts + 1) // 2
    assert first.possible == possible
    shares = [sum(second.known[key].exact_failure for key in second.known), first.known.exact_failure]
    assert done.certificate.exact_failure == shares[1] + possible * shares[0] <= Fraction(1e-6)
    assert shares[0] < Fraction(1e-6) / possible
    # Who forgets them is refused; where a total was shared out, the ways to do that count as well.
    forgotten = replace(done.certificate, parts=(replace(first, possible=1), second))
    refused(forgotten, "counts 1 mechanisms that its rows could have chosen")
    refused(replace(done.certificate, total=level(lift=2)), "mechanisms that its rows could have chosen")
    shared = lw.protect(
        table, {"a": 1.5, "b": 1.5}, total=2, prior="table", failure=1e-6, domain={"a": ["x", "y"], "b": ["no", "yes"]}
    )
    assert shared.certificate.verify().parts[0].possible == possible * 45 * 45


def answers(priors: lw.PriorByStratum) -> StratifiedMechanism:
    """Randomized response in every stratum."""
    each = dict.fromkeys(priors, lw.randomized_response(["no", "yes"], lift="1.25"))
    return StratifiedMechanism(each, priors.given_columns, secret=priors.secret)


def test_what_was_known_before_cannot_be_counted_beside_the_outcomes_before() -> None:
    """Frequencies beside outcomes pay for every mechanism that those may be drawn by, whatever they are called."""
    first = made(MARGINS).parts[0]
    sample = lw.Prior.from_counts({"no": 5000, "yes": 5000}).confidence("1e-7", "layer-cake")
    beside = lw.PriorByStratum(dict.fromkeys(first.mechanism.outputs, sample), {"a": list(first.mechanism.outputs)})
    every = beside.replaced(dict.fromkeys(beside, lw.AllPriors(lw.Prior.uniform(["no", "yes"]))))
    part = SecretPart(("b",), lw.certify(answers(every), every, lift=1.25), beside)
    refused(SeveralCertificate((first, part)), "before is told by the outcomes of a: it was counted beside them")


@pytest.mark.parametrize("method", ["kl", "weissman", "clopper-pearson", "layer-cake", "rounded-layer-cake"])
def test_rows_choose_a_mechanism_whatever_kind_of_set_is_around_their_frequencies(method: str) -> None:
    sample = lw.Prior.from_counts({"x": 5000, "y": 5000}).confidence("1e-7", method)
    response = lw.randomized_response(["x", "y"], lift="1.2")
    first = SecretPart(("a",), lw.certify(response, sample, lift=2))
    counted = lw.Prior.from_counts({"no": 2500, "yes": 2500}).confidence("1e-7", "layer-cake")
    beside = lw.PriorByStratum({"x": counted, "y": counted}, {"a": ["x", "y"]})
    second = SecretPart(("b",), lw.certify(answers(beside), beside, lift=1.25))
    refused(SeveralCertificate((first, second)), "counts 1 mechanisms that its rows could have chosen")
    # Of 100 parts in all, and at most one more for each value.
    enough = SeveralCertificate((replace(first, possible=102 * 101 // 2), second)).verify()
    assert enough.exact_failure == (1 + 2 * 102 * 101 // 2) * Fraction("1e-7")
