"""What a new user types about a secret: its column, its values, and what is known of it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

ROWS = 60
MIX = np.random.default_rng(7).permutation(ROWS)
DAYS = [datetime.date(2020, 1, 1), datetime.date(2021, 6, 30)]
TIMES = [datetime.datetime(2020, 1, 1, 12), datetime.datetime(2021, 6, 30, 8, 30)]


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, " ".join(done.stderr.split())


def one_of(values: list) -> list:
    return [values[place % len(values)] for place in MIX]


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with a column of every kind, and a file of one column for each."""
    monkeypatch.chdir(tmp_path)
    columns = {
        "text": pa.array(one_of(["1", "2"])),
        "whole": pa.array(one_of([1, 2])),
        "float": pa.array(one_of([1.0, 2.5])),
        "price": pa.array(one_of([Decimal("1.00"), Decimal("2.50")]), pa.decimal128(6, 2)),
        "day": pa.array(one_of(DAYS)),
        "time": pa.array(one_of(TIMES), pa.timestamp("us")),
        "truth": pa.array(one_of([True, False])),
        "region": pa.array(one_of(["North, east", "South", None])),
    }
    for name, column in columns.items():
        pq.write_table(pa.table({name: column}), f"{name}.parquet")
        pa.table({name: column}).to_pandas().assign(row=range(ROWS)).to_csv(f"{name}.csv", index=False)


def release(table: str, column: str, *words: object) -> tuple[int, str, str]:
    beside = ("--drop", "row") if table.endswith(".csv") else ()
    return run("release", table, "-c", column, "--lift", "2", *beside, *words)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(
    ("column", "prior"),
    [
        ("text", "1=0.6,2=0.4"),
        ("whole", "1=0.6,2=0.4"),
        ("float", "1=0.6,2.5=0.4"),
        ("price", "1.00=0.6,2.50=0.4"),
        ("day", "2020-01-01=0.6,2021-06-30=0.4"),
        ("truth", "true=0.6,false=0.4"),
        ("truth", "True=0.6,False=0.4"),
        ("region", '"North, east"=0.6,South=0.3,=0.1'),
    ],
)
def test_a_prior_names_values_as_the_column_has_them(column, prior, suffix):
    code, _, said = release(column + suffix, column, "--prior", prior, "--json")
    assert code == 0, said


def test_times_and_words_for_truth_are_read_by_the_type_of_the_column():
    assert release("time.parquet", "time", "--prior", "2020-01-01T12:00=0.5,2021-06-30 08:30=0.5")[0] == 0
    assert release("truth.parquet", "truth", "--domain", "yes,no", "--prior", "no=0.4,yes=0.6")[0] == 0


def test_secrets_of_one_row_have_priors_as_their_columns_have_them(tmp_path):
    both = pa.table({"a": pa.array(one_of(["1", "2"])), "b": pa.array(one_of([1.0, 2.0, 3.0]))})
    pq.write_table(both, "both.parquet")
    words = ("--protect", "a=2", "--protect", "b=2", "--order", "keep", "--overwrite")
    priors = ("--prior", "1=0.5,2=0.5", "--prior", "1=0.4,2=0.3,3=0.3")
    code, _, said = run("release", "both.parquet", *words, *priors)
    assert code == 0, said
    for word in ("uniform", "unknown"):
        code, _, said = run("release", "both.parquet", *words, "--prior", word, "--domain", "1,2", "--domain", "1,2,3")
        assert code == 0, said


def test_uniform_and_unknown_are_priors_over_the_domain():
    code, told, _ = release("text.parquet", "text", "--prior", "Uniform", "--domain", "1,2")
    assert (code, "anyone who knew the prior" in told) == (0, True)
    more = ("--domain", "1,2", "-o", "u.parquet", "--certificate", "c.json")
    code, told, _ = release("text.parquet", "text", "--prior", "unknown", *more)
    assert code == 0
    assert isinstance(lw.verify("c.json").prior, lw.AllPriors)
    assert "2 times as likely" in told


def test_a_prior_in_words_is_that_of_python():
    table = {"ill": one_of(["no", "yes"])}
    said = {word: lw.protect(table, "ill", domain=["no", "yes"], lift=2, prior=word) for word in ("uniform", "unknown")}
    assert said["uniform"].certificate.prior == lw.Prior.uniform(["no", "yes"])
    assert isinstance(said["unknown"].certificate.prior, lw.AllPriors)
    several = lw.protect(
        table | {"sex": one_of(["f", "m", "m"])},
        {"ill": 2, "sex": 2},
        domain={"ill": ["no", "yes"], "sex": ["f", "m"]},
        prior="unknown",
        order="keep",
    )
    assert float(several.certificate.every_prior) == pytest.approx(4)
    with pytest.raises(lw.InvalidInput, match=r"'uniform', 'unknown' and 'table'. Got 'unifrom' instead. Did you mean"):
        lw.protect(table, "ill", domain=["no", "yes"], lift=2, prior="unifrom")
    with pytest.raises(lw.InvalidInput, match=r"words 'uniform', 'unknown'. Got 'unifrom'. Did you mean 'uniform'"):
        lw.protect(table, {"ill": 2}, domain={"ill": ["no", "yes"]}, prior={"ill": "unifrom"})


