"""Designs from a sample: promises that hold, alternatives that are told, and samples that are too small."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest

import leakwise as lw
from leakwise.errors import Infeasible, InvalidInput
from leakwise.optimize.from_data import STRATEGIES, design_from_data
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.sample_strategies import Alternative, Strategies
from leakwise.optimize.search.limits import Limits
from leakwise.priors import Prior
from leakwise.proof import asked_limits

SAMPLE = Prior.from_counts({"a": 5_200, "b": 2_900, "c": 1_900})


@pytest.mark.parametrize("strategy", [*STRATEGIES, "best"])
def test_every_strategy_keeps_the_level(strategy: str) -> None:
    d = design_from_data(SAMPLE, lift=2, failure=1e-5, strategy=strategy, seed=1, compare=False)
    assert d.epsilon <= math.log(2) + 1e-12
    assert 0 < d.value <= lw.design(SAMPLE, lift=2).value
    assert d.failure == pytest.approx(1e-5)
    assert d.mechanism.inputs == ("a", "b", "c")
    if strategy != "best":
        assert d.strategy == strategy
    if d.certificate is not None:
        assert d.certificate.verify().holds
        assert d.certificate.failure <= d.failure


def test_best_pays_for_the_choice_and_tells_the_alternatives() -> None:
    d = design_from_data(SAMPLE, lift=2, failure=3e-5, seed=1)
    tried = {option.strategy: option for option in d.alternatives}
    assert set(tried) == {"split", "layer-cake", "ball", "conservative", "all priors"}
    for name in ("split", "layer-cake", "ball"):
        assert tried[name].failure == pytest.approx(1e-5)
    assert tried["conservative"].failure == pytest.approx(3e-5)
    assert tried["all priors"].failure == 0
    assert d.value == max(option.value for name, option in tried.items() if name != "conservative")
    assert d.value > tried["all priors"].value
    assert "unless the sample of 10,000 rows misleads" in d.guarantee
    assert "→ " in repr(d)
    assert "<table" in d._repr_html_()
    plain = json.loads(json.dumps(d.to_dict()))
    assert plain["strategy"] == d.strategy
    assert len(plain["alternatives"]) == 5


def test_a_column_is_a_sample() -> None:
    column = ["no"] * 700 + ["yes"] * 300
    d = design_from_data(column, epsilon=0.5, failure=0.01, domain=["no", "yes", "never"], compare=False)
    assert d.prior.sample_size == 1000
    assert d.mechanism.inputs == ("no", "yes", "never")
    assert "'never'" in d.guarantee
    with pytest.raises(InvalidInput, match="domain must be declared"):
        design_from_data(column, epsilon=0.5, failure=0.01)
    with pytest.raises(InvalidInput):
        design_from_data([*column, "perhaps"], epsilon=0.5, failure=0.01, domain=["no", "yes"])
    with pytest.raises(InvalidInput, match="must not be given with"):
        design_from_data(SAMPLE, epsilon=0.5, failure=0.01, domain=["a"])
    with pytest.raises(InvalidInput, match="how many samples"):
        design_from_data(Prior([0.5, 0.5]), epsilon=0.5, failure=0.01)


def test_too_few_samples_say_how_many_are_needed() -> None:
    few = Prior.from_counts({"a": 2, "b": 1, "c": 0})
    for strategy in ("split", "conservative"):
        with pytest.raises(Infeasible, match=r"3 samples .* too few .* From [0-9,]+ samples on"):
            design_from_data(few, epsilon=0.2, failure=1e-6, strategy=strategy)
    # The best of all is then what needs no sample.
    d = design_from_data(few, epsilon=0.2, failure=1e-6)
    assert d.epsilon <= 0.2 + 1e-12
    everywhere = next(option for option in d.alternatives if option.strategy == "all priors")
    assert d.value >= everywhere.value
    assert everywhere.mechanism is not None
    assert lw.ldp(everywhere.mechanism) <= 0.2 + 1e-9


@pytest.mark.parametrize("strategy", ["split", "layer-cake", "best"])
def test_the_promise_holds_by_simulation(strategy: str) -> None:
    """At a large failure probability the true ε exceeds the promised one no more often than allowed."""
    truth = Prior([0.6, 0.4])
    generator = np.random.default_rng(9)
    failure, repeats = 0.3, 40
    missed = used = 0
    for counts in generator.multinomial(2000, truth.probabilities, repeats):
        try:
            d = design_from_data(
                Prior.from_counts(counts), lift="1.5", failure=failure, strategy=strategy, compare=False, seed=used
            )
        except Infeasible:
            continue
        used += 1
        missed += lw.epsilon(d.mechanism, truth) > d.epsilon
    assert used > 20
    assert binomtest(missed, used, failure, alternative="greater").pvalue > 1e-6


def test_labelled_utilities() -> None:
    d = design_from_data(SAMPLE, lift="1.5", failure=1e-4, utility="guessing", seed=2, compare=False)
    assert d.value >= 0.52 - 1e-9  # as good as guessing the likeliest letter
    assert d.epsilon <= math.log(1.5) + 1e-12


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'split'"):
        design_from_data(SAMPLE, lift=2, failure=0.1, strategy="splits")
    with pytest.raises(InvalidInput, match="failure must be"):
        design_from_data(SAMPLE, lift=2, failure=0)


def test_no_more_designs_are_tried_when_the_time_is_over() -> None:
    class Over(Limits):
        exhausted = property(lambda self: True)  # type: ignore[assignment]

    tried = Strategies(
        Prior.from_counts([600, 300, 100]),
        asked_limits(lift=2),
        as_utility("mutual_information"),
        np.random.default_rng(1),
    )
    assert len(list(tried._climb(tried.prior, 0.3, lambda mechanism: 0.4))) > 1
    tried.limits = Over()
    assert len(list(tried._climb(tried.prior, 0.3, lambda mechanism: 0.4))) == 1
    assert tried.limits.stopped


def test_a_sample_is_not_called_too_small_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "exhausted", property(lambda self: True))
    monkeypatch.setattr(Strategies, "attempt", lambda self, name, failure: Alternative(name, None, 0.0, 0.0, 0.0, ""))
    with pytest.raises(lw.NotConverged, match="time_limit=60"):
        design_from_data(Prior.from_counts([60, 40]), failure=1e-6, lift=2, strategy="layer-cake", time_limit=60)
