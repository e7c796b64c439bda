"""``leakwise pack``: the files of a release in one archive, checked against each other."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from leakwise.cli import app
from leakwise.report.pack.lines import Lines

RUN = CliRunner()
PUBLIC = ("--prior", "no=0.8,yes=0.2", "--unrelated", "sex")
COUNTED = ("--prior-from-table", "--failure", "1e-6", "--given", "sex")


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    ill, sex = generator.choice(["no", "yes"], 4000, p=[0.8, 0.2]), generator.choice(["f", "m"], 4000)
    pd.DataFrame({"ill": ill, "sex": sex}).to_csv("t.csv", index=False)


def released(*options: str, name: str = "r") -> tuple[str, ...]:
    """Release, and name the files for a pack."""
    files = ("--certificate", f"{name}.c.json", "--report", f"{name}.report.json", "--save-config", f"{name}.toml")
    words = ("-c", "ill", "--domain", "no,yes", "--lift", "2", *options, "-o", f"{name}.csv", *files)
    code, _, said = run("release", "t.csv", *words)
    assert code == 0, said
    more = ("--report", f"{name}.report.json", "--mechanism", f"{name}.mechanism.json", "--settings", f"{name}.toml")
    return f"{name}.c.json", *more


def contents(path: str) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.parametrize("options", [PUBLIC, COUNTED])
def test_a_pack_made_again_is_the_same_byte_for_byte(options):
    files = released(*options)
    assert run("pack", *files, "-o", "one.zip")[0] == 0
    Path("elsewhere").mkdir()
    assert run("pack", *files, "-o", "elsewhere/two.zip")[0] == 0
    assert Path("one.zip").read_bytes() == Path("elsewhere/two.zip").read_bytes()


@pytest.mark.parametrize("options", [PUBLIC, COUNTED])
def test_every_number_links_to_the_line_of_the_certificate_that_it_rests_on(options):
    assert run("pack", *released(*options), "-o", "p.zip")[0] == 0
    found = contents("p.zip")
    lines = dict(re.findall(r'<li id="L(\d+)"[^>]*>(.*?)</li>', found["certificate.html"]))
    links = re.findall(r'certificate\.html#L(\d+)">line (\d+)<', found["evaluation.html"])
    assert links
    assert all(a == b and a in lines for a, b in links)
    numbers = {one["name"]: one for one in json.loads(found["checks.json"])["numbers"]}
    assert numbers["limit"]["value"] == "lift = 2"
    assert "asked" in lines[str(numbers["limit"]["line"])]
    largest = next(one for name, one in numbers.items() if name.startswith("largest lift") and "prior" not in name)
    assert re.search("ratio", lines[str(largest["line"])])
    assert float(largest["value"]) <= 2
    assert "NIST SP 800-226" in found["evaluation.html"]
    assert "data protection impact assessment" in found["evaluation.html"]


def test_a_pack_with_exact_counts_says_so_and_one_of_a_public_prior_does_not():
    run("pack", *released(*COUNTED), "-o", "p.zip")
    run("pack", *released(*PUBLIC, name="s"), "-o", "q.zip")
    for name in ("README.txt", "evaluation.html"):
        assert "contains exact counts of the table" in contents("p.zip")[name]
        assert "contains exact counts of the table" not in contents("q.zip")[name]
    assert json.loads(contents("p.zip")["checks.json"])["contains_counts"] is True
    assert Path("p.zip").stat().st_mode & 0o077 == 0


def test_standard_errors_are_those_of_the_report():
    run("pack", *released(*PUBLIC), "-o", "p.zip")
    found = contents("p.zip")
    told = json.loads(found["report.json"])["comparison"]["this_release"]["standard_error"]
    again = [one for one in json.loads(found["checks.json"])["numbers"] if one["name"].startswith("standard error")]
    assert [float(one["value"]) for one in again] == pytest.approx(told, rel=0.01)


def test_files_that_do_not_belong_together_are_rejected():
    ours, theirs = released(*PUBLIC), released(*COUNTED, name="s")
    for option in ("--mechanism", "--report"):
        other = theirs[theirs.index(option) + 1]
        code, _, said = run("pack", ours[0], option, other, "-o", "p.zip")
        assert (code, "does not belong to the certificate" in said) == (1, True)
    Path("r.toml").write_text("lift = 3\n")
    assert run("pack", ours[0], "--settings", "r.toml", "-o", "p.zip")[0] == 1
    report = json.loads(Path("r.report.json").read_text())
    report["promise"]["lift"] = 1.5
    Path("r.report.json").write_text(json.dumps(report))
    code, _, said = run("pack", ours[0], "--report", "r.report.json", "-o", "p.zip")
    assert (code, "do not belong together" in said) == (1, True)
    assert not Path("p.zip").exists()


def test_a_release_without_other_columns_packs_and_a_smaller_number_in_its_report_is_rejected():
    pd.read_csv("t.csv")[["ill"]].to_csv("t.csv", index=False)
    ours = released("--prior-from-table", "--failure", "1e-6")
    assert run("pack", *ours, "-o", "p.zip") == (0, ANY, "")
    report = json.loads(Path("r.report.json").read_text())
    for name, forged in {"ratio": 1.5, "epsilon_upper": 0.4, "failure": 1e-9}.items():
        Path("f.json").write_text(json.dumps({**report, "promise": {**report["promise"], name: forged}}))
        code, _, said = run("pack", ours[0], "--report", "f.json", "-o", "q.zip")
        assert (code, f"guarantees {name} = {forged}, and the certificate proves no less" in said) == (1, True)
    for damaged in ({**report, "promise": 2}, {**report, "rows": "many"}, {**report, "promise": {"lift": "two"}}):
        Path("f.json").write_text(json.dumps(damaged))
        assert run("pack", ours[0], "--report", "f.json", "-o", "q.zip")[0] == 2
    assert not Path("q.zip").exists()


def test_the_evaluation_begins_with_what_the_certificate_proves_and_not_with_the_words_of_a_report():
    ours = released(*COUNTED)
    report = json.loads(Path("r.report.json").read_text())
    report["promise"]["sentence"] = "<b>Nothing whatever is revealed.</b>"
    Path("f.json").write_text(json.dumps(report))
    assert run("pack", ours[0], "--report", "f.json", "-o", "p.zip")[0] == 0
    page = contents("p.zip")["evaluation.html"]
    assert "more than 2 times as likely" in page.partition("revealed")[0]
    assert "The report says: &lt;b&gt;Nothing" in page


def test_a_damaged_certificate_and_odd_names_are_refused():
    files = released(*PUBLIC)
    assert run("pack", *files, "-o", "p.tar")[0] == 2
    assert run("pack", *files, "-o", "p.zip")[0] == 0
    code, _, said = run("pack", *files, "-o", "p.zip")
    assert (code, "exists already" in said) == (2, True)
    text = Path(files[0]).read_text()
    Path(files[0]).write_text(text.replace('"0x1', '"0x3', 1))
    assert run("pack", *files, "-o", "q.zip")[0] == 2
    assert run("pack", "missing.json", "-o", "q.zip")[0] == 2
    Path("notes.json").write_text("{}")
    code, _, said = run("pack", *released(*PUBLIC, name="u")[:1], "--report", "notes.json", "-o", "q.zip")
    assert (code, "is not a report of leakwise release" in said) == (2, True)


def test_lines_of_values_with_markup_are_shown_as_they_are():
    page = Lines({"labels": ["<script>", []]}).page("t")
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
