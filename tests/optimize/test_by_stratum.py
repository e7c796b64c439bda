"""Designs by stratum: the table of the mathematics, brute force on rows, names, fallbacks, one certificate."""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_by
from hypothesis import settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.data import adult_table
from leakwise.errors import CertificateRejected, Infeasible, InvalidInput, LeakwiseWarning
from leakwise.leakage import lifts

MARITAL = sorted(set(adult_table()["marital_status"]))


def known(cp: lw.PriorByStratum) -> lw.PriorByStratum:
    """The same priors, as known ones: where they come from is not said."""
    return cp.replaced({key: lw.Prior.from_integers(cp.alphabet, cp[key].nominal.weights.tolist()) for key in cp})


def known_counts(counts: Any, given: Any) -> lw.PriorByStratum:
    return known(lw.PriorByStratum.from_counts(counts, given))


def adult(*given: str) -> lw.PriorByStratum:
    return lw.PriorByStratum.from_data(adult_table(), "marital_status", given=list(given), domain=MARITAL)


@pytest.mark.parametrize(
    ("given", "strata", "per_row", "of_a_law"),
    [
        (("sex",), 2, 7.15, 7.21),
        (("sex", "income"), 4, 7.33, 7.44),
        (("sex", "occupation", "income"), 57, 6.72, 6.84),
    ],
)
def test_the_table_of_section_8_for_known_priors(
    given: tuple[str, ...], strata: int, per_row: float, of_a_law: float
) -> None:
    cp = known(adult(*given))
    assert len(cp) == strata
    d = lw.design(cp, lift=2, utility="frequencies")
    assert round(-d.value, 2) == per_row
    assert d.gap < 1e-5
    assert d.fallbacks == ()
    # As estimates of a law from which rows are drawn: sum of w tr J^-1, less the squares of the whole.
    squares = sum(float(cp.weights[u]) * float((cp[u].nominal.probabilities ** 2).sum()) for u in cp)
    assert round(-d.value + squares - float((cp.marginal.probabilities**2).sum()), 2) == of_a_law
    assert d.certificate.holds
    assert d.certificate.ratio is not None
    assert d.certificate.ratio <= 2


def joint_laws() -> st.SearchStrategy[list[list[int]]]:
    """Whole numbers P(u, s): up to 4 strata of up to 4 values, some of them zero."""
    sizes = st.tuples(st.integers(1, 4), st.integers(2, 4))
    return sizes.flatmap(
        lambda size: st.lists(
            st.lists(st.integers(0, 6), min_size=size[1], max_size=size[1]).filter(any),
            min_size=size[0],
            max_size=size[0],
        )
    )


@settings(max_examples=40)
@given_by(joint_laws(), st.sampled_from([1.2, 1.7, 2.5]), st.sampled_from(["mutual_information", "total_variation"]))
def test_the_lift_of_every_released_row_is_what_the_certificate_says(
    table: list[list[int]], lift: float, utility: str
) -> None:
    """Brute force over the joint law of (u, s, y), and the chain rule lift(s; u, y) = lift(s; u) lift(s; y | u)."""
    cp = known_counts(dict(enumerate(table)), given="u")
    d = lw.design(cp, lift=lift, utility=utility)
    total = sum(map(sum, table))
    prior = [Fraction(sum(row[s] for row in table), total) for s in range(len(table[0]))]
    largest = Fraction(0)
    for u, row in enumerate(table):
        m = d.mechanism[u]
        for j in range(m.shape[1]):
            joint = [Fraction(n, total) * Fraction(int(m.weights[s, j]), m.denominator) for s, n in enumerate(row)]
            for s, mass in enumerate(joint):
                if not row[s] or not sum(joint):
                    continue
                alone = Fraction(row[s], sum(row)) / prior[s]
                both = mass / sum(joint) / prior[s]
                added = mass / sum(joint) / Fraction(row[s], sum(row))
                assert both == alone * added
                largest = max(largest, added)
    assert d.certificate.ratio is not None
    assert abs(float(d.certificate.ratio) - float(largest)) <= 1e-12
    assert largest <= Fraction(lift)


