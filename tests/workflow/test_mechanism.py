"""Released for reading: values as outcomes, as frequent as under the prior that is public already."""

from __future__ import annotations

import html
from collections import Counter

import numpy as np
import pytest

import leakwise as lw
from leakwise.data import adult_table
from leakwise.priors.sample import coarse_prior
from leakwise.tables.release.draw import draw_codes

NAME = "marital_status"


@pytest.fixture(scope="module")
def table():
    return {NAME: adult_table()[NAME]}


@pytest.fixture(scope="module")
def prior(table):
    return lw.Prior(Counter(table[NAME]))


def test_reading_keeps_the_frequencies_by_default(table, prior, tmp_path):
    r = lw.protect(table, NAME, prior=prior, lift=2, use="reading", order="keep")
    assert lw.measures.frequency_shift(r.mechanism, prior) == 0
    share = np.mean(np.array(r.table[NAME]) == np.array(table[NAME]))
    assert share == pytest.approx(0.68, abs=0.02)
    told = r.report(tmp_path / "report.html").read_text()
    assert "has the right frequencies as it stands, if the table's are those of the prior" in html.unescape(told)
    assert r.facts.to_dict()["frequencies_kept"]


def test_with_the_prior_of_the_table_the_rounded_frequencies_are_kept(table):
    """What can be read from the mechanism is what the release treats as public: never the exact counts."""
    domain = sorted(set(table[NAME]))
    r = lw.protect(table, NAME, domain=domain, prior="table", failure=1e-6, lift=2, use="reading", order="keep")
    counts = Counter(table[NAME])
    rounded = coarse_prior([counts[value] for value in domain], lw.Prior.uniform(domain).alphabet)
    assert lw.measures.frequency_shift(r.mechanism, rounded) <= 2.0**-50
    assert lw.measures.frequency_shift(r.mechanism, lw.Prior(counts)) > 1e-6
    assert r.facts.kept == "table"
    # 32,560 rows with a few of them changed round to the same, and so does what is released.
    moved = list(table[NAME])
    moved[moved.index("Widowed")] = "Separated"
    other = lw.protect(
        {NAME: moved}, NAME, domain=domain, prior="table", failure=1e-6, lift=2, use="reading", order="keep"
    )
    assert other.mechanism == r.mechanism


def test_without_the_frequencies_more_rows_agree_and_rare_values_may_vanish(prior):
    rows = {"s": [value for value in prior.labels for _ in range(3)]}
    kept, free = (
        lw.protect(rows, "s", prior=prior, lift=2, use="reading", keep_frequencies=keep, order="keep")
        for keep in (True, False)
    )
    assert free.design.value > kept.design.value
    assert lw.measures.frequency_shift(free.mechanism, prior) > 0.01
    assert free.facts.kept is None


@pytest.mark.parametrize("beside", [{}, {"use": "reading", "mechanism": lw.randomized_response(["a", "b"], lift=2)}])
def test_keep_frequencies_is_refused_where_nothing_follows_from_it(beside):
    with pytest.raises(lw.InvalidInput, match="must be True, False or left out"):
        lw.protect(["a", "b"], prior={"a": 0.5, "b": 0.5}, lift=2, keep_frequencies="no", **beside)
    with pytest.raises(lw.InvalidInput, match=r"keep_frequencies .* goes with use='reading'"):
        lw.protect(["a", "b"], prior={"a": 0.5, "b": 0.5}, lift=2, keep_frequencies=True, **beside)


def test_few_rows_leave_a_mechanism_for_every_prior_that_keeps_the_rounded_frequencies():
    rows = ["a", "b", "a", "a", "b", "a"]
    with pytest.warns(lw.LeakwiseWarning, match="6 rows are too few"):
        r = lw.protect(rows, domain=["a", "b"], prior="table", failure=1e-6, lift=2, use="reading")
    assert lw.ldp(r.mechanism) <= np.log(2) + 1e-9
    assert lw.measures.frequency_shift(r.mechanism, r.prior) <= 2.0**-50


