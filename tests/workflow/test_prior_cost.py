"""A prior from the table that is paid for: brute force over every table of few rows, every noise, every outcome."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.alphabet import Alphabet, GivenColumns
from leakwise.priors.sets.noisy import NoisyLayerCake, noise_ratio, noisy_counts
from leakwise.sampling import geometric
from leakwise.workflow.limits import release_limits
from leakwise.workflow.strata import CountedStrata, certified_by_stratum

GIVEN = GivenColumns({"g": ["u", "v"]})


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What follows from noisy counts, by the code that draws the noise, with the noise prescribed."""

    def run(noisy: tuple[int, ...], rows: int, cost: float, lift: float, failure: float) -> Any:
        counts = [rows, *[0] * (len(noisy) - 1)]  # any table of so many rows: nothing else may depend on it
        noise = [noisy[0] - rows] if len(noisy) == 2 else [a - b for a, b in zip(noisy, counts, strict=True)]
        monkeypatch.setattr(geometric, "two_sided_geometric", lambda *_: np.array(noise))
        letters = Alphabet(["abc"[k] for k in range(len(noisy))])
        basis = CountedStrata({"u": counts}, letters, GIVEN, "ill", failure, 1, cost)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.LeakwiseWarning)
            return certified_by_stratum(basis, release_limits(lift=lift), "statistics", None, ("ill",), 60.0)

    return run


def tables(rows: int, letters: int) -> Iterator[tuple[int, ...]]:
    """Every table: the secret of each row."""
    return itertools.product(range(letters), repeat=rows)


def chance(noisy: tuple[int, ...], table: tuple[int, ...], alpha: float) -> float:
    """The probability that the counts of a table become these noisy ones."""
    counts = [table.count(k) for k in range(len(noisy))]
    drawn = 1 if len(noisy) == 2 else len(noisy)  # of two counts the second follows from the first
    pairs = list(zip(noisy, counts, strict=True))[:drawn]
    return math.prod((1 - alpha) / (1 + alpha) * alpha ** abs(a - b) for a, b in pairs)


