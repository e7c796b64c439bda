"""Mechanisms: exact in, exact through, exact out; and every bad matrix refused with words."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.documents import write_document
from leakwise.errors import InvalidInput
from leakwise.mechanism import CommonLawKernel, DenseKernel, Mechanism
from leakwise.mechanism.files import FORMAT, VERSION, CommonLawBody, DenseBody, MechanismBody
from leakwise.mechanism.mechanism import align_prior
from strategies import Matrix, common_laws, exact_matrix, matrices, pml_ratio, product

UNIT = 1 << 60


def structured(law: tuple[list[int], int], labels: Any = None) -> Mechanism:
    return Mechanism.from_kernel(CommonLawKernel(np.array(law[0], dtype=object), law[1]), labels, labels)


# -- ways in ---------------------------------------------------------------------------------------------------


@given(matrices())
def test_fractions_are_kept(matrix: Matrix) -> None:
    m = Mechanism(matrix)
    assert exact_matrix(m) == matrix
    assert m.denominator == math.lcm(*(entry.denominator for row in matrix for entry in row))
    assert m.matrix.tolist() == [[float(entry) for entry in row] for row in matrix]
    assert m.shape == (len(matrix), len(matrix[0]))
    assert m.inputs == tuple(range(len(matrix)))
    texts = [[str(entry) for entry in row] for row in matrix]
    assert Mechanism(texts) == Mechanism(np.array(texts)) == m


@given(matrices())
def test_floats_are_rounded_with_exact_row_sums(matrix: Matrix) -> None:
    floats = [[float(entry) for entry in row] for row in matrix]
    m = Mechanism(floats)
    assert m.denominator == UNIT
    assert m.weights.dtype == np.int64
    for row, given_row in zip(m.weights.tolist(), floats, strict=True):
        assert sum(row) == UNIT
        assert all((weight == 0) == (entry == 0) for weight, entry in zip(row, given_row, strict=True))
        assert all(
            abs(Fraction(w, UNIT) - Fraction(e)) < Fraction(1, 10**15) for w, e in zip(row, given_row, strict=True)
        )
    assert m == Mechanism(np.array(floats)) == Mechanism([tuple(row) for row in floats])


def test_rows_may_miss_one_by_a_little() -> None:
    m = Mechanism([[0.5, 0.5 + 9e-10], [0.25, 0.75 - 9e-10]])
    assert m.weights.sum(axis=1).tolist() == [UNIT, UNIT]


def test_kinds_of_matrices() -> None:
    expected = Mechanism([["1/4", "3/4"], ["1", "0"]])
    for matrix in (
        [[0.25, 0.75], [1, 0]],
        [[Decimal("0.25"), "0.75"], [Fraction(1), 0]],
        [[Fraction(1, 4), 0.75], [1.0, 0]],
        np.array([[0.25, 0.75], [1, 0]], dtype=np.float32),
        np.ma.masked_array([[0.25, 0.75], [1, 0]]),
        (row for row in [[0.25, 0.75], np.array([1, 0])]),
        pl.DataFrame({"0": [0.25, 1], "1": [0.75, 0]}),
    ):
        assert exact_matrix(Mechanism(matrix)) == exact_matrix(expected)
    assert exact_matrix(Mechanism(np.eye(2, dtype=np.uint8))) == [[1, 0], [0, 1]]


def test_labels_from_tables_and_mappings() -> None:
    frame = pd.DataFrame([[0.25, 0.75], [1, 0]], index=["no", "yes"], columns=["n", "y"])
    mapping = {"no": {"n": 0.25, "y": 0.75}, "yes": {"n": 1}}
    for m in (Mechanism(frame), Mechanism(mapping)):
        assert (m.inputs, m.outputs) == (("no", "yes"), ("n", "y"))
        assert m.probability("no", "y") == Fraction(3, 4)
        assert m.probability("yes", "y") == 0
    # The order of a row's keys does not matter.
    assert Mechanism({"no": {"n": 0.25, "y": 0.75}, "yes": {"y": 0, "n": 1}}) == Mechanism(mapping)
    assert Mechanism(frame, inputs=["a", "b"]).inputs == ("a", "b")
    assert Mechanism(pl.DataFrame({"n": [0.25, 1], "y": [0.75, 0]})).outputs == ("n", "y")


BAD_MATRICES: list[tuple[Any, str]] = [
    ([[math.nan, 1.0]], "finite numbers. 1 entry does not, the first in row 0, column 0|must be finite"),
    (np.array([[0.5, 0.5], [math.nan, 1.0]]), "1 entry does not, the first in row 1, column 0"),
    (np.array([[math.inf, 1.0]]), "finite"),
    ([[math.inf, 0.5]], "must be finite"),
    ([[-0.5, 1.5]], "probabilit"),
    (np.array([[-0.5, 1.5]]), "none negative.*row 0, column 0"),
    ([[Fraction(-1, 2), Fraction(3, 2)]], "none negative. 1 entry does not, .*: -1/2."),
    ([[0.5, 0.4], [1, 1]], "Rows 0, 1 do not; the first sums to 0.9"),
    (np.array([[1e308, 1e308]]), "none above 1"),
    ([[0.5, 0.4]], "Every row of the matrix must sum to 1.*Row 0 does not; it sums to 0.9"),
    ([[0.5, 0.5 + 2e-9]], "must sum to 1"),
    ([[1.0, 0.0], [0.5, 0.5 - 2e-9]], "Row 1 does not; it sums to"),
    ([["0.5", "0.4999999999999"]], "must sum to 1"),
    ([[1, 1]], "must sum to 1"),
    ([[0, 0]], "must sum to 1"),
    ([[0.0, 0.0]], "must sum to 1"),
    ([[0.5, 0.5], [1.0]], "rows of equal length"),
    ([[]], "at least one row and one column"),
    ([], "equal length"),
    (np.zeros((0, 2)), "at least one row"),
    (np.zeros((2, 0)), "at least one row"),
    ([0.5, 0.5], "equal length"),
    (["10", "01"], "equal length"),
    ([{"a": 0.5, "b": 0.5}], "equal length"),
    ([[[1.0], [0.0]]], "must be a number"),
    (np.zeros((1, 1, 1)), "two dimensions"),
    (np.array(1.0), "two dimensions|rows of probabilities"),
    (np.array([1.0]), "two dimensions"),
    ("1", "rows of probabilities"),
    (1.0, "rows of probabilities"),
    (None, "rows of probabilities"),
    ([[True, False]], "write 1 or 0"),
    (np.array([[True, False]]), "type bool"),
    (np.array([[1 + 0j]]), "type complex"),
    ([[None, 1.0]], "must be a number"),
    ([["a", "b"]], "such as 0.25"),
    ({}, "mapping from outcomes"),
    ({"a": [1.0]}, "mapping from outcomes"),
    ({"a": {}}, "outputs must hold at least one"),
    ({math.nan: {"x": 1.0}}, "inputs must not hold nan"),
    (pd.DataFrame([[1.0], [1.0]], index=["a", "a"]), "inputs must be different"),
    (pd.DataFrame([[0.5, 0.5]], columns=["a", "a"]), "outputs must be different"),
    (pd.DataFrame({"a": [True]}), "type bool"),
    (pd.Series([1.0]), "must be a DataFrame.*pandas Series"),
    (pl.Series([1.0]), "must be a DataFrame"),
    (pa.table({"a": [1.0]}), "must be a DataFrame"),
    (np.ma.masked_array([[0.5, 0.5]], mask=[[True, False]]), "masked"),
    ([[1e-300, 1.0]], "too small for the denominator"),
    ([["1e-400", 1.0]], "a float can hold"),
    ([["1e400", 1.0]], "a float can hold"),
]


@pytest.mark.parametrize(("matrix", "message"), BAD_MATRICES)
def test_bad_matrices(matrix: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Mechanism(matrix)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "must be as many as the (rows|columns). Got 1 for 2"),
        (3, "Got 3 for 2"),
        (["a", "a"], "different"),
        ([], "at least one"),
        ("ab", "single text"),
        ([math.nan, 1], "must not hold nan"),
        ({"a": 1, "b": 2}, "a list of labels"),
        ({"a", "b"}, "order"),
    ],
)
@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_bad_labels(side: str, labels: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        Mechanism([[0.5, 0.5], [1, 0]], **{side: labels})
    assert side in str(caught.value)


def test_unknown_letters() -> None:
    m = Mechanism([[0.5, 0.5], [1, 0]], inputs=["no", "yes"], outputs=["n", "y"])
    with pytest.raises(InvalidInput, match=r"letter 'Yes' is not among.*Did you mean 'yes'"):
        m.probability("Yes", "n")
    with pytest.raises(InvalidInput, match="outcome 'yes' is not among"):
        m.probability("yes", "yes")


# -- then ------------------------------------------------------------------------------------------------------


@given(st.data())
def test_then_is_the_matrix_product(data: st.DataObject) -> None:
    first = data.draw(matrices())
    second = data.draw(matrices(rows=len(first[0])))
    assert exact_matrix(Mechanism(first).then(Mechanism(second))) == product(first, second)
    assert exact_matrix(Mechanism(first).then(second)) == product(first, second)


@given(st.data())
def test_then_of_structured_kernels_stays_structured(data: st.DataObject) -> None:
    first = data.draw(common_laws())
    size = len(first[0])
    second = data.draw(common_laws(least=size, most=size))
    left, right = structured(first), structured(second)
    both = left.then(right)
    assert isinstance(both.kernel, CommonLawKernel)
    assert exact_matrix(both) == product(exact_matrix(left), exact_matrix(right))
    dense = Mechanism(exact_matrix(right))
    assert left.then(dense) == both == Mechanism(exact_matrix(left)).then(right)
    assert isinstance(left.then(dense).kernel, DenseKernel)


@given(st.permutations(["a", "b", "c"]), matrices(rows=3))
def test_then_finds_its_inputs_by_label(order: list[str], matrix: Matrix) -> None:
    first = Mechanism([["1/2", "1/3", "1/6"], [0, 0, 1]], outputs=["a", "b", "c"])
    second = Mechanism(matrix, inputs=["a", "b", "c"])
    turned = Mechanism([matrix["abc".index(label)] for label in order], inputs=order)
    assert first.then(turned) == first.then(second)


def test_then_finds_structured_inputs_by_label() -> None:
    first = lw.randomized_response(["a", "b", "c"], lift=3)
    second = structured(([1, 2, 3], 20), ["b", "c", "a"])
    places = [second.inputs.index(label) for label in "abc"]
    rows = [exact_matrix(second)[place] for place in places]
    both = first.then(second)
    assert both.outputs == ("b", "c", "a")
    assert exact_matrix(both) == product(exact_matrix(first), rows)


def test_then_with_other_letters() -> None:
    first = Mechanism([[0.5, 0.5]], outputs=["a", "b"])
    with pytest.raises(InvalidInput, match="values that the input of the second does not have: 'b'"):
        first.then(Mechanism([[1], [1]], inputs=["a", "c"]))
    with pytest.raises(InvalidInput, match="has 2 values and the input of the second has 3"):
        first.then([[1], [1], [1]])
    with pytest.raises(InvalidInput, match="sum to 1"):
        first.then([[1], [0.5]])


@given(st.data())
def test_post_processing_never_leaks_more(data: st.DataObject) -> None:
    matrix = data.draw(matrices())
    later = data.draw(matrices(rows=len(matrix[0])))
    prior = data.draw(st.lists(st.integers(1, 20), min_size=len(matrix), max_size=len(matrix)))
    law = [Fraction(weight, sum(prior)) for weight in prior]
    assert pml_ratio(exact_matrix(Mechanism(matrix).then(later)), law) <= pml_ratio(matrix, law)


# -- reduce and dyadic -----------------------------------------------------------------------------------------


@given(st.data())
def test_reduce_keeps_the_information(data: st.DataObject) -> None:
    """Split and pad a matrix with proportional and empty columns: reduce takes it back to the fewest."""
    matrix = data.draw(matrices(largest=3))
    split = data.draw(st.lists(st.integers(0, 3), min_size=len(matrix[0]), max_size=len(matrix[0])))
    wide = [
        [entry * part for entry, k in zip(row, split, strict=True) for part in ([Fraction(1, max(k, 1))] * max(k, 1))]
        + [0]
        for row in matrix
    ]
    reduced = Mechanism(wide).reduce()
    columns = list(zip(*exact_matrix(reduced), strict=True))
    normal = {tuple(entry / sum(column) for entry in column) for column in columns}
    assert len(normal) == len(columns)  # no two proportional, none zero
    original = [column for column in zip(*matrix, strict=True) if any(column)]
    merged: dict[Any, list[Fraction]] = {}
    for column in original:
        key = tuple(entry / sum(column) for entry in column)
        merged[key] = [a + b for a, b in zip(merged.get(key, [Fraction(0)] * len(column)), column, strict=True)]
    assert sorted(map(list, columns)) == sorted(merged.values())
    assert reduced.reduce() is reduced
    assert reduced.denominator == Mechanism(wide).denominator


def test_reduce_labels() -> None:
    m = Mechanism([["1/4", "1/4", "1/2", 0], ["1/8", "1/8", "3/4", 0]], outputs=["a", "b", "c", "d"])
    assert m.reduce().outputs == ("a | b", "c")
    dropped = Mechanism([["1/2", "1/2", 0]], outputs=[7, 8, 9])
    assert dropped.reduce().outputs == ("7 | 8",)
    kept = Mechanism([["1/2", 0, "1/2"], ["1/4", 0, "3/4"]], outputs=[7, 8, 9])
    assert kept.reduce().outputs == (7, 9)
    twins = Mechanism([["1/4", "1/4", "1/4", "1/4"], ["1/2", 0, "1/4", "1/4"]], outputs=[1, "1", "x", "y"])
    assert twins.reduce().outputs == ("1", "'1'", "'x' | 'y'")
    whole = lw.randomized_response(3, 1.0)
    assert whole.reduce() is whole
    assert lw.randomized_response(3, 0).reduce().shape == (3, 1)


@given(matrices(zeros=True), st.integers(10, 64))
def test_dyadic(matrix: Matrix, bits: int) -> None:
    m = Mechanism(matrix, outputs=[f"y{j}" for j in range(len(matrix[0]))]).dyadic(bits)
    assert m.denominator == 1 << bits
    assert m.outputs[0] == "y0"
    for row, truth in zip(exact_matrix(m), matrix, strict=True):
        assert sum(row) == 1
        assert all((a == 0) == (b == 0) for a, b in zip(row, truth, strict=True))
        assert all(abs(a - b) < Fraction(1, 1 << bits) for a, b in zip(row, truth, strict=True))
    assert m.dyadic(bits) is m


@given(common_laws(), st.integers(20, 64))
def test_dyadic_of_structured_kernels(law: tuple[list[int], int], bits: int) -> None:
    """Zeros stay zeros and nothing vanishes, the own letter's included, whatever the diagonal has to take up."""
    m = structured(law)
    rounded = m.dyadic(bits)
    assert rounded.denominator == 1 << bits
    for row, truth in zip(exact_matrix(rounded), exact_matrix(m), strict=True):
        assert sum(row) == 1
        assert all((a == 0) == (b == 0) for a, b in zip(row, truth, strict=True))
        assert all(abs(a - b) <= Fraction(len(row), 1 << bits) for a, b in zip(row, truth, strict=True))


