"""Several secrets in one call: by brute force over all rows, nothing tells more than the product that is certified."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.report import SeveralProtection

Row = tuple[Any, ...]
Law = Mapping[Row, Fraction]


# ------------------------------------------------------------------------------------------------- brute force


def chosen(mechanism: Mechanism | StratifiedMechanism, seen: Mapping[Hashable, Any]) -> Mechanism:
    if isinstance(mechanism, Mechanism):
        return mechanism
    return mechanism[tuple(seen[name] for name in mechanism.given)]


def outcomes(row: Mapping[Hashable, Any], mechanisms: Mapping[Any, Any], seen: dict[Hashable, Any]) -> Iterator[Any]:
    """All outcomes of a row with their exact probabilities; ``seen`` are its given columns."""
    if not mechanisms:
        yield (), Fraction(1)
        return
    (key, stated), *rest = mechanisms.items()
    names = key if isinstance(key, tuple) else (key,)
    one = chosen(stated, seen)
    value = row[names[0]] if len(names) == 1 else tuple(row[name] for name in names)
    code = one.input_alphabet.index[value]
    for place, label in enumerate(one.outputs):
        chance = Fraction(int(one.kernel.weights[code, place]), one.denominator)
        if chance:
            parts = (label,) if len(names) == 1 else label
            further = {**seen, **dict(zip(names, parts, strict=True))}
            for others, more in outcomes(row, dict(rest), further):
                yield (label, *others), chance * more


def lifts(law: Law, columns: Sequence[str], given: Sequence[str], mechanisms: Mapping[Any, Any]) -> dict[str, Fraction]:
    """The largest lift of a row from all outcomes, and from each outcome alone, for anyone who knows ``given``."""
    strata: dict[Row, dict[Row, Fraction]] = {}
    for row, mass in law.items():
        if mass:
            named = dict(zip(columns, row, strict=True))
            strata.setdefault(tuple(named[name] for name in given), {})[row] = mass
    most: dict[str, Fraction] = {"all": Fraction(1)}
    for key, rows in strata.items():
        total = sum(rows.values())
        seen: dict[Row, dict[Any, dict[Row, Fraction]]] = {}
        for row in rows:
            named = dict(zip(columns, row, strict=True))
            for drawn, chance in outcomes(named, mechanisms, dict(zip(given, key, strict=True))):
                views: dict[str, Any] = {"all": drawn}
                views |= {f"only {place}": one for place, one in enumerate(drawn)}
                for view, told in views.items():
                    cell = seen.setdefault((view, told), {}).setdefault("p", {})
                    cell[row] = cell.get(row, Fraction(0)) + chance
        for (view, _), cell in seen.items():
            chance = sum(rows[row] * cell["p"].get(row, 0) for row in rows) / total
            most[view] = max([most.get(view, Fraction(1)), *(one / chance for one in cell["p"].values())])
    return most


def random_law(generator: np.random.Generator, sizes: Sequence[int]) -> Law:
    """A joint law whose columns go with one another; some combinations are rare."""
    rows = list(itertools.product(*(range(size) for size in sizes)))
    weights = generator.integers(1, 200, len(rows)) ** 2 + 1
    total = int(weights.sum())
    return {row: Fraction(int(weight), total) for row, weight in zip(rows, weights.tolist(), strict=True)}


def table_of(law: Law, columns: Sequence[str], rows: int, generator: np.random.Generator) -> dict[str, list[int]]:
    keys, masses = list(law), np.array([float(one) for one in law.values()])
    drawn = generator.choice(len(keys), rows, p=masses / masses.sum())
    return {name: [keys[place][at] for place in drawn] for at, name in enumerate(columns)}


def several(*args: Any, **options: Any) -> SeveralProtection:
    found = lw.protect(*args, **options)
    assert isinstance(found, SeveralProtection)
    return found


SIZES = [(2, 2), (2, 3), (3, 2), (3, 3), (2, 2, 2)]


@pytest.mark.parametrize("place", range(len(SIZES)))
def test_no_row_is_told_more_than_the_product_by_a_joint_prior(place: int) -> None:
    generator = np.random.default_rng(place)
    sizes = SIZES[place]
    names = ["a", "b", "c"][: len(sizes)]
    law = random_law(generator, sizes)
    asked = dict(zip(names, [Fraction(3, 2), Fraction(2), Fraction(5, 4)], strict=False))
    joint = lw.Prior(dict(law))
    done = several(table_of(law, names, 40, generator), asked, prior=joint, order="keep")
    product = np.prod(list(asked.values()))
    found = lifts(law, names, [], done.mechanism)
    assert max(found.values()) <= product
    # The exact figures of the certificate are those of brute force.
    exact = done.certificate.exact
    assert exact[tuple(range(len(sizes)))] == found["all"] <= done.certificate.ratio <= product
    assert done.certificate.verify().holds


def test_no_row_is_told_more_than_the_product_with_given_columns() -> None:
    generator = np.random.default_rng(9)
    law = random_law(generator, (2, 3, 2))  # u, a, b
    weights = {u: sum(mass for row, mass in law.items() if row[0] == u) for u in (0, 1)}
    masses = {u: {row[1:]: mass / weights[u] for row, mass in law.items() if row[0] == u} for u in (0, 1)}
    joint = lw.PriorByStratum({u: lw.Prior(own) for u, own in masses.items()}, {"u": [0, 1]}, weights)
    done = several(table_of(law, ["u", "a", "b"], 60, generator), {"a": 2, "b": 1.5}, prior=joint, order="keep")
    assert done.mechanism["b"].given == ("u", "a")
    found = lifts(law, ["u", "a", "b"], ["u"], done.mechanism)
    assert max(found.values()) <= 3
    assert done.certificate.exact[(0, 1)] == found["all"]
    assert done.certificate.given == ("u",)


@pytest.mark.parametrize("seed", range(4))
def test_priors_of_the_secrets_alone_hold_whatever_goes_with_what(seed: int) -> None:
    """Only the margins are known; the rows may have any law with these."""
    generator = np.random.default_rng(seed)
    law = random_law(generator, (3, 2, 2))
    names = ["a", "b", "c"]
    margins = {
        name: lw.Prior({v: sum(m for row, m in law.items() if row[at] == v) for v in range((3, 2, 2)[at])})
        for at, name in enumerate(names)
    }
    done = several(table_of(law, names, 40, generator), {"a": 1.5, "b": 2, "c": 1.5}, prior=margins, order="keep")
    assert max(lifts(law, names, [], done.mechanism).values()) <= Fraction(9, 2)
    assert done.certificate.verify().parts[2].alone == margins["c"]


# What is common in one column is rare in the other: whoever gave blood hardly ever has the illness.
PLANTED = {
    ("ill", "gave"): Fraction(1, 1000),
    ("ill", "never"): Fraction(299, 1000),
    ("well", "gave"): Fraction(299, 1000),
    ("well", "never"): Fraction(401, 1000),
}


def test_a_value_that_cannot_occur_in_a_stratum_is_no_obstacle() -> None:
    generator = np.random.default_rng(0)
    u, a = generator.integers(0, 2, (2, 300))
    table = pd.DataFrame({"a": a, "b": np.where(u == 0, 0, generator.integers(0, 2, 300)), "u": u})
    even, never = lw.Prior({0: 1, 1: 1}), lw.Prior({0: 1, 1: 0})
    priors = {
        "a": lw.PriorByStratum({0: even, 1: even}, {"u": [0, 1]}, secret="a"),
        "b": lw.PriorByStratum({0: never, 1: even}, {"u": [0, 1]}, secret="b"),
    }
    with pytest.warns(lw.LeakwiseWarning, match="u determines b"):
        done = lw.protect(table, {"a": 1.2, "b": 1.5}, given=["u"], prior=priors, order="shuffle")
    masses = {(u, a, b): Fraction(int(u or not b), 4 * (1 + u)) for u in (0, 1) for a in (0, 1) for b in (0, 1)}
    assert max(lifts(masses, ["u", "a", "b"], ["u"], done.mechanism).values()) <= Fraction(18, 10)


def test_secrets_designed_alone_would_break_the_promise_and_these_do_not() -> None:
    columns = ["health", "blood"]
    margins = {"health": lw.Prior({"ill": "0.3", "well": "0.7"}), "blood": lw.Prior({"gave": "0.3", "never": "0.7"})}
    alone = {name: lw.design(prior, lift=2, anyone=20).mechanism for name, prior in margins.items()}
    assert lifts(PLANTED, columns, [], alone)["all"] > 4.8
    table = {"health": ["ill", "well"] * 20, "blood": ["never", "gave"] * 20}
    for prior in (lw.Prior(PLANTED), margins):
        done = several(table, {"health": 2, "blood": 2}, prior=prior, order="keep")
        assert lifts(PLANTED, columns, [], done.mechanism)["all"] <= 4
    # A certificate that leaves the first outcome out of the second proof is refused.
    parts = [lw.results.SecretPart((name,), lw.certify(alone[name], margins[name], lift=2)) for name in columns]
    with pytest.raises(lw.CertificateRejected, match="says nothing of someone who has seen the outcomes of health"):
        lw.results.SeveralCertificate(tuple(parts)).verify()


# ------------------------------------------------------------------------------------------- tables and words


def correlated(rows: int = 6000) -> pd.DataFrame:
    generator = np.random.default_rng(3)
    a = generator.choice(3, rows, p=[0.5, 0.3, 0.2])
    b = np.where(generator.random(rows) < 0.8, a % 2, generator.choice(2, rows))
    sex = generator.choice(["f", "m"], rows)
    texts = {"a": np.array(["x", "y", "z"])[a], "b": np.array(["no", "yes"])[b]}
    return pd.DataFrame({**texts, "sex": sex, "n": range(rows)})


DOMAIN = {"a": ["x", "y", "z"], "b": ["no", "yes"]}


def test_frequencies_of_the_table_are_counted_beside_the_outcomes() -> None:
    table = correlated()
    done = several(table, {"a": 1.5, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN, drop=["n"])
    assert list(done.table.columns) == ["a", "b", "sex"]
    assert done.mechanism["a"].given == ("sex",)
    assert done.mechanism["b"].given == ("sex", "a")
    assert done.certificate.failure <= 1e-6
    assert done.certificate.verify().ratio <= 3
    assert "becomes more than 3 times as likely as sex makes it already" in done.guarantee
    assert "probability at most" in done.guarantee
    # With the frequencies of the table as the law of the rows: within the product.
    shares = table.groupby(["sex", "a", "b"]).size()
    law = {key: Fraction(int(count), len(table)) for key, count in shares.items()}
    assert max(lifts(law, ["sex", "a", "b"], ["sex"], done.mechanism).values()) <= 3


def test_the_joint_frequencies_are_estimated_from_the_released_table() -> None:
    table = correlated(20_000)
    done = several(table, {"a": 2, "b": 3}, prior="table", failure=1e-6, domain=DOMAIN, drop=["n"], unsafe_seed=5)
    found = lw.estimate(done.table, done.mechanism)
    true = table.groupby(["a", "b"]).size().to_numpy().reshape(3, 2) / len(table)
    assert np.abs(found.frequencies - true).max() < 0.03
    assert (np.abs(found.frequencies - true) < 5 * found.standard_error).all()


def test_kinds_of_tables_come_back_as_they_are() -> None:
    rows = correlated(40)[["a", "b"]]
    prior = {"a": lw.Prior.uniform(DOMAIN["a"]), "b": lw.Prior.uniform(DOMAIN["b"])}
    for table in (rows, pl.from_pandas(rows), pa.table(rows), rows.to_dict("list")):
        done = several(table, {"a": 2, ("b",): 1.5}, prior={"a": prior["a"], ("b",): prior["b"]}, order="keep")
        assert type(done.table) is type(table)
    assert several(rows, {"a": 2, "b": 1.5}, prior=prior, order="keep").table.index.equals(rows.index)


def test_a_tuple_is_one_secret_and_its_outcome_is_in_both_columns() -> None:
    table = correlated(16_000).drop(columns=["n"])
    domain = {**DOMAIN, "sex": ["f", "m"]}
    done = several(table, {("a", "sex"): 2, "b": 1.5}, prior="table", failure=1e-6, domain=domain)
    assert done.mechanism["b"].given == ("a", "sex")
    assert list(done.mechanism) == [("a", "sex"), "b"]
    found = lw.estimate(done.table, done.mechanism)
    assert found.frequencies.shape == (6, 2)


def test_too_many_combinations_get_what_earlier_guarantees_imply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakwise.workflow.several._MOST_STRATA", 3)
    table = correlated()
    done = several(table, {"a": 1.5, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN, drop=["n"])
    assert done.mechanism["b"].given == ("sex",)
    part = done.certificate.verify().parts[1]
    assert part.alone is not None
    shares = table.groupby(["sex", "a", "b"]).size()
    law = {key: Fraction(int(count), len(table)) for key, count in shares.items()}
    assert max(lifts(law, ["sex", "a", "b"], ["sex"], done.mechanism).values()) <= 3
    counts = table.groupby(["a", "b"]).size()
    joint = lw.Prior({key: Fraction(int(count), len(table)) for key, count in counts.items()})
    done = several(table, {"a": 1.5, "b": 2}, prior=joint, drop=["n", "sex"])
    assert isinstance(done.mechanism["b"], Mechanism)
    assert done.certificate.exact[(0, 1)] <= 3


@pytest.mark.filterwarnings("ignore::leakwise.LeakwiseWarning")
def test_a_later_secret_of_many_values_says_something_however_short_the_time() -> None:
    """A search for what earlier guarantees imply may find nothing: what holds for every prior is still there."""
    many = list(range(25))
    prior = {"a": lw.Prior.uniform(["x", "y"]), "b": lw.Prior.from_integers(many, [3 + value for value in many])}
    table = {"a": ["x", "y"] * 50, "b": many * 4}
    done = several(table, {"a": 2, "b": 2}, prior=prior, order="keep", time_limit=0.1)
    assert done.certificate.verify()["b"].ratio > 1.2


def test_one_secret_in_a_mapping_is_that_secret() -> None:
    prior = lw.Prior({"no": 0.7, "yes": 0.3})
    done = several({"b": ["no", "yes", "no"]}, {"b": 2}, prior={"b": prior}, order="keep")
    assert done.certificate.ratio <= 2
    assert done.guarantee.startswith("No guess about a row, be it about b or about anything else in it")


def test_a_total_is_shared_out_for_the_best_accuracy_and_kept() -> None:
    generator = np.random.default_rng(2)
    law = random_law(generator, (3, 2))
    table = table_of(law, ["a", "b"], 40, generator)
    done = several(table, {"a": 2, "b": 2}, prior=lw.Prior(dict(law)), total=2.5, order="keep")
    split = {name: done.certificate[name].limits.level.below for name in ("a", "b")}
    assert 1 < min(split.values()) <= max(split.values()) <= 2
    assert Fraction(24, 10) < split["a"] * split["b"] <= Fraction(5, 2)
    assert lifts(law, ["a", "b"], [], done.mechanism)["all"] <= Fraction(5, 2)
    assert done.certificate.verify().total.below == Fraction(5, 2)
    assert "multiply to at most 2.5" in str(done)
    # A secret without a lift of its own may have all of it; a total that all lifts keep changes nothing.
    free = several(table, {"a": None, "b": None}, prior=lw.Prior(dict(law)), total=2.5, order="keep")
    assert max(free.certificate[name].limits.level.below for name in ("a", "b")) < Fraction(5, 2)
    wide = several(table, {"a": 2, "b": 2}, prior=lw.Prior(dict(law)), total=4, order="keep")
    assert wide.certificate["a"].limits.level.below == 2


def test_one_mechanism_for_all_is_compared_and_told_to_the_owner_alone() -> None:
    done = several(correlated(), {"a": 1.5, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN, drop=["n"])
    assert done.joint_advice.table < 0.8  # times the standard error of the joint frequencies
    assert "One mechanism for all of them together (joint=True, --joint)" in str(done)
    assert "One mechanism for all" not in str(done.to_dict())
    # Priors of the secrets alone do not say what goes with what, and nothing is looked up in the table.
    margins = {name: lw.Prior.uniform(DOMAIN[name]) for name in DOMAIN}
    assert several(correlated(60)[["a", "b"]], {"a": 1.5, "b": 2}, prior=margins, order="keep").joint_advice is None


def test_few_rows_beside_each_outcome_get_what_earlier_guarantees_imply() -> None:
    """Most rows would be in combinations too small to learn from, with the mechanism for every prior."""
    table = correlated(2500)[["a", "b"]]
    done = several(table, {"a": 2, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN)
    assert isinstance(done.mechanism["b"], Mechanism)
    assert done.certificate.verify().parts[1].alone is not None


def test_several_secrets_as_one_have_one_mechanism_for_the_product() -> None:
    table = correlated(3000).drop(columns=["n"])
    done = lw.protect(table, {"a": 1.5, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN, drop=["sex"], joint=True)
    assert isinstance(done, lw.results.Protection)
    assert done.mechanism.inputs == tuple(itertools.product(DOMAIN["a"], DOMAIN["b"]))
    assert done.certificate.asked.below == 3
    assert list(done.table.columns) == ["a", "b"]
    small = lw.protect(
        table, {"a": 1.5, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN, drop=["sex"], joint=True, total=2
    )
    assert small.certificate.asked.below == 2
    large = lw.protect(
        table, {"a": 1.5, "b": 2}, prior="table", failure=1e-6, domain=DOMAIN, drop=["sex"], joint=True, total=50
    )
    assert large.certificate.asked.below == 3  # a total lifts no secret above what was asked for it


BAD: list[tuple[dict[str, Any], str]] = [
    ({"column": {}}, "column must name at least one secret"),
    ({"column": {"a": 2, ("a", "b"): 3}}, "must not overlap: column 'a' belongs to 'a' and to \\('a', 'b'\\)"),
    ({"lift": 2}, "lift must be left out beside a mapping"),
    ({"epsilon": 1}, "epsilon must be left out beside a mapping"),
    ({"mechanism": lw.randomized_response(2, lift=2)}, "'mechanism' must be left out"),
    ({"lift_of": {"x": 1.1}}, "'lift_of' must be left out"),
    ({"column": {"a": 2, "b": 0.5}}, "lift must be at least 1"),
    ({"column": {"a": 2, "b": "3"}}, "The lift of 'b' must be a number"),
    ({"column": {"a": 2, "b": None}}, "The lift of 'b' must be a number.* may be None where total= is given"),
    ({"total": 1.5}, "total .* is 1.5, and a alone asks for a lift of 2"),
    ({"total": 0.5}, "lift must be at least 1"),
    ({"column": "a", "total": 2, "lift": 2}, "total .* goes with several secrets"),
    ({"column": "a", "joint": True, "lift": 2}, "joint .* goes with several secrets"),
    ({"joint": True}, "joint=True .* needs a prior of all secrets together"),
    ({"joint": True, "lift": 2}, "lift must be left out beside a mapping"),
    ({"memo": "key"}, "'memo' must be left out"),
    ({"column": {"a": 2, "c": 2}}, "'c' is not in the table"),
    ({"prior": "table"}, "failure .* must be given"),
    ({"prior": None}, "prior must be chosen"),
    ({"prior": {"a": lw.Prior.uniform(DOMAIN["a"])}}, "Those of 'b' are missing"),
    ({"prior": lw.Prior.uniform(3)}, "over tuples of 2 values, one for each of 'a', 'b'"),
    ({"prior": lw.AllPriors(lw.Prior.uniform(3))}, "prior must be by secret where it is every prior"),
    ({"domain": ["x", "y"]}, "domain must map the columns"),
    ({"domain": {"a": ["x", "y", "z"], "bb": ["no"]}}, "domain names 'bb'.* Did you mean 'b'"),
    ({"anyone": {"c": 20}}, "anyone names 'c'"),
    ({"failure": 0.1}, "failure .* goes with prior='table'"),
    ({"data": ["x", "y"]}, "needs a table"),
]


@pytest.mark.parametrize("place", range(len(BAD)))
def test_what_contradicts_itself_is_refused_by_its_name(place: int) -> None:
    prior = {"a": lw.Prior.uniform(DOMAIN["a"]), "b": lw.Prior.uniform(DOMAIN["b"])}
    options, words = BAD[place]
    given: dict[str, Any] = {"data": correlated(40)[["a", "b"]], "column": {"a": 2, "b": 2}, "prior": prior, **options}
    with pytest.raises(InvalidInput, match=words):
        lw.protect(given.pop("data"), given.pop("column"), order="keep", **given)


def test_other_columns_must_be_spoken_of() -> None:
    prior = {"a": lw.Prior.uniform(DOMAIN["a"]), "b": lw.Prior.uniform(DOMAIN["b"])}
    with pytest.raises(InvalidInput, match="prior is about a and b alone"):
        lw.protect(correlated(40), {"a": 2, "b": 2}, prior=prior)


def test_nothing_goes_out_where_a_later_secret_fails() -> None:
    table = {"a": ["x", "y"] * 20, "b": ["no", "maybe"] * 20}
    prior = {"a": lw.Prior.uniform(DOMAIN["a"]), "b": lw.Prior.uniform(DOMAIN["b"])}
    with pytest.raises(InvalidInput, match=r"'b' .*'maybe'"):
        lw.protect(table, {"a": 2, "b": 2}, prior=prior, order="keep")
