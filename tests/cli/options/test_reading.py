"""Mechanisms and priors as they are typed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.cli.options.domain import read_domain
from leakwise.cli.options.reading import named_after, read_mechanism, read_prior

F = Fraction


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


# ------------------------------------------------------------------------------------------------------- mechanisms


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("randomized-response:n=4,epsilon=1", lw.randomized_response(4, epsilon="1")),
        ("randomized_response:letters=no/yes,lift=3", lw.randomized_response(["no", "yes"], lift=3)),
        ("Randomized-Response: n = 3, flip = 1/4", lw.randomized_response(3, flip="1/4")),
        ("identity:n=2", lw.identity(2)),
        ("constant:n=3", lw.constant(3)),
        ("k-singular:n=4,k=2", lw.k_singular(4, 2)),
        ("symmetric-channel:n=3,flip=0.5", lw.symmetric_channel(3, "0.5")),
        ("truncated-geometric:letters=1/2/3,lift=2", lw.truncated_geometric([1, 2, 3], lift=2)),
        ("optimized-unary-encoding:letters=a/b/c,epsilon=1", lw.catalog.optimized_unary_encoding(["a", "b", "c"], "1")),
        ("subset-selection:n=5,lift=2,size=3", lw.catalog.subset_selection(5, lift=2, size=3)),
        ("optimized-local-hashing:n=5,lift=2,hashes=5", lw.catalog.optimized_local_hashing(5, lift=2, hashes=5)),
        ("hadamard-response:n=5,lift=9,blocks=1", lw.catalog.hadamard_response(5, lift=9, blocks=1)),
        ("staircase:n=5,lift=2,sensitivity=2,width=1", lw.catalog.staircase(5, lift=2, sensitivity=2, width=1)),
        ("rounding:letters=12/17/23,to=10", lw.catalog.rounding([12, 17, 23], to=10)),
        ("rounding:n=9,edges=3/6", lw.catalog.rounding(9, edges=[3, 6])),
        (
            "shuffled-randomized-response:n=2,lift=3,people=4",
            lw.catalog.shuffled_randomized_response(2, lift=3, people=4),
        ),
    ],
)
def test_catalog_names(text: str, same: lw.Mechanism) -> None:
    assert read_mechanism(text) == same


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("randomised-response:n=2,lift=3", "Did you mean 'randomized-response'"),
        ("no-such-file.csv", "no file"),
        ("randomized-response", "how many values"),
        ("randomized-response:n=2", "exactly one of epsilon="),
        ("randomized-response:n=2,lift=3,lift=4", "once"),
        ("randomized-response:n=2,lft=3", "Did you mean 'lift'"),
        ("randomized-response:n=two,lift=3", "whole number"),
        ("randomized-response:n=2,lift=three", "lift"),
        ("randomized-response:n=2,epsilon=-1", "epsilon"),
        ("k-singular:n=4,k=2.5", "whole number"),
        ("k-singular:n=4,k=9", "k must be"),
        ("x" * 5000, "no file"),
        ("a\0b", "no file"),
    ],
)
def test_names_that_are_none(text: str, said: str) -> None:
    with pytest.raises(lw.InvalidInput, match=said):
        read_mechanism(text)


def test_files_by_stratum_say_where_they_belong(tmp_path: Path) -> None:
    priors = lw.PriorByStratum({"f": [0.5, 0.5], "m": [0.9, 0.1]}, given="sex")
    priors.save(tmp_path / "priors.json")
    lw.StratifiedMechanism({sex: lw.identity(2) for sex in "fm"}, given={"sex": ["f", "m"]}).save(tmp_path / "m.json")
    with pytest.raises(lw.InvalidInput, match=r"m\.json' is a mechanism by stratum.*leakwise certify.*--table"):
        read_mechanism(str(tmp_path / "m.json"))
    with pytest.raises(lw.InvalidInput, match=r"priors\.json' has a prior for each stratum.*mechanism by stratum"):
        read_prior(str(tmp_path / "priors.json"), None, None, None, None)


MATRIX = [[F(9, 10), F(1, 10)], [F(1, 5), F(4, 5)]]


@pytest.mark.parametrize(
    ("text", "inputs", "outputs"),
    [
        ("0.9,0.1\n0.2,0.8\n", (0, 1), (0, 1)),
        (",no,yes\nno,0.9,0.1\nyes,0.2,0.8\n", ("no", "yes"), ("no", "yes")),
        ("letter,no,yes\nno,0.9,0.1\nyes,0.2,0.8\n", ("no", "yes"), ("no", "yes")),
        ("no,yes\nno,0.9,0.1\nyes,0.2,0.8\n", ("no", "yes"), ("no", "yes")),
        ("no,yes\n0.9,0.1\n0.2,0.8\n", (0, 1), ("no", "yes")),
        ("no,0.9,0.1\nyes,0.2,0.8\n", ("no", "yes"), (0, 1)),
        ("7,0.9,0.1\n8,0.2,0.8\n", (7, 8), (0, 1)),
        (",0,1\n5,0.9,0.1\n6,0.2,0.8\n", (5, 6), (0, 1)),
        ("age,no,yes\n5,0.9,0.1\n6,0.2,0.8\n", (5, 6), ("no", "yes")),
        ("\ufeff9/10,1/10\n1/5,4/5\n,\n\n", (0, 1), (0, 1)),
    ],
)
def test_csv_matrices(tmp_path: Path, text: str, inputs: tuple[object, ...], outputs: tuple[object, ...]) -> None:
    m = read_mechanism(write(tmp_path / "m.csv", text))
    assert [[F(int(w), m.denominator) for w in row] for row in m.weights] == MATRIX
    assert m.inputs == inputs
    assert m.outputs == outputs


def test_a_csv_of_rounded_decimals_is_taken_as_floats(tmp_path: Path) -> None:
    m = read_mechanism(write(tmp_path / "m.csv", "0.3333333333,0.6666666667\n0.5,0.4999999999\n"))
    assert m.denominator == 1 << 60


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,b\n", "no row of numbers"),
        ("0.5,0.5\n0.5\n", "same length"),
        ("0.5,0.6\n0.5,0.5\n", "sum to 1"),
        ("1.5,-0.5\n0.5,0.5\n", "negative"),
        ("nan,1\n0.5,0.5\n", "finite"),
        (",a,b\nx,0.5,oops\n", "numbers besides its labels"),
        (",a,b\nx,0.5,0.5\nx,0.5,0.5\n", "different"),
        (",a\n", "no row of numbers"),
        ("1e999999999,0\n", "numbers besides its labels|sum to 1"),
    ],
)
def test_csv_that_is_no_mechanism(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(lw.InvalidInput, match=said):
        read_mechanism(write(tmp_path / "m.csv", text))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(lw.InvalidInput, match="not a CSV file in UTF-8"):
        read_mechanism(str(path))


def test_saved_files(tmp_path: Path) -> None:
    m, prior = lw.randomized_response(["a", "b"], lift=3), lw.Prior({"a": 0.5, "b": 0.5})
    m.save(tmp_path / "m.json")
    prior.save(tmp_path / "p.json")
    assert read_mechanism(str(tmp_path / "m.json")) == m
    assert read_prior(str(tmp_path / "p.json")) == prior
    with pytest.raises(lw.InvalidInput, match=r"leakwise\.prior"):
        read_mechanism(str(tmp_path / "p.json"))


# ----------------------------------------------------------------------------------------------------------- priors


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("0.5,0.3,0.2", lw.Prior([F(1, 2), F(3, 10), F(1, 5)])),
        ("1/3, 2/3", lw.Prior([F(1, 3), F(2, 3)])),
        ("a=0.5,b=0.5", lw.Prior({"a": F(1, 2), "b": F(1, 2)})),
        ("3=0.5,b=0.5", lw.Prior({3: F(1, 2), "b": F(1, 2)})),
        ("5,3,2", lw.Prior([5, 3, 2])),
        ("uniform:3", lw.Prior.uniform(3)),
        ("1", lw.Prior([1])),
    ],
)
def test_priors_in_line(text: str, same: lw.Prior) -> None:
    assert read_prior(text) == same


def test_uniform_over_the_letters_of_the_mechanism() -> None:
    assert read_prior("uniform", mechanism=lw.identity(["a", "b"])) == lw.Prior.uniform(["a", "b"])


@pytest.mark.parametrize("counts", ["500,300", "a=500,b=300"])
def test_counts(counts: str) -> None:
    prior = read_prior(counts=counts)
    assert prior.sample_size == 800
    assert prior.fractions[0] == F(5, 8)


@pytest.mark.parametrize(
    ("text", "fractions", "sample_size"),
    [
        ("label,probability\nno,0.7\nyes,0.3\n", (F(7, 10), F(3, 10)), None),
        ("no,0.7\nyes,0.3\n", (F(7, 10), F(3, 10)), None),
        ("label,count\nno,7\nyes,3\n", (F(7, 10), F(3, 10)), 10),
        ("no,7\nyes,3\n", (F(7, 10), F(3, 10)), 10),
    ],
)
def test_prior_files(tmp_path: Path, text: str, fractions: tuple[F, ...], sample_size: int | None) -> None:
    prior = read_prior(write(tmp_path / "p.csv", text))
    assert prior.labels == ("no", "yes")
    assert prior.fractions == fractions
    assert prior.sample_size == sample_size


def test_a_column_with_its_domain(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    write(table, "id,smokes,age\n1,no,3\n2,yes,20\n3,no,99.5\n4,no,100\n")
    assert read_prior(data=table, column="smokes", domain="no,yes,never").fractions == (F(3, 4), F(1, 4), F(0))
    assert read_prior(data=table, column="age", domain="bins:0,100,2").fractions == (F(1, 2), F(1, 2))
    born = Path(write(tmp_path / "born.csv", "born,x\n2020-05-17,1\n2021-01-01,2\n"))
    assert read_prior(data=born, column="born", domain="bins:2020,2021,year").fractions == (F(1, 2), F(1, 2))
    assert read_prior(data=table, column="id", domain="1,2,3,4") == lw.Prior.from_counts({1: 1, 2: 1, 3: 1, 4: 1})


def test_missing_values_are_not_dropped(tmp_path: Path) -> None:
    for text in ("smokes\nno\n\nyes\n", "smokes,x\nno,1\n,2\nyes,3\n"):
        table = tmp_path / "t.csv"
        write(table, text)
        with pytest.raises(lw.InvalidInput, match="1 missing value among 3 rows"):
            read_prior(data=table, column="smokes", domain="no,yes")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "exactly one of --prior"),
        ({"prior": "0.5,0.5", "counts": "1,2"}, "--prior and --counts"),
        ({"prior": "0.5,0.4"}, "sum to 1"),
        ({"prior": "1.5,-0.5"}, "negative"),
        ({"prior": "nan,1"}, "--prior"),
        ({"prior": "missing.csv"}, "no file"),
        ({"prior": "uniform"}, "over which values"),
        ({"prior": "a=0.5,0.5"}, "all of its numbers or none"),
        ({"prior": "a=x,b=0.5"}, "number"),
        ({"prior": "a=0.5,a=0.5"}, "different"),
        ({"counts": "1.5,2"}, "whole"),
        ({"prior": "0.5,0.5", "column": "x"}, "go with --data"),
        ({"data": "t.csv"}, "--column NAME and --domain"),
        ({"data": "t.csv", "column": "x", "domain": "bins:0,1"}, "low,high,count"),
        ({"data": "t.csv", "column": "x", "domain": "bins:0,1,a"}, "unit of bins"),
        ({"data": "t.csv", "column": "smoke", "domain": "no"}, "Did you mean 'smokes'"),
        ({"data": "t.csv", "column": "smokes", "domain": "no"}, "outside the declared domain: 'yes'"),
        ({"data": "none.csv", "column": "smokes", "domain": "no"}, "Cannot read"),
        ({"data": "uneven.csv", "column": "a", "domain": "1"}, "do not have 2 cells"),
        ({"data": "t.csv", "column": "smokes", "domain": "bins:0,1,2"}, "number"),
    ],
)
def test_priors_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", "smokes\nno\nyes\n")
    write(tmp_path / "uneven.csv", "a,b\n1\n")
    given: dict[str, object] = dict(arguments)
    if "data" in given:
        given["data"] = Path(arguments["data"])
    with pytest.raises(lw.InvalidInput, match=said):
        read_prior(**given)  # type: ignore[arg-type]


def test_bad_prior_files(tmp_path: Path) -> None:
    for text, said in (("a,b,c\n", "two columns"), ("a,0.5\nb,x\n", "finite numbers"), ("a,b\n", "finite numbers")):
        with pytest.raises(lw.InvalidInput, match=said):
            read_prior(write(tmp_path / "p.csv", text))


def test_labels_that_differ_only_in_kind_are_matched() -> None:
    m = lw.Mechanism([[1, 0], [0, 1]], inputs=["0", "1"])
    assert read_prior("1=0.25,0=0.75", mechanism=m).labels == ("1", "0")
    with pytest.raises(lw.InvalidInput, match=r"prior lacks '0'\. Only the prior has '2'"):
        read_prior("1=0.25,2=0.75", mechanism=m)


def test_domains() -> None:
    assert list(read_domain("no,yes")) == ["no", "yes"]
    assert list(read_domain("bins:0,10,2")) == ["[0, 5)", "[5, 10]"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('"I10 Hypertension, essential","E11, type 2", J45', ["I10 Hypertension, essential", "E11, type 2", "J45"]),
        ('"a ""b"", c",d', ['a "b", c', "d"]),
        ('12",14"', ['12"', '14"']),
        ('"x,y', ['"x', "y"]),
        ("<=50K,>50K", ["<=50K", ">50K"]),
        ('"1",1', ["1", 1]),
    ],
)
def test_a_value_with_a_comma_goes_in_quotes(text: str, values: list[object]) -> None:
    assert list(read_domain(text)) == values


def test_an_empty_value_is_a_missing_one() -> None:
    assert list(read_domain("no,yes,")) == ["no", "yes", None]
    assert list(read_domain("bins:0,10,2,")) == ["[0, 5)", "[5, 10]", None]
    assert list(read_domain('no,""')) == ["no", ""]
    assert read_prior('no=0.5,"east, new"=0.25,=0.25').labels == ("no", "east, new", None)
    with pytest.raises(lw.InvalidInput, match="goes in double quotes"):
        read_prior("no=0.5,east, new=0.5")


def test_truth_values_are_matched_however_they_are_written() -> None:
    m = lw.randomized_response([True, False], lift=2)
    assert read_prior("true=0.25,FALSE=0.75", mechanism=m).labels == (True, False)
    assert read_prior("0=0.25,1=0.75", mechanism=m).labels == (False, True)
    assert read_prior("yes=0.25,no=0.75", mechanism=m).labels == (True, False)
    with pytest.raises(lw.InvalidInput, match="Only the prior has 'ja', 'nein'"):
        read_prior("ja=0.25,nein=0.75", mechanism=m)


def test_counts_are_read_from_a_file(tmp_path: Path) -> None:
    counted = lw.Prior.from_counts({"no": 700, "yes": 300})
    saved = tmp_path / "counted.json"
    counted.save(saved)
    for text in (write(tmp_path / "c.csv", "no,700\nyes,300\n"), str(saved), "no=700,yes=300"):
        assert (found := read_prior(counts=text)) == counted
        assert found.sample_size == 1000


def test_counts_that_are_no_counts_are_refused_by_name(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    lw.Prior({"no": "0.7", "yes": "0.3"}).save(known)
    for text, told in (
        ("missing.csv", "There is no file 'missing.csv'"),
        (str(known), "was not counted. Give it with --prior"),
        (write(tmp_path / "shares.csv", "no,0.7\nyes,0.3\n"), "count"),
    ):
        with pytest.raises(lw.errors.InvalidInput, match=told):
            read_prior(counts=text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k-singular:n=4", r"must give k=… as well"),
        ("symmetric-channel:n=4", r"must give flip=… as well"),
        ("shuffled-randomized-response:n=3,lift=2", r"must give people=… as well"),
        ("subset-selection:n=6", r"must give one of epsilon=… \(in nats\) and lift=…"),
        ("subset-selection:n=6,lift=2,epsilon=1", r"must give one of epsilon=… \(in nats\) and lift=…"),
    ],
)
def test_a_name_without_a_parameter_that_it_needs(text: str, said: str) -> None:
    """The options --epsilon and --lift of a command are limits, and not parameters of its mechanism."""
    with pytest.raises(lw.InvalidInput, match=said):
        read_mechanism(text)


def test_sets_that_are_not_listed_take_the_names_of_the_prior() -> None:
    prior = lw.Prior.uniform([f"code {place}" for place in range(60)])
    named = named_after(read_mechanism("symmetric-unary-encoding:n=60,epsilon=1"), prior)
    assert named.inputs == prior.labels
    assert lw.epsilon(named, prior) == lw.epsilon(lw.catalog.symmetric_unary_encoding(60, epsilon=1), [1] * 60)
