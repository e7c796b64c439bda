"""Sets of values that are too many to list: every answer is that of the listed mechanism, and none needs the list."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.documents import write_document
from leakwise.errors import InvalidInput
from leakwise.exact import exp_lower
from leakwise.mechanism import SetMechanism
from leakwise.mechanism.catalog import sets
from leakwise.mechanism.files import MechanismBody
from leakwise.mechanism.set_mechanism import EachValue, SoMany
from strategies import laws, ldp_ratio, pml_ratio

Maker = Callable[..., Any]
MAKERS: dict[str, Maker] = {
    "symmetric": lw.catalog.symmetric_unary_encoding,
    "optimized": lw.catalog.optimized_unary_encoding,
    "subset": lw.catalog.subset_selection,
}
every = pytest.mark.parametrize("name", sorted(MAKERS))


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No set is listed, however few there are."""
    monkeypatch.setattr(sets, "_LISTED", 0)


def listed(m: SetMechanism) -> list[list[Fraction]]:
    """The whole matrix, set by set."""
    names = ["b" + "".join(bits) for bits in itertools.product("01", repeat=len(m.inputs))]
    rows = [[m.probability(value, name) for name in names] for value in m.inputs]
    return [list(row) for row in zip(*(column for column in zip(*rows, strict=True) if any(column)), strict=True)]


@every
@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("t", ["1", "1.0000000001", "3/2", "4", "1e30"])
@settings(max_examples=12)
@given(prior=st.integers(2, 5).flatmap(laws))
def test_measures_are_those_of_the_listed_sets(name: str, t: str, prior: list[Fraction]) -> None:
    m = MAKERS[name](len(prior), lift=t)
    assert isinstance(m, SetMechanism)
    rows = listed(m)
    assert all(sum(row) == 1 for row in rows)
    ratio = ldp_ratio(rows)
    assert ratio is not None
    assert ratio <= Fraction(t)
    assert lw.ldp(m) == pytest.approx(math.log(ratio), abs=1e-12)
    assert lw.epsilon(m, prior) == pytest.approx(math.log(pml_ratio(rows, prior)), abs=1e-12)
    assert lw.epsilon(m, prior) >= math.log(pml_ratio(rows, prior)) - 1e-15
    support = [row for row, p in zip(rows, prior, strict=True) if p]
    for several, given_prior in ((rows, None), (support, prior)):
        largest = sum(max(column) for column in zip(*several, strict=True))
        assert lw.maximal_leakage(m, given_prior) == pytest.approx(math.log(largest), abs=1e-12)
    law = [sum(p * row[j] for p, row in zip(prior, rows, strict=True)) for j in range(len(rows[0]))]
    information = math.fsum(
        float(p * x) * math.log(x / q)
        for p, row in zip(prior, rows, strict=True)
        for x, q in zip(row, law, strict=True)
        if p and x
    )
    assert information - 1e-13 <= lw.mutual_information(m, prior) <= information + 1e-7
    assert information - 1e-7 <= lw.utility(m, prior, "mutual_information") <= information + 1e-13


@every
@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 1.0, 20.0, 5000.0])
def test_a_hundred_values_keep_the_level(name: str, epsilon: float) -> None:
    m = MAKERS[name](100, epsilon)
    if name == "subset" and epsilon > 4:  # sets of one value are few enough to be listed
        assert m.shape == (100, 100)
        return
    assert isinstance(m, SetMechanism)
    ratio = max(Fraction(one.inside, one.outside) for one in m.levels if 0 < one.size < 100)
    assert 1 <= ratio <= (exp_lower(Fraction(epsilon)) if epsilon else 1)
    if epsilon == 1.0:
        assert lw.ldp(m) == pytest.approx(1.0, abs=1e-12)
        prior = lw.Prior(np.arange(1, 101) / 5050)
        assert 0 < lw.mutual_information(m, prior) < lw.maximal_leakage(m) < lw.epsilon(m, prior) < 1
        assert m.shape[1] == (math.comb(100, 27) if name == "subset" else 2**100)


