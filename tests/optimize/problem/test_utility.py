"""What a utility answers for itself: worth, slopes, chords, intervals, its letters and its labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.mechanism import DenseKernel
from leakwise.optimize.problem.utilities import Frequencies, as_utility
from leakwise.optimize.problem.utility import Utility, with_mass
from optimize.brute_force import best_of, normalised, rays

DISTANCE = -np.abs(np.subtract.outer(range(4), range(4))).astype(float)


class Largest(Utility):
    """The largest lift: convex, not separable, without slopes or chords of its own."""

    name = "largest"

    def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
        return lifts.max(axis=0)


class Fourth(Utility):
    """A separable one that is not zero at 1."""

    name = "fourth"
    separable = True

    def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
        return (lifts**4).sum(axis=0)


CONVEX: dict[str, Utility] = {
    **{name: as_utility(name) for name in ("mutual_information", "total_variation", "chi_square", "guessing")},
    "gain": lw.Gain(DISTANCE + 3),
    "expected": lw.Expected(DISTANCE),
    "frequencies": Frequencies(np.diag([0.4, 0.3, 0.2, 0.1]) + 0.05),
    "largest": Largest(),
    "fourth": Fourth(),
}


def _lifts(prior: lw.Prior, generator: np.random.Generator, number: int) -> np.ndarray:
    raw = generator.exponential(size=(len(prior), number)) * generator.integers(0, 2, (len(prior), number)) + 1e-6
    return raw / (prior.probabilities @ raw)


@pytest.mark.parametrize("name", CONVEX)
@given(seed=st.integers(0, 10**6))
def test_a_chord_is_nowhere_below_the_worth_on_its_box(name: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    prior, utility = lw.Prior([0.4, 0.3, 0.2, 0.1]), CONVEX[name]
    lifts = _lifts(prior, generator, 12)
    low, high = lifts.min(axis=1) * generator.uniform(0, 1, 4), lifts.max(axis=1) * generator.uniform(1, 2, 4)
    slopes, constant = utility.chord(low, high, prior)
    worth = utility.columns_worth(lifts, prior)
    assert (constant + slopes @ lifts >= worth - 1e-9 * (1 + np.abs(worth))).all()


@pytest.mark.parametrize("name", CONVEX)
def test_a_chord_closes_in_on_the_worth_as_its_box_shrinks(name: str) -> None:
    prior, utility = lw.Prior([0.4, 0.3, 0.2, 0.1]), CONVEX[name]
    for point in _lifts(prior, np.random.default_rng(2), 6).T:
        slopes, constant = utility.chord(point * (1 - 1e-6), point * (1 + 1e-6), prior)
        worth = float(utility.columns_worth(point[:, None], prior)[0])
        assert constant + slopes @ point == pytest.approx(worth, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", CONVEX)
def test_slopes_support_the_worth_from_below(name: str) -> None:
    prior, utility = lw.Prior([0.4, 0.3, 0.2, 0.1]), CONVEX[name]
    lifts = _lifts(prior, np.random.default_rng(1), 8)
    slopes, worth = utility.slopes(lifts, prior), utility.columns_worth(lifts, prior)
    for here in range(8):
        linear = worth[here] + slopes[:, here] @ (lifts - lifts[:, [here]])
        assert (linear <= worth + 1e-4 * (1 + np.abs(worth))).all()


@pytest.mark.parametrize("name", CONVEX)
def test_an_interval_holds_the_value(name: str) -> None:
    prior, utility = lw.Prior([0.4, 0.3, 0.2, 0.1]), CONVEX[name]
    weights = np.random.default_rng(3).integers(1, 1 << 40, (4, 3))
    weights[:, 0] += (1 << 42) - weights.sum(axis=1)
    kernel = DenseKernel(weights, 1 << 42)
    law = prior.probabilities @ kernel.matrix
    value = utility.value(kernel.matrix / law, law, prior)
    low, high = utility.interval(kernel, prior)
    assert low <= value <= high
    assert high - low <= 1e-9 * (1 + abs(value)) or not np.isfinite(value)


def test_on_support_keeps_what_is_said_and_what_it_is_worth() -> None:
    prior = lw.Prior({"a": 0.5, "b": 0, "c": 0.3, "d": 0.2})
    for utility in (lw.Expected(DISTANCE), lw.Gain(DISTANCE + 3), as_utility("guessing"), lw.WorstCase(DISTANCE)):
        there = utility.on_support(prior)
        assert there.says(with_mass(prior)).labels == prior.labels
        lifts = np.array([[1.2, 0.8], [0.0, 0.0], [1.0, 1.0], [0.5, 1.5]])
        worth = utility.columns_worth(lifts, prior)
        np.testing.assert_allclose(there.columns_worth(lifts[prior.support], with_mass(prior)), worth)


def test_the_worst_case_is_worth_its_worst_possible_answer() -> None:
    utility, prior = lw.WorstCase(DISTANCE), lw.Prior.uniform(4)
    assert utility.interval(lw.Mechanism(np.eye(4)).kernel, prior) == (0.0, 0.0)
    assert utility.interval(lw.Mechanism(np.ones((4, 1))).kernel, prior) == (-2.0, -2.0)
    with pytest.raises(lw.InvalidInput, match="leave then= out"):
        lw.WorstCase(DISTANCE, then=utility)


def test_a_utility_that_is_not_what_it_says_is_refused_with_an_example() -> None:
    prior = lw.Prior([0.5, 0.3, 0.2])

    class Root(Largest):
        def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
            return np.sqrt(lifts).sum(axis=0)

    class Claims(Largest):
        separable = True

    class Scalar(Largest):
        def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
            return lifts.max()

    class Listed(Largest):
        def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
            return list(lifts.max(axis=0))

    class Infinite(Largest):
        def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
            return np.full(lifts.shape[1], np.inf)

    wrong = {
        Root: "not convex",
        Claims: "Leave separable out",
        Scalar: "one finite",
        Listed: "array",
        Infinite: "finite",
    }
    for utility, words in wrong.items():
        with pytest.raises(lw.InvalidInput, match=words):
            lw.design(prior, lift=2, utility=utility())
    assert all(utility.checked(lw.Prior([0.4, 0.3, 0.2, 0.1])) is utility for utility in CONVEX.values())


class Entropy(Largest):
    """x·log(x) without its limit at 0."""

    name = "entropy"

    def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
        return prior.probabilities @ (lifts * np.log(lifts))


class Weighted(Largest):
    """Holds a weight for each value, and does not say what it is on fewer."""

    name = "weighted"

    def columns_worth(self, lifts, prior):  # type: ignore[no-untyped-def]
        return (np.array([1.0, 2.0, 3.0, 4.0])[:, None] * lifts).max(axis=0)


@pytest.mark.parametrize(
    "asked",
    [
        {"utility": Entropy()},
        {"utility": Entropy(), "ldp": 1},
        {"utility": lw.WorstCase(np.eye(4), then=Entropy())},
    ],
    ids=["alone", "with LDP", "after a worst case"],
)
def test_a_utility_without_a_value_at_lift_zero_is_named_with_the_lift(asked: dict[str, object]) -> None:
    with pytest.raises(lw.InvalidInput, match=r"'entropy' must be finite .* is nan at the lifts \[.*0\. .*limit"):
        lw.design([0.4, 0.3, 0.2, 0.1], lift=3, **asked)
    with pytest.raises(lw.InvalidInput, match="'entropy' must be finite"):
        lw.design(lw.Prior([0.4, 0.3, 0.3]).ball("0.1"), lift=3, utility=Entropy())


@pytest.mark.parametrize("then", [False, True])
def test_a_utility_that_does_not_fit_the_values_with_mass_is_told_of_on_support(then: bool) -> None:
    prior = lw.Prior({"a": 0.4, "b": 0.3, "never": 0, "c": 0.3})
    utility = lw.WorstCase(np.eye(4), then=Weighted()) if then else Weighted()
    with pytest.raises(lw.InvalidInput, match=r"'weighted' does not fit the 3 of 4 values .*on_support\(prior\)"):
        lw.design(prior, lift=4, utility=utility)
    assert lw.design([0.4, 0.3, 0.2, 0.1], lift=2, utility=Weighted()).certificate.holds


@pytest.mark.parametrize("method", ["auto", "columns", "enumeration"])
@pytest.mark.parametrize("utility", [Largest(), Fourth()], ids=lambda utility: utility.name)
def test_a_utility_of_ones_own_is_designed_for_like_any_other(utility: Utility, method: str) -> None:
    law, t = [Fraction(part, 20) for part in (8, 6, 4, 2)], Fraction(9, 5)
    rows = [[t * p - (i == letter) for i, p in enumerate(law)] for letter in range(4)]
    prior, lifts = lw.Prior(law), normalised(rays(rows, 4), law)
    best = best_of(lifts, utility.columns_worth(lifts, prior))
    design = lw.design(prior, lift=t, utility=utility, method=method)
    assert design.value == pytest.approx(best, rel=1e-8)
    assert design.value <= best + 1e-9 <= design.bound + 2e-9
    assert design.gap <= 1e-8 * (1 + abs(best))
    assert design.certificate.verify().ratio <= t
    assert design.certificate.optimality is None
    assert utility.name in str(design.certificate.remark)


def test_a_utility_of_ones_own_leaves_out_letters_without_mass() -> None:
    whole = lw.design({"a": 0.5, "b": 0.3, "c": 0.2}, lift=1.6, utility=Largest())
    more = lw.design({"a": 0.5, "b": 0.3, "never": 0, "c": 0.2}, lift=1.6, utility=Largest())
    assert more.value == whole.value