def test_never_itself_stays_never_itself() -> None:
    m = structured(([1, 1, 1, 1], 3)).dyadic(60)
    assert np.diag(m.weights).tolist() == [0, 0, 0, 0]
    assert isinstance(structured(([1, 1, 1], 2)).dyadic(60).kernel, CommonLawKernel)


def test_dyadic_refuses_what_would_vanish() -> None:
    with pytest.raises(InvalidInput, match="too small for the denominator"):
        Mechanism([["1/1000", "999/1000"]]).dyadic(4)
    with pytest.raises(InvalidInput, match="too small for the denominator"):
        structured(([1, 1], 1000)).dyadic(4)
    with pytest.raises(InvalidInput, match="would become zero, or stop being zero"):
        structured(([1] * 20_000, 19_999)).dyadic(60)


@pytest.mark.parametrize("bits", [0, 65, -1, True, 60.0, "60", None])
def test_bad_bits(bits: Any) -> None:
    with pytest.raises(InvalidInput, match="bits must be between 1 and 64"):
        Mechanism([["1/3", "2/3"]]).dyadic(bits)


# -- equal, frozen, stored, shown ------------------------------------------------------------------------------


@given(matrices(), st.integers(2, 1000))
def test_equality_across_denominators(matrix: Matrix, factor: int) -> None:
    m = Mechanism(matrix)
    scaled = Mechanism.from_kernel(DenseKernel(m.weights.astype(object) * factor, m.denominator * factor))
    assert m == scaled
    assert hash(m) == hash(scaled)
    assert m.then(np.eye(m.shape[1], dtype=int)) == m


