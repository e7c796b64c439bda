"""Names of outcomes that a person can tell apart: sets where they are short, codes with a legend where they are not."""

from __future__ import annotations

import numpy as np

import leakwise as lw
from leakwise.leakage import lifts
from leakwise.optimize.finish.outcome_names import outcome_names


def test_many_outcomes_of_many_values_have_short_codes_and_a_legend():
    prior = lw.Prior({f"value {number}": int(mass) for number, mass in enumerate(np.arange(20, 50))})
    design = lw.design(prior, lift=2, utility="frequencies", time_limit=5)
    names = design.mechanism.outputs
    assert len(names) > 100
    assert names[:2] == ("y001", "y002")
    legend = design.legend()
    assert list(legend) == list(names)
    assert not any("+" in text or "#" in text for text in legend.values())
    first = legend["y001"].removeprefix("not ").strip("{}").split(",")
    ratios = lifts(design.mechanism, prior)[:, 0]
    raised = {label for label, lift in zip(prior.labels, ratios, strict=True) if lift > 1}
    assert set(first) == (set(prior.labels) - raised if legend["y001"].startswith("not") else raised)
    assert f"y001 to y{len(names)}: see legend()" in str(design)


def test_few_outcomes_keep_their_sets():
    columns = np.array([[1.5, 1.2], [0.5, 1.2], [0.5, 0.6]])
    assert outcome_names(columns, ["a", "b", "c"]) == ["{a}", "not c"]
    wide = np.array([[2.0] * 6 + [0.0] * 6, [0.0] * 6 + [2.0] * 6]).T
    assert outcome_names(wide, list("abcdefghijkl")) == ["{a,b,c,+3}", "{g,h,i,+3}"]
