"""Draws that repeat: the same outcome for the same key, column, mechanism, person and value, and for nothing else."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2

import leakwise as lw
from leakwise.tables.memo import draws

LABELS = ["a", "b", "c"]
SKEWED = lw.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]], inputs=LABELS, outputs=["x", "y", "z"])
FALSE_ALARM = 1e-9
ROWS = 20_000


@pytest.fixture
def key(tmp_path):
    return lw.MemoKey.create(tmp_path / "key.bin")


def people(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    values = np.random.default_rng(seed).choice(LABELS, rows)
    return pd.DataFrame({"id": 13 * np.arange(rows), "s": values, "x": np.arange(rows) % 7})


def drawn(data, key, mechanism=SKEWED, column="s", **options):
    return lw.release(data, mechanism, column, memo=key, person="id", order="keep", **options)


# ------------------------------------------------------------------------------------------------------ they repeat


def test_a_value_has_the_same_outcome_in_every_kind_of_table(key, tmp_path):
    frame = people()
    expected = drawn(frame, key)["s"].tolist()
    assert drawn(frame.assign(id=frame["id"].astype(str)), key.path)["s"].tolist() == expected
    assert drawn(pl.from_pandas(frame), key)["s"].to_list() == expected
    assert drawn(pl.from_pandas(frame).lazy(), key).collect()["s"].to_list() == expected
    table = pa.Table.from_pandas(frame, preserve_index=False)
    assert drawn(table, key)["s"].to_pylist() == expected
    assert drawn(table.to_reader(max_chunksize=17), key).read_all()["s"].to_pylist() == expected
    assert drawn({name: frame[name].tolist() for name in frame}, key)["s"] == expected

    frame.to_csv(tmp_path / "plain.csv", index=False)
    frame.to_csv(tmp_path / "quoted.csv", index=False, quoting=1)
    frame.to_csv(tmp_path / "tabs.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=37)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_feather(tmp_path / "t.feather")
    read = {
        "plain.csv": pd.read_csv,
        "quoted.csv": pd.read_csv,
        "tabs.tsv": lambda path: pd.read_csv(path, sep="\t"),
        "t.parquet": pd.read_parquet,
        "t.jsonl": lambda path: pd.read_json(path, lines=True),
        "t.feather": pd.read_feather,
    }
    for name, reader in read.items():
        out = drawn(tmp_path / name, key, out=tmp_path / f"out.{name}")
        assert reader(out)["s"].tolist() == expected, name


def test_a_value_has_the_same_outcome_in_databases(key, tmp_path):
    frame = people(50)
    expected = drawn(frame, key)["s"].tolist()
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        frame.to_sql("t", connection, index=False)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    for name in ("t.sqlite", "t.duckdb"):
        target = lw.SqlTable(tmp_path / name, "released")
        drawn(lw.SqlTable(tmp_path / name, "t"), key, out=target)
        assert [value for batch in target.batches(["s"]) for value in list(map(str, batch["s"]))] == expected


def test_the_order_of_rows_and_who_else_is_there_change_nothing(key):
    frame = people()
    whole = drawn(frame, key).set_index("id")["s"]
    part = drawn(frame.sample(frac=0.5, random_state=1), key).set_index("id")["s"]
    assert part.equals(whole[part.index])


def test_an_id_column_that_is_dropped_still_says_whose_row_it_is(key, tmp_path):
    frame = people(400)
    expected = drawn(frame, key)["s"].tolist()
    prior = lw.Prior(dict.fromkeys(LABELS, "1/3"))
    options = {"prior": prior, "lift": 3, "mechanism": SKEWED, "order": "keep", "memo": key, "person": "id"}
    done = lw.protect(frame, "s", drop=["id", "x"], **options)
    assert list(done.table.columns) == ["s"]
    assert done.table["s"].tolist() == expected
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        frame.to_csv(tmp_path / "t.csv", index=False)
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
        out = lw.protect(tmp_path / name, "s", drop=["id", "x"], out=tmp_path / f"o.{name}", **options).table
        reader = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True)}
        released = reader[out.suffix[1:]](out)
        assert list(released.columns) == ["s"]
        assert released["s"].tolist() == expected


def test_outcomes_of_a_known_key_never_change(tmp_path):
    """Another version of Leakwise must draw the same: what a word is made of, and what it stands for, is fixed."""
    secret = bytes(range(32))
    check = blake2b(secret, digest_size=8, person=b"checksum").digest()
    (tmp_path / "key.bin").write_bytes(b"leakwise memo key 1\n" + secret + check)
    (tmp_path / "key.bin").chmod(0o600)
    key = lw.MemoKey(tmp_path / "key.bin")
    frame = pd.DataFrame({"id": [1, 2, 3, 4, 5, 6, 7, 8] * 3, "s": np.repeat(LABELS, 8)})
    with pytest.warns(lw.LeakwiseWarning, match="8 persons have several rows"):
        dense = "".join(drawn(frame, key)["s"])
    with pytest.warns(lw.LeakwiseWarning, match="8 persons have several rows"):
        structured = "".join(drawn(frame, key, lw.randomized_response(LABELS, lift=2))["s"])
    assert (key.fingerprint, dense, structured) == (
        "79f4-32ef-11e0-7472",
        "xxxxyxxxzyyyyyyyyyzxzzyy",
        "caaaaaabbbbbbbcbbcccbbbb",
    )


def test_a_mechanism_from_a_file_and_one_over_another_denominator_draw_the_same(key, tmp_path):
    frame = people()
    expected = drawn(frame, key)["s"].tolist()
    SKEWED.save(tmp_path / "m.json")
    assert drawn(frame, key, lw.Mechanism.load(tmp_path / "m.json"))["s"].tolist() == expected
    response = lw.randomized_response(LABELS, lift=2)
    entries = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    written_out = lw.Mechanism(entries, inputs=LABELS, outputs=LABELS)
    assert response.denominator != written_out.denominator
    assert drawn(frame, key, response)["s"].tolist() == drawn(frame, key, written_out)["s"].tolist()


def test_a_mechanism_too_large_for_its_entries_repeats_too(key, monkeypatch):
    monkeypatch.setattr(draws, "_BY_ENTRIES", 5)
    frame = people()
    response = lw.randomized_response(LABELS, lift=2)
    first, again = (drawn(frame, key, response)["s"].tolist() for _ in range(2))
    assert first == again
    assert len(set(first)) == 3


# --------------------------------------------------------------------------------- what they depend on, and how


def agreement(one, other):
    """How often two columns of outcomes agree."""
    return float(np.mean(np.asarray(one) == np.asarray(other)))


def test_outcomes_have_the_distribution_of_the_mechanism(key):
    frame = people(3 * ROWS)
    released = drawn(frame, key)["s"].to_numpy()
    for label, row in zip(LABELS, SKEWED.matrix, strict=True):
        own = released[frame["s"].to_numpy() == label]
        counts = np.array([(own == outcome).sum() for outcome in SKEWED.outputs])
        statistic = ((counts - own.size * row) ** 2 / (own.size * row)).sum()
        assert chi2.sf(statistic, 2) > FALSE_ALARM


@pytest.mark.parametrize("change", ["key", "column", "mechanism", "person", "value"])
def test_another_key_column_mechanism_person_or_value_is_another_draw(change, key, tmp_path):
    """A cross-table of both outcomes is that of independent draws."""
    uniform = lw.Mechanism([["1/4"] * 4] * 2, inputs=["a", "b"], outputs=["p", "q", "r", "t"])
    frame = pd.DataFrame({"id": np.arange(ROWS), "s": "a", "other": "a"})
    before, second, options = frame, frame.copy(), {}
    other_key, mechanism, column = key, uniform, "s"
    if change == "key":
        other_key = lw.MemoKey.create(tmp_path / "another.bin")
    elif change == "column":
        column = "other"
    elif change == "mechanism":
        named = ["p", "q", "t", "r"]
        mechanism = lw.Mechanism([["1/4"] * 4] * 2, inputs=["a", "b"], outputs=named)
    elif change == "person":
        second = frame.assign(id=ROWS + frame["id"])
    else:
        second = frame.assign(s="b")
    one = drawn(before, key, uniform)["s"]
    other = drawn(second, other_key, mechanism, column, **options)[column]
    counts = pd.crosstab(one, other).to_numpy()
    statistic = ((counts - ROWS / 16) ** 2 / (ROWS / 16)).sum()
    assert chi2.sf(statistic, 15) > FALSE_ALARM


def test_several_secrets_of_a_row_are_drawn_apart(key):
    uniform = lw.Mechanism([["1/4"] * 4] * 2, inputs=["a", "b"], outputs=["p", "q", "r", "t"])
    frame = pd.DataFrame({"id": np.arange(ROWS), "s": "a", "other": "a"})
    both = lw.release(frame, {"s": uniform, "other": uniform}, memo=key, person="id", order="keep")
    assert both["s"].tolist() == drawn(frame, key, uniform)["s"].tolist()
    assert abs(agreement(both["s"], both["other"]) - 1 / 4) < 6 * np.sqrt(3 / 16 / ROWS)


def test_a_joint_secret_repeats(key):
    pairs = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    joint = lw.randomized_response(pairs, lift=3)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"id": range(300), "s": rng.choice(["a", "b"], 300), "n": rng.integers(0, 2, 300)})
    first, again = (drawn(frame, key, joint, ("s", "n")) for _ in range(2))
    assert first.equals(again)
    assert not first[["s", "n"]].equals(frame[["s", "n"]])


# ------------------------------------------------------------------------------------------------------- by strata


def by_sex(weak, strong):
    return lw.StratifiedMechanism({"f": weak, "m": strong}, given={"sex": ["f", "m"]}, secret="s")


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone who sees")
def test_a_person_in_another_stratum_is_drawn_again_only_where_its_mechanism_is_another(key):
    weak, strong = (lw.randomized_response(LABELS, lift=lift) for lift in (4, 2))
    frame = people(ROWS).assign(sex=np.resize(["f", "m"], ROWS))
    moved = frame.assign(sex=np.resize(["m", "f"], ROWS))
    same, different = by_sex(strong, strong), by_sex(weak, strong)
    assert drawn(frame, key, same)["s"].tolist() == drawn(moved, key, same)["s"].tolist()
    before, after = (drawn(one, key, different)["s"] for one in (frame, moved))
    agree = float((weak.matrix[0] * strong.matrix[0]).sum())
    assert abs(agreement(before, after) - agree) < 6 * np.sqrt(agree * (1 - agree) / ROWS)


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone who sees")
def test_a_stratum_whose_mechanism_stays_keeps_its_outcomes_when_others_change(key):
    """The map from words to outcomes must not depend on what other strata have."""
    weak, strong = (lw.randomized_response(LABELS, lift=lift) for lift in (4, 2))
    wide = lw.Mechanism([[0.3, 0.3, 0.2, 0.2]] * 3, inputs=LABELS, outputs=["p", "a", "c", "b"])
    frame = people(3000).assign(sex=np.resize(["f", "m"], 3000))
    women = frame["sex"] == "f"
    first, second = (drawn(frame, key, by_sex(weak, other))["s"] for other in (strong, wide))
    assert first[women].tolist() == second[women].tolist()
    assert first[women].tolist() == drawn(frame[women], key, weak)["s"].tolist()


# --------------------------------------------------------------------------------------------- what is refused


def test_rows_of_a_person_are_warned_of_and_equal_where_the_value_is(key):
    frame = pd.DataFrame({"id": np.repeat(np.arange(100), 2), "s": np.repeat(people(100)["s"].to_numpy(), 2)})
    with pytest.warns(lw.LeakwiseWarning, match="100 persons have several rows by 'id', one of them 2"):
        released = drawn(frame, key)["s"].to_numpy().reshape(-1, 2)
    assert (released[:, 0] == released[:, 1]).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"person": "id"}, r"person \(--person\) goes with memo"),
        ({"memo": "KEY"}, r"memo \(--memo\) needs person"),
        ({"memo": "KEY", "person": "who"}, "'who' is not in the table"),
        ({"memo": "KEY", "person": "s"}, "must not be a secret column"),
        ({"memo": "KEY", "person": "id", "unsafe_seed": 1}, "exclude each other"),
        ({"memo": "KEY", "person": "empty"}, "no id in 40 of 40 rows"),
    ],
)
@pytest.mark.filterwarnings("ignore::leakwise.UnsafeSeedWarning")
def test_what_cannot_repeat_is_refused_before_anything_is_drawn(options, named, key, tmp_path):
    frame = people(40).assign(empty="")
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = {name: key if value == "KEY" else value for name, value in options.items()}
    for data, out in ((frame, None), (tmp_path / "t.csv", tmp_path / "o.csv")):
        with pytest.raises(lw.InvalidInput, match=named.replace("the table", ".*")):
            lw.release(data, SKEWED, "s", order="keep", out=out, **options)
    assert not (tmp_path / "o.csv").exists()


def test_a_bare_column_has_no_persons(key):
    with pytest.raises(lw.InvalidInput, match="bare column"):
        lw.release(["a", "b"], SKEWED, memo=key, person="id")


def test_the_key_is_not_overwritten(key, tmp_path):
    prior = lw.Prior(dict.fromkeys(LABELS, "1/3"))
    people(40).to_csv(tmp_path / "t.csv", index=False)
    before = key.path.read_bytes()
    options = {"prior": prior, "lift": 3, "drop": ["id", "x"], "memo": key, "person": "id", "overwrite": True}
    linked = tmp_path / "o.csv"
    linked.symlink_to(key.path)
    with pytest.raises(lw.InvalidInput, match="memo and out must be different files"):
        lw.protect(tmp_path / "t.csv", "s", out=linked, **options)
    with pytest.raises(lw.InvalidInput, match="memo and ledger must be different files"):
        lw.protect(tmp_path / "t.csv", "s", out=tmp_path / "p.csv", ledger=key.path, dataset="d", **options)
    with pytest.raises(lw.InvalidInput, match="memo and out must be different files"):
        drawn(tmp_path / "t.csv", key, out=linked, overwrite=True)
    done = lw.protect(people(400), "s", **{**options, "overwrite": False})
    with pytest.raises(lw.InvalidInput, match="memo and the report must be different files"):
        done.report(key.path)
    assert key.path.read_bytes() == before


# -------------------------------------------------------------------------------------------------- what is said


def test_guarantee_and_report_say_what_repeats_and_name_the_key_by_its_fingerprint(key, tmp_path):
    frame = people(400).drop(columns="x")
    prior = lw.Prior(dict.fromkeys(LABELS, "1/3"))
    done = lw.protect(frame, "s", prior=prior, lift=2, drop="id", memo=key, person="id")
    assert "does not change what one of them does, for ever" in done.guarantee
    assert "multiplies these limits by at most 20, for anyone who knows when it changed" in done.guarantee
    assert key.fingerprint in repr(done)
    page = done.report(tmp_path / "r.html").read_text(encoding="utf-8")
    data = done.report(tmp_path / "r.json").read_text(encoding="utf-8")
    secret = key.path.read_bytes()[20:52].hex()
    for text in (page, data):
        assert key.fingerprint in text
        assert "if it is lost, no draw can be repeated" in text
        assert secret not in text
    assert "covers one release" not in page
    for hidden in (done.certificate.to_dict(), done.mechanism.to_dict()):
        assert secret not in str(hidden)
        assert key.fingerprint not in str(hidden)


def test_without_a_limit_for_anyone_no_limit_is_claimed_for_values_that_change(key):
    frame = people(400).drop(columns="x")
    prior = lw.Prior(dict.fromkeys(LABELS, "1/3"))
    done = lw.protect(frame, "s", prior=prior, lift=1.5, drop="id", memo=key, person="id", anyone=None)
    assert lw.ldp(done.mechanism) == np.inf
    assert "For values that change there is no limit" in done.guarantee


def test_by_strata_the_guarantee_says_it_too(key):
    frame = people(4000).assign(x=lambda one: one["x"] % 2)
    options = {"prior": "table", "failure": 1e-6, "lift": 2, "given": ["x"], "drop": "id", "domain": LABELS}
    done = lw.protect(frame, "s", memo=key, person="id", order="keep", **options)
    assert "Draws repeat" in done.guarantee
    again = lw.protect(frame, "s", memo=key, person="id", order="keep", mechanism=done.mechanism, **options)
    assert again.table.equals(done.table)
