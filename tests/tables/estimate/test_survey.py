"""Weights, strata and clusters: without protection the formulas of R's survey package, with it intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw

LABELS = [1, 2, 5]
PLAIN = lw.identity(LABELS)
NOISY = lw.randomized_response(LABELS, lift=4)


def survey(seed=0, rows=300):
    generator = np.random.default_rng(seed)
    stratum = generator.integers(0, 3, rows)
    cluster = generator.integers(0, 8, rows)  # numbered within each stratum, as in many files
    values = np.array(LABELS)[np.clip(generator.integers(0, 3, rows) - (cluster > 5), 0, 2)]
    return {"x": values, "w": generator.uniform(0.5, 4, rows), "h": stratum, "c": cluster}


def linearized(z, stratum, unit):
    """R's svyrecvar for sampling with replacement: sums by unit, deviations from the mean of the stratum."""
    total = 0.0
    for h in np.unique(stratum):
        mine = stratum == h
        sums = np.array([z[mine & (unit == c)].sum() for c in np.unique(unit[mine])])
        total += sums.size / (sums.size - 1) * ((sums - sums.mean()) ** 2).sum()
    return np.sqrt(total)


@pytest.mark.parametrize("clustered", [True, False])
@pytest.mark.parametrize("stratified", [True, False])
def test_without_protection_means_and_totals_are_those_of_the_survey_formulas(clustered, stratified):
    t = survey()
    unit = t["c"] if clustered else np.arange(300)
    if clustered and not stratified:
        t["c"] = unit = t["c"] + 8 * t["h"]
    stratum = t["h"] if stratified else np.zeros(300, dtype=int)
    options = {"weights": "w", "clusters": "c" if clustered else None, "strata": "h" if stratified else None}
    e = lw.estimate(t, {"x": PLAIN}, **options)
    x, w = t["x"], t["w"]
    mean = (w * x).sum() / w.sum()
    found = e.mean()
    assert found.value == pytest.approx(mean, abs=1e-10)
    assert found.standard_error == pytest.approx(linearized(w * (x - mean) / w.sum(), stratum, unit), rel=1e-8)
    total = e.total(column="x")
    assert total.value == pytest.approx((w * x).sum(), rel=1e-10)
    assert total.standard_error == pytest.approx(linearized(w * x, stratum, unit), rel=1e-8)
    for place, label in enumerate(LABELS):
        share = (w * (x == label)).sum() / w.sum()
        assert e.frequencies[place] == pytest.approx(share, abs=1e-10)
        error = linearized(w * ((x == label) - share) / w.sum(), stratum, unit)
        assert e.standard_error[place] == pytest.approx(error, rel=1e-8)
        assert e.total().standard_error[place] == pytest.approx(linearized(w * (x == label), stratum, unit), rel=1e-8)


def test_groups_are_domains_of_the_whole_survey_and_share_its_clusters():
    t = survey(1)
    t["g"] = np.where(np.random.default_rng(2).random(300) < 0.4, "p", "q")
    e = lw.estimate(t, {"x": PLAIN}, by=["g"], weights="w", strata="h", clusters="c")
    x, w, shares, parts = t["x"] == 5, t["w"], {}, {}
    for g in ("p", "q"):
        inside = t["g"] == g
        shares[g] = (w * x * inside).sum() / (w * inside).sum()
        parts[g] = w * inside * (x - shares[g]) / (w * inside).sum()
        error = linearized(parts[g], t["h"], t["c"])
        assert e[g].standard_error[2] == pytest.approx(error, rel=1e-8)
    d = e.difference("p", "q")
    assert d.frequencies[2] == pytest.approx(shares["p"] - shares["q"], abs=1e-10)
    assert d.standard_error[2] == pytest.approx(linearized(parts["p"] - parts["q"], t["h"], t["c"]), rel=1e-8)


def test_a_file_gives_the_same_as_the_table(tmp_path):
    import pandas as pd

    t = pd.DataFrame(survey(3))
    t.to_csv(tmp_path / "t.csv", index=False)
    m = lw.identity(["1", "2", "5"])
    options = {"weights": "w", "strata": "h", "clusters": "c"}
    from_file = lw.estimate(tmp_path / "t.csv", {"x": m}, **options)
    in_memory = lw.estimate(t, {"x": PLAIN}, **options)
    np.testing.assert_allclose(from_file.standard_error, in_memory.standard_error, rtol=1e-9)
    arrays = lw.estimate(t, {"x": PLAIN}, weights=t["w"].to_numpy(), strata=t["h"], clusters=t["c"].tolist())
    np.testing.assert_allclose(arrays.standard_error, in_memory.standard_error, rtol=1e-9)


def test_a_weight_counts_as_so_many_rows_for_the_estimate():
    t = survey(4)
    t["w"] = np.floor(t["w"]).astype(int) + 1
    repeated = {"x": np.repeat(t["x"], t["w"])}
    once = lw.estimate(t, {"x": NOISY}, weights="w")
    many = lw.estimate(repeated, {"x": NOISY}, weights=np.ones(t["w"].sum()))
    np.testing.assert_allclose(once.frequencies, many.frequencies, atol=1e-9)


