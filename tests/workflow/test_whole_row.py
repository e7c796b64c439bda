"""A slice of the row attack: an adversary with the true joint distribution, all columns, all rows and the files."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from rows import AGES, Population, all_rows_together, rows, what_a_row_tells, what_was_drawn
from truth import FalsePromise

import leakwise as lw


@pytest.mark.parametrize("case", range(8))
def test_nobody_gains_more_from_a_row_than_was_guaranteed(case):
    rows(np.random.default_rng([3, case]))


def test_all_rows_of_a_stratum_together_tell_at_most_the_product_of_both_limits():
    for case in range(40):
        all_rows_together(np.random.default_rng([5, case]))


def test_the_attack_notices_a_lift_that_is_told_too_small_and_rows_of_another_mechanism():
    people = Population(np.random.default_rng(1))
    table = people.table(np.random.default_rng(2), 4000)
    priors = {key: lw.Prior(dict(zip(people.values, people.prior(key), strict=True))) for key in people.strata}
    public = lw.PriorByStratum(priors, {"sex": ["f", "m"], "age": AGES})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        r = lw.protect(
            table, "s", prior=public, lift=2, given=["sex"], coarsen={"age": AGES}, unrelated=["coin"], drop=["copy"]
        )
    told = json.loads(json.dumps(r.facts.to_dict()))
    what_a_row_tells(people, r.mechanism, told, 0, set())
    what_was_drawn(r.mechanism, table, r.table)
    told["promise"]["lift"] = 1.9
    with pytest.raises(FalsePromise, match=r"told 1\.9"):
        what_a_row_tells(people, r.mechanism, told, 0, set())
    moved = {key: r.mechanism[other] for key, other in zip(people.strata, people.strata[::-1], strict=True)}
    swapped = lw.StratifiedMechanism(moved, r.mechanism.given_columns)
    with pytest.raises(FalsePromise):
        what_was_drawn(swapped, table, r.table)
    with pytest.raises(FalsePromise, match="a dropped column went out"):
        what_was_drawn(r.mechanism, table, r.table.assign(copy=table["s"]))
