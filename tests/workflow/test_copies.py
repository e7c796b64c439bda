"""A near-copy of the secret among the columns that go out is refused with its numbers, unless it is allowed."""

import numpy as np
import pandas as pd
import pytest

import leakwise as lw

RNG = np.random.default_rng(3)
ROWS = 4000
VALUES = ["asthma", "flu", "none"]
ILL = RNG.choice(VALUES, size=ROWS, p=[0.2, 0.3, 0.5])
SLIPPED = np.where(RNG.random(ROWS) < 0.03, RNG.choice(VALUES, size=ROWS), ILL)
CODE = pd.Series(SLIPPED).map({"asthma": "J45", "flu": "J10", "none": "Z00"})
FRAME = pd.DataFrame({"diagnosis": ILL, "sex": RNG.choice(["f", "m"], ROWS), "diagnosis_code": CODE})
TABLE = {"domain": VALUES, "lift": 2, "prior": "table", "failure": 1e-6}


def test_a_code_beside_the_diagnosis_is_refused_with_its_numbers():
    right = int(sum(pd.Series(ILL).map({"asthma": "J45", "flu": "J10", "none": "Z00"}) == CODE))
    with pytest.raises(lw.InvalidInput) as refused:
        lw.protect(FRAME, "diagnosis", **TABLE)
    told = str(refused.value)
    assert "'diagnosis_code' says what diagnosis is" in told
    assert f"right for {right:,} of 4,000 rows" in told
    assert f"and for {(ILL == 'none').sum():,} without it" in told
    assert "--drop diagnosis_code" in told
    assert "allow_certainty=True" in told


def test_the_same_as_a_file_leaves_no_file(tmp_path):
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(lw.InvalidInput, match="'diagnosis_code' says what diagnosis is"):
        lw.protect(tmp_path / "in.csv", "diagnosis", out=tmp_path / "out.csv", **TABLE)
    assert not (tmp_path / "out.csv").exists()


def test_without_it_or_where_it_is_allowed_the_table_goes_out():
    assert len(lw.protect(FRAME, "diagnosis", drop="diagnosis_code", **TABLE).table) == ROWS
    with pytest.warns(lw.LeakwiseWarning, match="It goes out in clear, whatever is drawn for it"):
        lw.protect(FRAME, "diagnosis", drop="sex", least_rows=500, allow_certainty=True, **TABLE)


def test_a_copy_that_is_called_unrelated_is_refused_with_its_numbers():
    with pytest.raises(lw.InvalidInput, match=r"contradicts it: diagnosis_code tells about diagnosis.*rows where diag"):
        lw.protect(FRAME, "diagnosis", given="sex", unrelated="diagnosis_code", **TABLE)


def test_a_guarantee_for_every_prior_does_not_hide_a_copy():
    everything = {"prior": lw.AllPriors(VALUES), "lift": 2}
    with pytest.raises(lw.InvalidInput, match="'diagnosis_code' says what diagnosis is"):
        lw.protect(FRAME, "diagnosis", **everything)
    assert len(lw.protect(FRAME.drop(columns="diagnosis_code"), "diagnosis", **everything).table) == ROWS


def test_a_public_prior_by_the_copy_is_refused_as_well():
    by = lw.PriorByStratum.from_data(FRAME, "diagnosis", given=["diagnosis_code"], domain=VALUES)
    known = lw.PriorByStratum({key: by[key].nominal for key in by}, {"diagnosis_code": ["J10", "J45", "Z00"]})
    with pytest.raises(lw.InvalidInput, match="'diagnosis_code' says what diagnosis is"):
        lw.protect(FRAME, "diagnosis", prior=known, lift=2, drop="sex")


def test_a_copy_of_one_of_several_secrets_is_refused():
    frame = FRAME.assign(age=RNG.choice(["young", "old"], ROWS))
    several = {"domain": {"diagnosis": VALUES, "age": ["young", "old"]}, "prior": "table", "failure": 1e-6}
    with pytest.raises(lw.InvalidInput, match="'diagnosis_code' says what diagnosis is"):
        lw.protect(frame, {"age": 2, "diagnosis": 2}, **several)


def test_a_copy_of_a_column_of_a_joint_secret_is_refused():
    frame = FRAME.assign(age=RNG.choice(["young", "old"], ROWS))
    domain = {"diagnosis": VALUES, "age": ["young", "old"]}
    with pytest.raises(lw.InvalidInput, match="'diagnosis_code' says what diagnosis is"):
        lw.protect(frame, ("age", "diagnosis"), lift=2, domain=domain, prior="table", failure=1e-6)
