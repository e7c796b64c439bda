"""The audit: the same numbers as the measures, sentences that are true, pictures that draw."""

from __future__ import annotations

import importlib
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import leakwise as lw
from leakage import brute
from leakage.brute import EXAMPLE, UNIFORM, channels
from leakwise.priors import PriorSet

Channel = tuple[lw.Mechanism, lw.Prior]
SMOKES = lw.Prior({"no": 0.7, "yes": 0.3})
RESPONSE = lw.randomized_response(["no", "yes"], epsilon=1)


@settings(max_examples=40)
@given(channels())
def test_the_numbers_are_those_of_the_measures(channel: Channel) -> None:
    m, prior = channel
    found = lw.audit(m, prior, lift=1.5, delta="1/10")
    assert found.epsilon == lw.epsilon(m, prior)
    assert found.maximal_leakage == lw.maximal_leakage(m, prior)
    assert found.min_entropy_leakage == lw.measures.min_entropy_leakage(m, prior)
    assert found.mutual_information == lw.mutual_information(m, prior)
    assert found.tail == lw.measures.tail_probability(m, prior, lift=1.5)
    assert found.psi1 == lw.measures.psi1(m, prior, lift=1.5)
    assert found.psi2 == lw.measures.psi2(m, prior, lift=1.5)
    assert found.quantiles == lw.measures.pml_quantiles(m, prior, "1/10")
    assert found.ldp == lw.ldp(m)
    assert found.ldp_delta == lw.ldp(m, "1/10")
    assert found.probabilistic_ldp == lw.measures.probabilistic_ldp(m, lift=1.5)
    assert found.information_privacy == lw.measures.local_information_privacy(m, prior)
    assert sum(outcome.probability for outcome in found.outcomes) == pytest.approx(1)
    assert max(outcome.leakage for outcome in found.outcomes) == found.epsilon
    json.dumps(found.to_dict())


@settings(max_examples=60)
@given(channels())
def test_certainty_is_claimed_exactly_where_it_is(channel: Channel) -> None:
    found = lw.audit(*channel)
    lifts = brute.lifts(*channel)
    _, masses = brute.supported(*channel)
    for place, letter in enumerate(found.letters):
        posteriors = [masses[place] * column[place] for _, column in lifts]
        assert (letter.most == 1) == (max(posteriors) == 1)
        assert (letter.least == 0) == (min(posteriors) == 0)
        assert letter.most == pytest.approx(float(max(posteriors)))


@settings(max_examples=60)
@given(channels())
def test_what_is_never_disclosed_is_never_certain(channel: Channel) -> None:
    """A letter below e^-ε has no posterior of 1: what the sentence says."""
    found = lw.audit(*channel)
    for letter in found.letters:
        if letter.prior < math.exp(-found.epsilon) * (1 - 1e-9):
            assert letter.most < 1


def test_sentences_of_randomized_response() -> None:
    text = " ".join(lw.audit(RESPONSE, SMOKES).sentences)
    assert "more than 1.7937 times as likely" in text
    assert "for anyone who knew the prior (rows independent)" in text
    assert "outcome is 'yes', which has probability 40.8%" in text
    assert "from 30% to at most 53.9%" in text
    assert "right 70% of the time before, and 73.1% after" in text
    assert "No outcome makes any guess more than 2 times as likely" in text
    assert "less than 55.7% probability before cannot become certain" in text  # 1/1.7937 = 55.75%: rounded down
    assert "Local differential privacy guarantees 2.7183" in text


def test_sentences_where_differential_privacy_gives_up() -> None:
    text = " ".join(lw.audit(EXAMPLE, UNIFORM).sentences)
    assert "reveals 2, 3 with certainty" in text
    assert "its ε is infinite" in text
    assert "With probability at most 10% the outcome makes some guess more than 2 times as likely" in text


def test_sentences_of_nothing_and_of_letters_left_out() -> None:
    silent = lw.audit(lw.constant(2), lw.Prior([0.5, 0.5])).sentences
    assert silent[0].startswith("The outcome says nothing")
    assert not any("differential" in sentence for sentence in silent)
    partial = lw.audit(lw.identity(["a", "b", "c"]), lw.Prior({"a": 0.5, "b": 0.5, "c": 0.0}))
    assert partial.left_out == ("c",)
    assert "gives no probability to 'c'" in partial.sentences[-1]


def test_the_same_factor_in_both_languages() -> None:
    extreme = lw.Prior([1 - 1e-9, 1e-9])
    text = " ".join(lw.audit(lw.randomized_response(2, lift=3), extreme).sentences)
    assert "Local differential privacy says the same" in text


class _Pair(PriorSet):
    """The two ends of a segment of priors."""

    def __init__(self, first: lw.Prior, second: lw.Prior) -> None:
        self.ends = (first, second)

    alphabet = property(lambda self: self.ends[0].alphabet)
    nominal = property(lambda self: self.ends[0])
    failure = property(lambda self: 0.05)
    support = property(lambda self: self.ends[0].support | self.ends[1].support)

    def least_mass(self, columns: object) -> object:
        return np.minimum(*(end.least_mass(columns) for end in self.ends))

    def exact_least_mass(self, column: object) -> object:
        return min(end.exact_least_mass(column) for end in self.ends)

    def reordered(self, order: object) -> object:
        return _Pair(*(end.reordered(order) for end in self.ends))


