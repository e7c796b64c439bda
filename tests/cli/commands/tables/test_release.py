"""``leakwise release``, ``estimate`` and ``ledger``."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.cli.screen.progress import rows_bar

RUN = CliRunner()
MIXED, OTHERS, FURTHER = (np.random.default_rng(seed).permutation(40) for seed in (0, 1, 2))


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {"id": range(40), "smokes": np.where(MIXED % 2, "yes", "no"), "age": OTHERS, "code": 1 + FURTHER % 2}
    )
    frame.to_csv(tmp_path / "survey.csv", index=False)
    frame.assign(code=frame["code"].astype(str), flag=frame["code"] == 1).to_parquet(tmp_path / "survey.parquet")
    return tmp_path / "survey.csv"


def beside(*secret: str, suffix: str = ".csv") -> tuple[str, str]:
    """The other columns of the survey, which tell nothing about the secret."""
    names = ["id", "smokes", "age", "code", *(["flag"] if suffix == ".parquet" else [])]
    return "--unrelated", ",".join(name for name in names if name not in secret)


ASKED = ("--column", "smokes", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.5,yes=0.5")
OPTIONS = (*ASKED, *beside("smokes"))


def test_a_margin_takes_the_place_of_a_lift(tmp_path):
    rows = np.random.default_rng(4).choice(["no", "yes"], 6000, p=[0.8, 0.2])
    pd.DataFrame({"smokes": rows}).to_csv(tmp_path / "t.csv", index=False)
    words = ("--column", "smokes", "--prior", "no=0.8,yes=0.2", "--certificate", tmp_path / "c.json")
    code, said, _ = run("release", tmp_path / "t.csv", *words, "--margin", "0.02", "--json")
    assert code == 0
    alone = lw.design({"no": 0.8, "yes": 0.2}, margin=0.02, rows=6000)
    assert lw.verify(tmp_path / "c.json").largest_lift == pytest.approx(alone.lift, rel=0.05)
    mechanism = lw.Mechanism.load(tmp_path / "t.released.mechanism.json")
    found = lw.estimate(tmp_path / "t.released.csv", mechanism, "smokes")
    assert 1.96 * found.standard_error.max() == pytest.approx(0.02, rel=0.05)
    code, _, said = run("release", tmp_path / "t.csv", *words, "--overwrite", "--margin", "0.02", "--lift", "2")
    assert code == 2
    assert "does not go with lift" in said
    code, _, said = run("release", tmp_path / "t.csv", *words, "--overwrite", "--margin", "0.002")
    assert code == 2
    assert "rows would do" in " ".join(said.split())


def test_one_call_does_it_all(survey, tmp_path):
    words = (*OPTIONS, "--ledger", tmp_path / "l.db", "--certificate", tmp_path / "c.json")
    code, said, _ = run("release", survey, *words)
    assert code == 0
    # A uniform yes/no column at lift 2 would go out in clear; the limit for anyone, 20, leaves 40/21.
    assert "more than 1.9048 times as likely" in said
    assert "nor more than 20 times as likely for anyone" in said
    names = ["survey.released.csv", "survey.released.report.html", "survey.released.mechanism.json", "c.json", "l.db"]
    assert all((tmp_path / name).is_file() for name in names)
    assert len(pd.read_csv(tmp_path / names[0])) == 40
    assert run("verify", tmp_path / "c.json")[0] == 0
    found = lw.estimate(tmp_path / names[0], lw.Mechanism.load(tmp_path / names[2]), "smokes")
    code, said, _ = run("estimate", tmp_path / names[0], "-m", tmp_path / names[2], "-c", "smokes", "--json")
    assert code == 0
    assert json.loads(said)["frequencies"] == found.frequencies.tolist()


def test_parquet_carries_its_mechanism(survey, tmp_path):
    source, out = survey.with_suffix(".parquet"), tmp_path / "o.parquet"
    others = beside("smokes", suffix=".parquet")
    assert run("release", source, *ASKED, *others, "--for", "reading", "-o", out)[0] == 0
    assert not list(tmp_path.glob("*.mechanism.json"))
    code, said, _ = run("estimate", out, "--by", "flag")
    assert code == 0
    assert "within 2 groups by flag" in said


def test_labels_take_the_type_of_the_column(survey, tmp_path):
    """``1,2`` are texts in a column of texts and numbers in a column of numbers; ``true,false`` are truth values."""
    prior = ("--prior", "1=0.5,2=0.5")
    words = ("--domain", "1,2", "--lift", "1.5", "--for", "reading", *prior)
    for source in (survey, survey.with_suffix(".parquet")):
        out = tmp_path / f"o{source.suffix}"
        report = tmp_path / f"{source.suffix}.json"
        # In the Parquet file the flag says what the code is.
        drop = ("--drop", "flag") if source.suffix == ".parquet" else ()
        more = (*words, *beside("code"), *drop)
        assert run("release", source, "-c", "code", *more, "-o", out, "--report", report)[0] == 0
    assert set(pd.read_parquet(tmp_path / "o.parquet")["code"]) <= {"1", "2"}
    flags = ("-c", "flag", "--domain", "true,false", "--lift", "1.5", "-p", "uniform", "--for", "reading")
    flags += ("--unrelated", "id,smokes,age", "--drop", "code")
    assert run("release", survey.with_suffix(".parquet"), *flags, "-o", tmp_path / "f.parquet")[0] == 0
    assert pd.read_parquet(tmp_path / "f.parquet")["flag"].dtype == bool


def test_bins_and_joint_secrets(survey, tmp_path):
    words = ("--domain", "bins:0,40,4", "--epsilon", "0.5", "--prior", "uniform", "--for", "reading")
    assert run("release", survey, "-c", "age", *words, *beside("age"), "-o", tmp_path / "a.csv")[0] == 0
    assert set(pd.read_csv(tmp_path / "a.csv")["age"]) <= set(lw.bins(0, 40, 4).labels)
    joint = ("-c", "smokes", "-c", "code", "--domain", "no,yes", "--domain", "1,2", "--lift", "2")
    more = ("--prior-from-table", "--failure", "1e-6", *beside("smokes", "code"))
    code, said, _ = run("release", survey, *joint, *more, "-o", tmp_path / "j.csv", "--json")
    assert code == 0
    assert json.loads(said)["columns"] == ["smokes", "code"]
    assert json.loads(said)["prior"]["origin"] == "table"


def test_a_mechanism_may_be_given(survey, tmp_path):
    m = ("--mechanism", "randomized-response:letters=no/yes,lift=3", "-c", "smokes", "--prior", "no=0.5,yes=0.5")
    m += beside("smokes")
    code, said, _ = run("release", survey, *m, "-o", tmp_path / "a.csv")
    assert code == 0
    assert "1.5 times" in said
    code, _, said = run("release", survey, *m, "--lift", "1.2", "-o", tmp_path / "b.csv")
    assert code == 1
    assert "more than asked" in said


def test_the_ledger_by_hand(survey, tmp_path):
    book = tmp_path / "l.db"
    name = ("--dataset", "survey.csv", "-c", "smokes")
    assert run("ledger", "show", book)[0] == 2
    assert run("ledger", "budget", book, *name, "--lift", "3/2")[0] == 0
    options = ("-c", "smokes", "--domain", "no,yes", "--lift", "1.5", "-p", "uniform", "--ledger", book)
    options += beside("smokes")
    assert run("release", survey, *options, "-o", tmp_path / "a.csv")[0] == 0
    code, _, said = run("release", survey, *options, "-o", tmp_path / "b.csv")
    assert code == 2
    assert "is refused" in said
    assert not (tmp_path / "b.csv").exists()
    for words in (("show", book), ("entries", book), ("total", book, *name)):
        assert run("ledger", *words)[0] == 0
        assert json.loads(run("ledger", *words, "--json")[1])
    code, said, _ = run("ledger", "export", book, tmp_path / "l.json")
    assert code == 0
    assert len(json.loads((tmp_path / "l.json").read_text())["entries"]) == 1
    ledger = lw.Ledger(book)
    entry = ledger.reserve("other", "s", lw.certify(lw.randomized_response(2, lift=2), lw.Prior.uniform(2)))
    assert run("ledger", "cancel", book, entry)[0] == 0
    assert run("ledger", "cancel", book, entry)[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-c", "smoke", "--domain", "no,yes", "--lift", "2", "-p", "uniform"), "Did you mean 'smokes'"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "2"), "Choose what is known"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "2", "-p", "uniform", "--prior-from-table"), "Got both"),
        (
            ("-c", "smokes", "--domain", "no,yes", "--lift", "2", "--prior-from-table"),
            "must be given where the prior is estimated",
        ),
        (("-c", "smokes", "--lift", "2", "-p", "uniform"), "domain (--domain) must be declared"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "0.5", "-p", "uniform"), "Got 1/2 instead"),
        (("-c", "smokes", "--domain", "no,yes", "-p", "uniform"), "or lift= (--lift, e^ε). Got neither"),
        (("-c", "smokes", "--domain", "no", "--lift", "2", "-p", "uniform"), "outside the declared domain"),
        (
            ("-c", "smokes", "--lift", "2", "--prior-from-table", "--failure", "0.1"),
            "domain (--domain) must be declared",
        ),
        (("-c", "smokes", "-c", "age", "--domain", "no", "--lift", "2", "-p", "uniform"), "once for each --column"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "2", "-p", "uniform", "-o", "x.xlsx"), "must end in one of"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "2", "-p", "uniform", "--report", "r.pdf"), "html or .json"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "2", "-p", "uniform", "-o", "none/x.csv"), "does not exist"),
        (("-c", "smokes", "--domain", "no,yes", "--lift", "2", "-p", "uniform", "-o", "survey.csv"), "table itself"),
    ],
)
def test_bad_input_in_one_line(words, message, survey, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    secret = [words[place + 1] for place, word in enumerate(words) if word == "-c"]
    code, _, said = run("release", "survey.csv", *words, *beside(*secret))
    assert code == 2
    assert message in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_release_that_is_refused_leaves_no_mechanism(survey, tmp_path):
    book = lw.Ledger(tmp_path / "l.db")
    book.set_budget("survey.csv", "smokes", lift=1.1)
    before = sorted(path.name for path in tmp_path.iterdir())
    words = ("--ledger", book.path, "--certificate", tmp_path / "c.json")
    assert run("release", survey, *OPTIONS, *words)[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_report_that_fails_says_that_the_table_is_out(survey, tmp_path, monkeypatch):
    def fail(*_args: object) -> None:
        raise lw.InvalidInput("the disk is full")

    monkeypatch.setattr("leakwise.report.reported.write_report", fail)
    code, _, said = run("release", survey, *OPTIONS)
    assert code == 2
    assert "was released to" in said
    assert (tmp_path / "survey.released.csv").exists()
    assert (tmp_path / "survey.released.mechanism.json").exists()


def test_nothing_is_replaced_unasked(survey, tmp_path):
    (tmp_path / "survey.released.report.html").write_text("precious")
    code, _, said = run("release", survey, *OPTIONS)
    assert code == 2
    assert "exists already" in said
    assert not (tmp_path / "survey.released.csv").exists()
    assert run("release", survey, *OPTIONS, "--overwrite")[0] == 0
    assert run("release", survey, *OPTIONS, "--overwrite")[0] == 0


def test_the_bar_shows_itself_on_a_terminal_only(monkeypatch):
    with rows_bar() as told:
        assert told is None
    monkeypatch.setattr("leakwise.cli.screen.progress.sys.stderr.isatty", lambda: True, raising=False)
    with rows_bar() as told:
        assert told is not None
        told("checking", 10, None)
        told("checking", 20, 20)
        told("writing", 5, 20)


def test_a_value_of_mass_zero_stops_the_command(survey, tmp_path):
    options = ("-c", "smokes", "--domain", "no,yes", "--lift", "1", "--prior", "no=1,yes=0")
    code, _, said = run("release", survey, *options, *beside("smokes"))
    assert code == 2
    assert "20 of 40 rows with values to which the prior gives no probability: 'yes'" in " ".join(said.split())
    assert {one.name for one in tmp_path.iterdir()} == {"survey.csv", "survey.parquet"}


def test_the_saved_certificate_proves_the_optimality_that_the_report_quotes(survey, tmp_path):
    proof, page = tmp_path / "c.json", tmp_path / "r.json"
    assert run("release", survey, *OPTIONS, "--certificate", proof, "--report", page)[0] == 0
    quoted = json.loads(page.read_text())["how"]["no mechanism within the limit has more than"]
    assert lw.verify(proof).optimality.bound == pytest.approx(quoted)
    assert "of any mechanism at most" in run("verify", proof)[1]


@pytest.mark.parametrize("name", ["survey.csv", "survey.parquet"])
@pytest.mark.parametrize("proof", [None, "proof of smokes.json"])
def test_the_code_and_the_verify_line_of_a_report_name_files_that_exist(survey, tmp_path, monkeypatch, name, proof):
    """They said mechanism.json and certificate.json, whatever had been saved."""
    monkeypatch.chdir(tmp_path)
    saved = () if proof is None else ("--certificate", proof)
    others = beside("smokes", suffix=Path(name).suffix)
    assert run("release", name, *ASKED, *others, *saved, "--report", "r.html")[0] == 0
    text = html.unescape(Path("r.html").read_text(encoding="utf-8"))
    (code,) = re.findall(r"<pre><code>(.*?)</code></pre>", text, re.DOTALL)
    seen: dict[str, object] = {}
    exec(compile(code, "code", "exec"), seen)
    assert seen["e"].labels == ("no", "yes")
    assert re.findall(r"leakwise verify ([^<]+)", text) == ([] if proof is None else [proof])
    assert ("None was saved with this report." in text) == (proof is None)


def test_a_report_of_a_table_in_memory_names_no_file(survey, tmp_path):
    frame = pd.read_csv(survey)
    others = ["id", "age", "code"]
    done = lw.protect(frame, "smokes", domain=["no", "yes"], lift=2, prior={"no": 0.5, "yes": 0.5}, unrelated=others)
    text = html.unescape(done.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "lw.estimate(released, mechanism, column='smokes')" in text
    assert "released is the released table and mechanism is the one that its owner shares" in text
    assert ".json" not in text
    counted = ("--column", "smokes", "--domain", "no,yes", "--lift", "2", "--prior-from-table", "--failure", "1e-3")
    counted += beside("smokes")
    assert run("release", survey, *counted, "--certificate", tmp_path / "c.json")[0] == 0
    page = (tmp_path / "survey.released.report.html").read_text(encoding="utf-8")
    assert "The owner can check it again with: leakwise verify c.json" in page
    assert "Anyone who has c.json" not in page


@pytest.mark.parametrize(
    ("values", "domain", "prior", "suffix"),
    [
        (["A", "C, east", None, "A"], 'A,"C, east",', 'A=0.5,"C, east"=0.3,=0.2', "csv"),
        (["A", "C, east", None, "A"], 'A,"C, east",', 'A=0.5,"C, east"=0.3,=0.2', "parquet"),
        ([True, False, None, True], "True,False,", "True=0.5,False=0.3,=0.2", "csv"),
        ([True, False, None, True], "true,false,", "TRUE=0.5,False=0.3,=0.2", "parquet"),
        (["1", "2", "", "1"], '1,2,""', '1=0.5,2=0.3,""=0.2', "parquet"),
    ],
)
def test_commas_missing_values_and_truth_values_can_be_typed(values, domain, prior, suffix, tmp_path):
    frame, table = pd.DataFrame({"s": pd.Series(values * 20, dtype=object)}), tmp_path / f"t.{suffix}"
    frame.to_csv(table, index=False) if suffix == "csv" else frame.to_parquet(table)
    options = ("-c", "s", "--lift", "2", "--order", "keep", "--prior", prior)
    for number, words in enumerate((("--domain", domain), ())):  # the prior alone names the values, too
        code, _, said = run("release", table, *options, *words, "-o", tmp_path / f"{number}.{suffix}")
        assert (code, said) == (0, "")


def test_a_second_release_is_told_what_it_means(survey):
    assert run("release", survey, *OPTIONS)[0] == 0
    code, _, said = run("release", survey, *OPTIONS)
    assert code == 2
    assert "A second release of the same secret reveals more" in said


def test_estimate_finds_the_mechanism_next_to_the_table(survey, tmp_path):
    assert run("release", survey, *OPTIONS)[0] == 0
    code, found, _ = run("estimate", tmp_path / "survey.released.csv", "--json")
    assert code == 0
    named = ("-m", tmp_path / "survey.released.mechanism.json", "-c", "smokes")
    assert found == run("estimate", tmp_path / "survey.released.csv", *named, "--json")[1]


def test_reading_keeps_the_frequencies_unless_told_otherwise(survey, tmp_path):
    prior = lw.Prior({"no": 0.7, "yes": 0.3})
    words = (
        "--column",
        "smokes",
        "--domain",
        "no,yes",
        "--lift",
        "1.4",
        "--prior",
        "no=0.7,yes=0.3",
        "--for",
        "reading",
        *beside("smokes"),
    )
    for option, kept in ((), True), (("--no-keep-frequencies",), False):
        assert run("release", survey, *words, *option, "--overwrite")[0] == 0
        shift = lw.measures.frequency_shift(lw.Mechanism.load(tmp_path / "survey.released.mechanism.json"), prior)
        assert (shift <= 2.0**-50) is kept
    code, _, error = run("release", survey, *OPTIONS, "--keep-frequencies", "--overwrite")
    assert code == 2
    assert "--for reading" in error
    code, _, error = run("release", survey, *words, "--keep-frequencies", "--no-keep-frequencies", "--overwrite")
    assert (code, "exclude each other" in error) == (2, True)


def test_both_limits_and_those_of_values_are_options(tmp_path):
    (tmp_path / "clinic.csv").write_text("d\n" + "flu\nnone\nHIV\nnone\nflu\n" * 3, encoding="utf-8")
    words = ("-c", "d", "--domain", "HIV,flu,none", "--lift", "3", "--prior", "HIV=0.02,flu=0.58,none=0.4")
    words += ("--order", "shuffle", "--overwrite", "--certificate", tmp_path / "c.json")
    options = ("--anyone", "12", "--lift-of", "HIV=1.2", "--ceiling", "HIV,flu=0.8", "--floor", "HIV=0.5")
    code, said, _ = run("release", tmp_path / "clinic.csv", *words, *options)
    assert code == 0
    assert "nor more than 12 times as likely for anyone" in said.replace("\n", " ")
    kept = lw.verify(tmp_path / "c.json").limits
    assert kept.describe() == (
        "PML lift = 3, anyone 12, lift of 'HIV' at most 1.2, posterior of 'HIV', 'flu' at most 80%, lift of 'HIV' at "
        "least 0.5"
    )
    assert run("release", tmp_path / "clinic.csv", *words, "--anyone", "none", "--allow-certainty")[0] == 0
    assert lw.verify(tmp_path / "c.json").limits.anyone is None
    for wrong, told in (
        (("--ceiling", "HIV"), "VALUE=NUMBER"),
        (("--lift-of", "HIW=1.2"), "Did you mean 'HIV'"),
        (("--ceiling", "flu=0.1"), "cannot be kept by any mechanism"),
    ):
        code, _, told_of = run("release", tmp_path / "clinic.csv", *words, *wrong)
        assert code != 0
        assert told in " ".join(told_of.split())


def test_reading_with_pairs_forbidden_and_a_name_with_a_comma(tmp_path):
    """Zero forbidden pairs in the file; quoted names reach the library as the values they are."""
    regions = ["Ticino, sud", "Ticino", "Uri"]
    frame = pd.DataFrame({"region": [regions[place % 3] for place in np.random.default_rng(1).permutation(300)]})
    frame.to_csv(tmp_path / "swiss.csv", index=False)
    pd.DataFrame({"value": regions, "probability": [0.5, 0.3, 0.2]}).to_csv(tmp_path / "prior.csv", index=False)
    words = ("release", tmp_path / "swiss.csv", "-c", "region", "--lift", "2", "--prior", tmp_path / "prior.csv")
    masks = ("--for", "reading", "--forbidden", '"Ticino, sud":Uri', "--keep-at-least", "Uri=0.3")
    code, _, error = run(*words, *masks)
    assert code != 0
    assert "--anyone none" in " ".join(error.split())
    code, _, error = run(*words, *masks, "--anyone", "none", "--allow-certainty")
    assert code == 0, error
    released = pd.read_csv(tmp_path / "swiss.released.csv")["region"]
    assert not ((frame["region"] == "Ticino, sud") & (released == "Uri")).any()
    mechanism = lw.Mechanism.load(tmp_path / "swiss.released.mechanism.json")
    assert mechanism.matrix[0, mechanism.outputs.index("Uri")] == 0
    assert mechanism.matrix[2, mechanism.outputs.index("Uri")] >= 0.3
    limited = ("--ceiling", '"Ticino, sud"=0.6', "--ceiling", '"Ticino, sud",Uri=0.8', "--overwrite")
    code, said, error = run(*words, *limited)
    assert code == 0, error
    assert "no outcome makes 'Ticino, sud' more than 60% likely" in said
    assert "no outcome makes one of 'Ticino, sud', 'Uri' more than 80% likely" in said
    code, _, error = run(*words, "--forbidden", "Uri:Ticino", "--overwrite")
    assert code != 0
    assert "--for reading" in " ".join(error.split())


def test_whole_rows_with_a_ledger_and_a_page_for_the_steward(tmp_path):
    """The ledger says what its total compares with; exact counts are on the steward's page and nowhere else."""
    generator = np.random.default_rng(3)
    counts = {("f", "no"): 1511, ("f", "yes"): 503, ("m", "no"): 2017, ("m", "yes"): 211}
    rows = generator.permutation([(*key, k % 7) for key, count in counts.items() for k in range(count)])
    pd.DataFrame(rows, columns=["sex", "smokes", "room"]).to_csv(tmp_path / "t.csv", index=False)
    words = ("-c", "smokes", "--domain", "no,yes", "--lift", "2", "--prior-from-table", "--failure", "1e-6")
    words = (*words, "--given", "sex", "--unrelated", "room", "--ledger", tmp_path / "l.db")
    pages = ("--steward-report", tmp_path / "steward.html", "--report", tmp_path / "r.html")
    code, said, problem = run("release", tmp_path / "t.csv", *words, *pages)
    assert code == 0, problem
    assert "as sex makes it already, for anyone who sees the row, nor more than" in said
    assert "for the steward only:" in said
    steward, receiver = ((tmp_path / name).read_text() for name in ("steward.html", "r.html"))
    for count in ("1,511", "503", "2,017", "211"):
        assert f">{count}<" in steward
        assert f">{count}<" not in receiver
    assert (tmp_path / "steward.html").stat().st_mode & 0o077 == 0
    shown = " ".join(run("ledger", "show", tmp_path / "l.db")[1].split())
    assert "as sex makes it already, for anyone who sees the rows (rows independent; if room tells nothing" in shown
    code, _, problem = run("release", tmp_path / "t.csv", *words, "--out", tmp_path / "o.csv", *pages[:1], "x.txt")
    assert code == 2
    assert "--steward-report must end in .html or .json" in problem
