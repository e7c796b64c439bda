"""An adversary who chooses every release after seeing the outcomes before it: the filter of the ledger is not exceeded.

A world has a joint distribution of rows and a pool of certified releases: of several secrets, beside a column that
goes out as it is or not, beside the outcomes of none, one or two earlier ones. The adversary takes whichever tells most
about the row at hand, for the outcome that tells most, as long as the ledger lets it.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from truth import must

import leakwise as lw
from leakwise.exact import level, log_lower
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.tables.ledger.reservation import Reservation, reserved_entries
from leakwise.tables.ledger.totals import total_of

__all__ = ["WORLDS", "adaptive"]

Generator = np.random.Generator

WORLDS = 60
_VALUES = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"], "c": ["c0", "c1"], "u": ["u0", "u1"]}
_NAMES = tuple(_VALUES)
_CELLS = list(itertools.product(*_VALUES.values()))
_SECRETS = (("a",), ("b",), ("c",), ("a", "b"))
_PARTS = 12  # the denominator of every probability of a mechanism


@dataclass(frozen=True)
class _Release:
    """A certified release: for each cell, outcomes beside which it is drawn, and outcome, how many parts of twelve.

    Attributes
    ----------
    parts
        By what it is drawn beside: an outcome for each release in ``after``. Over cells and the two outcomes.
    after
        The places in the pool of the releases beside whose outcomes it is certified.
    entry
        As the ledger has it, with places instead of numbers.
    """

    parts: dict[tuple[int, ...], Any]
    after: tuple[int, ...]
    entry: LedgerEntry


def adaptive(generator: Generator) -> None:
    """One sequence of up to eight releases against budgets of the whole row and of one column."""
    weights, pool = _world(int(generator.integers(WORLDS)))
    row = level(lift=Fraction(int(generator.integers(15, 80)), 10))
    narrow = level(lift=Fraction(int(generator.integers(12, 60)), 10))
    made: dict[int, tuple[int, LedgerEntry]] = {}  # a place in the pool, with its outcome and its entry
    seen = np.array(weights, dtype=object)
    for _ in range(8):
        possible = [k for k, one in enumerate(pool) if k not in made and all(j in made for j in one.after)]
        tried = generator.choice(possible, min(4, len(possible)), replace=False).tolist()
        after = {k: pool[k].parts[tuple(made[j][0] for j in pool[k].after)] for k in tried}
        # Which release, and which of its outcomes, tells most about some row; now and then just any.
        likely = [(k, y) for k in tried for y in (0, 1) if (seen * after[k][:, y]).any()]
        place, outcome = max(likely, key=lambda one: _told(weights, seen * after[one[0]][:, one[1]]))
        if generator.random() < 0.25:
            place, outcome = likely[int(generator.integers(len(likely)))]
        entry = copy.copy(pool[place].entry)
        object.__setattr__(entry, "id", len(made) + 1)
        numbers = tuple((f"y{j}", made[j][1].id) for j in pool[place].after)
        object.__setattr__(entry, "outcomes", numbers)
        entries = [*(one for _, one in made.values()), entry]
        totals = [total_of(entries, "d", (), row), total_of(entries, "d", ("a",), narrow)]
        if not all(one.within_budget for one in totals):
            continue
        made[place] = outcome, entry
        seen = seen * after[place][:, outcome]
        beside = any(one.row.given for _, one in made.values())
        truths = [_lift(weights, seen, column, beside=beside) for column in (None, "a")]
        for total, truth in zip(totals, truths, strict=True):
            low = log_lower(truth)
            must(total.epsilon >= low * (1 - 1e-12), f"a total of {total.epsilon} below the truth {low}")
            must(total.budget is not None and total.budget.allows(truth), f"the filter let {float(truth)} through")


def _told(weights: Any, seen: Any) -> float:
    """About how much the likeliest cell has grown, for the choice of the adversary."""
    after = seen.astype(float)
    return float(np.max(after / np.maximum(weights.astype(float), 1)) / after.sum())


def _lift(weights: Any, seen: Any, column: str | None = None, *, beside: bool = True) -> Fraction:
    """The largest posterior over prior of a cell, or of a value of a column, for who sees u or does not."""
    worst = Fraction(1)
    for u in _VALUES["u"] if beside else [None]:
        here = [k for k, cell in enumerate(_CELLS) if u in (None, cell[3])]
        before, after = sum(weights[k] for k in here), sum(seen[k] for k in here)
        if not after:
            continue
        groups = [[k] for k in here]
        if column is not None:
            at = _NAMES.index(column)
            groups = [[k for k in here if _CELLS[k][at] == value] for value in _VALUES[column]]
        for group in groups:
            if prior := sum(weights[k] for k in group):
                worst = max(worst, Fraction(sum(seen[k] for k in group) * before, prior * after))
    return worst


@lru_cache(maxsize=WORLDS)
def _world(number: int) -> tuple[Any, list[_Release]]:
    generator = np.random.default_rng([24, number])
    # In half of the worlds u goes out as it is; in the others nobody sees it, and there is but one.
    open_ = number % 2 == 0
    weights = np.array(generator.integers(1, 30, len(_CELLS)).tolist(), dtype=object)
    if not open_:
        weights[[k for k, cell in enumerate(_CELLS) if cell[3] == "u1"]] = 0
    pool: list[_Release] = []
    for _ in range(6):
        pool.append(_release(generator, weights, pool, (), open_ and generator.random() < 0.8))
    for _ in range(10):
        pool.append(_release(generator, weights, pool, (int(generator.integers(6)),), open_))
    for _ in range(10):
        k = int(generator.integers(6, 16))
        pool.append(_release(generator, weights, pool, (*pool[k].after, k), open_))
    for _ in range(6):
        # Beside an outcome, and not beside the one that this was drawn beside.
        pool.append(_release(generator, weights, pool, (int(generator.integers(6, 16)),), open_))
    return weights, pool


def _release(generator: Generator, weights: Any, pool: list[_Release], after: tuple[int, ...], open_: bool) -> _Release:
    secret = _SECRETS[int(generator.integers(len(_SECRETS)))]
    of = [_part(cell, secret) for cell in _CELLS]
    letters = list(dict.fromkeys(of))
    zeros = generator.random() < 0.15
    strata = list(itertools.product(_VALUES["u"] if open_ else [None], *[(0, 1)] * len(after)))
    chosen: dict[Any, Any] = {}
    parts = {key: np.zeros((len(_CELLS), 2), dtype=object) for key in itertools.product((0, 1), repeat=len(after))}
    priors: dict[Any, lw.Prior] = {}
    for stratum in strata:
        u, outcomes = stratum[0], stratum[1:]
        first = generator.integers(0 if zeros else 2, _PARTS + 1 if zeros else _PARTS - 1, len(letters))
        rows = {one: (int(k), _PARTS - int(k)) for one, k in zip(letters, first, strict=True)}
        seen = weights * _likelihood(pool, dict(zip(after, outcomes, strict=True)))
        masses = dict.fromkeys(letters, 0)
        for k, cell in enumerate(_CELLS):
            if u in (None, cell[3]):
                masses[of[k]] += int(seen[k])
                parts[outcomes][k] = rows[of[k]]
        if not sum(masses.values()):
            continue
        names = (*(() if u is None else (u,)), *("xy"[y] for y in outcomes))
        key = names[0] if len(names) == 1 else names
        chosen[key] = lw.Mechanism(
            [[Fraction(p, _PARTS) for p in rows[one]] for one in letters], inputs=letters, outputs=["x", "y"]
        )
        priors[key] = lw.Prior({one: Fraction(mass, sum(masses.values())) for one, mass in masses.items()})
    domains: dict[str, list[str]] = {"u": _VALUES["u"]} if open_ else {}
    domains |= {f"y{j}": ["x", "y"] for j in after}
    if domains:
        known = lw.PriorByStratum(priors, domains)
        certificate = lw.certify(lw.StratifiedMechanism(chosen, known.given_columns), known)
    else:
        ((one, prior),) = zip(chosen.values(), priors.values(), strict=True)
        certificate = lw.certify(one, prior)
    (entry,) = reserved_entries("d", [Reservation(secret, certificate, outcomes={f"y{j}": 1 for j in after})], "")
    must(entry.epsilon <= entry.anyone * (1 + 1e-12), "a lift beyond the limit for anyone")  # kept with the entry
    return _Release(parts, after, entry)


def _likelihood(pool: list[_Release], outcomes: dict[int, int]) -> Any:
    """The parts for each cell that these outcomes come, over all outcomes of others that they were drawn beside."""
    for j in outcomes:
        if unseen := [i for i in pool[j].after if i not in outcomes]:
            return sum(_likelihood(pool, {**outcomes, unseen[0]: y}) for y in (0, 1))
    drawn = [pool[j].parts[tuple(outcomes[i] for i in pool[j].after)][:, y] for j, y in outcomes.items()]
    return np.prod(np.array([np.ones(len(_CELLS), dtype=object), *drawn]), axis=0)


def _part(cell: tuple[str, ...], columns: tuple[str, ...]) -> Any:
    found = tuple(cell[_NAMES.index(name)] for name in columns)
    return found[0] if len(found) == 1 else found
