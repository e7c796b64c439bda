"""Near-copies of a secret among given columns: found alone, in two parts, recoded, with slips, with unique ends."""

import numpy as np
import pytest

from leakwise.alphabet import GivenColumns
from leakwise.tables.strata.near_copies import near_copy

RNG = np.random.default_rng(0)
ROWS = 4000
VALUES = ["asthma", "diabetes", "flu", "none"]
SECRET = RNG.choice(4, size=ROWS, p=[0.1, 0.2, 0.3, 0.4])


def counted(**columns):
    """The counts of the secret by columns, and the columns."""
    lists = {name: np.asarray(one).tolist() for name, one in columns.items()}
    given = GivenColumns({name: sorted(set(one), key=str) for name, one in lists.items()})
    counts = {}
    for place, key in enumerate(zip(*lists.values(), strict=True)):
        row = counts.setdefault(key if len(lists) > 1 else key[0], [0] * 4)
        row[SECRET[place]] += 1
    return counts, given


def found(**columns):
    return near_copy(*counted(**columns), ["illness"], VALUES)


def noise(values):
    return RNG.integers(values, size=ROWS)


def slipped(share):
    """The secret, another value in a share of the rows."""
    return np.where(RNG.random(ROWS) < share, RNG.integers(4, size=ROWS), SECRET)


def test_a_recoded_copy_with_slips_is_found_with_its_numbers():
    code = np.array(["J45", "E11", "J10", "Z00"])[slipped(0.04)]
    copy = found(sex=noise(2), code=code)
    assert copy.columns == ("code",)
    assert copy.rows == ROWS
    assert copy.right / ROWS == pytest.approx(0.97, abs=0.01)
    assert copy.without == np.bincount(SECRET).max()


def test_a_finer_column_is_a_copy():
    assert found(ward=SECRET * 5 + noise(5)).columns == ("ward",)


def test_a_copy_in_two_parts_is_found():
    part = noise(4)
    assert found(a=part, b=(SECRET + part) % 4, age=noise(3)).columns == ("a", "b")


def test_a_copy_in_three_parts_is_found():
    one, two = noise(4), noise(4)
    assert found(a=one, b=two, c=(SECRET + one + two) % 4).columns == ("a", "b", "c")


@pytest.mark.parametrize("form", ["{code}-{row:05}", "{row:05}-{code}"])
def test_a_copy_with_a_number_of_the_row_is_found(form):
    """Each value occurs once, so that none says anything; neighbours among them do."""
    codes = [form.format(code="JEFZ"[one], row=row) for row, one in enumerate(SECRET)]
    assert found(code=codes).columns == ("code",)


def test_numbers_as_texts_have_their_natural_order():
    level = SECRET * 1000 + RNG.permutation(ROWS) % 1000
    assert found(level=list(map(str, level.tolist()))).columns == ("level",)


def test_columns_that_only_tell_something_are_none():
    assert found(a=noise(3), b=noise(50)) is None
    assert found(hint=slipped(0.5)) is None
    assert found(name=np.arange(ROWS)) is None
    assert found(pair=np.arange(ROWS) // 2) is None


def test_a_secret_that_is_nearly_always_the_same_is_not_copied_by_everything():
    """The best guess is right for 99% with or without the column."""
    counts = {0: [990, 10], 1: [1980, 20]}
    assert near_copy(counts, GivenColumns({"sex": [0, 1]}), ["hiv"], ["no", "yes"]) is None
    copy = near_copy({0: [2970, 1], 1: [0, 29]}, GivenColumns({"drug": [0, 1]}), ["hiv"], ["no", "yes"])
    assert (copy.right, copy.without, copy.rows) == (2999, 2970, 3000)


def test_a_secret_with_one_value_has_nothing_to_copy():
    assert near_copy({0: [500, 0], 1: [500, 0]}, GivenColumns({"sex": [0, 1]}), ["hiv"], ["no", "yes"]) is None
    assert near_copy({}, GivenColumns({"sex": [0, 1]}), ["hiv"], ["no", "yes"]) is None


def test_a_copy_of_one_column_of_a_joint_secret_is_found():
    letters = [(age, sex) for age in ("young", "old") for sex in "fm"]
    counts = {"she": [500, 4, 300, 2], "he": [1, 400, 3, 500]}
    copy = near_copy(counts, GivenColumns({"pronoun": ["she", "he"]}), ["age", "sex"], letters)
    assert copy.secret == ("sex",)
    assert copy.right == 1700
