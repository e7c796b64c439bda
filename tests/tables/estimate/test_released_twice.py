"""Tables of which several columns, or one column twice, were released: estimates are right, or refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw

SEX = lw.randomized_response(["f", "m"], lift=3)
INCOME = lw.randomized_response(["high", "low"], lift=3)


@pytest.fixture
def table():
    generator = np.random.default_rng(5)
    sex = generator.choice(["f", "m"], 20_000)
    high = generator.random(20_000) < np.where(sex == "f", 0.1, 0.4)
    return pa.table(
        {"sex": sex, "income": np.where(high, "high", "low"), "region": generator.choice(["n", "s"], 20_000)}
    )


@pytest.fixture
def released(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet")
    return lw.release(tmp_path / "t.parquet", {"sex": SEX, "income": INCOME}, out=tmp_path / "r.parquet")


def test_groups_by_a_released_column_are_refused(released):
    """They gave 0.193 for 0.109: the file says that its column was released, and so does a mapping."""
    for data in (released, pq.read_table(released)):
        for mechanism in (None, INCOME, {"income": INCOME, "sex": SEX}):
            with pytest.raises(lw.InvalidInput, match="by='sex' is a released column itself"):
                lw.estimate(data, mechanism, "income", by="sex")
        assert lw.estimate(data, None, "income", by="region").by == "region"
    frame = pq.read_table(released).to_pandas()
    with pytest.raises(lw.InvalidInput, match="by='sex' is a released column itself"):
        lw.estimate(frame, {"income": INCOME, "sex": SEX}, "income", by="sex")
    both = lw.estimate(frame, {"income": INCOME, "sex": SEX}, "income", by="region")
    assert (
        both["n"].frequencies.tolist() == lw.estimate(released, by="region", column="income")["n"].frequencies.tolist()
    )
    with pytest.raises(lw.InvalidInput, match="those that mechanism names"):
        lw.estimate(frame, {"income": INCOME, "sex": SEX}, "region")
    for data in (released, pq.read_table(released)):
        with pytest.raises(lw.InvalidInput, match="names released columns: 'sex'"):
            lw.estimate(data, ["income"], by=["sex", "region"])


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "memory"])
def test_a_second_release_is_composed_with_the_first(table, tmp_path, suffix):
    """The second mechanism alone gave 0.624 for 0.75."""
    truth = table["income"].to_pylist().count("low") / len(table)
    pq.write_table(table, tmp_path / "t.parquet")
    once = lw.release(tmp_path / "t.parquet", INCOME, "income", out=tmp_path / "once.parquet")
    if suffix == "memory":
        twice = lw.release(pq.read_table(once), INCOME, "income")
    elif suffix == "arrow":
        with pa.OSFile(str(tmp_path / "once.arrow"), "wb") as file:
            held = pq.read_table(once)
            with pa.ipc.new_file(file, held.schema) as writer:
                writer.write_table(held)
        twice = lw.release(tmp_path / "once.arrow", INCOME, "income", out=tmp_path / "twice.arrow")
    else:
        twice = lw.release(once, INCOME, "income", out=tmp_path / "twice.parquet")
    found = lw.estimate(twice)
    assert found.frequencies[1] == pytest.approx(truth, abs=6 * found.standard_error[1])
    assert abs(found.frequencies[1] - truth) < 0.08
    with pytest.warns(lw.LeakwiseWarning, match="released by another mechanism"):
        wrong = lw.estimate(twice, INCOME, "income")
    assert abs(wrong.frequencies[1] - truth) > 0.08


def test_a_second_release_that_cannot_be_composed_is_refused(released, tmp_path):
    pairs = lw.randomized_response([(a, b) for a in ("f", "m") for b in ("high", "low")], lift=3)
    with pytest.raises(lw.InvalidInput, match="was released before as one secret"):
        lw.release(released, pairs, ("sex", "income"), out=tmp_path / "x.parquet")
    third = lw.Mechanism([[0.5, 0.5], [0.25, 0.75]], inputs=["f", "x"], outputs=["u", "v"])
    ones = pq.read_table(released).filter(pa.compute.equal(pq.read_table(released)["sex"], "f"))
    pq.write_table(ones, tmp_path / "ones.parquet")
    with pytest.raises(lw.InvalidInput, match="must have a row for each of them; 'm' has none"):
        lw.release(tmp_path / "ones.parquet", third, "sex", out=tmp_path / "z.parquet")
    assert not (tmp_path / "z.parquet").exists()


def test_a_csv_file_released_twice_by_the_command_is_composed(table, tmp_path):
    """CSV has no place for the mechanism; the file beside the table knows that it is its own."""
    from typer.testing import CliRunner

    from leakwise.cli import app

    truth = table["income"].to_pylist().count("low") / len(table)
    frame = table.to_pandas()
    frame["sex"] = frame["sex"].sample(frac=1, random_state=0).to_numpy()  # here it tells nothing about the income
    frame.to_csv(tmp_path / "t.csv", index=False)
    INCOME.save(tmp_path / "m.json")
    more = ["-c", "income", "--mechanism", str(tmp_path / "m.json"), "--prior", "high=0.5,low=0.5"]
    more += ["--unrelated", "sex,region"]
    for name in ("t.csv", "t.released.csv"):
        done = CliRunner().invoke(app, ["release", str(tmp_path / name), *more])
        assert done.exit_code == 0, done.output
    m = lw.Mechanism.load(tmp_path / "t.released.released.mechanism.json")
    assert m == INCOME.then(INCOME)
    found = lw.estimate(tmp_path / "t.released.released.csv", m, "income")
    assert found.frequencies[1] == pytest.approx(truth, abs=6 * found.standard_error[1])
    SEX.save(tmp_path / "sex.json")  # another column of it is released for the first time
    other = [
        "-c",
        "sex",
        "--mechanism",
        str(tmp_path / "sex.json"),
        "--prior",
        "f=0.5,m=0.5",
        "--unrelated",
        "income,region",
        "-o",
        str(tmp_path / "o.csv"),
    ]
    assert CliRunner().invoke(app, ["release", str(tmp_path / "t.released.csv"), *other]).exit_code == 0
    assert lw.Mechanism.load(tmp_path / "o.mechanism.json") == SEX