def released(generator, clusters=60):
    """Clusters that differ in their shares, of several sizes, rows weighted by how rarely their kind was drawn."""
    sizes = generator.integers(5, 30, clusters)
    levels = generator.beta(4, 6, clusters)
    cluster = np.repeat(np.arange(clusters), sizes)
    value = (generator.random(cluster.size) < levels[cluster]).astype(int)
    weight = np.where(generator.random(cluster.size) < 0.3, 3.0, 1.0)
    m = lw.randomized_response([0, 1], lift=4)
    shown = np.where(generator.random(cluster.size) < m.matrix[0, 0], value, 1 - value)
    return {"x": shown, "w": weight, "c": cluster}, m


def test_intervals_with_weights_and_clusters_cover():
    generator = np.random.default_rng(7)
    inside = []
    for _ in range(400):
        t, m = released(generator)
        low, high = lw.estimate(t, {"x": m}, weights="w", clusters="c").mean().interval
        inside.append(low <= 0.4 <= high)
    assert 0.92 < np.mean(inside) < 0.98


def test_independence_of_clustered_columns_has_uniform_p_values():
    generator = np.random.default_rng(8)
    found = []
    for _ in range(300):
        t, m = released(generator, 80)
        t["y"] = generator.integers(0, 2, t["x"].size)
        found.append(lw.estimate(t, {"x": m, "y": m}, weights="w", clusters="c").independence().p_value)
    from scipy.stats import kstest

    assert kstest(found, "uniform").pvalue > 1e-3


def test_means_and_quantiles_from_bins_cover():
    generator = np.random.default_rng(5)
    m = lw.Mechanism(lw.randomized_response(5, lift=6).matrix, inputs=lw.bins(0, 50, 5), outputs=lw.bins(0, 50, 5))
    shares = np.array([0.1, 0.25, 0.3, 0.2, 0.15])
    inside = []
    for _ in range(250):
        counts = generator.multinomial(1500, shares @ m.matrix)
        e = lw.estimate(dict(zip(m.outputs, counts.tolist(), strict=True)), m)
        mean, median, upper = e.mean(), e.quantile(0.5), e.quantile(0.9)
        # The middles times the shares; 0.35 below 20 and 0.3 in the next bin; 0.85 below 40 and 0.15 above.
        truths = ((mean, 25.5), (median, 25.0), (upper, 40 + 10 * 0.05 / 0.15))
        inside.append([one.interval[0] <= truth <= one.interval[1] for one, truth in truths])
    assert (np.mean(inside, axis=0) > 0.92).all()
    assert (np.mean(inside, axis=0) < 0.985).all()


def test_numbers_of_one_column_are_those_of_its_table():
    counts = {1: 400, 2: 300, 5: 300}
    e = lw.estimate(counts, NOISY)
    joint = lw.estimate({(key,): count for key, count in counts.items()}, {"x": NOISY}, weights=None, by=[])
    assert float(e.mean()) == pytest.approx(float(joint.mean()))
    assert e.mean().standard_error == pytest.approx(joint.mean().standard_error)
    assert float(e.quantile(0.5)) == float(joint.quantile(0.5)) == 2.0
    assert float(e.mean({1: 0, 2: 0, 5: 1})) == pytest.approx(e.frequencies[2])
    assert e.total([0, 0, 1]).value == pytest.approx(1000 * e.frequencies[2])
    assert "mean" in repr(e.mean())
    with pytest.raises(lw.InvalidInput, match="strictly between 0 and 1"):
        e.quantile(1.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"w": -1.0}, "negative or missing, such as row 7: -1.0"),
        ({"w": np.nan}, "1 rows are negative or missing"),
        ({"w": np.inf}, "finite and not negative"),
    ],
)
def test_weights_that_are_negative_or_missing_are_refused(change, words):
    t = survey()
    t["w"][7] = change["w"]
    with pytest.raises(lw.InvalidInput, match=words):
        lw.estimate(t, {"x": NOISY}, weights="w")


def test_a_stratum_with_one_cluster_and_weights_of_another_length_are_refused():
    t = survey()
    with pytest.raises(lw.InvalidInput, match="single cluster"):
        lw.estimate(t, {"x": NOISY}, clusters="h", strata="h")
    with pytest.raises(lw.InvalidInput, match="weights has 3 entries and released has 300 rows"):
        lw.estimate(t, {"x": NOISY}, weights=[1, 2, 3])
    with pytest.raises(lw.InvalidInput, match="all zero"):
        lw.estimate(t, {"x": NOISY}, weights=np.zeros(300))
    with pytest.raises(lw.InvalidInput, match="must be a column of numbers"):
        lw.estimate(t, {"x": NOISY}, weights=["much"] * 300)
    with pytest.raises(lw.InvalidInput, match="not in the table"):
        lw.estimate(t, {"x": NOISY}, weights="v")