def test_tables_that_differ_in_one_secret_give_every_file_with_probabilities_within_the_cost(
    released: Any, tmp_path: Path
) -> None:
    rows, cost = 6, 0.7
    alpha = float(noise_ratio(Fraction(cost), 2))
    files: dict[bytes, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for first in range(-30, 37):  # beyond that the noise has a probability of 1e-9
        noisy = (first, rows - first)
        _, certificate, shown = released(noisy, rows, cost, 3, 0.6)
        assert certificate is shown  # there is nothing that only a steward may see
        certificate.mechanism.save(tmp_path / "m.json")
        content = (tmp_path / "m.json").read_bytes()
        for yes in range(rows + 1):
            files[content][yes] += chance(noisy, (0,) * yes + (1,) * (rows - yes), alpha)
    assert len(files) > 5  # the mechanism does follow the counts
    for seen in files.values():
        for yes in range(rows):
            assert seen[yes] <= math.exp(cost) * seen[yes + 1] * (1 + 1e-6) + 1e-8
            assert seen[yes + 1] <= math.exp(cost) * seen[yes] * (1 + 1e-6) + 1e-8


def total_lift(noisy: tuple[int, ...], rows: int, mechanism: lw.Mechanism, prior: np.ndarray, alpha: float) -> float:
    """The largest lift of a value of the first row from the noisy counts and the outcomes of all rows."""
    letters = len(prior)
    matrix = mechanism.matrix
    joint = np.zeros((letters,) * rows)
    for table in tables(rows, letters):
        joint[table] = chance(noisy, table, alpha) * math.prod(prior[s] for s in table)
    for place in range(rows - 1, 0, -1):  # sum over the secrets of the other rows, one outcome each
        joint = np.tensordot(joint, matrix, axes=([place], [0]))
    flat = joint.reshape(letters, -1)  # the first secret, the outcomes of all others
    both = flat[:, :, None] * matrix[:, None, :]
    posterior = both / both.sum(axis=0)
    return float((posterior / prior[:, None, None]).max())


def lift_of(mechanism: lw.Mechanism, prior: np.ndarray) -> float:
    return float((mechanism.matrix.max(axis=0) / (prior @ mechanism.matrix)).max())


def inside(cake: NoisyLayerCake, prior: np.ndarray) -> bool:
    size = len(prior)
    sets = ((np.arange(1, 2**size - 1)[None, :] >> np.arange(size)[:, None]) & 1).astype(float)
    return bool((cake.least_mass(sets) <= prior @ sets).all())


@pytest.mark.parametrize("first", [0.5, 0.8, 0.93])
def test_mechanism_and_all_rows_together_never_exceed_the_limit_for_two_values(released: Any, first: float) -> None:
    rows, cost, lift = 5, 0.5, 3.0
    alpha, prior = float(noise_ratio(Fraction(cost), 2)), np.array([first, 1 - first])
    closest, kept = 0.0, 0
    for count in range(-6, 12):
        noisy = (count, rows - count)
        _, certificate, _ = released(noisy, rows, cost, lift, 0.5)
        mechanism = certificate.mechanism["u"]
        total = total_lift(noisy, rows, mechanism, prior, alpha)
        # Whatever the prior: the factor of the noise, and what the mechanism tells of the row itself.
        assert total <= math.exp(cost) * lift_of(mechanism, prior) * (1 + 1e-9)
        if inside(certificate.priors["u"], prior):
            kept += 1
            assert total <= lift * (1 + 1e-9)
            closest = max(closest, total / lift)
    assert kept > 5
    assert closest > 0.5  # the noise does tell something


def test_mechanism_and_all_rows_together_never_exceed_the_limit_for_three_values(released: Any) -> None:
    rows, cost, lift = 3, 0.6, 3.0
    alpha, prior = float(noise_ratio(Fraction(cost), 3)), np.array([0.6, 0.3, 0.1])
    generator = np.random.default_rng(0)
    kept = 0
    for _ in range(8):
        noisy = tuple(int(k) for k in generator.integers(-3, 7, 3))
        _, certificate, _ = released(noisy, rows, cost, lift, 0.5)
        mechanism = certificate.mechanism["u"]
        total = total_lift(noisy, rows, mechanism, prior, alpha)
        assert total <= math.exp(cost) * lift_of(mechanism, prior) * (1 + 1e-9)
        if inside(certificate.priors["u"], prior):
            kept += 1
            assert total <= lift * (1 + 1e-9)
    assert kept


LETTERS = Alphabet(["a", "b", "c"])
COUNTS = {"u": [40_000, 30_000, 10_000], "v": [300, 100, 99]}


def paid(counts: Any = COUNTS, cost: object = 0.1, lift: object = 2, **options: Any) -> Any:
    basis = CountedStrata(counts, LETTERS, GIVEN, "ill", 1e-6, prior_cost=cost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        return certified_by_stratum(
            basis, release_limits(lift=lift), "statistics", None, ("ill",), 60.0, stream=options.get("stream")
        )


def test_what_is_paid_is_included_in_every_limit_and_said() -> None:
    found, certificate, shown = paid()
    assert certificate is shown
    assert certificate.cost == Fraction(1, 10)
    assert certificate["u"].ratio * Fraction(math.exp(0.1)) <= 2
    assert 1.99 < certificate.lift("u") <= 2
    assert lw.ldp(certificate.mechanism["u"]) <= math.log(20) - 0.1 + 1e-9
    # Rows of a stratum without noisy counts have paid nothing.
    assert lw.ldp(certificate.mechanism["v"]) == pytest.approx(math.log(2))
    assert "all released rows together with the mechanism and this certificate" in certificate.sentence
    assert "0.1 nats, a factor of 1.1052, are included" in certificate.sentence
    assert certificate.to_dict()["prior_cost"] == 0.1
    assert found.others.strata == 1


def test_the_certificate_can_be_published_and_checked(tmp_path: Path) -> None:
    _, certificate, _ = paid()
    certificate.save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert again.sentence == certificate.sentence
    noisy = certificate.priors["u"]
    assert isinstance(noisy, NoisyLayerCake)
    assert noisy.counts != tuple(COUNTS["u"])
    assert noisy.nominal.sample_size is None
    assert certificate.priors.sample_sizes["u"] is None


def test_nothing_of_small_strata_and_nothing_but_noisy_counts_of_large_ones_is_used() -> None:
    with pytest.warns(lw.errors.UnsafeSeedWarning):
        streams = [lw.sampling.SecureStream(unsafe_seed=3) for _ in range(2)]
    _, one, _ = paid(stream=streams[0])
    other = {"u": COUNTS["u"], "v": [0, 0, 499]}
    _, two, _ = paid(other, stream=streams[1])
    assert one.mechanism == two.mechanism
    assert one.priors == two.priors


def test_a_cost_beyond_the_limit_and_odd_costs_are_refused() -> None:
    with pytest.raises(
        lw.Infeasible, match=r"A factor of 2\.2256 is spent already, which is more than lift = 2 allows"
    ):
        paid(cost=0.8)
    for cost in (0, -1, 1e-9, 11, float("nan"), "much"):
        with pytest.raises(lw.InvalidInput, match="prior_cost"):
            paid(cost=cost)


def test_noise_on_two_values_is_one_draw_and_keeps_the_rows() -> None:
    noisy = noisy_counts([[5000, 5000]] * 400, Fraction(1, 10))
    assert all(sum(row) == 10_000 for row in noisy)
    moved = np.array(noisy)[:, 0] - 5000
    assert 10 < moved.std() < 19  # √2/ε
    three = np.array(noisy_counts([[5000, 5000, 0]] * 400, Fraction(1, 10))) - [5000, 5000, 0]
    assert 22 < three.std() < 35  # 2√2/ε
    assert noisy_counts([[7]], Fraction(1)) == [[7]]
    assert noisy_counts([], Fraction(1)) == []


def prescribed(monkeypatch: pytest.MonkeyPatch, counts: list[int], noisy: list[int]) -> None:
    """Make the next noise turn the counts into the noisy ones."""
    noise = [a - b for a, b in zip(noisy, counts, strict=True)]
    monkeypatch.setattr(geometric, "two_sided_geometric", lambda *_: np.array(noise))


@pytest.mark.parametrize("given", [[], ["g"]])
def test_protect_shows_nothing_but_noisy_counts_with_other_columns_or_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: list[str]
) -> None:
    """Two tables whose noisy counts are the same give the same mechanism, certificate and report."""
    generator = np.random.default_rng(4)
    seen = []
    for counts in ([6000, 3000, 1000], [5400, 3100, 1500]):
        prescribed(monkeypatch, counts, [5750, 3020, 1180])
        values = generator.permutation(np.repeat(["a", "b", "c"], counts)).tolist()
        data = {"ill": values} | {name: ["u"] * len(values) for name in given}
        r = lw.protect(
            data, "ill", domain=["a", "b", "c"], prior="table", failure=1e-6, lift=2, prior_cost=0.1, order="keep"
        )
        r.certificate.save(tmp_path / "c.json")
        told = r.facts.to_dict()
        seen.append((r.mechanism, (tmp_path / "c.json").read_text(), {k: v for k, v in told.items() if k != "time"}))
        assert "0.1" in r.guarantee
    assert seen[0] == seen[1]
    m = seen[0][0] if not given else seen[0][0]["u"]
    assert lw.ldp(m) <= math.log(20) - 0.1 + 1e-9
    assert lw.epsilon(m, lw.Prior({"a": 0.575, "b": 0.302, "c": 0.123})) <= math.log(2) - 0.1
