"""Local differential privacy: ε, the profile and its inverse, the probabilistic version, and both-sided density."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import leakwise as lw
from leakage import brute
from leakage.brute import channels, deltas, factors, just_above, matrices, processed
from leakwise.leakage.measures import arguments as outcomes
from leakwise.leakage.measures import differential
from leakwise.leakage.measures import privacy_profile as profile
from leakwise.mechanism import CommonLawKernel, DenseKernel

F = Fraction
Channel = tuple[lw.Mechanism, lw.Prior]
Case = tuple[lw.Mechanism, lw.Prior, lw.Mechanism]


def common_law(diagonal: int) -> lw.Mechanism:
    """A common law plus a diagonal of either sign."""
    return lw.Mechanism.from_kernel(CommonLawKernel(np.array([20, 30, 50]) - np.array([0, 0, diagonal]), 100))


STRUCTURED = [lw.randomized_response(4, lift=3), lw.identity(3), lw.identity(1), common_law(40), common_law(-20)]


def as_dense(m: lw.Mechanism) -> lw.Mechanism:
    return lw.Mechanism.from_kernel(DenseKernel(m.weights, m.denominator))


@given(matrices(zeros=False))
def test_ldp_is_the_largest_ratio_of_a_column(matrix: brute.Matrix) -> None:
    ratio = max(max(column) / min(column) for column in zip(*matrix, strict=True))
    assert just_above(lw.ldp(lw.Mechanism(matrix)), brute.log(ratio), 1e-15)


def test_the_worst_of_thousands_of_columns_that_floats_cannot_tell_apart() -> None:
    m = lw.catalog.symmetric_unary_encoding(13, 1e-12)
    weights = m.kernel.weights
    exact = max(
        Fraction(int(high), int(low)) for high, low in zip(weights.max(axis=0), weights.min(axis=0), strict=True)
    )
    assert differential.ldp_ratio(m) == exact


@given(channels())
def test_a_zero_beside_a_positive_entry_has_no_ldp(channel: Channel) -> None:
    matrix = brute.entries(channel[0])
    one_sided = any(min(column) == 0 < max(column) for column in zip(*matrix, strict=True))
    assert math.isinf(lw.ldp(channel[0])) == one_sided


@given(channels(), factors)
def test_profile_is_the_largest_over_events(channel: Channel, t: F) -> None:
    assert just_above(lw.measures.privacy_profile(channel[0]).delta(lift=t), brute.delta_of(channel[0], t), 1e-15)


@given(channels(), factors)
def test_corners_are_all_of_the_profile(channel: Channel, t: F) -> None:
    corners = lw.measures.privacy_profile(channel[0]).corners()
    assert corners[0][0] == 1
    for corner, value in corners:
        assert value == brute.delta_of(channel[0], corner)
    right = next((k for k, corner in enumerate(corners) if corner[0] > t), None)
    if right is None:
        expected = corners[-1][1]
    else:
        (low, first), (high, last) = corners[right - 1], corners[right]
        expected = first + (last - first) * (t - low) / (high - low)
    assert brute.delta_of(channel[0], t) == expected


@given(channels())
def test_corners_are_convex_decreasing_and_none_is_idle(channel: Channel) -> None:
    corners = lw.measures.privacy_profile(channel[0]).corners()
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(corners)]
    assert slopes == sorted(slopes)
    assert len(set(slopes)) == len(slopes)
    assert all(slope < 0 for slope in slopes)


@given(channels(), deltas)
def test_inverse_is_the_least_epsilon(channel: Channel, delta: F) -> None:
    found = lw.measures.privacy_profile(channel[0])._exact_inverse(delta)
    if found is None:
        assert brute.delta_of(channel[0], F(10**9)) > delta
        assert math.isinf(lw.ldp(channel[0], delta))
        return
    assert brute.delta_of(channel[0], found) <= delta
    if found > 1:
        assert brute.delta_of(channel[0], found - F(1, 10**12)) > delta
    assert just_above(lw.ldp(channel[0], delta), brute.log(found), 1e-14)


@given(channels())
def test_limit_is_what_stays(channel: Channel) -> None:
    assert just_above(lw.measures.privacy_profile(channel[0]).limit, brute.delta_of(channel[0], F(10**9)), 1e-15)


@given(channels(), factors)
def test_probabilistic_ldp_is_its_definition_and_above_the_profile(channel: Channel, t: F) -> None:
    found = lw.measures.probabilistic_ldp(channel[0], lift=t)
    assert just_above(found, brute.loss_probability(channel[0], t), 1e-15)
    assert found >= lw.measures.privacy_profile(channel[0]).delta(lift=t)


@given(channels(), factors.filter(lambda t: t > 1))
def test_en_4_the_loss_beyond_twice_epsilon(channel: Channel, t: F) -> None:
    """(ε, δ)-LDP implies P(L > 2ε) ≤ δ / (1 - e^-ε)."""
    assert brute.loss_probability(channel[0], t * t) <= brute.delta_of(channel[0], t) / (1 - 1 / t)


def test_probabilistic_ldp_grows_under_post_processing() -> None:
    before = lw.Mechanism([["0.1", 0, "0.9"], [0, "0.1", "0.9"]])
    after = before.then([[1, 0], [0, 1], ["1/2", "1/2"]])
    assert lw.measures.probabilistic_ldp(before, lift=1.1) == pytest.approx(0.1)
    assert lw.measures.probabilistic_ldp(after, lift=1.1) > 0.5


@given(processed(), deltas)
def test_data_processing(case: Case, delta: F) -> None:
    mechanism, prior, after = case
    assert lw.ldp(after) <= lw.ldp(mechanism)
    assert lw.ldp(after, delta) <= lw.ldp(mechanism, delta)
    first, second = (lw.measures.local_information_privacy(m, prior) for m in (mechanism, after))
    assert second.upper <= first.upper
    assert second.lower <= first.lower


@given(channels(zeros=False))
def test_pml_is_at_most_ldp_and_reaches_it_over_all_priors(channel: Channel) -> None:
    mechanism, prior = channel
    assert lw.epsilon(mechanism, prior) <= lw.ldp(mechanism)
    # The prior that leaves hardly anything to the letter of the largest ratio comes near.
    rows, columns = mechanism.shape
    matrix = brute.entries(mechanism)
    high, low, _ = max(
        ((i, k, j) for i in range(rows) for k in range(rows) for j in range(columns)),
        key=lambda place: matrix[place[0]][place[2]] / matrix[place[1]][place[2]],
    )
    if high != low:
        tiny = F(1, 10**9)
        extreme = lw.Prior([tiny if i == high else 1 - tiny if i == low else F(0) for i in range(rows)])
        assert lw.epsilon(mechanism, extreme) == pytest.approx(lw.ldp(mechanism), abs=1e-6)


@given(channels(zeros=False))
def test_information_density_has_two_sides(channel: Channel) -> None:
    both = lw.measures.local_information_privacy(*channel)
    values = [lift for _, column in brute.lifts(*channel) for lift in column]
    assert just_above(both.upper, brute.log(max(values)), 1e-15)
    assert just_above(both.lower, brute.log(1 / min(values)), 1e-15)
    assert both.epsilon == max(both)
    # ε-LIP implies 2ε-LDP over the letters that can occur.
    support = channel[1].support
    inside = lw.Mechanism([row for row, here in zip(brute.entries(channel[0]), support, strict=True) if here])
    assert lw.ldp(inside) <= 2 * both.epsilon + 1e-14


def test_a_ruled_out_letter_has_no_lower_side() -> None:
    m = lw.Mechanism([[1, 0], ["1/2", "1/2"]])
    assert lw.measures.local_information_privacy(m, [0.5, 0.5]).lower == math.inf
    assert lw.measures.local_information_privacy(m, [0.0, 1.0]).lower == 0.0


# -------------------------------------------------------------------------------------------- large, and structured


@pytest.mark.parametrize("m", STRUCTURED, ids=["rr", "identity", "one letter", "diagonal > 0", "diagonal < 0"])
def test_structured_is_the_dense_one(m: lw.Mechanism) -> None:
    dense = as_dense(m)
    first, second = lw.measures.privacy_profile(m), lw.measures.privacy_profile(dense)
    assert first.corners() == second.corners()
    assert first.limit == second.limit
    assert lw.ldp(m) == lw.ldp(dense)
    for t in (1, F(3, 2), F(29, 10), 3, 10):
        assert first.delta(lift=t) == second.delta(lift=t)
        assert lw.measures.probabilistic_ldp(m, lift=t) == lw.measures.probabilistic_ldp(dense, lift=t)
    for delta in (0, F(1, 100), F(1, 10), F(1, 2), 1):
        assert first.epsilon(delta) == second.epsilon(delta)


def test_randomized_response_in_closed_form() -> None:
    """δ(ε) = α - e^ε β ([EN] Figure 2: ε_DP(δ) = max{log((α-δ)/β), 0})."""
    m = lw.randomized_response(5, lift=4)
    alpha, beta = m.matrix[0, :2]
    assert lw.ldp(m, 0.1) == pytest.approx(math.log((alpha - 0.1) / beta))
    assert lw.ldp(m, 0.9) == 0.0


@pytest.mark.parametrize("zeros", [False, True])
def test_floats_are_on_the_safe_side_of_the_integers(zeros: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(np.full(12, 2.0), 30)
    if zeros:
        matrix[matrix < 0.02] = 0.0
        matrix /= matrix.sum(axis=1, keepdims=True)
    m = lw.Mechanism(matrix)

    def ask() -> list[float]:
        found = lw.measures.privacy_profile(m)
        return [
            found.limit,
            *(found.delta(lift=t) for t in (1, 1.5, 3, 100)),
            *(found.epsilon(d) for d in (0.02, 0.2, 0.4, 0.9)),
            *(lw.measures.probabilistic_ldp(m, lift=t) for t in (1.5, 3, 100)),
        ]

    exact = ask()
    monkeypatch.setattr(profile, "SMALL_PAIRS", 0)
    monkeypatch.setattr(differential, "SMALL_PAIRS", 0)
    assert not lw.measures.privacy_profile(m).exact
    for found, truth in zip(ask(), exact, strict=True):
        assert found == truth or 0 <= found - truth < 1e-10
    with pytest.raises(lw.InvalidInput, match=r"ask for \.delta"):
        lw.measures.privacy_profile(m).corners()


def test_lower_side_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    m = lw.Mechanism(rng.dirichlet(np.full(150, 3.0), 150))
    prior = lw.Prior(rng.integers(1, 30, 150).tolist())
    found = lw.measures.local_information_privacy(m, prior).lower
    monkeypatch.setattr(outcomes, "SMALL", 10**9)
    assert 0 <= found - lw.measures.local_information_privacy(m, prior).lower < 1e-11


def test_a_million_letters_need_no_matrix() -> None:
    m = lw.randomized_response(1_000_000, lift=8)
    assert lw.ldp(m) == pytest.approx(math.log(8))
    assert lw.ldp(m, 1e-6) == pytest.approx(math.log(7), abs=1e-4)
    assert lw.measures.probabilistic_ldp(m, lift=7) == pytest.approx(8e-6, rel=1e-4)


# --------------------------------------------------------------------------------------------------- looks, regions


def test_profile_shows_itself() -> None:
    found = lw.measures.privacy_profile(lw.Mechanism([["0.6", "0.3", "0.1"], ["0.2", "0.3", "0.5"]]))
    assert "least ε" in repr(found)
    assert "<table" in found._repr_html_()
    data = found.to_dict()
    assert data["corners"][0] == {"lift": "1", "epsilon": 0.0, "delta": "2/5"}
    assert data["delta"] == sorted(data["delta"], reverse=True)
    assert found.chart()["$schema"]
    assert found.plot() is not None


@given(channels(most=5))
def test_lemma_2_no_outcome_rules_out_more_letters_than_its_level_allows(channel: Channel) -> None:
    for _, column in brute.lifts(*channel):
        assert column.count(F(0)) <= lw.measures.zeros_allowed(channel[1], lift=max(column))


def test_zeros_allowed_at_the_borders() -> None:
    prior = lw.Prior([F(1, 2), F(3, 10), F(1, 5)])
    assert [lw.measures.zeros_allowed(prior, lift=t) for t in (1, F(5, 4), F(2), F(100))] == [0, 1, 2, 2]
    assert lw.measures.zeros_allowed(prior, lift=F(124, 100)) == 0


@pytest.mark.parametrize("delta", [-0.1, 1.1, float("inf"), "x"])
def test_delta_must_be_a_probability(delta: object) -> None:
    with pytest.raises(lw.InvalidInput, match="delta"):
        lw.ldp(lw.identity(2), delta)


@pytest.mark.parametrize(
    "many",
    [lw.randomized_response(2, epsilon=0.1).repeat(200), lw.Mechanism([[0.9, 0.1], [0.2, 0.8]]).repeat(450)],
    ids=["little", "beyond floats"],
)
def test_of_many_releases_the_least_epsilon_is_found_in_a_few_looks_at_the_long_integers(many, monkeypatch):
    looks = []
    line = profile.PrivacyProfile._line

    def counted(self, t, *, right):
        looks.append(max(t.numerator.bit_length(), t.denominator.bit_length()))
        return line(self, t, right=right)

    monkeypatch.setattr(profile.PrivacyProfile, "_line", counted)
    found = lw.ldp(many, F(1, 10**6))
    assert len(looks) <= 8
    assert max(looks) <= 2048
    # On both sides of what it says, by the profile itself.
    exact = profile.PrivacyProfile(many)
    assert exact.delta(found) <= 1e-6 < exact.delta(found * (1 - 1e-12))


@given(channels(), factors, deltas)
def test_logarithms_of_long_integers_say_what_the_integers_say(channel: Channel, t: F, delta: F) -> None:
    expected = lw.ldp(channel[0], delta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile, "_LONG", 4)  # so that all of these are long
        found = profile.PrivacyProfile(channel[0])
        assert just_above(found.delta(lift=t), brute.delta_of(channel[0], t), 1e-15)
        assert found.corners()[0][0] == 1
        assert found.epsilon(delta) == pytest.approx(expected, rel=1e-14, abs=1e-14)
