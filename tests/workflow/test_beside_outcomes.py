"""What earlier outcomes can make of what was known: the checker agrees that nothing is left out."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

import leakwise as lw
from leakwise.data import adult_table
from leakwise.proof.several.links import check_implied
from leakwise.workflow.beside_outcomes import implied

TABLE = adult_table()


@pytest.mark.parametrize("column", ["occupation", "marital_status", "income"])
@pytest.mark.parametrize("sex", ["Female", "Male"])
@pytest.mark.parametrize("kind", ["layer-cake", "rounded-layer-cake"])
def test_the_checker_agrees_about_values_that_hardly_occur(column: str, sex: str, kind: str) -> None:
    counted = Counter(one for one, other in zip(TABLE[column], TABLE["sex"], strict=True) if other == sex)
    labels = sorted(set(TABLE[column]))
    sample = lw.Prior.from_counts({label: counted[label] for label in labels})
    for lift, anyone in ((Fraction(13, 5), Fraction(260)), (Fraction("1.399") * Fraction("1.313"), None)):
        known = sample.confidence(1e-6 / 3, kind)
        check_implied(implied(known, lift, anyone), known, lift, anyone, column)
