"""The release on every kind of data: the law, the kind, the rest of the table, joint secrets, and what is refused."""

from __future__ import annotations

import importlib
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import leakwise as lw
from leakwise.tables.kinds import frames
from leakwise.tables.kinds import joint_columns as joint_module
from leakwise.tables.release.release import release

# The tables here are made of patterns, whose order tells everything; their tests are about something else.
pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning")

FALSE_ALARM = 1e-9

# The package exports the function under the name of the module.
release_module = importlib.import_module("leakwise.tables.release.exchange")

LABELS = ["no", "perhaps", "yes"]
STRUCTURED = lw.randomized_response(LABELS, lift=5)
DENSE = lw.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]], inputs=LABELS, outputs=LABELS)
NAMED = lw.Mechanism([[0.5, 0.5], [0.5, 0.5], [0, 1.0]], inputs=LABELS, outputs=["not yes", "any"])


def as_kinds(rows):
    """The same texts as every kind of column."""
    return {
        "list": list(rows),
        "tuple": tuple(rows),
        "numpy": np.array(rows, dtype=str),
        "pandas": pd.Series(rows, index=range(7, 7 + len(rows)), name="s", dtype="str"),
        "pandas object": pd.Series(rows, dtype=object),
        "pandas categorical": pd.Series(pd.Categorical(rows, categories=LABELS)),
        "polars": pl.Series("s", rows, dtype=pl.String),
        "polars categorical": pl.Series("s", rows, dtype=pl.Categorical),
        "polars enum": pl.Series("s", rows, dtype=pl.Enum(LABELS)),
        "arrow": pa.array(rows, type=pa.string()),
        "arrow dictionary": pa.array(rows, type=pa.string()).dictionary_encode(),
        "arrow chunked": pa.chunked_array([rows[: len(rows) // 2], rows[len(rows) // 2 :]], type=pa.string()),
    }


KINDS = list(as_kinds(LABELS))


def values(column):
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def type_of(column):
    return getattr(column, "type", None) or getattr(column, "dtype", None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", [STRUCTURED, DENSE, lw.identity(LABELS)], ids=["structured", "dense", "identity"])
def test_every_kind_of_column_gets_the_same_draws_and_stays_what_it_is(kind, mechanism):
    rows = ["no", "yes", "perhaps", "no", "yes", "yes"] * 20
    column = as_kinds(rows)[kind]
    out = release(column, mechanism, unsafe_seed=3)
    assert type(out) is type(column)
    assert values(out) == release(rows, mechanism, unsafe_seed=3)
    assert values(column) == rows
    if kind != "numpy":  # whose texts may grow
        assert type_of(out) == type_of(column)
    if mechanism == lw.identity(LABELS):
        assert values(out) == rows


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_with_other_names(kind):
    out = release(as_kinds(["yes", "no"] * 50)[kind], NAMED, unsafe_seed=1)
    assert isinstance(out, type(as_kinds(["yes"])[kind]))
    assert set(values(out)) == {"not yes", "any"}
    assert set(values(out)[::2]) == {"any"}


@pytest.mark.parametrize("kind", KINDS)
def test_empty_columns_stay_empty(kind):
    column = as_kinds([])[kind]
    out = release(column, STRUCTURED)
    assert type(out) is type(column)
    assert len(out) == 0


@given(st.lists(st.integers(-3, 3)), st.sampled_from(["int8", "int64", "float64"]))
def test_numbers_keep_their_type_and_their_letters(numbers, dtype):
    mechanism = lw.randomized_response(range(-3, 4), epsilon=1)
    column = np.array(numbers, dtype=dtype)
    out = release(column, mechanism)
    assert out.dtype == column.dtype
    assert out.shape == column.shape
    assert set(out.tolist()) <= set(mechanism.outputs)


def test_the_released_column_has_the_law_of_the_mechanism():
    # False alarm: 1e-9 for each of the two mechanisms.
    rows = np.array(LABELS)[np.arange(150_000) % 3]
    for mechanism in (STRUCTURED, DENSE):
        out = release(rows, mechanism)
        statistic = 0.0
        for letter, law in zip(LABELS, mechanism.matrix, strict=True):
            chosen = out[rows == letter]
            seen = np.array([(chosen == outcome).sum() for outcome in LABELS])
            statistic += float(((seen - law * chosen.size) ** 2 / (law * chosen.size)).sum())
        assert chi2.sf(statistic, 6) > FALSE_ALARM


# ------------------------------------------------------------------------------------------------------- tables


def as_tables():
    data = {"id": [1, 2, 3, 4], "smokes": ["no", "yes", "no", "perhaps"], "sex": ["f", "m", "m", "f"]}
    return {
        "mapping": data,
        "pandas": pd.DataFrame(data, index=list("pqqr")),
        "polars": pl.DataFrame(data),
        "lazy": pl.LazyFrame(data),
        "arrow": pa.table(data).replace_schema_metadata({"source": "survey"}),
        "batch": pa.record_batch(data),
    }


def as_plain(table):
    return {name: values(frames.column_of(table, name)) for name in frames.column_names(table)}


@pytest.mark.parametrize("kind", as_tables())
def test_tables_keep_all_but_the_secret(kind):
    table = as_tables()[kind]
    out = release(table, STRUCTURED, column="smokes", unsafe_seed=5)
    assert type(out) is type(table)
    before, after = as_plain(table), as_plain(out)
    assert list(after) == ["id", "smokes", "sex"]
    assert after["smokes"] == release(before["smokes"], STRUCTURED, unsafe_seed=5)
    assert (after["id"], after["sex"]) == (before["id"], before["sex"])
    if kind == "pandas":
        assert out.index.equals(table.index)
        assert out.dtypes.equals(table.dtypes)
    if kind in ("arrow", "batch"):
        assert out.schema.equals(table.schema.remove_metadata(), check_metadata=True)


def test_a_lazy_frame_is_drawn_once_however_often_it_is_collected():
    table = pl.LazyFrame({"smokes": ["no", "yes"] * 500})
    out = release(table, STRUCTURED, column="smokes")
    # Two draws would agree with probability below 2^-300.
    assert out.collect().equals(out.collect())


def test_several_columns_are_independent():
    sexes = lw.randomized_response(["f", "m"], flip="1/2")
    halves = lw.randomized_response([0, 1], flip="1/2")
    table = {"a": ["f"] * 2000, "b": [0] * 2000, "c": list(range(2000))}
    for seed in (None, 7):
        out = release(table, {"a": sexes, "b": halves}, unsafe_seed=seed)
        assert out["c"] == table["c"]
        agree = sum((a == "f") == (b == 0) for a, b in zip(out["a"], out["b"], strict=True))
        # Binomial(2000, 1/2): beyond 6.7 standard deviations with probability below 1e-10. One stream used for both
        # columns from its start would agree 2000 times.
        assert 850 < agree < 1150


@pytest.mark.parametrize("kind", as_tables())
def test_joint_secrets(kind):
    pairs = list(itertools.product(LABELS, ["f", "m"]))
    table = as_tables()[kind]
    for mechanism in (lw.identity(pairs), lw.identity(pairs[::-1])):
        assert as_plain(release(table, mechanism, column=("smokes", "sex"))) == as_plain(table)
    swapped = lw.Mechanism(
        np.eye(6), inputs=pairs, outputs=[(text.upper(), {"f": "m", "m": "f"}[sex]) for text, sex in pairs]
    )
    out = release(table, {("smokes", "sex"): swapped, "id": lw.identity([1, 2, 3, 4])})
    assert type(out) is type(table)
    assert as_plain(out) == {"id": [1, 2, 3, 4], "smokes": ["NO", "YES", "NO", "PERHAPS"], "sex": ["m", "f", "f", "m"]}


@given(st.data(), st.integers(2, 4), st.sampled_from([1, 1 << 22]))
def test_joint_codes_are_the_places_of_the_tuples(data, arity, table_limit):
    parts = st.tuples(*[st.sampled_from([0, 1, "a", None])] * arity)
    labels = data.draw(st.lists(parts, min_size=1, max_size=30, unique=True))
    rows = data.draw(st.lists(st.sampled_from(labels)))
    columns = [[row[place] for row in rows] for place in range(arity)]
    letters = joint_module.Alphabet(labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_module, "_TABLE", table_limit)
        codes = joint_module.encode_columns(columns, range(arity), letters, "inputs")
    assert [labels[code] for code in codes] == rows
    decoded = joint_module.decode_parts(codes, letters, range(arity))
    assert [[part[code] for code in part_codes] for part, part_codes in decoded] == columns


@pytest.mark.parametrize("table_limit", [1, 1 << 22])
@pytest.mark.parametrize("kind", ["mapping", "pandas", "polars", "arrow"])
def test_combinations_outside_the_domain(kind, table_limit, monkeypatch):
    monkeypatch.setattr(joint_module, "_TABLE", table_limit)
    pairs = [("no", "f"), ("no", "m"), ("yes", "m"), ("yes", "f")]
    with pytest.raises(lw.InvalidInput, match="column 'smokes' has 1 of 4 rows"):
        release(as_tables()[kind], lw.identity(pairs), column=("smokes", "sex"))
    pairs = [("no", "f"), ("no", "m"), ("yes", "f"), ("perhaps", "f")]
    with pytest.raises(lw.InvalidInput, match=r"1 of 4 rows with combinations outside.*\('yes', 'm'\)"):
        release(as_tables()[kind], lw.identity(pairs), column=("smokes", "sex"))


def test_a_column_whose_name_is_a_tuple_is_one_column():
    table = pd.DataFrame({("a", "b"): ["no", "yes"], "c": [1, 2]})
    out = release(table, lw.identity(LABELS), column=("a", "b"))
    assert out[("a", "b")].tolist() == ["no", "yes"]


def test_bare_tuples_are_letters_like_any_other():
    rows = [("no", 1), ("yes", 2)]
    assert release(rows, lw.identity(rows)) == rows


@pytest.mark.parametrize("kind", ["list", "numpy", "pandas", "polars", "arrow"])
def test_binned_numbers_are_released_as_bins(kind):
    ages = [0.0, 9.5, 10.0, 100.0]
    column = {
        "list": ages,
        "numpy": np.array(ages),
        "pandas": pd.Series(ages),
        "polars": pl.Series(ages),
        "arrow": pa.array(ages),
    }[kind]
    out = release(column, lw.identity(lw.bins(0, 100, 10)))
    assert values(out) == ["[0, 10)", "[0, 10)", "[10, 20)", "[90, 100]"]
    assert isinstance(out, pa.Array if kind == "arrow" else type(column))


def test_missing_values_are_letters_where_they_are_declared():
    mechanism = lw.identity(["no", "yes", None])
    assert values(release(pa.array(["no", None, "yes"]), mechanism)) == ["no", None, "yes"]
    assert release(pl.Series(["no", None]), mechanism).to_list() == ["no", None]
    assert release(pd.Series(["no", None]), mechanism).isna().tolist() == [False, True]
    assert release(["no", None], mechanism) == ["no", None]


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("kind", as_tables())
def test_what_is_wrong_is_said_before_anything_is_drawn(kind, monkeypatch):
    table, drawn = as_tables()[kind], []
    monkeypatch.setattr(release_module, "draw_codes", lambda *given: drawn.append(given))
    sexes = lw.identity(["f", "m"])
    for mechanism, column, words in [
        (STRUCTURED, None, "column must say which column"),
        (STRUCTURED, "smoke", "Did you mean 'smokes'"),
        ({"sex": sexes, "smoke": STRUCTURED}, None, "Did you mean 'smokes'"),
        ({"sex": sexes, "smokes": lw.identity(["no", "yes"])}, None, r"column 'smokes' has 1 of 4 rows.*'perhaps'"),
        ({"sex": sexes, "smokes": STRUCTURED.then(lw.Mechanism([["1/3", "2/3"]] * 3))}, None, r"dyadic\(60\)"),
        ({"sex": sexes}, "sex", "column must be left out"),
        ({}, None, "at least one column"),
        (sexes, (), "at least one column"),
        ({"sex": sexes, ("sex", "smokes"): STRUCTURED}, None, "once only.*'sex'"),
        (STRUCTURED, ("smokes", "sex"), "inputs must be tuples of 2 values"),
        (STRUCTURED, ["smokes", "sex"], "inputs must be tuples of 2 values"),
        (
            lw.Mechanism(np.eye(6), inputs=list(itertools.product(LABELS, "fm")), outputs=list("abcdef")),
            ("smokes", "sex"),
            "outputs must be tuples of 2 values",
        ),
        ("rr", "smokes", "must be a Mechanism. Got str"),
        (lw.design(lw.Prior.uniform(LABELS), lift=2), "smokes", r"Pass its \.mechanism"),
    ]:
        with pytest.raises(lw.InvalidInput, match=words):
            release(table, mechanism, column)
    assert drawn == []


def test_bare_columns_take_no_column_and_no_mapping():
    with pytest.raises(lw.InvalidInput, match="column must be left out"):
        release(["no"], STRUCTURED, column="smokes")
    with pytest.raises(lw.InvalidInput, match="needs a table"):
        release(["no"], {"smokes": STRUCTURED})
    with pytest.raises(lw.InvalidInput, match=r"1 of 2 rows.*'maybe'"):
        release(["no", "maybe"], STRUCTURED)
    with pytest.raises(lw.InvalidInput, match="missing"):
        release(pd.Series(["no", None]), STRUCTURED)
    with pytest.raises(lw.InvalidInput, match=r"dyadic\(60\)"):
        release([0], lw.Mechanism([[Fraction(1, 3), Fraction(2, 3)]]))


@pytest.mark.parametrize("data", [b"table.csv", 5, None, {"a", "b"}])
def test_what_is_no_data(data):
    with pytest.raises(lw.InvalidInput, match="data must be a column"):
        release(data, STRUCTURED)


def test_columns_of_a_joint_secret_must_have_the_same_length():
    with pytest.raises(lw.InvalidInput, match="has 1 rows"):
        release({"a": ["no", "no"], "b": ["f"]}, lw.identity([("no", "f")]), column=("a", "b"))
