"""Overlapping secrets against budgets: single columns, joint ones and chains of them, in any order of the columns."""

from __future__ import annotations

import itertools
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

import leakwise as lw
from leakwise.exact import log_lower

__all__ = ["budgets"]

Generator = np.random.Generator
Value = tuple[object, ...]


def budgets(generator: Generator) -> None:
    """Whatever a ledger lets through, no budget is exceeded for the prior that all entries agree on."""
    names = ("a", "b", "c")
    sizes = [int(generator.integers(2, 4)) for _ in names]
    values = dict(
        zip(
            names,
            (tuple(f"{name}{k}" for k in range(size)) for name, size in zip(names, sizes, strict=True)),
            strict=True,
        )
    )
    joint = _joint(generator, list(itertools.product(*values.values())))
    subsets = [one for k in (1, 2, 3) for one in itertools.permutations(names, k)]
    with tempfile.TemporaryDirectory() as folder:
        ledger = lw.Ledger(Path(folder) / "l.db")
        limits: dict[tuple[str, ...], Fraction] = {}
        made: list[tuple[tuple[str, ...], lw.Mechanism]] = []
        for _ in range(int(generator.integers(2, 6))):
            columns = subsets[generator.integers(len(subsets))]
            if generator.random() < 0.4:
                limits[tuple(sorted(columns))] = Fraction(int(generator.integers(11, 60)), 10)
                ledger.set_budget("d", columns, lift=limits[tuple(sorted(columns))])
                continue
            m = _mechanism(generator, [_label(v) for v in itertools.product(*(values[name] for name in columns))])
            masses = _marginal(joint, names, columns)
            prior = lw.Prior({_label(value): mass for value, mass in masses.items()})
            before = {secret: _lift(joint, names, made, secret) for secret in limits}
            try:
                ledger.confirm(ledger.reserve("d", columns, lw.certify(m, prior)))
            except lw.Infeasible:
                continue
            made.append((columns, m))
            for secret, limit in limits.items():
                total = ledger.total("d", secret)
                if total.releases != len(made):
                    raise AssertionError(f"{total.releases} releases count for {secret}, and {len(made)} were made")
                truth = _lift(joint, names, made, secret)
                if total.epsilon < log_lower(truth) * (1 - 1e-12):
                    raise AssertionError(f"total of {secret} {total.epsilon} below the truth {float(truth)}")
                # A budget set too late stops what comes after it.
                if truth > limit and before[secret] <= limit:
                    raise AssertionError(f"{columns} went past the budget {limit} of {secret}: {float(truth)}")


def _label(value: Value) -> object:
    return value[0] if len(value) == 1 else value


def _joint(generator: Generator, letters: list[Value]) -> dict[Value, Fraction]:
    weights = generator.integers(1, 20, len(letters)).tolist()
    return {value: Fraction(weight, sum(weights)) for value, weight in zip(letters, weights, strict=True)}


def _mechanism(generator: Generator, inputs: list[object]) -> lw.Mechanism:
    """Rows near to one another or far apart, with zeros or without."""
    weights = generator.integers(0, 3, (len(inputs), 2)) + int(generator.choice([0, 1, 10]))
    weights[weights.sum(axis=1) == 0] = 1
    rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    return lw.Mechanism(rows, inputs=inputs, outputs=["x", "y"])


def _marginal(masses: dict[Value, Fraction], names: tuple[str, ...], columns: tuple[str, ...]) -> dict[Value, Fraction]:
    found: dict[Value, Fraction] = {}
    for value, mass in masses.items():
        key = tuple(value[names.index(name)] for name in columns)
        found[key] = found.get(key, Fraction(0)) + mass
    return found


def _lift(
    joint: dict[Value, Fraction],
    names: tuple[str, ...],
    made: list[tuple[tuple[str, ...], lw.Mechanism]],
    secret: tuple[str, ...],
) -> Fraction:
    """The largest posterior over prior of the secret, over all joint outcomes, in fractions."""
    before, worst = _marginal(joint, names, secret), Fraction(1)
    for outcome in itertools.product("xy", repeat=len(made)):
        masses = dict(joint)
        for (columns, m), seen in zip(made, outcome, strict=True):
            for value in masses:
                part = tuple(value[names.index(name)] for name in columns)
                masses[value] *= m.probability(_label(part), seen)
        total = sum(masses.values())
        if total:
            after = _marginal(masses, names, secret)
            worst = max(worst, *(after[key] / total / before[key] for key in before))
    return worst
