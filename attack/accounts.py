"""Releases beside given columns in one ledger: no total is below the truth for anyone who sees all the rows."""

from __future__ import annotations

import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from truth import must

import leakwise as lw
from leakwise.tables.row_columns import RowColumns

__all__ = ["accounts", "random_joint", "random_release", "true_lift"]

Generator = np.random.Generator

# The secret is a, or a and d together; b and c may go out; z is independent of everything.
VALUES = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"], "c": ["c0", "c1"], "d": ["d0", "d1"], "z": ["z0", "z1"]}
NAMES = tuple(VALUES)
Joint = dict[tuple[str, ...], Fraction]


def accounts(generator: Generator) -> None:
    """One to three releases of overlapping secrets beside different columns, and what the ledger makes of them."""
    joint, made, seen = random_joint(generator), list[tuple[Any, Any, Any]](), set[str]()
    with tempfile.TemporaryDirectory() as name:
        ledger = lw.Ledger(Path(name) / "l.db")
        for _ in range(int(generator.integers(1, 4))):
            secret = [("a",), ("a",), ("a", "d")][generator.integers(3)]
            given = [(), ("b",), ("b",), ("c",), ("b", "c")][generator.integers(5)]
            unrelated = ("z",) if generator.random() < 0.3 else ()
            certificate = random_release(generator, joint, secret, given)
            made.append((secret, given, certificate))
            seen |= {*given, *unrelated}
            row = RowColumns(secret, given, unrelated) if given or unrelated else None
            ledger.confirm(ledger.reserve("d", secret, certificate, row=row))
        for secret in (("a",), ("a", "d")):
            total = ledger.total("d", secret)
            must(total.releases == len(made), "a release is not counted")
            truth = math.log(true_lift(joint, made, secret, tuple(sorted(seen))))
            must(total.epsilon >= truth * (1 - 1e-12), f"a total of {total.epsilon} below the truth {truth}")
            must(not total.exact or math.isclose(total.epsilon, truth, rel_tol=1e-6), "an exact total is not exact")


def random_joint(generator: Generator) -> Joint:
    """A joint distribution of all columns with exact numbers; z is independent of the others."""
    others = list(itertools.product(*(VALUES[name] for name in NAMES[:-1])))
    weights = generator.integers(1, 20, len(others)).tolist()
    total = sum(weights)
    return {
        (*value, z): Fraction(weight, total) / 2
        for value, weight in zip(others, weights, strict=True)
        for z in VALUES["z"]
    }


def _part(value: tuple[str, ...], columns: tuple[str, ...]) -> Any:
    found = tuple(value[NAMES.index(name)] for name in columns)
    return found[0] if len(found) == 1 else found


def _marginal(joint: Joint, columns: tuple[str, ...]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = {}
    for value, mass in joint.items():
        key = _part(value, columns)
        found[key] = found.get(key, Fraction(0)) + mass
    return found


def _priors_beside(joint: Joint, secret: tuple[str, ...], given: tuple[str, ...]) -> lw.PriorByStratum:
    """The true prior of the secret in every stratum of the given columns."""
    both = _marginal(joint, (*secret, *given))
    strata: dict[Any, dict[Any, Fraction]] = {}
    for key, mass in both.items():
        letters, stratum = key[: len(secret)], key[len(secret) :]
        here = strata.setdefault(stratum[0] if len(given) == 1 else stratum, {})
        here[letters[0] if len(secret) == 1 else letters] = mass
    domains = {name: VALUES[name] for name in given}
    whole = {key: lw.Prior({k: v / sum(one.values()) for k, v in one.items()}) for key, one in strata.items()}
    return lw.PriorByStratum(whole, domains)


def _mechanism(generator: Generator, inputs: Any, zeros: bool) -> lw.Mechanism:
    weights = generator.integers(0 if zeros else 1, 6, (len(inputs), 2))
    weights[weights.sum(axis=1) == 0] = 1
    rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    return lw.Mechanism(rows, inputs=inputs, outputs=["x", "y"])


def random_release(generator: Generator, joint: Joint, secret: tuple[str, ...], given: tuple[str, ...]) -> Any:
    """A certificate of random mechanisms, beside these columns or beside none."""
    zeros = bool(generator.random() < 0.3)
    if not given:
        prior = lw.Prior(_marginal(joint, secret))
        return lw.certify(_mechanism(generator, prior.labels, zeros), prior)
    priors = _priors_beside(joint, secret, given)
    own = {key: _mechanism(generator, priors.labels, zeros) for key in priors}
    return lw.certify(lw.StratifiedMechanism(own, priors.given_columns), priors)


def true_lift(joint: Joint, made: list[Any], secret: tuple[str, ...], seen: tuple[str, ...]) -> Fraction:
    """The largest P(secret | seen, outcomes) / P(secret | seen), by looking at every outcome, in fractions."""
    worst = Fraction(1)
    before, of_seen = _marginal(joint, (*secret, *seen)), _marginal(joint, seen) if seen else {(): Fraction(1)}
    for outcome in itertools.product("xy", repeat=len(made)):
        masses = dict(joint)
        for (columns, given, certificate), seen_here in zip(made, outcome, strict=True):
            for value in masses:
                m = certificate.mechanism
                m = m[_part(value, given)] if given else m
                masses[value] *= m.probability(_part(value, columns), seen_here)
        after, at = _marginal(masses, (*secret, *seen)), _marginal(masses, seen) if seen else {(): sum(masses.values())}
        for key, mass in after.items():
            parts = key if isinstance(key, tuple) else (key,)
            there = parts[len(secret) :]
            where = there[0] if len(there) == 1 else there
            if at[where]:
                worst = max(worst, (mass / at[where]) / (before[key] / of_seen[where]))
    return worst
