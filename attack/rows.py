"""A whole row: an adversary with the true joint distribution, all columns, all rows and the files gains no more."""

from __future__ import annotations

import itertools
import json
import tempfile
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from truth import must

import leakwise as lw
from leakwise.exact import exp_lower

__all__ = ["AGES", "Population", "all_rows_together", "rows", "what_a_row_tells", "what_was_drawn"]

Generator = np.random.Generator
Stratum = tuple[str, ...]
AGES, COIN = lw.bins(0, 90, 3), ("heads", "tails")
# A draw that is less likely than this, over all that are looked at, is not one of the mechanism.
_CHANCE = 1e-9


class Population:
    """The joint distribution that rows are drawn from, in whole numbers: a prior of the secret in every stratum.

    ``sex`` and ``age`` (in bins) go with the secret, ``coin`` is independent of everything, ``copy`` is the secret.
    """

    def __init__(self, generator: Generator) -> None:
        self.values = [f"v{k}" for k in range(int(generator.integers(2, 5)))]
        self.strata: list[Stratum] = list(itertools.product("fm", AGES.labels))
        spread = float(generator.choice([0.3, 1.0, 5.0]))
        self.weights = {
            key: 1 + (10_000 * generator.dirichlet(np.full(len(self.values), spread))).astype(int)
            for key in self.strata
        }
        self.sizes = generator.dirichlet(np.full(len(self.strata), float(generator.choice([0.3, 3.0]))))

    def prior(self, stratum: Stratum) -> list[Fraction]:
        total = int(self.weights[stratum].sum())
        return [Fraction(int(one), total) for one in self.weights[stratum]]

    def table(self, generator: Generator, size: int) -> pd.DataFrame:
        places = generator.choice(len(self.strata), size, p=self.sizes)
        masses = [self.weights[key] / self.weights[key].sum() for key in self.strata]
        secret = [self.values[generator.choice(len(self.values), p=masses[place])] for place in places]
        thirds = np.array([AGES.labels.index(self.strata[place][1]) for place in places])
        return pd.DataFrame(
            {
                "sex": [self.strata[place][0] for place in places],
                "age": 30 * thirds + generator.integers(0, 30, size),
                "coin": generator.choice(COIN, size),
                "copy": secret,
                "s": secret,
            }
        )


def rows(generator: Generator) -> None:
    """One table, released beside sex and age; then everything that an adversary can do with it."""
    people = Population(generator)
    table = people.table(generator, int(10 ** generator.uniform(2.3, 4)))
    options = _options(generator, people)
    # The coin is assumed to tell nothing, goes out as a given column because nothing is said of it, or is left out.
    coin = str(
        generator.choice(["unrelated", "given", "drop"] if options["prior"] == "table" else ["unrelated", "drop"])
    )
    said = {"unrelated": ["coin"]} if coin == "unrelated" else {}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        data, more = _source(generator, Path(name), table)
        try:
            r = lw.protect(
                data,
                "s",
                domain=people.values,
                given=["sex"],
                coarsen={"age": AGES},
                drop=["copy", *(["coin"] if coin == "drop" else [])],
                order="keep",
                **said,
                **options,
                **more,
            )
        except (lw.Infeasible, lw.CertificateRejected):
            return  # nothing was released
        except lw.InvalidInput as error:
            must("coin" in str(error) or "could be" in str(error), f"refused without a reason: {error}")
            return
        r.certificate.verify()
        r.mechanism.save(Path(name) / "m.json")
        told = json.loads(r.report(Path(name) / "r.json").read_text())
        mechanism = lw.StratifiedMechanism.load(Path(name) / "m.json")
        must(("coin" in mechanism.given) == (coin == "given"), f"{coin} is in {mechanism.given}")
        must(("coin" in _read(r.table).columns) == (coin != "drop"), f"{coin} is in the table, or is not")
        noisy = _large(table, mechanism, options["least_rows"]) if "prior_cost" in options else set()
        what_a_row_tells(people, mechanism, told, options.get("prior_cost", 0), noisy)
        what_was_drawn(mechanism, table, _read(r.table))


def _large(table: pd.DataFrame, mechanism: lw.StratifiedMechanism, least: int) -> set[Stratum]:
    """The strata with so many rows, as the mechanism names them."""
    ages = pd.cut(table["age"], [-1, 29, 59, 90], labels=AGES.labels).astype(str)
    sizes = table.assign(age=ages).groupby(list(mechanism.given)).size()
    return set(sizes[sizes >= least].index)


def _options(generator: Generator, people: Population) -> dict[str, Any]:
    options: dict[str, Any] = {"lift": float(generator.choice([1.2, 1.5, 2.0, 3.0])), "time_limit": 2.0}
    if generator.random() < 0.2:
        options["use"] = "reading"
    if generator.random() < 0.3:
        options["anyone"] = None if generator.random() < 0.3 else options["lift"] * 2
    if generator.random() < 0.2:
        given = {"sex": ["f", "m"], "age": AGES}
        priors = {key: lw.Prior(dict(zip(people.values, people.prior(key), strict=True))) for key in people.strata}
        return {**options, "prior": lw.PriorByStratum(priors, given)}
    options |= {"prior": "table", "failure": 1e-6, "least_rows": int(generator.choice([1, 100, 1000]))}
    if generator.random() < 0.3:
        options["prior_cost"] = float(generator.choice([0.05, 0.1]))
    return options


def _source(generator: Generator, folder: Path, table: pd.DataFrame) -> tuple[Any, dict[str, Any]]:
    kind = str(generator.choice(["memory", "csv", "parquet"]))
    if kind == "memory":
        return table, {}
    path = folder / f"t.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False, row_group_size=int(generator.integers(50, 1000)))
    return path, {"out": folder / f"o.{kind}"}


