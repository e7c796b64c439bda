"""What runs on the executors, without Spark: the document that travels, the batches, the randomness."""

from __future__ import annotations

import pickle
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.alphabet import Alphabet, Bins
from leakwise.sampling import SecureStream
from leakwise.spark import executor
from leakwise.spark.drawing import _shipped
from leakwise.spark.failures import NOT_THERE, translated
from leakwise.spark.order import merged, packed
from leakwise.spark.shipping import pack_shipment, unpack_shipment
from leakwise.tables.kinds.joint_columns import Product
from leakwise.tables.release.secret_columns import Secret

YES_NO = lw.randomized_response(["no", "yes"], lift=3)


def batches(values: list[Any], size: int) -> list[pa.RecordBatch]:
    table = pa.table({"id": np.arange(len(values)), "s": values})
    return table.to_batches(max_chunksize=size)


def released(mechanism: lw.Mechanism, given: list[pa.RecordBatch]) -> pa.Table:
    document = pack_shipment(["id", "s"], [Secret(("s",), mechanism)])
    return pa.Table.from_batches(executor.release_batches(document, given))


# --------------------------------------------------------------------------------------------------- the document


@given(
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=4), st.dates()),
        min_size=2,
        max_size=6,
        unique_by=lambda label: repr(label),
    ).filter(lambda labels: len(set(labels)) == len(labels)),
    st.integers(2, 50),
)
def test_the_document_gives_every_integer_back(labels, lift):
    mechanism = lw.randomized_response(labels, lift=lift)
    shipment = unpack_shipment(pack_shipment(["x", "a column"], [Secret(("a column",), mechanism)]))
    (back,) = shipment.secrets
    assert shipment.columns == ["x", "a column"]
    assert back.names == ("a column",)
    assert back.mechanism == mechanism
    assert back.mechanism.denominator == mechanism.denominator
    assert (back.mechanism.kernel.weights == mechanism.kernel.weights).all()
    assert back.mechanism.inputs == tuple(labels)


def test_bins_and_joint_domains_arrive():
    parts = [Alphabet(["f", "m"]), lw.bins(0, 100, 4)]
    joint = lw.Mechanism.from_kernel(lw.identity(8).kernel, Product(parts), Product(parts))
    ages = lw.randomized_response(lw.bins(0, 100, 4), lift=2)
    names = ["sex", "age", "years"]
    back = unpack_shipment(pack_shipment(names, [Secret(("sex", "age"), joint), Secret(("years",), ages)])).secrets
    letters = back[0].mechanism.input_alphabet
    assert isinstance(letters, Product)
    assert isinstance(letters.parts[1], Bins)
    assert letters.parts[1].edges.tolist() == [0, 25, 50, 75, 100]
    assert isinstance(back[1].mechanism.input_alphabet, Bins)
    batch = pa.record_batch({"sex": ["m"], "age": [30.5], "years": [99]})
    (out,) = executor.release_batches(pack_shipment(names, back[:1]), [batch])
    assert out.to_pylist() == [{"sex": "m", "age": "[25, 50)", "years": 99}]


def test_nothing_but_bytes_is_shipped():
    """The mechanism has drawn already; neither its sampler nor a stream goes along."""
    YES_NO.sample("yes")
    document = pack_shipment(["s"], [Secret(("s",), YES_NO)])
    function = _shipped("release_batches", document)
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    assert {type(one) for one in held} == {bytes, str}
    assert pickle.loads(pickle.dumps(held)) == held


@pytest.mark.parametrize("document", [b"", b"{", b'{"version": 1, "secrets": [{"columns": ["s"]}]}', b"\xff"])
def test_a_damaged_document(document):
    with pytest.raises(lw.InvalidInput, match="Install the same version of leakwise"):
        unpack_shipment(document)


# ----------------------------------------------------------------------------------------------------- the batches


class Walking(SecureStream):
    """All words of the width asked for, one after the other."""

    def words(self, count: int, bits: int, out: Any = None) -> Any:
        result = super().words(count, bits, out)
        result[:] = (np.arange(count) % (1 << bits)).astype(result.dtype)
        return result


def test_a_walk_through_all_words_gives_the_weights(monkeypatch):
    """Exactness on executors as locally: every outcome as often as its integer says."""
    monkeypatch.setattr(executor, "SecureStream", Walking)
    dense = lw.Mechanism([["5/16", "11/16", 0], [0, "1/16", "15/16"]], inputs=["a", "b"], outputs=[1, 2, 3])
    for letter, weights in zip("ab", dense.kernel.weights.tolist(), strict=True):
        out = released(dense, batches([letter] * 64, 16))
        counts = dict(zip(*np.unique(out["s"].to_numpy(), return_counts=True), strict=True))
        scale = 64 // dense.denominator if dense.denominator <= 64 else 64 / dense.denominator
        assert [counts.get(label, 0) for label in (1, 2, 3)] == [weight * scale for weight in weights]


