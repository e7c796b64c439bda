"""Rows that are too rare to learn from are counted, and better choices of columns are named with their accuracy."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import leakwise as lw

OPTIONS = {"domain": ["no", "yes"], "lift": 2, "prior": "table", "failure": 1e-6}


def people(rows: int = 20_000) -> pd.DataFrame:
    generator = np.random.default_rng(5)
    sex = generator.choice(["f", "m"], rows)
    return pd.DataFrame(
        {
            "sex": sex,
            "zip": [f"z{number:04}" for number in generator.integers(0, 2_000, rows)],
            "s": np.where(generator.random(rows) < 0.2 + 0.2 * (sex == "m"), "yes", "no"),
        }
    )


def test_rare_combinations_are_counted_and_a_better_choice_is_what_it_says() -> None:
    frame = people()
    with pytest.warns(lw.LeakwiseWarning, match="too rare to learn from") as said:
        every = lw.protect(frame, "s", **OPTIONS)
    told = str(said[-1].message)
    assert told.startswith("20,000 of 20,000 rows (100%) are in ")
    foretold, now = map(float, re.findall(r"--drop zip: standard error (\S+) instead of (\S+)\.", told)[0])
    # What is foretold is about what the choice gives.
    better = lw.protect(frame, "s", given="sex", drop="zip", **OPTIONS)
    for released, expected in ((every, now), (better, foretold)):
        found = max(lw.estimate(released.table, released.mechanism, "s").standard_error)
        assert found == pytest.approx(expected, rel=0.25)


def test_a_column_of_numbers_may_be_kept_in_bins() -> None:
    frame = people().rename(columns={"zip": "age"})
    frame["age"] = frame["age"].str[1:].astype(int) % 83 + 17
    with pytest.warns(lw.LeakwiseWarning, match=r"--given sex,age --coarsen age=bins:[0-9]+,[0-9]+,5: standard error"):
        lw.protect(frame, "s", **OPTIONS)


def test_nothing_is_said_where_every_combination_is_frequent(recwarn: pytest.WarningsRecorder) -> None:
    lw.protect(people()[["sex", "s"]], "s", **OPTIONS)
    assert not [one for one in recwarn if issubclass(one.category, lw.LeakwiseWarning)]