@given(common_laws(), st.integers(2, 1000))
def test_equality_across_kernels(law: tuple[list[int], int], factor: int) -> None:
    m = structured(law)
    dense = Mechanism(exact_matrix(m))
    scaled = structured(([weight * factor for weight in law[0]], law[1] * factor))
    assert m == dense == scaled == m
    assert dense == m
    assert hash(m) == hash(dense) == hash(scaled)


def test_inequality() -> None:
    m = Mechanism([[0.5, 0.5], [1, 0]], inputs=["a", "b"])
    assert m != Mechanism([[0.5, 0.5], [1, 0]])
    assert m != Mechanism([[0.5, 0.5], [0.5, 0.5]], inputs=["a", "b"])
    assert m != [[0.5, 0.5], [1, 0]]
    assert lw.identity(3) != lw.randomized_response(3, 1.0)
    assert lw.identity(3) != lw.identity(4)
    # One letter: the common law and the diagonal may share the one entry in any way.
    assert structured(([0], 5)) == structured(([3], 5)) == Mechanism([[1]])


@pytest.mark.parametrize("m", [Mechanism([[0.5, 0.5], [1, 0]]), lw.randomized_response(2, 1.0)])
def test_a_mechanism_cannot_be_changed(m: Mechanism) -> None:
    for name in ("kernel", "inputs", "input_alphabet", "anything"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(m, name, 1)
    for array in (m.weights, m.matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    with pytest.raises(ValueError, match="read-only"):
        m.kernel.common[0] = 5 if isinstance(m.kernel, CommonLawKernel) else m.kernel.weights.fill(0)  # type: ignore[attr-defined]


def test_the_given_array_may_change_later() -> None:
    matrix = np.array([[0.5, 0.5]])
    m = Mechanism(matrix)
    matrix[0, 0] = 9
    assert m.matrix.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal(again: Any) -> None:
    for m in (Mechanism([[0.5, 0.5], [1, 0]], inputs=["a", "b"]), lw.randomized_response(3, 1.0)):
        assert again(m) == m


@given(matrices())
def test_files_of_dense_kernels(tmp_path_factory: pytest.TempPathFactory, matrix: Matrix) -> None:
    path = tmp_path_factory.getbasetemp() / "dense.json"
    m = Mechanism(matrix, outputs=[("y", j) for j in range(len(matrix[0]))])
    m.save(path)
    back = Mechanism.load(path)
    assert back == m
    assert back.denominator == m.denominator
    assert (back.input_alphabet.declared, back.output_alphabet.declared) == (False, True)


@given(common_laws())
def test_files_of_structured_kernels(tmp_path_factory: pytest.TempPathFactory, law: tuple[list[int], int]) -> None:
    path = tmp_path_factory.getbasetemp() / "structured.json"
    m = structured(law)
    m.save(path)
    back = Mechanism.load(str(path))
    assert back == m
    assert isinstance(back.kernel, CommonLawKernel)
    assert (back.kernel.common.tolist(), back.kernel.diagonal) == (law[0], law[1] - sum(law[0]))


def test_files_with_denominators_of_thousands_of_bits(tmp_path: Path) -> None:
    tiny = Fraction(1, 7**4000)
    for m in (Mechanism([[tiny, 1 - tiny], [1, 0]]), structured(([1, 2], 7**4000))):
        m.save(tmp_path / "m.json")
        back = Mechanism.load(tmp_path / "m.json")
        assert back == m
        assert back.denominator == 7**4000
        assert back.probability(0, 1) == m.probability(0, 1)


def body(kernel: DenseBody | CommonLawBody, inputs: Any = ("a", "b"), outputs: Any = ("c", "d")) -> MechanismBody:
    return MechanismBody(list(inputs), True, list(outputs), True, kernel)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (body(DenseBody("0x2", [["0x1", "0x1"], ["0x2", "0x1"]])), "row 1 does not sum to its denominator"),
        (body(DenseBody("0x2", [["0x1", "0x1"], ["0x2"]])), "not of one length"),
        (body(DenseBody("0x2", [["0x1", "0x1"]])), "inputs must be as many as the rows"),
        (body(DenseBody("0x2", [["0x2"], ["0x2"]])), "outputs must be as many as the columns"),
        (body(DenseBody("0x0", [["0x0", "0x0"], ["0x0", "0x0"]])), "denominator is 0"),
        (body(DenseBody("0x2", [])), "not of one length"),
        (body(DenseBody("0x2", [[], []])), "not of one length"),
        (body(DenseBody("0x2", [["-0x1", "0x3"], ["0x1", "0x1"]])), "damaged"),
        (body(DenseBody("two", [["0x1", "0x1"], ["0x1", "0x1"]])), "damaged"),
        (body(DenseBody("0x1", [["0x1", "0x0"], ["0x0", "0x1"]]), inputs=("a", "a")), "different"),
        (body(CommonLawBody("0x2", [])), "common law is empty"),
        (body(CommonLawBody("0x2", ["0x3", "0x0"])), "between 0 and the denominator"),
        (body(CommonLawBody("0x2", ["0x2", "0x2", "0x1"]), "abc", "abc"), "between 0 and the denominator"),
        (body(CommonLawBody("0x2", ["0x1"])), "inputs must be as many"),
        (body(CommonLawBody("0x2", [hex(2**70), "0x1"])), "between 0 and the denominator"),
        (body(CommonLawBody("0x1", [hex(2**70)]), inputs="a", outputs="c"), "between 0 and the denominator"),
        # A sum of 2^64 must not wrap around to nothing.
        (body(CommonLawBody(hex(2**60), [hex(2**60)] * 16), range(16), range(16)), "between 0 and the denominator"),
        (MechanismBody([1, 0], False, ["c", "d"], True, CommonLawBody("0x2", ["0x1", "0x1"])), "letters without names"),
    ],
)
def test_files_of_a_stranger(stored: MechanismBody, message: str, tmp_path: Path) -> None:
    write_document(tmp_path / "m.json", FORMAT, VERSION, stored)
    with pytest.raises(InvalidInput, match=message):
        Mechanism.load(tmp_path / "m.json")


