"""What a table tells about its secret: the chain rule, intervals that cover, the steward's output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as given_by
from hypothesis import settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.data import adult_table
from leakwise.errors import InvalidInput, LeakwiseWarning

RR = lw.randomized_response(["no", "yes"], lift=3)
TABLE = {
    "sex": ["f"] * 100 + ["m"] * 100,
    "age": [20, 60] * 100,
    "ill": ["no"] * 40 + ["yes"] * 60 + ["no"] * 80 + ["yes"] * 20,
}


@settings(max_examples=40)
@given_by(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=2, max_size=4),
    st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3),
)
@pytest.mark.filterwarnings("ignore::leakwise.LeakwiseWarning")
def test_lifts_are_those_of_the_joint_law_and_multiply_along_the_chain(
    counts: list[list[int]], matrix: list[list[int]]
) -> None:
    """Brute force over P(u, s, y): lift(s; u, y) = lift(s; u) lift(s; y | u), and the largest of each."""
    counts = [[4 * n for n in row] for row in counts]
    rows = [(u, s) for u, row in enumerate(counts) for s, n in enumerate(row) for _ in range(n)]
    m = lw.Mechanism([[f"{w}/{sum(row)}" for w in row] for row in matrix])
    found = lw.audit_table({"u": [u for u, _ in rows], "s": [s for _, s in rows]}, "s", given="u", mechanism=m)
    joint = np.array(counts)[:, :, None] * m.matrix[None] / len(rows)
    prior = joint.sum(axis=(0, 2))
    for u, one in enumerate(found.strata):
        here = joint[u].sum(axis=1) > 0
        given_u = joint[u].sum(axis=1) / joint[u].sum()
        given_both = joint[u] / joint[u].sum(axis=0)
        alone = given_u[here] / prior[here]
        added = given_both[here] / given_u[here, None]
        both = given_both[here] / prior[here, None]
        assert np.allclose(both, alone[:, None] * added, rtol=1e-12)
        assert one.alone.lift == pytest.approx(alone.max(), rel=1e-12)
        assert one.added is not None
        assert one.both is not None
        assert one.added.lift == pytest.approx(added.max(), rel=1e-12)
        assert one.both.lift == pytest.approx(both.max(), rel=1e-12)
        for lift in (one.alone, one.added, one.both):
            assert lift.low <= lift.lift * (1 + 1e-12)
            assert lift.lift <= lift.high * (1 + 1e-12)


def test_intervals_contain_the_lifts_of_the_population() -> None:
    generator = np.random.default_rng(4)
    law = np.array([[0.3, 0.15, 0.05], [0.05, 0.2, 0.25]])
    prior = law.sum(axis=0)
    m = lw.Mechanism([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    missed = 0
    for _ in range(100):
        drawn = generator.choice(6, 600, p=law.reshape(-1))
        found = lw.audit_table({"u": drawn // 3, "s": drawn % 3}, "s", given="u", mechanism=m, confidence=0.9)
        inside = True
        for u, one in enumerate(found.strata):
            here = law[u] / law[u].sum()
            added = (m.matrix / (here @ m.matrix)).max()
            both = (m.matrix / (here @ m.matrix) * (here / prior)[:, None]).max()
            for lift, true in ((one.alone, (here / prior).max()), (one.added, added), (one.both, both)):
                assert lift is not None
                inside &= lift.low <= true <= lift.high
        missed += not inside
    assert missed <= 10  # one in ten at most, and the intervals are on the safe side


def test_the_worst_strata_are_described_and_the_output_is_marked_for_the_owner() -> None:
    a = lw.audit_table(pd.DataFrame(TABLE), "ill", given=["sex"], mechanism=RR)
    assert (a.alone.lift, a.alone.value) == (pytest.approx(1.5), "yes")
    assert a.worst[0].stratum == "f"
    assert a.rows == 200
    text = repr(a)
    assert (
        "By itself sex makes a value up to 1.5 times as likely: 'yes' where sex = f, which no mechanism changes."
        in text
    )
    assert "for the owner of the table" in text
    assert a.to_dict()["for"] == "the owner of the table"
    assert lw.audit_table(TABLE, "ill", given="sex", domain=["no", "yes"]).both is None


def test_one_mechanism_for_all_of_adult_tells_far_more_than_its_certificate_says() -> None:
    table = adult_table()
    marital = sorted(set(table["marital_status"]))
    prior = lw.Prior.from_data(table["marital_status"], marital)
    one = lw.design(prior, lift=2, utility="frequencies").mechanism
    found = lw.audit_table(table, "marital_status", given=["sex", "income"], mechanism=one)
    assert found.added is not None
    assert found.added.lift > 8
    cp = lw.PriorByStratum.from_data(table, "marital_status", given=["sex", "income"], domain=marital)
    public = cp.replaced({key: lw.Prior.from_integers(cp.alphabet, cp[key].nominal.weights.tolist()) for key in cp})
    each = lw.design(public, lift=2, utility="frequencies").mechanism
    kept = lw.audit_table(table, "marital_status", mechanism=each)
    assert kept.added is not None
    assert kept.added.lift <= 2 + 1e-9
    finer = lw.audit_table(table, "marital_status", given=["sex", "income", "occupation"], mechanism=each)
    assert finer.added is not None
    assert finer.added.lift > 2


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_is_audited_as_the_table_is(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame(TABLE)
    path = tmp_path / name
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
    given = {"sex": None, "age": lw.bins(0, 100, 2)}
    of_file = lw.audit_table(path, "ill", given=given, mechanism=RR)
    assert of_file.to_dict() == lw.audit_table(frame, "ill", given=given, mechanism=RR).to_dict()
    assert len(of_file.strata) == 4


def test_columns_that_determine_the_secret_are_said() -> None:
    with pytest.warns(LeakwiseWarning, match="code determines 'ill' in every row"):
        a = lw.audit_table(
            {"code": [1, 1, 2, 2], "ill": ["no", "no", "yes", "yes"]}, "ill", given="code", domain=["no", "yes"]
        )
    assert a.certain == (1, 2)
    assert "in clear already" in repr(a)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"given": ["sex", "ill"]}, "given must not name the secret"),
        ({"given": ["sexx"]}, "Did you mean 'sex'"),
        ({}, "given must name the columns"),
        ({"given": "sex", "mechanism": None}, "domain must be declared"),
        ({"given": "sex", "mechanism": 3}, r"must be a lw\.Mechanism"),
        ({"given": "sex", "domain": ["no"]}, "must be the inputs of the mechanism"),
        ({"given": "sex", "confidence": 1}, "strictly between 0 and 1"),
    ],
)
def test_bad_questions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lw.audit_table(TABLE, "ill", **{"mechanism": RR, **options})
