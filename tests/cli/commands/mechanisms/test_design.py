"""``leakwise design``."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.cli.screen.search_progress import closeness, count_bar, gap_bar

RUN = CliRunner()
PRIOR = ("--prior", "a=0.5,b=0.3,c=0.2")


def run(*words: str) -> tuple[int, str, str]:
    done = RUN.invoke(app, ["design", *words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_table() -> None:
    code, said, _ = run(*PRIOR, "--epsilon", "0.5")
    assert code == 0
    assert "bound (nothing is better)" in said
    assert "PML epsilon = 0.5" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--lift", "1.2", "--delta", "1.5"), "Got 1.5 instead"),
        (("--delta", "0.1"), "delta=0.1 goes with"),
        (("--lift", "2", "--ceiling", "a=13.5"), "Got 13.5 instead"),
        (("--lift", "2", "--ceiling", "a=4/3"), "Got 4/3 instead"),
        (("--lift", "2", "--ceiling", "a=1e400"), "Got 1000"),
        (("--lift", "2", "--time-limit", "-1"), "(--time-limit) must be a positive number of seconds"),
        (("--lift", "2", "--time-limit", "nan"), "Got nan"),
    ],
)
def test_numbers_are_told_as_they_were_typed(words: tuple[str, ...], told: str) -> None:
    code, _, said = run(*PRIOR, *words)
    assert code == 2
    assert told in " ".join(said.split())


def test_json_is_the_design() -> None:
    code, said, _ = run(*PRIOR, "--lift", "3/2", "--json")
    assert code == 0
    same = lw.design(lw.Prior({"a": "0.5", "b": "0.3", "c": "0.2"}), lift="3/2")
    assert json.loads(said) == json.loads(json.dumps(same.to_dict()))


def test_saved_mechanism_and_certificate_are_those_of_the_design(tmp_path: Path) -> None:
    mechanism, proof = tmp_path / "m.json", tmp_path / "c.json"
    code, _, told = run(
        "--counts", "no=700,yes=300", "-e", "0.4", "--save", str(mechanism), "--certificate", str(proof)
    )
    assert code == 0
    assert "leakwise verify" in told
    same = lw.design(lw.Prior.from_counts({"no": 700, "yes": 300}), epsilon="0.4")
    assert lw.Mechanism.load(mechanism) == same.mechanism
    assert RUN.invoke(app, ["verify", str(proof)]).exit_code == 0
    proof.write_text(proof.read_text().replace('"bound":"0x1', '"bound":"0x0'))  # a better claim than was proven
    assert RUN.invoke(app, ["verify", str(proof)]).exit_code != 0


@pytest.mark.parametrize("utility", ["guessing", "frequencies", "chi_square"])
def test_utilities_by_name(utility: str) -> None:
    code, said, _ = run(*PRIOR, "--epsilon", "0.4", "--utility", utility, "--json")
    assert code == 0
    assert json.loads(said)["value"] == lw.design([0.5, 0.3, 0.2], epsilon=0.4, utility=utility).value


@pytest.mark.parametrize(
    "text", [",x,y\nc,0,2\na,1,0\nb,0,1\n", "1,0\n0,1\n0,2\n"], ids=["labels in another order", "plain numbers"]
)
def test_a_utility_matrix(tmp_path: Path, text: str) -> None:
    matrix = tmp_path / "worth.csv"
    matrix.write_text(text)
    code, said, _ = run(*PRIOR, "--epsilon", "0.5", "--utility-matrix", str(matrix), "--json")
    assert code == 0
    same = lw.design([0.5, 0.3, 0.2], epsilon=0.5, utility=lw.Expected([[1, 0], [0, 1], [0, 2]]))
    assert json.loads(said)["value"] == pytest.approx(same.value, abs=1e-9)


def test_other_constraints_and_methods() -> None:
    code, said, _ = run(*PRIOR, "--ldp", "1", "--json")
    assert code == 0
    assert json.loads(said)["constraint"] == "LDP ε = 1"
    code, said, _ = run(*PRIOR, "--epsilon", "0.7", "--lip", "1", "--json")
    assert "LIP ±1" in json.loads(said)["constraint"]
    code, said, _ = run(*PRIOR, "--epsilon", "0.4", "--method", "enumeration", "--json")
    assert "vertices listed" in json.loads(said)["method"]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (["--maximal-leakage", "0.3", "--lift", "3"], "maximal leakage 0.3"),
        (["--lift", "1.1", "--delta", "0.2"], "lift = 1.1 after any post-processing"),
    ],
)
def test_limits_on_all_outcomes_together(tmp_path: Path, limit: list[str], said: str) -> None:
    proof = tmp_path / "proof.json"
    code, shown, _ = run(*PRIOR, *limit, "--certificate", str(proof))
    assert code == 0
    assert said in " ".join(shown.split())
    assert RUN.invoke(app, ["verify", str(proof)]).exit_code == 0
    code, _, told = run(*PRIOR, *limit, "--failure", "1e-6")
    assert code == 2
    assert f"--failure does not go with {limit[0 if 'leakage' in limit[0] else 2]}" in " ".join(told.split())


def test_the_number_of_outcomes_is_an_option() -> None:
    words = ("--prior", "uniform:20", "--ldp", "2", "--utility", "frequencies", "--outcomes")
    code, said, _ = run(*words, "190", "--json")
    assert code == 0
    assert json.loads(said)["gap"] < 1e-6  # all pairs of values: subset selection, which is optimal
    assert run(*words, "19")[0] == 2
    assert run(*PRIOR, "--lift", "2", "--outcomes", "9")[0] == 2


def test_a_margin_takes_the_place_of_a_limit(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    code, said, _ = run(*PRIOR, "--margin", "0.02", "--rows", "15000", "--certificate", str(proof))
    assert code == 0
    assert "least lift" in said
    assert "frequency of c" in said
    assert lw.verify(proof).optimality.utility == "margin"
    code, said, _ = run(*PRIOR, "--margin", "c=0.02", "--rows", "15000", "--json")
    assert json.loads(said)["lift"] == lw.design({"a": 0.5, "b": 0.3, "c": 0.2}, margin={"c": 0.02}, rows=15000).lift
    numbers = ("--values", "a=0", "--values", "b=1", "--values", "c=4")
    code, said, _ = run(*PRIOR, "--margin", "0.05", *numbers, "--rows", "15000", "--json")
    assert [one["name"] for one in json.loads(said)["margins"]] == ["mean"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--margin", "0.02"), "rows is missing"),
        (("--margin", "0.02", "--rows", "-5"), "rows must be a positive integer"),
        (("--margin", "0.02", "--rows", "5000", "--lift", "2"), "does not go with a lift"),
        (("--margin", "0.02", "--margin", "c=0.01", "--rows", "5000"), "VALUE=NUMBER"),
        (("--margin", "0.02", "--rows", "500"), "rows would do"),
        (("--rows", "500", "--lift", "2"), "go with margin"),
        (("--margin", "0.02", "--rows", "500", "--failure", "1e-6"), "does not go with --margin"),
    ],
)
def test_bad_margins_are_told(words: tuple[str, ...], said: str) -> None:
    code, _, told = run(*PRIOR, *words)
    assert code == 2
    assert said in " ".join(told.split())


def test_a_picture(tmp_path: Path) -> None:
    where = tmp_path / "design.svg"
    code, _, told = run("--prior", "uniform:5", "--epsilon", "0.5", "--plot", str(where))
    assert code == 0
    assert where.read_text().startswith("<svg")
    assert str(where) in told.replace("\n", "")


def test_the_time_limit_is_a_note_and_not_an_error() -> None:
    weights = ",".join(str(10 + (7 * k * k) % 83) for k in range(45))
    code, said, told = run("--prior", weights, "--epsilon", "1.5", "--time-limit", "1e-9", "--json")
    assert code == 0
    assert "Note: The time limit" in told
    assert json.loads(said)["gap"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*PRIOR,), "Give a limit"),
        ((*PRIOR, "--epsilon", "1", "--lift", "2"), "both"),
        ((*PRIOR, "--epsilon", "-1"), "at least 0"),
        ((*PRIOR, "--epsilon", "much"), "--epsilon"),
        ((*PRIOR, "--epsilon", "1", "--utility", "gessing"), "Did you mean 'guessing'"),
        ((*PRIOR, "--epsilon", "1", "--method", "column"), "Did you mean 'columns'"),
        ((*PRIOR, "--epsilon", "1", "--utility-matrix", "nowhere.csv"), "no file 'nowhere.csv'"),
        ((*PRIOR, "--epsilon", "1", "--utility", "guessing", "--utility-matrix", "x.csv"), "either --utility"),
        (("--epsilon", "1"), "exactly one of --prior"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: tuple[str, ...], said: str) -> None:
    code, _, error = run(*words)
    assert code == 2
    assert said in error
    assert error.startswith("Error: ")
    assert error.count("\n") == 1


def test_a_matrix_with_other_letters_is_refused(tmp_path: Path) -> None:
    matrix = tmp_path / "worth.csv"
    matrix.write_text(",x\na,1\nb,2\nd,3\n")
    code, _, error = run(*PRIOR, "--epsilon", "0.5", "--utility-matrix", str(matrix))
    assert code == 2
    assert "one row for each value" in error


def test_help_teaches_with_examples() -> None:
    said = RUN.invoke(app, ["design", "--help"]).stdout
    assert "leakwise design --prior a=0.5,b=0.3,c=0.2 --lift 2" in said


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bars_show_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with gap_bar() as nothing, count_bar("designs") as neither:
        assert nothing is None
        assert neither is None
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with gap_bar() as told:
        assert told is not None
        told("columns", 0.5, 0.6)
        told("block 1 of 3", float("nan"), float("nan"))
    with count_bar("designs") as counted:
        assert counted is not None
        counted(1, 2)
    assert "columns" in screen.getvalue() or "block" in screen.getvalue()


def test_the_bar_fills_as_the_gap_falls() -> None:
    assert closeness(float("nan"), 1.0) == 0
    assert closeness(0.0, 1.0) == 0
    assert closeness(1.0, 1.0) == 1
    assert closeness(-2.0, -1.9) < closeness(-2.0, -1.99)


def test_a_table_as_a_sample(tmp_path: Path) -> None:
    table, proof, mechanism, picture = (tmp_path / name for name in ("t.csv", "c.json", "m.json", "m.svg"))
    table.write_text("smokes\n" + "no\n" * 700 + "yes\n" * 300)
    sample = ("--data", str(table), "--column", "smokes", "--domain", "no,yes,unknown", "--lift", "2")
    files = ("--save", str(mechanism), "--certificate", str(proof), "--plot", str(picture))
    code, said, _ = run(*sample, "--failure", "1e-6", "--strategy", "certified", *files)
    assert code == 0
    assert "unless the sample of 1,000 rows misleads" in said
    assert "unknown" in said
    assert RUN.invoke(app, ["verify", str(proof)]).exit_code == 0
    assert picture.exists()
    cake = lw.Prior.from_counts({"no": 700, "yes": 300, "unknown": 0}).confidence(1e-6, "layer-cake")
    assert lw.certify(lw.Mechanism.load(mechanism), cake, lift=2).holds
    code, said, _ = run(*sample, "--failure", "1e-6", "--json")
    assert code == 0
    assert {one["strategy"] for one in json.loads(said)["alternatives"]} >= {"split", "layer-cake", "ball"}
    # Without a failure the frequencies are taken for the prior itself.
    assert run(*sample, "--json")[0] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--strategy", "split"), "goes with --failure"),
        (("--failure", "1e-6", "--lip", "1"), "does not go with --lip"),
        (("--failure", "2"), "failure must be"),
        (("--failure", "1e-6", "--strategy", "spilt"), "did you mean"),
        (("--failure", "1e-6", "--strategy", "split", "--certificate", "c.json"), "has no certificate"),
    ],
)
def test_what_a_sample_cannot_be_asked(options: tuple[str, ...], words: str) -> None:
    code, _, told = run("--counts", "no=70000,yes=30000", "--lift", "2", *options)
    assert code != 0
    assert words in " ".join(told.split()).replace("Did", "did")


def test_frequencies_kept_with_pairs_forbidden_and_shares_kept() -> None:
    words = (*PRIOR, "--lift", "2", "--keep-frequencies")
    code, said, _ = run(*words, "--forbidden", "b:c", "--keep-at-least", "c=0.3", "--json")
    assert code == 0
    prior = lw.Prior({"a": "0.5", "b": "0.3", "c": "0.2"})
    same = lw.design(
        prior, lift=2, utility="guessing", keep_frequencies=True, forbidden=[("b", "c")], keep_at_least={"c": 0.3}
    )
    assert json.loads(said)["mechanism"] == json.loads(json.dumps(same.mechanism.to_dict()))
    assert run(*words, "--keep-at-least", "0.1")[0] == 0
    for wrong, told in {
        ("--forbidden", "b"): "VALUE:OUTCOME",
        ("--keep-at-least", "z=0.1"): "not a value of the prior",
        ("--keep-at-least", "0.1", "--keep-at-least", "0.2"): "one probability for all",
        ("--utility", "frequencies"): "does not go with utility='frequencies'",
    }.items():
        code, _, error = run(*words, *wrong)
        assert code == 2
        assert told in error
    code, _, error = run(*PRIOR, "--lift", "2", "--forbidden", "b:c")
    assert (code, "keep_frequencies" in error) == (2, True)


def test_frequencies_kept_for_the_true_prior_of_a_sample() -> None:
    words = ("--counts", "a=5000,b=3000,c=2000", "--lift", "2", "--failure", "1e-6", "--strategy", "certified")
    code, said, _ = run(*words, "--keep-frequencies", "--json")
    assert code == 0
    assert json.loads(said)["certificate"]["holds"]
    assert json.loads(said)["utility"] == "guessing"
    assert run(*words, "--forbidden", "a:b")[0] == 2


def test_counts_from_a_file_as_in_the_examples_of_the_help(tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("sex,count\nfemale,500\nmale,300\n", encoding="utf-8")
    code, said, _ = run("--counts", str(counts), "--lift", "2", "--json")
    assert code == 0
    same = lw.design(lw.Prior.from_counts({"female": 500, "male": 300}), lift=2)
    assert json.loads(said) == json.loads(json.dumps(same.to_dict()))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--keep-at-least", "0.2"), "--keep-frequencies"),
        (("--keep-frequencies", "--forbidden", "a:b", "--anyone", "9"), "--anyone none"),
        (("--keep-frequencies", "--forbidden", "a:b", "--floor", "a=0.5"), "exclude each other"),
    ],
)
def test_errors_name_the_option_that_mends_them(words: tuple[str, ...], told: str) -> None:
    code, _, said = run(*PRIOR, "--lift", "2", *words)
    assert code == 2
    assert told in " ".join(said.split())


def test_a_legend_says_what_short_codes_of_outcomes_stand_for(tmp_path: Path) -> None:
    prior = tmp_path / "prior.csv"
    rows = [f"value {number},{number + 20}" for number in range(20)]
    prior.write_text("\n".join(["value,count", *rows]) + "\n")
    asked = ("--prior", str(prior), "--lift", "2", "--utility", "frequencies")
    code, said, told = run(*asked)
    assert code == 0
    assert "y001 to y160: see legend()" in said
    assert "--legend FILE saves what each of them makes more likely" in told
    code, _, told = run(*asked, "--legend", str(tmp_path / "legend.csv"))
    assert code == 0
    assert "Legend saved" in told
    with (tmp_path / "legend.csv").open(newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["outcome", "probability", "makes more likely"]
    assert [line[0] for line in lines] == [f"y{number:03d}" for number in range(1, 161)]
    assert sum(float(line[1]) for line in lines) == pytest.approx(1, abs=1e-3)
    assert all("value " in line[2] and "+" not in line[2] for line in lines)
