"""Designs by strata: the Adult table, a thousand synthetic strata, ten thousand in memory; one run.

Run ``python benchmarks/strata.py``. Marital status of the Adult table (7 values) is released for ``frequencies`` at
lift 2, given sex, occupation and income (57 strata); the synthetic strata have 7 values with Dirichlet masses.

- *separate* is a call of ``lw.design`` for every stratum; *together* is one call with a ``lw.PriorByStratum``, which
  ends with a certificate for all strata that is checked.
- *from the table* the priors are those that the rounded frequencies of each stratum leave possible, at failure 1e-6
  for all strata together: what a release rests on, with the steward's certificate and the receiver's. *least rows* is
  the size below which a stratum never uses its own frequencies. *paid* has noisy counts for 0.05 nats.
- *promises* are tables of strata with known true priors, released at failure 0.2: how often the guarantee for the true
  priors does not hold (at most 20 %).
- *10,000 strata* come from 200 different priors, as where most combinations of columns are alike; the memory is the
  peak of the process.

Times are seconds by the clock.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import leakwise as lw
from leakwise.alphabet import Alphabet, GivenColumns
from leakwise.data import adult_table
from leakwise.priors.stratum_tables import counts_of_table
from leakwise.workflow.limits import release_limits
from leakwise.workflow.strata import CountedStrata, certified_by_stratum

SEED = 2026


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def public(priors: lw.PriorByStratum) -> lw.PriorByStratum:
    """The same priors, taken as known."""
    return priors.replaced({u: lw.Prior.from_integers(priors.alphabet, priors[u].nominal.weights) for u in priors})


def adult() -> lw.PriorByStratum:
    table = adult_table()
    domain = sorted(set(table["marital_status"]))
    given = ["sex", "occupation", "income"]
    return public(lw.PriorByStratum.from_data(table, "marital_status", given=given, domain=domain))


def synthetic(strata: int, different: int) -> lw.PriorByStratum:
    generator = np.random.default_rng(SEED)
    masses = generator.dirichlet(np.full(7, 2.0), size=different)
    kinds = [1 + generator.multinomial(100_000, row) for row in masses]
    counts = {u: kinds[u % different].tolist() for u in range(strata)}
    return public(lw.PriorByStratum.from_counts(counts, given="u"))


def separate(priors: lw.PriorByStratum) -> float:
    return sum(float(priors.weights[u]) * lw.design(priors[u], lift=2, utility="frequencies").value for u in priors)


def together(priors: lw.PriorByStratum) -> lw.results.StratifiedDesign:
    return lw.design(priors, lift=2, utility="frequencies")


def from_the_table(
    counts: dict[Any, list[int]], letters: Alphabet, given: GivenColumns, least: int, cost: float | None = None
) -> lw.results.StratifiedDesign:
    """What a release rests on."""
    basis = CountedStrata(counts, letters, given, "secret", 1e-6, least, cost)
    found, _, _ = certified_by_stratum(basis, release_limits(lift=2), "statistics", None, ("secret",), 3600.0)
    assert found is not None
    return found


def tables() -> list[tuple[str, Callable[[], lw.results.StratifiedDesign]]]:
    data = adult_table()
    letters = Alphabet(sorted(set(data["marital_status"])))
    given, counts = counts_of_table(data, "marital_status", ["sex", "occupation", "income"], letters)
    generator = np.random.default_rng(SEED)
    masses = generator.dirichlet(np.full(7, 2.0), size=1000)
    many = {u: (1 + generator.multinomial(100_000, row)).tolist() for u, row in enumerate(masses)}
    seven, strata = Alphabet(list("abcdefg")), GivenColumns({"u": list(range(1000))})
    return [
        ("Adult, 57 strata, any size", lambda: from_the_table(counts, letters, given, 1)),
        ("Adult, 57 strata, least rows 1,000", lambda: from_the_table(counts, letters, given, 1000)),
        ("1,000 strata of 100,000 rows", lambda: from_the_table(many, seven, strata, 1000)),
        ("1,000 strata of 100,000 rows, paid", lambda: from_the_table(many, seven, strata, 1000, 0.05)),
    ]


def broken_promises(number: int, cost: float | None) -> int:
    """Of so many tables at failure 0.2, those in which some stratum's true prior has a lift beyond the limit."""
    generator, broken = np.random.default_rng(SEED), 0
    for _ in range(number):
        size, strata = int(generator.integers(2, 4)), int(generator.integers(1, 4))
        letters, given = Alphabet(list("abc")[:size]), GivenColumns({"u": list(range(strata))})
        priors = generator.dirichlet(np.full(size, 2.0), size=strata)
        counts = {
            u: generator.multinomial(int(generator.integers(1000, 5000)), priors[u]).tolist() for u in given.all()
        }
        basis = CountedStrata(counts, letters, given, "secret", 0.2, prior_cost=cost)
        _, certificate, _ = certified_by_stratum(basis, release_limits(lift=2), "statistics", None, ("secret",), 60.0)
        most = math.log(2) - (cost or 0) + 1e-12
        true = {u: lw.Prior(dict(zip(letters, priors[u], strict=True))) for u in given.all()}
        broken += any(lw.epsilon(certificate.mechanism[u], true[u]) > most for u in given.all())
    return broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="leave out the thousand different strata")
    parser.add_argument("--tables", type=int, default=1000, help="how many tables the promises are checked on")
    chosen = parser.parse_args()
    shown = Table("strata", "different", "variance", "separate", "seconds", "together, certified", "peak MB")
    cases = [(adult(), True)] + ([] if chosen.short else [(synthetic(1000, 1000), False)])
    cases.append((synthetic(10_000, 200), False))
    for priors, compared in cases:
        alone, of_alone = seconds(lambda: separate(priors)) if compared else (None, None)  # noqa: B023
        found, took = seconds(lambda: together(priors))  # noqa: B023
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        shown.add_row(
            f"{len(priors):,}",
            f"{len(found.mechanism.mechanisms):,}",
            f"{-found.value:.4f}",
            "" if alone is None else f"{-alone:.4f}",
            "" if of_alone is None else f"{of_alone:.1f}",
            f"{took:.1f}",
            f"{peak:.0f}",
        )
    Console().print(shown)
    warnings.simplefilter("ignore", lw.LeakwiseWarning)
    told = Table("from the table", "different", "variance", "rows for every prior", "seconds, certified")
    for name, run in tables()[: 2 if chosen.short else None]:
        found, took = seconds(run)
        different = f"{len(found.mechanism.mechanisms):,}"
        told.add_row(name, different, f"{-found.value:.4f}", f"{float(100 * found.fallen):.2g} %", f"{took:.1f}")
    Console().print(told)
    for cost in (None, 0.1):
        broken = broken_promises(chosen.tables, cost)
        paid = "" if cost is None else f", {cost} nats paid"
        print(f"promises at failure 0.2{paid}: broken in {broken:,} of {chosen.tables:,} tables")


if __name__ == "__main__":
    main()