def test_a_prior_file_is_no_mechanism(tmp_path: Path) -> None:
    lw.Prior.uniform(2).save(tmp_path / "p.json")
    with pytest.raises(InvalidInput, match=r"holds a 'leakwise\.prior'"):
        Mechanism.load(tmp_path / "p.json")


@given(st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    m = data.draw(st.sampled_from([lw.randomized_response(["a", "b"], 1.0), Mechanism([[0.5, 0.5], [1, 0]])]))
    m.save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        back = Mechanism.load(path)
    except InvalidInput:
        return
    assert back == m


def test_looks() -> None:
    m = Mechanism([[0.9, 0.1], [0.2, 0.8]], inputs=["no", "yes"], outputs=["no", "yes"])
    assert "Mechanism 2 × 2, exact over 2^60" in repr(m)
    assert "0.9000" in repr(m)
    assert "exact over 3" in repr(lw.k_singular(4, 3))
    almost = repr(Mechanism([[Fraction(1, 3**100), 1 - Fraction(1, 3**100)], [0, 1]]))
    assert "an integer of 159 bits" in almost
    assert "1.940e-48  1.0000" in almost  # not 1: that would be a certainty
    assert almost.splitlines()[-1].split() == ["1", "0", "1"]
    large = lw.randomized_response(1000, 1.0)
    assert "too large to show" in repr(large)
    assert "too large to show" in large._repr_html_()


def test_html_escapes_labels() -> None:
    html = Mechanism([[1.0]], inputs=["<b>bold</b>"], outputs=["<script>"])._repr_html_()
    assert "<script>" not in html
    assert "<b>bold" not in html
    assert "&lt;script&gt;" in html


def test_plain_data_and_charts() -> None:
    m = Mechanism([["1/2", "1/2"], [1, 0]], inputs=["a", "b"], outputs=[("x", 1), "y"])
    assert m.to_dict()["kernel"] == {"type": "dense", "denominator": "0x2", "weights": [["0x1", "0x1"], ["0x2", "0x0"]]}
    assert m.to_dict()["outputs"] == [{"tuple": ["x", 1]}, "y"]
    assert lw.identity(2).to_dict()["kernel"]["type"] == "common-law"
    assert "1/2" in str(m.chart())
    assert m.plot().to_dict()


def test_align_prior() -> None:
    m = Mechanism([[1.0], [1.0]], inputs=["a", "b"])
    assert align_prior({"b": 0.25, "a": 0.75}, m).labels == ("a", "b")
    assert align_prior([0.25, 0.75], m).nominal.probabilities.tolist() == [0.25, 0.75]
    with pytest.raises(InvalidInput, match="values that the prior does not have: 'b'"):
        align_prior({"a": 0.5, "c": 0.5}, m)


# -- drawing ---------------------------------------------------------------------------------------------------


def test_drawing_needs_a_power_of_two() -> None:
    for m in (
        Mechanism([["1/3", "2/3"]]),
        structured(([1, 1, 1], 3)),
        Mechanism([[Fraction(1, 2**65), 1 - Fraction(1, 2**65)]]),
    ):
        with pytest.raises(InvalidInput, match=r"power of two, at most 2\^64\. Use mechanism\.dyadic\(60\)"):
            m.sample(0)
    assert Mechanism([["1/3", "2/3"]]).dyadic().sample(0) in (0, 1)


def test_draws_are_labels() -> None:
    m = Mechanism([[0.5, 0.5], [0, 1]], inputs=["no", "yes"], outputs=["n", "y"])
    assert m.sample("yes") == "y"
    assert m.sample("yes", size=3) == ["y", "y", "y"]
    assert m.sample("no", size=0) == []
    assert m.sample("no", size=40, unsafe_seed=1) == m.sample("no", size=40, unsafe_seed=1)
    assert set(m.sample("no", size=200)) == {"n", "y"}  # fails once in 2^199
    with pytest.raises(InvalidInput, match="letter 'maybe' is not among"):
        m.sample("maybe")
    for size in (-1, 1.5, True, "3"):
        with pytest.raises(InvalidInput, match="size must be a whole number"):
            m.sample("no", size=size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "m",
    [
        Mechanism([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]]),
        lw.randomized_response(4, 0.7),
        structured(([10, 20, 30, 40], 90)).dyadic(),
        structured(([4, 4, 4, 4], 12)).dyadic(),
    ],
)
def test_draws_follow_the_row(m: Mechanism) -> None:
    """Chi-square on 3 degrees of freedom (2 where an outcome is impossible); false alarm 1e-6."""
    draws = 40_000
    for letter in (0, 1):
        counts = np.bincount(m.sample(letter, size=draws, unsafe_seed=7 + letter), minlength=4)
        expected = m.matrix[letter] * draws
        assert not counts[expected == 0].any()
        seen = expected > 0
        statistic = float((((counts - expected)[seen]) ** 2 / expected[seen]).sum())
        assert statistic < 30.665  # the 1 - 1e-6 quantile of chi-square with 3 degrees of freedom


def test_a_deterministic_matrix_of_whole_numbers_can_be_drawn_from():
    mechanism = lw.Mechanism([[0, 1], [1, 0]], inputs=["no", "yes"], outputs=["no", "yes"])
    assert mechanism.sample("no", size=50) == ["yes"] * 50
