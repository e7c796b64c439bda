"""With its prior from the table, what the receiver gets depends on the table through its rounded frequencies alone."""

from __future__ import annotations

import itertools
import json
import warnings
from datetime import UTC, datetime

import numpy as np
import pytest

import leakwise as lw
from leakwise.priors.sample import cell_of, coarse_prior, rounded_parts
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.report import Facts, page
from leakwise.sampling import geometric

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def receives(monkeypatch, counts, labels, **options):
    """Everything that leaves the house but the rows, which are drawn."""
    monkeypatch.setattr(Facts, "now", classmethod(lambda cls: TIME))
    rows = np.random.default_rng(0).permutation(np.repeat(labels, counts)).tolist()
    r = lw.protect({"s": rows}, "s", domain=labels, prior="table", failure=1e-6, dataset="d", **options)
    r.certificate.verify()
    assert r.certificate.holds
    return (
        json.dumps(r.mechanism.to_dict()),
        json.dumps(r.facts.to_dict()),
        page(r.facts),
        r.guarantee,
    )


def by_rounding(tables):
    """Tables by their rounded frequencies, which are public."""
    letters = lw.Prior.uniform(len(tables[0])).alphabet
    return itertools.groupby(tables, key=lambda one: tuple(coarse_prior(one, letters).weights.tolist()))


@pytest.mark.parametrize("options", [{"lift": 2}, {"lift": 2, "use": "reading"}])
def test_single_rows_within_a_rounding_change_nothing(monkeypatch, options, tmp_path):
    """Counts next to 1218, 1251 and 1287 of 4,000 used to change the mechanism; the ledger's total told the count."""
    spots = [k for near in (1218, 1251, 1287) for k in range(near - 2, near + 2)]
    tables = [(4000 - k, k) for k in sorted({*spots, *range(1240, 1320, 16)})]
    roundings = 0
    for _, group in by_rounding(tables):
        found = {
            receives(monkeypatch, counts, ["no", "yes"], ledger=tmp_path / f"{counts[1]}.db", **options)
            for counts in group
        }
        assert len(found) == 1
        roundings += 1
    assert 1 < roundings < len(tables) / 2


def test_three_values_and_a_given_mechanism(monkeypatch):
    generator = np.random.default_rng(1)
    m = lw.randomized_response(["a", "b", "c"], lift=3)
    tables = sorted(
        {(500, 300 + step, 100 - step) for step in generator.integers(-20, 20, 12).tolist()},
        key=lambda one: coarse_prior(one, lw.Prior.uniform(3).alphabet).weights.tolist(),
    )
    shared = 0
    for _, group in by_rounding(tables):
        members = list(group)
        shared += len(members) > 1
        for options in ({"mechanism": m}, {"lift": 2}):
            assert len({receives(monkeypatch, counts, ["a", "b", "c"], **options) for counts in members}) == 1
    assert shared


