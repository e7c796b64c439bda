"""``leakwise audit``."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()
RESPONSE = "randomized-response:letters=no/yes,epsilon=1"


def run(*words: str) -> tuple[int, str, str]:
    done = RUN.invoke(app, ["audit", *words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_table_and_the_sentences() -> None:
    code, said, _ = run(RESPONSE, "--prior", "no=0.7,yes=0.3")
    assert code == 0
    assert said.startswith("No guess about the secret becomes more than 1.7937 times as likely")
    assert "at most after" in said
    assert "ε of PML" not in said
    assert "ε of PML" in run(RESPONSE, "--prior", "no=0.7,yes=0.3", "--all")[1]


def test_json_is_the_audit() -> None:
    code, said, _ = run(RESPONSE, "--prior", "no=0.7,yes=0.3", "--lift", "3/2", "--delta", "0.1", "--json")
    assert code == 0
    found = json.loads(said)
    same = lw.audit(
        lw.randomized_response(["no", "yes"], epsilon="1"),
        lw.Prior({"no": "0.7", "yes": "0.3"}),
        lift="3/2",
        delta="0.1",
    )
    assert found == json.loads(json.dumps(same.to_dict()))


def test_json_has_no_infinity() -> None:
    code, said, _ = run("identity:n=2", "--prior", "uniform", "--json")
    assert code == 0
    assert json.loads(said, parse_constant=pytest.fail)["ldp"] == "inf"
    assert math.isinf(float(json.loads(said)["ldp"]))


def test_a_matrix_and_a_column(tmp_path: Path) -> None:
    matrix, table = tmp_path / "m.csv", tmp_path / "t.csv"
    matrix.write_text(",no,yes\nno,0.9,0.1\nyes,0.2,0.8\n")
    table.write_text("name,smokes\na,no\nb,yes\nc,no\nd,no\n")
    options = ["--data", str(table), "--column", "smokes", "--domain", "no,yes"]
    code, said, _ = run(str(matrix), *options, "--json")
    assert code == 0
    assert json.loads(said)["epsilon"] == pytest.approx(math.log(0.8 / 0.275))


@pytest.mark.parametrize("suffix", ["json", "svg", "html"])
def test_pictures(tmp_path: Path, suffix: str) -> None:
    where = tmp_path / f"audit.{suffix}"
    code, _, said = run(RESPONSE, "--prior", "uniform", "--plot", str(where))
    assert code == 0
    assert where.stat().st_size > 1000
    assert str(where) in said.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.csv", "--prior", "uniform"), "no file"),
        ((RESPONSE,), "exactly one of --prior"),
        ((RESPONSE, "--prior", "no=0.7,maybe=0.3"), "'maybe'"),
        ((RESPONSE, "--prior", "uniform", "--delta", "2"), "delta"),
        ((RESPONSE, "--prior", "uniform", "--lift", "0.5"), "lift"),
        ((RESPONSE, "--prior", "uniform", "--epsilon", "1", "--lift", "2"), "both"),
        ((RESPONSE, "--prior", "uniform", "--plot", "x.pdf"), "--plot must end in"),
        ((RESPONSE, "--prior", "uniform", "--summary", "x.txt"), "--summary must end in"),
        ((RESPONSE, "--prior", "uniform", "--plot", "nowhere/x.svg"), "a folder that does not exist"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: tuple[str, ...], said: str) -> None:
    code, shown, error = run(*words)
    assert code == 2
    assert said in error
    assert not shown  # a picture that cannot be saved is refused before anything is computed
    assert error.startswith("Error: ")
    assert error.count("\n") == 1


def test_counts_are_a_sample_and_said_to_be() -> None:
    """Ten rows do not prove a lift: without --failure the answer says so, with it every prior they leave counts."""
    code, said, _ = run(RESPONSE, "--counts", "no=7,yes=3")
    assert code == 0
    assert "an estimate from 10 rows and was taken as exact" in said
    code, wider, _ = run(RESPONSE, "--counts", "no=7,yes=3", "--failure", "1e-6")
    assert code == 0
    assert "taken as exact" not in wider
    assert "The sample misleads, and the guarantee with it, with probability at most 1e-6." in wider
    exact, covered = (float(re.search(r"more than (\S+) times", text)[1]) for text in (said, wider))
    assert exact < covered


def test_failure_needs_a_sample() -> None:
    code, _, error = run(RESPONSE, "--prior", "no=0.7,yes=0.3", "--failure", "1e-6")
    assert code == 2
    assert "--failure 1e-6 goes with a sample" in error


def test_a_mechanism_by_name_takes_the_names_of_the_declared_domain(tmp_path: Path) -> None:
    names = [f"c{place:02}" for place in range(12)]
    table = tmp_path / "table.csv"
    table.write_text("x\n" + "\n".join(names * 2) + "\n", encoding="utf-8")
    words = ["randomized-response:n=12,lift=2", "--data", str(table), "--column", "x", "--domain", ",".join(names)]
    done = CliRunner().invoke(app, ["audit", *words, "--all"])
    assert done.exit_code == 0, done.output
    rows = done.stdout.split("most about")[1].splitlines()[2:14]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [(name, name) for name in names]


TABLE = "sex,age,smokes\n" + "".join(
    f"{sex},{age},{smokes}\n"
    for sex, age, smokes, times in [
        ("f", 20, "no", 30),
        ("f", 70, "yes", 10),
        ("m", 20, "no", 10),
        ("m", 70, "yes", 30),
    ]
    for _ in range(times)
)


def test_a_table_is_audited_with_the_columns_that_go_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    words = ["randomized-response:letters=no/yes,lift=3", "--table", str(path), "--column", "smokes"]
    code, said, _ = run(*words, "--given", "sex")
    assert code == 0
    assert "By itself sex makes a value up to 1.5 times as likely" in said
    assert "for the owner of the table" in said
    code, said, warned = run(*words, "--given", "sex", "--given", "age=bins:0,100,2", "--json")
    assert code == 0
    assert "sex and age determine 'smokes'" in warned
    found = json.loads(said)
    assert found["for"] == "the owner of the table"
    assert [one["certain"] for one in found["strata"]] == [True] * 4


def test_a_table_is_audited_with_the_mechanisms_of_its_strata(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    sm = lw.StratifiedMechanism(
        {sex: lw.randomized_response(["no", "yes"], lift=lift) for sex, lift in (("f", 2), ("m", 4))},
        given={"sex": ["f", "m"]},
    )
    sm.save(tmp_path / "sm.json")
    code, said, _ = run(str(tmp_path / "sm.json"), "--table", str(path), "--column", "smokes", "--json")
    assert code == 0
    assert [round(one["added"]["lift"], 3) for one in json.loads(said)["strata"]] == [1.6, 2.286]


def test_a_table_is_judged_on_what_an_outcome_adds_at_the_upper_end_of_its_interval(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    words = [RESPONSE, "--table", str(path), "--column", "smokes", "--given", "sex", "--domain", "no,yes"]
    _, said, _ = run(*words, "--json")
    added = json.loads(said)["added"]
    strata = [one["added"]["high"] for one in json.loads(said)["strata"]]
    worst = max(strata)
    assert added["lift"] < worst < 3
    for limit, kept in ((worst * 1.001, True), (worst * 0.999, False), ((added["lift"] + worst) / 2, False)):
        code, said, _ = run(*words, "--fail-above", f"{limit:.9f}", "--json")
        found = json.loads(said)
        assert (code, found["kept"], found["lift"]) == (int(not kept), kept, worst)
    code, said, _ = run(*words, "--fail-above", "1.2")
    flat = " ".join(said.split())
    assert code == 1
    assert "The limit of --fail-above is broken: at most 1.2 times as likely is allowed" in flat
    assert "Compared is the most that an outcome adds to sex, in any stratum: the upper end of its interval" in flat


def test_the_summary_is_a_picture_of_its_own_with_the_limit_that_is_judged(tmp_path: Path) -> None:
    picture = tmp_path / "summary.svg"
    words = (RESPONSE, "--prior", "no=0.5,yes=0.5", "--summary", str(picture))
    code, said, error = run(*words, "--fail-above", "1.2")
    assert (code, "Summary saved" in said + error) == (1, True)
    assert "1.2 times as likely" in picture.read_text()
    assert ", above the limit" in picture.read_text()
    assert run(*words, "--lift", "7")[0] == 0
    assert "7 times as likely" in picture.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--table", "t.csv", "--column", "s", "--summary", "s.svg"], "--table goes without --summary"),
        (["--table", "t.csv"], "--table needs --column"),
        (["--table", "t.csv", "--column", "s", "--prior", "uniform"], "--table goes without --prior"),
        (["--table", "t.csv", "--column", "s", "--fail-above", "0.5"], "--fail-above must be a lift of at least 1"),
        (["--prior", "uniform", "--given", "sex"], "--given goes with --table"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: list[str], message: str) -> None:
    code, _, said = run(RESPONSE, *words)
    assert code == 2
    assert message in said


def test_counts_from_a_file_are_a_sample(tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("no,700\nyes,300\n", encoding="utf-8")
    typed = run("randomized-response:letters=no/yes,lift=3", "--counts", "no=700,yes=300", "--json")
    assert run("randomized-response:letters=no/yes,lift=3", "--counts", str(counts), "--json") == typed
    assert typed[0] == 0


def test_it_says_whether_further_limits_are_kept() -> None:
    """Both verdicts, on a mechanism that everyone can check by hand: ratios 3 and lifts of 1.5."""
    words = ("randomized-response:letters=no/yes,lift=3", "--prior", "no=0.5,yes=0.5")
    code, said, _ = run(*words, "--anyone", "20", "--lift-of", "yes=1.2", "--ceiling", "yes=0.75", "--floor", "no=0.5")
    flat = " ".join(said.split())
    assert code == 1  # one of them is broken
    assert "The largest lift for any prior is at most 20, as asked." in flat
    assert "The largest lift of 'yes' is to be at most 1.2, which the outcome 'yes' misses. It is 1.5 here." in flat
    assert "The largest posterior of 'yes' is at most 75%, as asked." in flat
    assert "The least lift of 'no' is at least 0.5, as asked." in flat
    code, said, _ = run(*words, "--anyone", "2.9", "--json")
    (limit,) = json.loads(said)["limits"]
    assert (limit["name"], limit["limit"], limit["kept"]) == ("largest lift for any prior", "at most 2.9", False)
    # Without a bound; and for a set of priors the limits of values are those of its worst member.
    code, said, _ = run("identity:n=2", "--prior", "uniform", "--anyone", "1e9")
    assert "which the outcome 0 misses. It is ∞ here." in " ".join(said.split())
    sampled = ("randomized-response:letters=no/yes,lift=3", "--counts", "no=500,yes=500", "--failure", "1e-6")
    for limit, kept in (("1.5", False), ("1.9", True)):
        _, said, _ = run(*sampled, "--lift-of", f"yes={limit}", "--json")
        assert [one["kept"] for one in json.loads(said)["limits"]] == [kept], limit
    assert "For every prior of the set: The largest lift of 'yes'" in json.loads(said)["sentences"][1]


def test_limits_beside_a_table_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("smokes\nno\nyes\n")
    code, _, said = run(RESPONSE, "--table", str(table), "--column", "smokes", "--anyone", "20")
    assert code != 0
    assert "--table goes without --anyone" in " ".join(said.split())
