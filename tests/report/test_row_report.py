"""The report on whole rows: for whom it holds, stratum by stratum, and nothing that the rounded counts do not say."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.exact import exp_lower
from leakwise.priors.sample import cell_of, coarse_prior, rounded_parts
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.report import Protection, RowFacts, page, write_report
from leakwise.tables.row_columns import RowColumns

VALUES = ["flu", "cold", "hiv"]
GIVEN = {"sex": ["f", "m"], "income": ["low", "high"]}
COUNTS = {("f", "low"): [3011, 1502, 487], ("m", "low"): [5003, 601, 396], ("f", "high"): [101, 1207, 2692]}
SMALL = {("m", "high"): [5, 5, 7]}
ROW = RowColumns(("diagnosis",), ("sex", "income"), ("zip",), ("name",))
TIME = datetime(2026, 1, 1, tzinfo=UTC)


def shown(counts, failure="1e-6"):
    """A mechanism and a certificate that follow from the rounded frequencies alone, as a release makes them."""
    samples = {key: lw.Prior.from_counts(dict(zip(VALUES, one, strict=True))) for key, one in counts.items()}
    sets = {key: RoundedLayerCake(one, Fraction(failure) / len(counts)) for key, one in samples.items()}
    priors = lw.PriorByStratum(sets, GIVEN, {key: sum(one) for key, one in counts.items()}, secret="diagnosis")
    public = priors.replaced(
        {key: lw.Prior(dict(zip(VALUES, one.nominal.fractions, strict=True))) for key, one in sets.items()}
    )
    mechanism = lw.design(public, lift="1.7", anyone=20, utility="frequencies").mechanism
    return lw.certify(mechanism, priors, lift=2, anyone=20)


@pytest.fixture(scope="module")
def certificate():
    return shown(COUNTS)


def facts_of(certificate, **changes):
    sizes = {key: sum(one) for key, one in {**COUNTS, **SMALL}.items()}
    told = {
        "dataset": "survey",
        "columns": ("diagnosis",),
        "rows": sum(sizes.values()),
        "use": "statistics",
        "origin": "table",
        "failure": 1e-6,
        "how": {},
        "ledger": None,
        "time": TIME,
        "row": ROW,
        "certificate": certificate,
        "sizes": sizes,
    }
    return RowFacts(**{**told, **changes})


def test_the_guarantee_says_whom_it_covers(certificate):
    assert facts_of(certificate).guarantee == (
        "No guess about diagnosis becomes more than 2 times as likely as sex and income make it already, for anyone "
        "who sees the row, nor more than 20 times as likely for anyone, whatever they knew (rows independent; if zip "
        "tells nothing about diagnosis). The rows mislead, and the guarantee with them, with probability at most 1e-6: "
        "it is about people drawn like the rows with the same sex and income. The frequencies per stratum, rounded, "
        "are treated as public: the lift of 2 is that of a row's own outcome; from all rows together it is at most 40."
    )


def test_public_priors_are_named_and_nothing_is_said_of_frequencies(certificate):
    priors = {key: lw.Prior(dict(zip(VALUES, one, strict=True))) for key, one in COUNTS.items()}
    public = lw.certify(certificate.mechanism, lw.PriorByStratum(priors, GIVEN), lift=2, anyone=20)
    words = facts_of(public, origin="given", failure=None).guarantee
    assert "for anyone who sees the row and knew the prior of its stratum, nor more than" in words
    assert "public" not in words
    assert "mislead" not in words


def test_the_page_shows_the_largest_strata_first_and_how_many_more(certificate):
    many = {("f", "low"): 5000, ("m", "low"): 6000, ("f", "high"): 4000} | {("x", str(k)): 2 for k in range(100)}
    text = page(facts_of(certificate, sizes=many, rows=sum(many.values())))
    places = [text.index(where) for where in ('<th scope="row">sex = m, income = low', "sex = f, income = low</th>")]
    assert places == sorted(places)
    assert "43 smaller ones are not shown" in text
    assert "200 of 15,200 rows, in 100 of 103 strata, have the mechanism that holds for every prior" in text
    assert "<details>" in text
    assert "most after it" in text


def test_rows_with_values_that_were_not_declared_are_counted_in_no_stratum(certificate):
    sizes = {key: sum(one) for key, one in COUNTS.items()}
    facts = facts_of(certificate, sizes=sizes)
    assert facts.fallback == (0, 17)
    assert "17 of 15,017 rows, in strata that are not listed, have the mechanism" in page(facts)
    assert sum(part.rows for part in facts.parts) == facts.rows


def test_what_is_not_guaranteed(certificate):
    words = " ".join(facts_of(certificate).limits())
    assert "A copy of the released diagnosis without sex and income (or with only some of them) is another" in words
    assert "zip went out, and it was assumed that nothing about diagnosis can be told from that, beyond what" in words
    assert "only the limit for anyone counts, to the power of g" in words
    assert "17 of 15,017 rows, in 1 of 4 strata, have the mechanism that holds for every prior." in words
    told = [kind for _, kind, _ in facts_of(certificate).roles]
    assert told == ["secret", "given", "given", "unrelated", "dropped"]


def test_the_report_says_nothing_beyond_the_rounded_counts(certificate):
    """Two tables with the same sizes and the same rounded frequencies have the same report, to the byte."""
    low, high = cell_of(rounded_parts(COUNTS["f", "low"]), sum(COUNTS["f", "low"]))
    step = min(3011 - low[0], high[1] - 1502)
    moved = {**COUNTS, ("f", "low"): [3011 - step, 1502 + step, 487]}
    assert step > 10
    letters = lw.Prior.uniform(VALUES).alphabet
    assert coarse_prior(moved["f", "low"], letters) == coarse_prior(COUNTS["f", "low"], letters)
    one, other = facts_of(certificate), facts_of(shown(moved))
    assert page(one) == page(other)
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())
    assert not [count for counts in COUNTS.values() for count in counts if f">{count:,}<" in page(one)]


def test_the_expected_accuracy_is_that_of_estimates(certificate):
    generator = np.random.default_rng(3)
    table: dict[str, list[str]] = {"sex": [], "income": [], "diagnosis": []}
    for (sex, income), counts in {**COUNTS, **SMALL}.items():
        rows = generator.permutation(np.repeat(VALUES, counts)).tolist()
        table["sex"] += [sex] * len(rows)
        table["income"] += [income] * len(rows)
        table["diagnosis"] += rows
    order = generator.permutation(len(table["sex"])).tolist()
    mixed = {name: [column[place] for place in order] for name, column in table.items()}
    released = lw.release(mixed, certificate.mechanism, column="diagnosis")
    found = lw.estimate(released, certificate.mechanism, column="diagnosis")
    expected = facts_of(certificate).comparison.ours.standard_error
    assert np.allclose(found.standard_error, expected, rtol=0.05)


def test_the_largest_posterior_is_that_of_bayes(certificate):
    facts = facts_of(certificate)
    for place, one in enumerate(facts.letters):
        most = 0.0
        for key in COUNTS:
            prior, matrix = certificate.priors[key].nominal.probabilities, certificate.mechanism[key].matrix
            law = prior @ matrix
            most = max(most, float((prior[place] * matrix[place] / law)[law > 0].max()))
        assert float(one["most"]) == pytest.approx(most)


def test_a_prior_that_is_paid_for_is_in_the_limits():
    """What is printed is the limit that was asked for, with what the noise told; and that it may all be published."""
    letters = lw.Prior.uniform(VALUES).alphabet
    noisy = {
        key: NoisyLayerCake(letters, [count + 3 for count in counts], sum(counts), Fraction("0.05"), Fraction("1e-6"))
        for key, counts in COUNTS.items()
    }
    priors = lw.PriorByStratum(noisy, GIVEN)
    public = priors.replaced(
        {key: lw.Prior(dict(zip(VALUES, one.nominal.fractions, strict=True))) for key, one in noisy.items()}
    )
    mechanism = lw.design(public, lift="1.4", anyone=10, utility="frequencies").mechanism
    paid = facts_of(lw.certify(mechanism, priors, lift=2, anyone=20))
    assert paid.certificate.holds
    assert paid.promised == 2
    largest = max(lw.certify(mechanism[key], noisy[key]).ratio for key in COUNTS)
    assert paid.promised >= largest * exp_lower(Fraction("0.05"))
    assert paid.strata[0].lift >= lw.certify(mechanism["m", "low"], noisy["m", "low"]).ratio * exp_lower(
        Fraction("0.05")
    )
    assert "which costs 0.05 nats. The limits contain that: they hold for the mechanism and all" in paid.guarantee
    assert "treated as public" not in paid.guarantee
    assert "all of it can be published" in " ".join(paid.limits())
    assert paid.to_dict()["prior"]["cost"] == 0.05
    assert "Anyone who has c.json can check it again" in page(replace(paid, certificate_file="c.json"))


def test_without_given_columns_the_sentence_names_what_is_unrelated():
    r = lw.protect({"s": ["no", "yes"] * 20}, "s", prior=lw.Prior.uniform(["no", "yes"]), lift="1.5", order="keep")
    facts = r.facts.__class__(**{**r.facts.__dict__, "row": RowColumns(("s",), (), ("zip", "age"))})
    assert facts.guarantee.endswith("whatever they knew (rows independent; if zip and age tell nothing about s).")
    assert "No guess about s becomes more than 1.5 times as likely by seeing the row, for anyone who" in facts.guarantee
    assert "if zip and age tell nothing about s" in page(facts)
    assert facts.to_dict()["version"] == 2
    assert r.facts.to_dict()["version"] == 1


# ------------------------------------------------------------------------------------------------ for the steward


def test_the_stewards_page_is_apart_private_and_exact(certificate, tmp_path):
    facts = facts_of(certificate)
    made = Protection({}, certificate, None, facts, None, {}, {**COUNTS, **SMALL})
    for name in ("steward.html", "steward.json"):
        path = made.steward_report(tmp_path / name)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text()
        assert "For the steward only: this page contains exact figures of the table" in text
        assert "2,692" in text or "2692" in text
    told = json.loads((tmp_path / "steward.json").read_text())
    assert told["for_every_prior"] == {"strata": 1, "rows": 17}
    alone = max(one["alone"]["lift"] for one in told["audit"]["strata"])
    whole = np.sum([*COUNTS.values(), *SMALL.values()], axis=0)
    truth = max((np.array(one) / sum(one) / (whole / whole.sum())).max() for one in [*COUNTS.values(), *SMALL.values()])
    assert alone == pytest.approx(truth)
    # What a copy without the given columns tells, by the joint frequencies of stratum, value and outcome.
    masses, copies = np.zeros((3, len(certificate.mechanism.outputs))), {**COUNTS, **SMALL}
    for key, counts in copies.items():
        one = certificate.mechanism[key]
        places = [certificate.mechanism.outputs.index(label) for label in one.outputs]
        masses[:, places] += np.array(counts)[:, None] * one.matrix
    truth = (masses / masses.sum(axis=0) / (whole / whole.sum())[:, None]).max()
    assert told["lift_of_a_copy_without_given_columns"] == pytest.approx(truth)
    receiver = write_report(facts, tmp_path / "r.html").read_text()
    assert "steward" not in receiver
    assert "2,692" not in receiver


def test_a_plain_release_has_a_stewards_page_too(tmp_path):
    rows = np.random.default_rng(0).permutation(["no"] * 7919 + ["yes"] * 2081).tolist()
    r = lw.protect({"s": rows}, "s", domain=["no", "yes"], prior="table", failure=1e-6, lift=3)
    told = json.loads(r.steward_report(tmp_path / "s.json").read_text())
    assert told["counts"] == [{"stratum": None, "counts": [7919, 2081]}]
    assert 1 < told["proven_lift"] < 3
    assert "7,919" in r.steward_report(tmp_path / "s.html").read_text()


def test_a_plain_release_with_a_prior_that_is_paid_for_says_that_all_of_it_can_be_published():
    rows = np.random.default_rng(0).permutation(["no"] * 7919 + ["yes"] * 2081).tolist()
    r = lw.protect({"s": rows}, "s", domain=["no", "yes"], prior="table", failure=1e-6, lift=2, prior_cost=0.1)
    text = page(replace(r.facts, certificate_file="c.json"))
    words = r.guarantee + " ".join(r.facts.limits()) + text
    for told in ("counted with noise, which costs 0.1 nats", "all of it can be published", "Anyone who has c.json can"):
        assert told in words
    for wrong in ("treated as public", "keep it with the table", "is not counted.", "rounded frequencies"):
        assert wrong not in words
    assert r.facts.promised >= r.certificate.ratio * exp_lower(Fraction("0.1"))
    assert "more than 2 times as likely" in r.guarantee