def test_no_forbidden_pair_is_ever_drawn(prior):
    """Ten million draws, a slice of the billion of the attack: zeros of the integers are never drawn."""
    pairs = [("Widowed", "Never-married"), ("Never-married", "Widowed"), ("Divorced", "Never-married")]
    agreement = lw.Expected(np.eye(len(prior)))
    m = lw.design(prior, lift=2, utility=agreement, keep_frequencies=True, forbidden=pairs).mechanism
    bad = np.array([[(value, outcome) in pairs for outcome in m.outputs] for value in m.inputs])
    codes = np.tile(np.flatnonzero(bad.any(axis=1)).astype(np.uint8), 10**7 // 3 + 1)
    assert not bad[codes, draw_codes(codes, m.sampler)].any()


def test_forbidden_pairs_and_least_shares_of_a_release(table, prior, tmp_path):
    pairs, shares = [("Widowed", "Never-married"), ("Never-married", "Widowed")], {"Separated": 0.05}
    asked = {"prior": prior, "lift": 2, "use": "reading", "order": "keep", "forbidden": pairs, "keep_at_least": shares}
    with pytest.raises(lw.InvalidInput, match=r"anyone=None \(--anyone none\)"):
        lw.protect(table, NAME, **asked)
    r = lw.protect(table, NAME, anyone=None, **asked)
    place = {label: number for number, label in enumerate(prior.labels)}
    named = dict(zip(r.mechanism.outputs, r.mechanism.matrix.T, strict=True))
    assert not any(named[outcome][place[value]] for value, outcome in pairs)
    assert named["Separated"][place["Separated"]] >= 0.05
    assert not set(pairs) & set(zip(table[NAME], r.table[NAME], strict=True))
    assert lw.measures.frequency_shift(r.mechanism, prior) == 0
    told = html.unescape(r.report(tmp_path / "report.html").read_text())
    assert "'Widowed' as 'Never-married', 'Never-married' as 'Widowed'" in told
    assert "'Separated' with probability 0.05" in told
    # With a share alone nothing is impossible, and the limit for anyone stays.
    both = lw.protect(table, NAME, prior=prior, lift=2, use="reading", order="keep", keep_at_least=shares)
    assert both.certificate.further.anyone is not None
    assert both.mechanism.matrix[place["Separated"], both.mechanism.outputs.index("Separated")] >= 0.05


def test_forbidden_pairs_with_the_prior_of_the_table(table):
    pairs = [("Widowed", "Never-married")]
    domain = sorted(set(table[NAME]))
    asked = {"domain": domain, "prior": "table", "failure": 1e-6, "lift": 2, "use": "reading", "anyone": None}
    r = lw.protect(table, NAME, **asked, forbidden=pairs, order="keep")
    assert r.mechanism.matrix[domain.index("Widowed"), r.mechanism.outputs.index("Never-married")] == 0
    assert not set(pairs) & set(zip(table[NAME], r.table[NAME], strict=True))


@pytest.mark.parametrize("mask", [{"forbidden": [("a", "b")]}, {"keep_at_least": 0.1}])
@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({}, r"goes with use='reading' \(--for reading\)"),
        ({"use": "reading", "mechanism": lw.randomized_response(["a", "b"], lift=2)}, "not with mechanism="),
        ({"use": "reading", "keep_frequencies": False}, "goes with the frequencies kept"),
    ],
)
def test_masks_are_refused_where_nothing_follows_from_them(mask, beside, words):
    with pytest.raises(lw.InvalidInput, match=words):
        lw.protect(["a", "b"], prior={"a": 0.5, "b": 0.5}, lift=2, anyone=None, **mask, **beside)


@pytest.mark.parametrize("use", ["statistics", "reading"])
def test_a_ceiling_near_the_frequencies_of_the_table(use):
    """At 22% the rows are not too few: a prior that they leave possible is above the ceiling, and the message says so.

    A ceiling of 25% is kept for every prior that the rows leave possible, not only for their frequencies.
    """
    rows = ["a"] * 5000 + ["b"] * 3000 + ["c"] * 2000
    asked = {"domain": ["a", "b", "c"], "prior": "table", "failure": 1e-6, "lift": 2, "use": use, "order": "keep"}
    r = lw.protect(rows, **asked, ceiling={"c": 0.25})
    assert r.certificate.verify().holds
    matrix, shares = r.mechanism.matrix, r.prior.probabilities
    assert (shares[2] * matrix[2] / (shares @ matrix)).max() < 0.25
    for ceiling in (0.22, 0.2, 0.15):
        with pytest.raises(lw.Infeasible) as told:
            lw.protect(rows, **asked, ceiling={"c": ceiling})
        assert f"ceiling of {100 * ceiling:.0f}% for 'c' cannot be kept by any mechanism" in str(told.value)
        assert "a prior that the sample leaves possible gives 22.7%" in str(told.value)
        assert "too few" not in str(told.value)


def test_the_prior_of_few_rows_bears_out_no_forbidden_pair():
    asked = {"domain": ["a", "b"], "prior": "table", "failure": 1e-6, "lift": 2, "use": "reading", "anyone": None}
    with pytest.raises(lw.Infeasible, match="too few"):
        lw.protect(["a", "b", "a"], **asked, forbidden=[("a", "b")])