def test_every_attempt_has_a_key_of_its_own(monkeypatch):
    made: list[SecureStream] = []

    class Watched(SecureStream):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(executor, "SecureStream", Watched)
    noise = lw.constant(["x"], law=[1 / 256] * 256)
    rows = batches(["x"] * 300, 100)
    first, second = released(noise, rows), released(noise, rows)
    assert len(made) == 2
    # Equal by chance with probability 256^-300.
    assert not first.equals(second)
    assert first["id"].equals(second["id"])


def test_other_columns_and_the_order_stay():
    out = released(lw.identity(["a", "b"]), batches(["a", "b", "b"] * 50, 7))
    assert out["id"].to_pylist() == list(range(150))
    assert out["s"].to_pylist() == ["a", "b", "b"] * 50


def test_columns_come_by_places_and_outcomes_go_back_by_them():
    """Known values by their places; one that is not known goes along, and is refused in the words of the column."""
    secrets = [Secret(("s",), lw.identity(["b", "a", None])), Secret(("n",), lw.identity([2, 1]))]
    document = pack_shipment(["s", "n"], secrets, ["key"], [["a", "b"], None])
    places, others = pa.array([0, 1, None], pa.int8()), pa.array([None, None, None], pa.string())
    (out,) = executor.draw_batches(document, [(places, others, pa.array([1, 1, 2]))])
    assert out.field(0).to_pylist() == [1, 0, 2]
    assert out.field(1).to_pylist() == [1, 1, 0]
    assert len(set(out.field(2).to_pylist())) == 3
    alone = pack_shipment(["s"], secrets[:1])
    assert [one.to_pylist() for one in executor.draw_batches(alone, [pa.array(["a", None])])] == [[1, 2]]
    wrong = (places, pa.array([None, None, "c"]), pa.array([1, 1, 2]))
    with pytest.raises(lw.InvalidInput, match="'s' has 1 of 3 rows with values outside the declared domain: 'c'"):
        list(executor.draw_batches(document, [wrong]))


def test_no_batches_and_empty_ones():
    document = pack_shipment(["s"], [Secret(("s",), YES_NO)])
    assert list(executor.release_batches(document, [])) == []
    empty = pa.record_batch({"s": pa.array([], pa.string())})
    (out,) = executor.release_batches(document, [empty])
    assert out.num_rows == 0
    assert out.schema.field("s").type == pa.string()


def test_a_late_value_and_a_missing_column_are_one_line():
    rows = batches(["no", "yes", "no", "per\nhaps"], 2)
    with pytest.raises(lw.InvalidInput, match="In a batch of 2 rows: column 's' has 1 of 2 rows") as caught:
        released(YES_NO, rows)
    assert "\n" not in str(caught.value)
    other = pa.record_batch({"id": [1]})
    with pytest.raises(lw.InvalidInput, match="there are 1 and 2 are expected, 'id', 's'"):
        released(YES_NO, [*batches(["no"], 1), other])


# ------------------------------------------------------------------------------------------------- the row order


@pytest.mark.parametrize("size", [2, 40_000])
def test_what_the_executors_see_of_the_order(size):
    """Partitions in any order of arrival; beyond many values, neighbours are taken together and little is sent."""
    mechanism = lw.randomized_response(range(size), lift=2)
    document = pack_shipment(["s"], [Secret(("s",), mechanism)])
    half, rng = size // 2, np.random.default_rng(1)

    def seen(parts: list[Any]) -> Any:
        notes = []
        for number, part in enumerate(parts):
            (batch,) = executor.watch_batches(document, [pa.record_batch({"s": part})])
            (found,) = pickle.loads(zlib.decompress(batch["seen"][0].as_py()))[1]
            notes.append(packed(number, [found]))
            assert len(notes[-1]) < 1 << 18
        (whole,) = merged(notes[::-1])
        return whole.verdict()

    low, high = (rng.integers(start, start + half, 500) for start in (0, half))
    mixed = rng.permutation(np.concatenate([low, high]))
    assert seen([low, high]).dependent
    assert not seen([mixed[:500], mixed[500:]]).dependent
    assert list(executor.watch_batches(document, [])) == []
    assert merged([]) == []


# ------------------------------------------------------------------------------------------------------ the errors


def test_errors_are_found_in_a_stack_of_two_languages():
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File x\n"
        "leakwise.errors.InvalidInput: column 's' has 1 missing value.\n\tat org.apache.spark.Worker(x.scala:3)\n"
    )
    error = translated(RuntimeError(text))
    assert isinstance(error, lw.InvalidInput)
    assert str(error) == "column 's' has 1 missing value. The job was stopped, and nothing was released."
    absent = translated(RuntimeError(f"Traceback\nImportError: {NOT_THERE} (host, Python 3.11): No module.\n"))
    assert isinstance(absent, lw.MissingExtra)
    assert "pip install 'leakwise[spark]'" in str(absent)
    unarmed = translated(RuntimeError("ModuleNotFoundError: No module named 'pyarrow'\n"))
    assert isinstance(unarmed, lw.MissingExtra)
    assert "'pyarrow'" in str(unarmed)
    assert translated(RuntimeError("java.lang.OutOfMemoryError")) is None
