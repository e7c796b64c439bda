"""Names of outcomes that a person can tell apart: sets where they are short, codes with a legend where they are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

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


def test_a_legend_of_thousands_of_values_explains_the_outcomes_that_are_named():
    masses = np.random.default_rng(1).dirichlet(np.ones(2000))
    prior = lw.Prior({f"v{number}": mass for number, mass in enumerate(masses)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap
        design = lw.design(prior, lift=2, anyone=20, utility="frequencies")
    names = design.mechanism.outputs
    with pytest.raises(lw.InvalidInput, match=r"too long to be read.*legend\(\['y00001'\]\)"):
        design.legend()
    with pytest.raises(lw.InvalidInput, match="outcome"):
        design.legend(["y0"])
    legend = design.legend([names[0], names[700]])
    assert list(legend) == [names[0], names[700]]
    for place, text in zip((0, 700), legend.values(), strict=True):
        listed = set(text.removeprefix("not ").strip("{}").split(","))
        raised = listed if not text.startswith("not") else set(prior.labels) - listed
        likely = [
            label
            for label in prior.labels[:40]
            if design.mechanism.probability(label, names[place])
            > np.median([design.mechanism.probability(other, names[place]) for other in prior.labels[:40]])
        ]
        assert set(likely) <= raised


def test_strata_of_many_values_share_short_codes_that_mean_one_set_everywhere():
    values = [f"value {number}" for number in range(14)]
    generator = np.random.default_rng(2)
    priors = {sex: lw.Prior(dict(zip(values, generator.dirichlet(np.ones(14)), strict=True))) for sex in "fm"}
    design = lw.design(lw.PriorByStratum(priors, {"sex": ["f", "m"]}), lift=2, utility="frequencies")
    legend = design.legend()
    assert set(legend) == set(design.mechanism.outputs)
    assert max(map(len, legend)) <= 7  # y001, or y001 #2 where a stratum has two of one set
    assert not any("+" in text for text in legend.values())
    for sex, prior in priors.items():
        mechanism = design.mechanism[sex]
        raised = lifts(mechanism, prior) > 1 + 1e-9
        for name, column in zip(mechanism.outputs, raised.T, strict=True):
            listed = set(legend[name].removeprefix("not ").strip("{}").split(","))
            up = {label for label, here in zip(values, column, strict=True) if here}
            assert listed == (set(values) - up if legend[name].startswith("not ") else up)
