"""Releases that can be read: a mechanism whose outcomes one value alone can cause is warned of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import leakwise as lw

SEX = np.random.default_rng(7).permutation(["1"] * 138 + ["2"] * 90).tolist()
LUNG = pd.DataFrame({"time": range(228), "sex": SEX})


def test_release_warns_of_what_one_value_alone_can_cause():
    with pytest.warns(lw.CertaintyWarning, match="Rows of 'sex' can be read: the outcomes '1', '2' make the values"):
        lw.release(LUNG, lw.identity(["1", "2"]), column="sex")
    with pytest.warns(lw.CertaintyWarning, match="Rows of the column can be read: the outcome '!' makes the value 'a'"):
        lw.release(["a", "b"], lw.Mechanism([["1/2", "1/2"], [0, 1]], ["a", "b"], ["!", "?"]))


@pytest.mark.filterwarnings("error::leakwise.errors.CertaintyWarning")
def test_release_by_a_mechanism_with_cover_does_not_warn():
    lw.release(SEX, lw.randomized_response(["1", "2"], lift=Fraction(1000)))
    lw.release(["a", "b", "c"] * 9, lw.Mechanism([["1/2", "1/2"], ["1/2", "1/2"], [0, 1]], list("abc")), order="keep")
