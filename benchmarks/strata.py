"""Designs by strata: the Adult table, a thousand synthetic strata, ten thousand in memory; one run.

Run ``python benchmarks/strata.py``. Marital status of the Adult table (7 values) is released for ``frequencies`` at
lift 2, given sex, occupation and income (57 strata); the synthetic strata have 7 values with Dirichlet masses.

- *separate* is a call of ``lw.design`` for every stratum; *together* is one call with a ``lw.PriorByStratum``, which
  ends with a certificate for all strata that is checked.
- *10,000 strata* come from 200 different priors, as where most combinations of columns are alike; the memory is the
  peak of the process.

Times are seconds by the clock.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import leakwise as lw
from leakwise.data import adult_table

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="leave out the thousand different strata")
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


if __name__ == "__main__":
    main()