def test_a_set_of_priors_gives_the_worst_of_them() -> None:
    other = lw.Prior({"no": 0.9, "yes": 0.1})
    found = lw.audit(RESPONSE, _Pair(SMOKES, other))
    assert found.epsilon == lw.epsilon(RESPONSE, other)
    assert found.mutual_information == lw.mutual_information(RESPONSE, SMOKES)
    assert "0.05, is stated, not proven" in found.sentences[0]


def test_every_line_about_a_set_says_which_priors_it_is_about() -> None:
    """The first sentence is for the set, the tail for its nominal prior: without saying so they contradict."""
    found = lw.audit(RESPONSE, lw.Prior({"no": 0.7, "yes": 0.3}).ball("0.3"))
    assert found.lift > 2
    for sentence in found.sentences:
        assert sentence.startswith(
            ("For every prior of the set: ", "For the nominal prior of the set: ", "For every prior: ")
        )
    assert (
        "For the nominal prior of the set: No outcome makes any guess more than 2 times as likely." in found.sentences
    )
    shown = repr(found)
    measures = shown.split("\n\n")[2].splitlines()[3:]
    assert all(line.endswith(("every prior of the set", "the nominal prior", "every prior")) for line in measures)
    assert "leakage: every prior of the set" in shown
    assert "Values, the most exposed first (the nominal prior)" in shown
    assert "For " not in lw.audit(RESPONSE, SMOKES).sentences[0][:4]


def test_a_prior_from_counts_is_reported_as_an_estimate() -> None:
    counted = lw.Prior.from_counts({"no": 7, "yes": 3})
    found = lw.audit(RESPONSE, counted)
    assert "an estimate from 10 rows and was taken as exact" in found.sentences[0]
    assert found.to_dict()["prior_taken_as_exact"] is True
    confident = lw.audit(RESPONSE, counted.confidence(1e-6))
    assert "taken as exact" not in repr(confident)
    assert "The sample misleads, and the guarantee with it, with probability at most 1e-6." in confident.sentences[0]
    assert confident.epsilon > found.epsilon
    assert confident.to_dict()["failure"] == 1e-6
    assert lw.audit(RESPONSE, SMOKES).to_dict()["prior_taken_as_exact"] is False


@settings(max_examples=40)
@given(channels())
def test_what_the_audit_prints_is_not_below_what_is_proven(channel: Channel) -> None:
    found, proven = lw.audit(*channel), lw.certify(*channel).ratio
    assert found.ratio == proven
    shown = re.search(r"more than (\S+) times", found.sentences[0])
    assert proven == 1 if shown is None else Fraction(shown[1].replace(",", "")) >= proven
    assert Fraction(found.lift) >= proven


def test_a_lift_beyond_every_float_is_printed() -> None:
    prior = lw.Prior({"a": 1, "b": Fraction(1, 10**400)})
    with np.errstate(all="ignore"):
        shown = repr(lw.audit(lw.identity(["a", "b"]), prior))
    assert "more than 1.0001e400 times as likely" in shown  # 10^400 + 1, rounded up
    assert "That covers" not in shown


def test_a_set_with_unbounded_leakage_is_refused() -> None:
    with pytest.raises(lw.InvalidInput, match="unbounded"):
        lw.audit(lw.identity(2), _Pair(lw.Prior([0.5, 0.5]), lw.Prior([1.0, 0.0])))


def test_it_shows_and_draws_itself() -> None:
    found = lw.audit(RESPONSE, SMOKES)
    assert "ε of PML" in repr(found)
    assert found.lift == pytest.approx(math.exp(found.epsilon))
    html = lw.audit(lw.identity(["<b>", "x"]), lw.Prior([0.5, 0.5])).to_dict(), found._repr_html_()
    assert "<ul><li>" in html[1]
    assert "<b>" not in lw.audit(lw.identity(["<b>", "x"]), lw.Prior.uniform(2))._repr_html_()
    parts = found.chart()["vconcat"]
    assert len(parts) == 4
    assert found.plot() is not None


def test_a_million_letters_are_audited_without_a_matrix() -> None:
    m = lw.randomized_response(200_000, lift=50)
    found = lw.audit(m, lw.Prior.uniform(200_000))
    assert found.ldp == pytest.approx(math.log(50))
    assert found.capacity is None
    assert found.outcomes == ()
    assert len(found.chart()["vconcat"]) == 1
    assert "200,000 values" in repr(found)


def test_what_needs_all_pairs_is_left_out_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("leakwise.leakage.audit"), "_MOST_PAIRS", 1)
    found = lw.audit(EXAMPLE, UNIFORM)
    assert found.ldp_delta is None
    assert found.probabilistic_ldp is None
    assert "probabilistic LDP" not in repr(found)


def test_arguments_are_checked() -> None:
    with pytest.raises(lw.InvalidInput, match="delta"):
        lw.audit(RESPONSE, SMOKES, delta=2)
    with pytest.raises(lw.InvalidInput, match="both"):
        lw.audit(RESPONSE, SMOKES, epsilon=1, lift=2)
    with pytest.raises(lw.InvalidInput, match=r"lw\.Mechanism"):
        lw.audit([[1.0]], [1.0])  # type: ignore[arg-type]