def test_counts_where_probabilities_are_asked_are_taken_as_counts_and_said():
    code, _, said = release("text.parquet", "text", "--prior", "1=600,2=400", "--certificate", "c.json")
    assert (code, said.startswith("Note: --prior is taken as counts, of 1,000 rows in all.")) == (0, True)
    assert said.count("Note:") == 1
    assert lw.verify("c.json").prior.fractions == (Fraction(3, 5), Fraction(2, 5))
    Path("p.csv").write_text("value,share\n1,600\n2,400\n")
    assert (
        "--prior p.csv is taken as counts, of 1,000 rows"
        in release("text.parquet", "text", "--prior", "p.csv", "--overwrite")[2]
    )
    for certain in ("1=1,2=0", "certain.csv"):
        Path("certain.csv").write_text("value,probability\n1,1\n2,0\n")
        code, _, said = run("design", "--prior", certain, "--lift", "2")
        assert (code, said) == (0, "")
    code, _, said = release("text.parquet", "text", "--prior", "1=60.5,2=39.5")
    assert code == 2
    assert "They sum to 100. Divide percentages by 100." in said
    code, _, said = release("text.parquet", "text", "--prior", "1=0.5,2=0.4")
    assert "They sum to 0.9. Give every value its probability." in said


def test_missing_is_a_value_of_the_domain():
    for table in ("region.parquet", "region.csv"):
        asked = ("--domain", '"North, east",South', "--prior", "uniform", "--overwrite")
        code, _, said = release(table, "region", *asked)
        assert (code, "(--missing)" in said) == (2, True)
        assert release(table, "region", *asked, "--missing")[0] == 0
        code, _, said = release(
            table, "region", *asked[:2], "--overwrite", "--missing", "-p", '"North, east"=0.5,South=0.5'
        )
        assert "The prior lacks missing. A missing value has its probability without a name" in said
    code, _, said = release("region.csv", "region", "--missing", "--prior", "a=0.5,b=0.5")
    assert "--missing goes with --domain" in said


def test_a_domain_from_a_file_is_released_and_not_written_over():
    Path("regions.csv").write_text('region\n"North, east"\nSouth\n\n"West"\n')
    asked = ("--domain", "@regions.csv", "--prior", "uniform", "--report", "r.html")
    assert release("region.csv", "region", *asked)[0] == 0
    code, _, said = release("region.csv", "region", *asked, "-o", "regions.csv", "--overwrite")
    assert (code, "--domain and --out must be different files" in said) == (2, True)


def test_what_is_wrong_is_told_in_order_the_column_the_domain_the_files():
    Path("text.released.csv").write_text("there already")
    Path("text.released.report.html").write_text("there already")
    wrong = ("--domain", "@none.csv", "--prior", "uniform", "--report", "nowhere/r.html")
    column = release("text.csv", "txet", *wrong)[2]
    assert "column 'txet' is not in 'text.csv'" in column
    assert "Did you mean 'text'?" in column
    assert "'rwo'" in run("release", "text.csv", "-c", "text", "--drop", "rwo", "--lift", "2", *wrong)[2]
    assert "@none.csv" in release("text.csv", "text", *wrong)[2]
    assert "domain (--domain) must be declared" in release("text.csv", "text", *wrong[2:])[2]
    assert "no file 'non.csv'" in release("text.csv", "text", "--prior", "non.csv", *wrong[4:])[2]
    assert "nowhere" in release("text.csv", "text", "--domain", "1,2", *wrong[2:])[2]


def test_python_tells_the_column_before_the_domain_and_the_files(tmp_path):
    for data in ("text.parquet", pd.read_parquet("text.parquet")):
        with pytest.raises(lw.InvalidInput, match=r"column 'txet' is not in .* Did you mean 'text'"):
            lw.protect(data, "txet", lift=2)
        with pytest.raises(lw.InvalidInput, match="column 'txet' is not in "):
            lw.protect(data, {"txet": 2}, prior="none")
    with pytest.raises(lw.InvalidInput, match=r"domain .* must be declared"):
        lw.protect("text.parquet", "text", lift=2, prior="uniform", out="nowhere/o.parquet")


def test_values_that_are_none_of_the_column_are_told_before_it_is_read():
    code, _, said = release("day.parquet", "day", "--domain", "2020-01-01,31.6.2021", "--prior", "uniform")
    assert code == 2
    assert "--domain names '31.6.2021', and column 'day' contains dates: each value must be a date, such as" in said
    code, _, said = release("float.parquet", "float", "--prior", "one=0.5,2=0.5")
    assert "--prior names 'one', and column 'float' contains numbers" in said


@pytest.mark.parametrize("table", ["day.parquet", "price.parquet", "truth.csv"])
def test_messages_show_values_as_people_write_them(table):
    column = table.partition(".")[0]
    domain = {"day": "2020-01-01", "price": "1.00", "truth": "yes,no"}[column]
    code, _, said = release(table, column, "--domain", domain, "--prior", "uniform")
    shown = {"day": "2021-06-30. The domain is 2020-01-01.", "price": "2.50. The domain is 1.00.", "truth": "'False'"}
    assert (code, shown[column] in said) == (2, True), said


def test_a_value_that_was_nearly_declared_is_offered():
    said = release("region.csv", "region", "--domain", "north east,South,", "--prior", "uniform")[2]
    assert "Did you mean 'north east'?" in said
    with pytest.raises(lw.InvalidInput, match=r"outside the declared domain: 'YES'.* Did you mean 'yes'"):
        lw.Prior.from_data(["no", "YES"], domain=["no", "yes"])


def test_a_prior_that_is_no_file_is_told_which_word_was_meant():
    said = release("text.csv", "text", "--domain", "1,2", "--prior", "unifrom")[2]
    assert "Did you mean 'uniform'?" in said
    said = run("design", "--prior", "unknown", "--lift", "2")[2]
    assert "goes with leakwise release" in said
