"""The least lift for priors by stratum: of all rows together, of groups, and of differences between them."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput

Z = 1.959963984540054
ROWS = {"f": 8000, "m": 4000}
LAWS = {"f": [0.5, 0.3, 0.2], "m": [0.1, 0.4, 0.5]}
PRIORS = lw.PriorByStratum({key: [str(x) for x in law] for key, law in LAWS.items()}, given="sex", weights=ROWS)


def covariance(d, key):
    """That of the frequencies from one row of a stratum, from the definition."""
    p, matrix = np.array(LAWS[key]), d.mechanism[key].matrix
    law = p @ matrix
    lifts = matrix / law
    here = law > 0
    return np.linalg.inv((lifts[:, here] * law[here]) @ lifts[:, here].T) - np.outer(p, p)


@pytest.fixture(scope="module")
def found():
    return {of: lw.design(PRIORS, margin=0.03, rows=12_000, of=of) for of in ("table", "groups", "differences")}


def widths(d):
    """What is known within what: of the table, of each group, and of the difference, from the definition."""
    each = {key: np.diag(covariance(d, key)) for key in ROWS}
    share = {key: rows / 12_000 for key, rows in ROWS.items()}
    mean = sum(share[key] * np.array(LAWS[key]) for key in ROWS)
    between = sum(share[key] * (np.array(LAWS[key]) - mean) ** 2 for key in ROWS)
    table = (sum(share[key] * each[key] for key in ROWS) + between) / 12_000
    groups = np.max([each[key] / ROWS[key] for key in ROWS], axis=0)
    differences = sum(each[key] / ROWS[key] for key in ROWS)
    return {"table": table, "groups": groups, "differences": differences}


@pytest.mark.parametrize("of", ["table", "groups", "differences"])
def test_the_margin_is_met_and_a_lift_one_percent_smaller_is_proven_too_small(found, of):
    d = found[of]
    known = Z * np.sqrt(widths(d)[of])
    assert known.max() == pytest.approx(0.03, rel=2e-3)
    assert known.max() <= 0.03
    assert list(d.half_widths.values()) == pytest.approx(known.tolist(), rel=1e-6)
    assert d.lift / 1.01 <= d.lower < d.lift
    assert (d.value, d.bound) == (d.lift, d.lower)
    assert d.certificate.verify().holds


def test_groups_need_more_than_the_table_and_differences_more_than_groups(found):
    assert found["table"].lift < found["groups"].lift < found["differences"].lift


def test_all_rows_together_are_known_so_in_simulated_releases(found):
    d, generator = found["table"], np.random.default_rng(8)
    estimates = np.zeros((4000, 3))
    sizes = generator.multinomial(12_000, [2 / 3, 1 / 3], size=4000)
    for place, key in enumerate(ROWS):
        p, matrix = np.array(LAWS[key]), d.mechanism[key].matrix
        law = p @ matrix
        lifts = np.divide(matrix, law, where=law > 0, out=np.zeros_like(matrix))
        weights = np.linalg.inv((lifts * law) @ lifts.T) @ lifts
        for row in range(4000):
            estimates[row] += weights @ generator.multinomial(sizes[row, place], law / law.sum()) / 12_000
    mean = sum(rows / 12_000 * np.array(LAWS[key]) for key, rows in ROWS.items())
    inside = (np.abs(estimates - mean) <= 0.03).mean(axis=0)
    assert inside.min() == pytest.approx(0.95, abs=0.01)


def test_rows_by_stratum_are_those_of_the_strata():
    same = lw.design(PRIORS, margin=0.03, rows=ROWS, of="groups")
    assert same.lift == lw.design(PRIORS, margin=0.03, rows=12_000, of="groups").lift
    more = lw.design(PRIORS, margin=0.03, rows={"f": 4000, "m": 8000}, of="groups")
    assert more.lift != same.lift


def test_it_prints_and_a_stated_value_needs_less(found):
    text = str(found["differences"])
    assert "least lift" in text
    assert "frequency of 0, difference" in text
    one = lw.design(PRIORS, margin={1: 0.03}, rows=12_000, of="differences")
    assert one.lift < found["differences"].lift
    assert one.to_dict()["lower"] == one.lower


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"margin": 0.03, "rows": 12_000, "of": "tables"},
            "of must be one of table, groups, differences.*Did you mean",
        ),
        ({"margin": 0.03}, "rows is missing"),
        ({"margin": 0.03, "rows": {"f": 100}}, "one for each stratum"),
        ({"margin": 0.03, "rows": {"f": 100, "m": 0}}, "rows must be a positive integer"),
        ({"margin": 0.03, "rows": 12_000, "lift": 2}, "does not go with a lift"),
        ({"margin": 0.5, "rows": 12_000}, "costs no leakage"),
        ({"margin": 0.03, "rows": 900}, "rows would do without any protection"),
        ({"margin": 0.03, "rows": 2000, "of": "groups"}, r"where sex = m.* rows would do"),
    ],
)
def test_bad_input_is_told(options, words):
    with pytest.raises(InvalidInput, match=words):
        lw.design(PRIORS, **options)


def test_one_prior_has_no_groups():
    with pytest.raises(InvalidInput, match="priors by stratum"):
        lw.design([0.5, 0.5], margin=0.03, rows=12_000, of="groups")


def test_priors_known_from_a_sample_are_planned_at_their_estimates():
    counted = lw.PriorByStratum.from_counts(
        {"f": {"no": 30_000, "yes": 20_000}, "m": {"no": 40_000, "yes": 10_000}}, given="sex"
    )
    d = lw.design(counted.confidence(1e-6), margin=0.02, rows=20_000)
    assert d.lower == 1
    assert d.certificate.holds
    assert max(d.half_widths.values()) == pytest.approx(0.02, rel=2e-3)