def test_outcomes_with_one_name_mean_one_set_of_values_in_every_stratum() -> None:
    generator = np.random.default_rng(3)
    table = {u: generator.integers(1, 50, 9).tolist() for u in range(6)}
    cp = known_counts(table, given="u")
    d = lw.design(cp, lift=3, utility="frequencies")
    meaning: dict[Any, set[tuple[bool, ...]]] = defaultdict(set)
    for u in cp:
        raised = lifts(d.mechanism[u], cp[u].nominal) > 1 + 1e-9
        for place, name in enumerate(d.mechanism[u].outputs):
            meaning[str(name).partition(" #")[0]].add(tuple(raised[:, place].tolist()))
    assert len(meaning) > 20
    assert {name: sets for name, sets in meaning.items() if len(sets) > 1} == {}


def test_the_same_problem_is_solved_once_and_shared() -> None:
    cp = known_counts({"a": [3, 2, 1], "b": [6, 4, 2], "c": [1, 2, 3]}, given="u")
    d = lw.design(cp, lift=1.5)
    assert d.mechanism["a"] is d.mechanism["b"]
    assert d.shared in (("a",), ("b",))
    assert len(d.mechanism.mechanisms) == 2
    assert d.value == pytest.approx(
        sum(float(cp.weights[u]) * lw.mutual_information(d.mechanism[u], cp[u]) for u in cp), abs=1e-9
    )


def test_a_value_that_cannot_occur_is_left_out_of_its_stratum_alone() -> None:
    cp = known_counts({"f": [5, 5, 0], "m": [4, 4, 2], "x": [0, 7, 0]}, given="sex")
    d = lw.design(cp, lift=1.5)
    assert d.mechanism.impossible("f") == (2,)
    assert d.mechanism.impossible("m") == ()
    assert lw.epsilon(d.mechanism["x"], cp["x"]) == 0
    assert d.certificate.ratios["x"] == 1
    for utility in ("frequencies", "guessing"):
        assert lw.design(cp, lift=1.5, anyone=20, utility=utility).certificate.holds


def test_the_way_that_found_one_stratum_counts_one_stratum() -> None:
    for counts, words in (({"f": [5, 5]}, "(1 stratum)"), ({"f": [5, 5], "m": [4, 6]}, "(2 strata)")):
        assert lw.design(known_counts(counts, given="sex"), lift=1.5).method.endswith(words)


def test_small_strata_of_a_sample_fall_back_and_are_counted() -> None:
    counts = {"large": [9000, 6000, 5000], "small": [3, 2, 1], "other": [1, 1, 0]}
    cp = lw.PriorByStratum.from_counts(counts, given={"u": ["large", "small", "other", "new"]})
    with pytest.warns(LeakwiseWarning) as said:
        d = lw.design(cp.confidence(1e-6), lift=2, utility="frequencies")
    assert any("2 of 3 strata, with 0.04% of the rows, have too few rows" in str(one.message) for one in said)
    assert d.fallbacks == ("small", "other")
    assert d["large"].source == "own"
    assert d.mechanism["small"] is d.mechanism["other"] is d.mechanism["new"]
    assert lw.ldp(d.mechanism["new"]) <= np.log(2) + 1e-12
    assert d.certificate.failure == pytest.approx(1e-6 / 3)  # two of the three sets are of no account
    assert "The samples mislead" in d.certificate.sentence
    assert d.value <= d.bound


@pytest.mark.parametrize(("given", "most"), [(("sex",), 8.03), (("sex", "income"), 8.53)])
def test_priors_from_the_table_cost_no_more_than_section_8_says(given: tuple[str, ...], most: float) -> None:
    with pytest.warns(LeakwiseWarning, match="The proven gap between the utility of all strata") as said:
        d = lw.design(adult(*given).confidence(1e-6), lift=2, utility="frequencies")
    assert len(said) == 1
    assert -d.value <= most
    assert d.fallbacks == ()
    assert d.certificate.failure <= 1.0001e-6