def _read(table: Any) -> pd.DataFrame:
    if isinstance(table, Path):
        return pd.read_csv(table) if table.suffix == ".csv" else pd.read_parquet(table)
    return table


def _strata(people: Population, mechanism: lw.StratifiedMechanism) -> Iterator[tuple[Stratum, Stratum]]:
    """Every stratum of the population with each one of the mechanism that its rows can be in."""
    for sex, age in people.strata:
        for coin in COIN if "coin" in mechanism.given else COIN[:1]:
            seen = {"sex": sex, "age": age, "coin": coin}
            yield (sex, age), tuple(seen[str(name)] for name in mechanism.given)


def _serving(mechanism: lw.StratifiedMechanism, stratum: Stratum) -> lw.Mechanism:
    if stratum in mechanism:
        return mechanism[stratum]
    must(mechanism.otherwise is not None, f"no mechanism for {stratum}")
    assert mechanism.otherwise is not None
    return mechanism.otherwise


def what_a_row_tells(
    people: Population, mechanism: lw.StratifiedMechanism, told: dict[str, Any], cost: float, noisy: set[Stratum]
) -> None:
    """No outcome in any stratum makes a value more likely than the report says, for the true prior and for any."""
    promise, paid = told["promise"], exp_lower(Fraction(str(cost)))
    order = [mechanism.inputs.index(value) for value in people.values]
    for known, stratum in _strata(people, mechanism):
        one, prior = _serving(mechanism, stratum), people.prior(known)
        factor = paid if stratum in noisy else Fraction(1)  # the noisy counts tell as much, at most
        for column in zip(*(one.weights[place].tolist() for place in order), strict=True):
            mass = sum(p * int(v) for p, v in zip(prior, column, strict=True))
            if not mass:
                continue
            lift = max(column) / mass * factor
            must(lift <= Fraction(promise["lift"]), f"{float(lift)} where {stratum}, told {promise['lift']}")
            if promise["anyone"] is not None:
                most = Fraction(int(max(column)), int(min(column))) * factor if min(column) else None
                must(most is not None and most <= Fraction(promise["anyone"]), f"for anyone {most} where {stratum}")


def what_was_drawn(mechanism: lw.StratifiedMechanism, table: pd.DataFrame, released: pd.DataFrame) -> None:
    """The columns are those that were to go out, and every row was drawn for by the mechanism of its stratum."""
    from scipy.stats import binom

    must("copy" not in released.columns, "a dropped column went out")
    must(released["sex"].tolist() == table["sex"].tolist(), "a given column was changed")
    must(set(released["age"]) <= set(AGES.labels), "a coarsened column went out as it was")
    if "coin" in released.columns:
        must(released["coin"].tolist() == table["coin"].tolist(), "a column that goes out was changed")
    tests = sum(1 for _ in _cells(mechanism, table, released))
    for seen, size, chance, what in _cells(mechanism, table, released):
        tail = 2 * min(binom.cdf(seen, size, chance), binom.sf(seen - 1, size, chance))
        must(tail > _CHANCE / max(tests, 1), f"{seen} of {size} rows at a probability of {chance}: {what}")


def _cells(
    mechanism: lw.StratifiedMechanism, table: pd.DataFrame, released: pd.DataFrame
) -> Iterator[tuple[int, int, float, str]]:
    """How often an outcome was drawn for a value in a stratum, of how many rows, and with what probability."""
    seen = {"sex": table["sex"], "age": released["age"], "coin": table["coin"]}
    names = list(map(str, mechanism.given))
    drawn = pd.DataFrame({**{name: seen[name] for name in names}, "s": table["s"], "y": released["s"].astype(str)})
    for (*stratum, value), group in drawn.groupby([*names, "s"], observed=True):
        one = _serving(mechanism, tuple(stratum))
        counts = group["y"].value_counts()
        chances = dict(zip(map(str, one.outputs), one.matrix[one.inputs.index(value)].tolist(), strict=True))
        must(set(counts.index) <= set(chances), f"an outcome of another mechanism where {stratum}")
        for outcome, chance in chances.items():
            yield int(counts.get(outcome, 0)), len(group), chance, f"{outcome} for {value} where {stratum}"


def all_rows_together(generator: Generator) -> None:
    """With the counts of a stratum known, all outcomes together make a row's value at most a·t times as likely."""
    size, letters = int(generator.integers(2, 6)), int(generator.integers(2, 4))
    counts = generator.multinomial(size - 1, np.full(letters, 1 / letters))
    counts[generator.integers(letters)] += 1
    weights = generator.integers(1, 9, (letters, int(generator.integers(2, 4))))
    matrix = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    columns = list(zip(*matrix, strict=True))
    prior = [Fraction(int(count), size) for count in counts]
    lift = max(
        max(v for v, p in zip(column, prior, strict=True) if p) / sum(p * v for p, v in zip(prior, column, strict=True))
        for column in columns
    )
    anyone = max(max(column) / min(column) for column in columns)
    tables = set(itertools.permutations([k for k, count in enumerate(counts.tolist()) for _ in range(count)]))
    for outcomes in itertools.product(range(len(columns)), repeat=size):
        chances = {one: _product(matrix[k][y] for k, y in zip(one, outcomes, strict=True)) for one in tables}
        total = sum(chances.values())
        for value, before in enumerate(prior):
            if before:
                after = sum(chance for one, chance in chances.items() if one[0] == value) / total
                must(after / before <= lift * anyone, f"{float(after / before)} from all rows, {float(lift * anyone)}")


def _product(factors: Iterator[Fraction]) -> Fraction:
    found = Fraction(1)
    for one in factors:
        found *= one
    return found