def receives_rows(monkeypatch, counts, **options):
    """The same for whole rows: counts of the values in each stratum, beside which a column goes out."""
    monkeypatch.setattr(Facts, "now", classmethod(lambda cls: TIME))
    pairs = [(g, s) for g, row in counts.items() for s, count in zip("abc", row, strict=True) for _ in range(count)]
    order = np.random.default_rng(0).permutation(len(pairs))
    table = {"g": [pairs[place][0] for place in order], "s": [pairs[place][1] for place in order]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        r = lw.protect(
            table, "s", domain=list("abc"), prior="table", failure=1e-6, given=["g"], dataset="d", lift=2, **options
        )
    r.certificate.verify()
    return json.dumps(r.mechanism.to_dict()), json.dumps(r.facts.to_dict()), page(r.facts), r.guarantee, repr(r)


@pytest.mark.parametrize("options", [{}, {"use": "reading"}, {"least_rows": 300}])
def test_whole_rows_tell_nothing_beyond_the_rounded_counts_of_strata(monkeypatch, options):
    """Three tables with the same stratum sizes and the same rounded frequencies; a fourth has others."""
    rounded, small = [1501, 899, 600], [300, 60, 40]
    low, high = cell_of(rounded_parts(rounded), sum(rounded))
    step = min(rounded[0] - low[0], high[1] - rounded[1])
    assert step > 3
    first = receives_rows(monkeypatch, {"u": rounded, "v": small}, **options)
    for moved in (1, step):
        near = [rounded[0] - moved, rounded[1] + moved, rounded[2]]
        assert receives_rows(monkeypatch, {"u": near, "v": small}, **options) == first
    far = [rounded[0] - 500, rounded[1] + 500, rounded[2]]
    assert receives_rows(monkeypatch, {"u": far, "v": small}, **options) != first
    if "least_rows" not in options:  # of a stratum with few rows nothing is told but how many they are
        assert receives_rows(monkeypatch, {"u": rounded, "v": [10, 10, 380]}, **options) == first


def test_whole_rows_tell_nothing_beyond_the_noisy_counts_of_strata(monkeypatch):
    """Tables that noise makes equal give the same files and the same report, and the certificate goes with them."""
    noisy = [6104, 2999, 897]

    def with_noise(counts, small):
        noise = np.array(noisy) - counts
        monkeypatch.setattr(geometric, "two_sided_geometric", lambda *_: noise)
        return receives_rows(monkeypatch, {"u": counts, "v": small}, prior_cost=0.5)

    first = with_noise([6100, 3000, 900], [300, 60, 40])
    assert with_noise([6090, 3005, 905], [300, 60, 40]) == first
    assert with_noise([6100, 3000, 900], [10, 10, 380]) == first
    assert "were counted with noise, which costs 0.5 nats" in first[3]
    noisy[0] += 500
    assert with_noise([6100, 3000, 900], [300, 60, 40]) != first


@pytest.mark.parametrize("seed", range(20))
def test_the_cell_of_a_rounding(seed):
    """Its ends round to the same, what is beyond does not; its bounds are below those of every table in it."""
    generator = np.random.default_rng(seed)
    size, rows = int(generator.integers(2, 6)), int(generator.integers(8, 3000))
    counts = generator.multinomial(rows, generator.dirichlet(np.ones(size))).tolist()
    low, high = cell_of(rounded_parts(counts), sum(counts))
    assert all(a <= c <= b for a, c, b in zip(low, counts, high, strict=True))
    letters = lw.Prior.uniform(size).alphabet

    def rounds_to(place, count):
        moved = list(counts)
        other = (place + 1) % size
        moved[place], moved[other] = count, moved[other] + counts[place] - count
        same = coarse_prior(moved, letters) if min(moved) >= 0 else None
        return None if same is None else cell_of(rounded_parts(moved), sum(moved))[0][place] == low[place]

    for place in range(size):
        assert rounds_to(place, low[place]) in (True, None)
        assert rounds_to(place, high[place]) in (True, None)
        assert rounds_to(place, low[place] - 1) in (False, None)
        assert rounds_to(place, high[place] + 1) in (False, None)
    sample = lw.Prior.from_counts(counts)
    columns = generator.random((size, 5))
    exact = sample.confidence(1e-3, "layer-cake")
    rounded = RoundedLayerCake(sample, 1e-3)
    assert (rounded.least_mass(columns) <= exact.least_mass(columns) + 1e-12).all()
    column = generator.integers(0, 50, size).tolist()
    assert rounded.exact_least_mass(column) <= exact.exact_least_mass(column)
    assert rounded.least_mass(np.array(column, dtype=float)) <= float(rounded.exact_least_mass(column))
    order = generator.permutation(size)
    assert rounded.reordered(order).least_mass(columns[order]) == pytest.approx(rounded.least_mass(columns))


def test_rounded_designs_rest_on_layer_cakes():
    sample = lw.Prior.from_counts([700, 300])
    with pytest.raises(lw.InvalidInput, match="rest on exact counts"):
        lw.design_from_data(sample, lift=2, failure=1e-3, rounded=True, strategy="split")
    d = lw.design_from_data(sample, lift=2, failure=1e-3, rounded=True, strategy="certified")
    d.certificate.verify()
    assert d.certificate.epsilon_upper <= d.epsilon <= np.log(2)