@pytest.mark.parametrize(
    ("method", "most", "fallen"), [("layer-cake", 12.13, 0.014), ("rounded-layer-cake", 14.5, 0.022)]
)
def test_57_strata_from_the_table_are_better_than_section_8_says(method: str, most: float, fallen: float) -> None:
    """12.98 there with the l1 balls of exact counts, 1.4% of the rows in strata too small for a design of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)
        d = lw.design(adult("sex", "occupation", "income").confidence("1e-6", method), lift=2, utility="frequencies")
    assert -d.value <= most
    assert float(d.fallen) <= fallen
    assert d.certificate.verify().failure <= 1e-6


def test_rounded_sets_by_stratum_hold_no_exact_count() -> None:
    counts = {"u": [40_000, 30_000, 0], "v": [9_000, 20_000, 31_000]}
    moved = {"u": [39_990, 30_010, 0], "v": [9_004, 19_996, 31_000]}
    one, other = (
        lw.PriorByStratum.from_counts(table, given="g").confidence("1e-6", "rounded-layer-cake")
        for table in (counts, moved)
    )
    assert one == other
    assert one.exact_failure == Fraction(1, 10**6)
    assert one.sample_sizes["u"] is None


def test_little_time_still_gives_small_strata_a_design_for_their_estimate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)
        d = lw.design(adult("sex", "income").confidence(1e-6), lift=2, utility="frequencies", time_limit=0.4)
    assert d.fallbacks == ()
    assert -d.value < 10  # the mechanism for every prior has 40


def test_a_second_limit_for_anyone_is_kept_in_every_stratum() -> None:
    cp = known_counts({"f": [5, 3, 2], "m": [1, 4, 5]}, given="sex")
    d = lw.design(cp, lift=1.5, anyone=6)
    assert all(lw.ldp(d.mechanism[u]) <= np.log(6) + 1e-12 for u in cp)
    assert "nor more than 6 times as likely for anyone, whatever they knew" in d.certificate.sentence
    sets = lw.PriorByStratum.from_counts({"f": [5000, 3000], "m": [1000, 4000]}, given="sex").confidence(1e-6)
    assert all(lw.ldp(lw.design(sets, lift=1.5, anyone=6).mechanism[u]) <= np.log(6) + 1e-12 for u in sets)


def test_limits_of_single_values_hold_in_every_stratum_that_has_them(tmp_path: Path) -> None:
    cp = known_counts({"f": [5, 3, 2], "m": [1, 4, 5], "x": [0, 5, 5]}, given="sex")
    d = lw.design(cp, lift=1.5, lift_of={0: 1.25}, ceiling={2: 0.7})
    for u in cp:
        ratios = lifts(d.mechanism[u], cp[u].nominal)
        assert ratios[0].max() <= 1.25 + 1e-9 or u == "x"
        assert (ratios[2] * cp[u].nominal.probabilities[2]).max() <= 0.7 + 1e-9
    d.certificate.save(tmp_path / "c.json")
    assert lw.verify(tmp_path / "c.json").sentence == d.certificate.sentence
    assert "In every stratum: lift of 0 at most 1.25, posterior of 2 at most 70%." in d.certificate.sentence
    with pytest.raises(Infeasible, match=r"Where sex = m: ceiling of 40%"):
        lw.design(cp, lift=1.5, ceiling={2: 0.4})


def test_certify_proves_any_stratified_mechanism_for_its_priors() -> None:
    cp = known_counts({"f": [5, 5], "m": [9, 1]}, given="sex")
    m = lw.Mechanism([["3/4", "1/4"], ["1/4", "3/4"]])
    sm = lw.StratifiedMechanism({"f": m, "m": m}, given={"sex": ["f", "m"]})
    found = lw.certify(sm, cp, lift=2)
    assert dict(found.ratios) == {"f": Fraction(3, 2), "m": Fraction(5, 2)}
    assert (found.worst, found.holds) == ("m", False)
    assert "The guarantee does not hold" in found.sentence
    assert found.open_zeros == []
    zero = known_counts({"f": [5, 5], "m": [9, 0]}, given="sex")
    assert "rows that have them are not covered. The first is 'sex' = 'm'." in repr(lw.certify(sm, zero))
    assert lw.design(zero, lift=2).certificate.open_zeros == []
    with pytest.raises(InvalidInput, match=r"must be a lw\.PriorByStratum"):
        lw.certify(sm, lw.Prior.uniform(2))
    with pytest.raises(InvalidInput, match="same given columns with the same domains"):
        lw.certify(sm, known_counts({"f": [5, 5]}, given="gender"))
    with pytest.raises(InvalidInput, match="cover every stratum"):
        lw.certify(sm, known_counts({"f": [5, 5]}, given={"sex": ["f", "m"]}))


def test_the_guarantee_names_the_columns_and_every_stratum_is_checked_again(tmp_path: Path) -> None:
    cp = known(adult("sex", "income"))
    d = lw.design(cp, lift=2)
    assert "as 'sex' and 'income' make it already" in d.certificate.sentence
    d.certificate.save(tmp_path / "c.json")
    found = lw.verify(tmp_path / "c.json")
    assert isinstance(found, lw.results.StratifiedCertificate)
    assert found.sentence == d.certificate.sentence
    assert found.mechanism == d.mechanism
    assert "with only some of 'sex' and 'income'" in repr(found)
    assert found["Male", ">50K"].holds
    d.mechanism.save(tmp_path / "m.json")
    assert lw.StratifiedMechanism.load(tmp_path / "m.json") == d.mechanism


def test_labelled_and_worst_case_utilities_have_strata_too() -> None:
    cp = known_counts({"f": [5, 3, 2], "m": [1, 4, 5]}, given="sex")
    d = lw.design(cp, lift=1.5, utility="guessing")
    assert set(d.mechanism.outputs) <= {0, 1, 2}
    worst = lw.design(cp, lift=2, utility=lw.WorstCase(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])))
    assert worst.certificate.holds


def test_what_is_asked_wrongly_is_refused_as_for_one_prior() -> None:
    cp = known_counts({"f": [5, 3], "m": [1, 4]}, given="sex")
    with pytest.raises(InvalidInput, match="utility must be one of"):
        lw.design(cp, lift=2, utility="nothing")
    with pytest.raises(InvalidInput, match="lift must be at least 1"):
        lw.design(cp, lift=0.5)
    with pytest.raises(InvalidInput, match="Give either epsilon"):
        lw.design(cp, 1.0, lift=2)


@pytest.mark.parametrize("forgery", ["ratio", "stratum", "asked"])
def test_a_forged_certificate_is_rejected(tmp_path: Path, forgery: str) -> None:
    import dataclasses

    from leakwise.exact import level

    cp = known_counts({"f": [5, 3], "m": [1, 4]}, given="sex")
    good = lw.design(cp, lift=1.5).certificate
    ratios = dict(good.ratios)
    if forgery == "ratio":
        bad = dataclasses.replace(good, ratios={**ratios, "m": Fraction(1)})
    elif forgery == "stratum":
        bad = dataclasses.replace(good, ratios={"f": ratios["f"]})
    else:
        bad = dataclasses.replace(good, limits=dataclasses.replace(good.limits, level=level(lift="1.01")))
    bad.save(tmp_path / "c.json")
    with pytest.raises(CertificateRejected):
        lw.verify(tmp_path / "c.json")


def test_time_is_shared_among_the_strata() -> None:
    generator = np.random.default_rng(0)
    table = {u: generator.integers(1, 50, 12).tolist() for u in range(3)}
    cp = known_counts(table, given="u")
    stages: list[str] = []
    d = lw.design(cp, lift=2, time_limit=60, progress=lambda stage, *_: stages.append(stage))
    assert d.certificate.holds
    assert list(itertools.chain(d.strata)) == [0, 1, 2]


V = ["healthy", "flu", "HIV"]
LARGE = [8000, 1500, 500]


def with_one_person(secret: str, rows: int = 1) -> lw.PriorByStratum:
    """A large stratum, and a small one in which everyone has the same secret."""
    small = [rows * (value == secret) for value in V]
    counts = {"A": dict(zip(V, LARGE, strict=True)), "C": dict(zip(V, small, strict=True))}
    return lw.PriorByStratum.from_counts(counts, given={"town": ["A", "C"]})


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("utility", ["frequencies", "mutual_information", "guessing"])
def test_neither_mechanism_nor_certificate_tells_who_is_alone_in_a_stratum(
    tmp_path: Path, sets: bool, utility: str
) -> None:
    files = set()
    for secret in V:
        cp = with_one_person(secret)
        with pytest.warns(LeakwiseWarning) as said:
            d = lw.design(cp.confidence(1e-6) if sets else cp, lift=2, anyone=20, utility=utility)
        assert any(str(one.message).startswith("1 of 2 strata") for one in said)
        assert d.fallbacks == ("C",)
        assert d.mechanism.impossible("C") == ()
        d.mechanism.save(tmp_path / "m.json")
        d.certificate.save(tmp_path / "c.json")
        assert lw.verify(tmp_path / "c.json").holds
        files.add(((tmp_path / "m.json").read_bytes(), (tmp_path / "c.json").read_bytes()))
    assert len(files) == 1


def test_outcomes_of_one_kernel_have_one_name_whatever_the_counts() -> None:
    cp = known_counts({"A": LARGE, "B": [1, 1, 1]}, given="town")
    balls = cp.replaced({key: cp[key].nominal.ball("0.01") for key in cp})
    everything = cp.replaced({key: lw.AllPriors(cp[key].nominal) for key in cp})
    for sets in (balls, everything):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakwiseWarning)
            d = lw.design(sets, lift=2, utility="frequencies")
        for key in cp:
            raised = lifts(d.mechanism[key], lw.Prior.uniform(3)) > 1 + 1e-9
            for place, name in enumerate(d.mechanism[key].outputs):
                up = [value for value in range(3) if raised[value, place]]
                assert str(name).startswith("{" + ",".join(map(str, up)) + "}" if len(up) == 1 else "not ")
    assert len(d.mechanism.mechanisms) == 1


def test_a_value_that_a_sample_never_showed_stays_possible_and_counts() -> None:
    cp = lw.PriorByStratum.from_counts({"A": [9000, 1000, 0], "B": [5000, 0, 5000]}, given="town")
    with pytest.warns(LeakwiseWarning, match="taken as known, that is, as public"):
        d = lw.design(cp, lift=2, anyone=20, utility="frequencies")
    for key in cp:
        assert d.mechanism.impossible(key) == ()
        seen = cp[key].nominal.probabilities @ d.mechanism[key].matrix
        # All values in the maximum: the unseen one is not left without a limit.
        assert (d.mechanism[key].matrix.max(axis=0) / seen).max() <= 2.002
    assert d.certificate.open_zeros == []
    assert all(d.certificate.priors[key].support.all() for key in cp)
    structural = lw.design(known(cp), lift=2, anyone=20, utility="frequencies")
    assert structural.mechanism.impossible("A") == (2,)


def test_a_design_from_counted_priors_says_that_it_tells_them() -> None:
    cp = lw.PriorByStratum.from_counts({"f": [600, 400], "m": [900, 100]}, given="sex")
    with pytest.warns(LeakwiseWarning, match="can solve for them, exact counts included") as said:
        d = lw.design(cp, lift=1.5)
    assert len(said) == 1
    assert "taken as exact and public: the mechanism tells them" in d.certificate.sentence
    assert "public" not in lw.design(known(cp), lift=1.5).certificate.sentence


def test_a_small_stratum_without_a_mechanism_for_every_prior_is_refused() -> None:
    cp = lw.PriorByStratum.from_counts({"f": [60, 40], "m": [900, 100]}, given="sex")
    with pytest.raises(InvalidInput, match="fewer than 1,000 rows"):
        lw.design(cp, lift=1.5, ceiling={1: "0.7"})


def test_a_small_stratum_with_a_mechanism_for_its_own_set_is_told() -> None:
    cp = lw.PriorByStratum.from_counts({"A": LARGE, "C": [25, 10, 5]}, given="town").confidence(1e-6)
    with pytest.warns(LeakwiseWarning) as said:
        d = lw.design(cp, lift=2, anyone=20, utility="frequencies")
    assert d["C"].source == "own"
    assert any("1 of 2 strata have fewer than 1,000 rows and mechanisms for sets" in str(one.message) for one in said)