@every
def test_the_privacy_profile_is_that_of_the_listed_sets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = MAKERS[name](5, lift=3)
    monkeypatch.setattr(sets, "_LISTED", 0)
    many = MAKERS[name](5, lift=3)
    for delta in ("0", "0.01", "0.2", "1"):
        assert lw.ldp(many, delta=delta) == pytest.approx(lw.ldp(dense, delta=delta), abs=1e-12)
    for lift in (1, 2, 3):
        profiles = [lw.measures.privacy_profile(m).delta(lift=lift) for m in (many, dense)]
        assert profiles[0] == pytest.approx(profiles[1], abs=1e-12)
        passed = [lw.measures.probabilistic_ldp(m, lift=lift) for m in (many, dense)]
        assert passed[0] == pytest.approx(passed[1], abs=1e-12)
    assert lw.ldp(MAKERS[name](100, epsilon=1), delta=0.01) < 1


@pytest.mark.parametrize("rule", [EachValue((1 << 60) - 2, 1 << 59), EachValue(1 << 59, 1), SoMany(1, (1 << 60) - 1)])
@pytest.mark.parametrize("weights", [[44, 10**15], [10**6, 10**15], [1, 10**15, 1], [10**6, 1, 1, 1, 1, 1]])
def test_information_is_rounded_up_where_one_value_is_all_but_certain(
    rule: EachValue | SoMany, weights: list[int]
) -> None:
    prior = lw.Prior([Fraction(weight, sum(weights)) for weight in weights])
    m = SetMechanism(prior.alphabet, rule)
    rows = listed(m)
    law = [sum(p * row[j] for p, row in zip(prior.fractions, rows, strict=True)) for j in range(len(rows[0]))]
    with ctx.workprec(200):
        truth = arb(0)
        for p, row in zip(prior.fractions, rows, strict=True):
            for x, q in zip(row, law, strict=True):
                if x:
                    share, ratio = p * x, x / q
                    truth += (
                        arb(fmpq(share.numerator, share.denominator))
                        * arb(fmpq(ratio.numerator, ratio.denominator)).log()
                    )
        assert truth < arb(lw.mutual_information(m, prior)) < truth + arb(1e-7)
        assert arb(lw.utility(m, prior, "mutual_information")) < truth


def test_a_uniform_prior_has_its_information_exactly() -> None:
    """Of d of k values, t times as often with the true one: log of t over 1 + (t-1)d/k, where that is the case."""
    k, d, t = 60, 20, 2.0
    p = d * t / (d * t + k - d)
    expected = p * math.log(t * k / (d * t + k - d)) + (1 - p) * math.log(k / (d * t + k - d))
    m = lw.catalog.subset_selection(k, lift=2, size=d)
    assert isinstance(m, SetMechanism)
    assert lw.mutual_information(m, lw.Prior.uniform(k)) == pytest.approx(expected, rel=1e-9)


@every
@pytest.mark.usefixtures("unlisted")
def test_draws_are_those_of_the_mechanism(name: str) -> None:
    from leakwise.tables.estimate.fit import fits

    m = MAKERS[name](["a", "b", "c", "d"], lift=3)
    for letter in "ad":
        drawn = m.sample(letter, 20_000, unsafe_seed=7)
        names = sorted(set(drawn))
        counts = np.array([drawn.count(one) for one in names])
        law = np.array([float(m.probability(letter, one)) for one in names])
        assert law.sum() == pytest.approx(1)
        assert fits(counts, law, len(law))
        assert not fits(counts, law[::-1], len(law))


def test_a_set_that_tells_nothing_is_drawn_alike_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "_LISTED", 0)
    m = lw.catalog.subset_selection(5, lift=1)
    assert m.probability(0, "b11000") == m.probability(4, "b11000") == Fraction(1, 10)
    assert m.sample(0, 9, unsafe_seed=1) == m.sample(4, 9, unsafe_seed=1)
    assert {name.count("1") for name in m.sample(2, 50)} == {2}


@every
def test_the_variance_of_a_frequency_is_the_published_one(name: str) -> None:
    t, k = math.e, 100
    m = MAKERS[name](k, epsilon=1.0)
    assert isinstance(m, SetMechanism)
    p, q = (float(rate) for rate in m.rates)
    d = 27  # 100 / (e + 1), rounded
    published = {
        "symmetric": math.sqrt(t) / (math.sqrt(t) - 1) ** 2,
        "optimized": 4 * t / (t - 1) ** 2,
    }
    if name in published:
        assert q * (1 - q) / (p - q) ** 2 == pytest.approx(published[name], rel=1e-9)
    else:
        assert p == pytest.approx(d * t / (d * t + k - d))
        assert q == pytest.approx((p * (d - 1) + (1 - p) * d) / (k - 1))


def test_what_needs_a_list_says_what_does_not() -> None:
    m = lw.catalog.optimized_unary_encoding(100, lift=2)
    uniform = lw.Prior.uniform(100)
    asks: list[Callable[[], Any]] = [lambda: m.matrix, lambda: m.outputs, lambda: m.repeat(2), m.to_latex]
    for ask in (*asks, lambda: lw.pml(m, uniform), lambda: lw.envelope(m, uniform, 0.1), lambda: lw.audit(m, uniform)):
        with pytest.raises(InvalidInput, match=r"too many to list.*lw\.epsilon"):
            ask()
    with pytest.raises(InvalidInput, match="one prior"):
        lw.epsilon(m, lw.Prior.uniform(100).ball("0.1"))
    assert "10^30" in repr(m)
    assert pickle.loads(pickle.dumps(m)) == m
    assert m != lw.catalog.optimized_unary_encoding(100, lift=3)
    assert m != lw.randomized_response(100, lift=2)
    assert lw.randomized_response(100, lift=2) != m


@pytest.mark.parametrize("outcome", ["b01", "0" * 101, "b" + "2" * 100, 7, None])
def test_an_outcome_is_as_many_bits_as_there_are_values(outcome: Any) -> None:
    with pytest.raises(InvalidInput, match="100 bits"):
        lw.catalog.optimized_unary_encoding(100, lift=2).probability(0, outcome)


@pytest.mark.parametrize("rule", [EachValue(1, 2), EachValue(1 << 60, 1), EachValue(2, 0), SoMany(0, 1), SoMany(9, 1)])
def test_rules_that_favour_another_value_are_refused(rule: Any) -> None:
    with pytest.raises(InvalidInput, match=r"[Tt]he true"):
        SetMechanism(lw.identity(8).input_alphabet, rule)
    with pytest.raises(InvalidInput, match=r"[Tt]he true"):
        SetMechanism(lw.identity(8).input_alphabet, SoMany(4, 1))


@every
@pytest.mark.parametrize("lift", [1, 3])
def test_a_file_keeps_the_mechanism(name: str, lift: int, tmp_path: Path) -> None:
    m = MAKERS[name]([f"v{place}" for place in range(80)], lift=lift)
    assert isinstance(m, SetMechanism)
    m.save(tmp_path / "m.json")
    kept = lw.Mechanism.load(tmp_path / "m.json")
    assert kept == m
    assert (kept.levels, kept.denominator, kept.inputs) == (m.levels, m.denominator, m.inputs)  # type: ignore[attr-defined]
    stored = json.loads((tmp_path / "m.json").read_text())
    assert stored["version"] == 6
    assert m.to_dict()["inputs"] == list(m.inputs)
    # A stranger's file is checked as if it had been typed.
    body = stored["body"] | {
        "kernel": stored["body"]["kernel"] | ({"size": 99} if name == "subset" else {"keep": "0x1"})
    }
    write_document(tmp_path / "bad.json", "leakwise.mechanism", 6, msgspec.convert(body, MechanismBody))
    with pytest.raises(InvalidInput, match=r"[Tt]he true"):
        lw.Mechanism.load(tmp_path / "bad.json")
