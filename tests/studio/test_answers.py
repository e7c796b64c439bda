"""What the panels show, and that what is taken away is the same."""

from __future__ import annotations

import html
import os
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli.app import app
from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.leakage import lifts
from leakwise.studio.answers import AboutPrior, answer, prior_facts, solve
from leakwise.studio.curves import steps, tradeoff_parts
from leakwise.studio.examples import counted, examples
from leakwise.studio.figures import between, first_figures, gap_words
from leakwise.studio.reading import label, number, read_prior
from leakwise.studio.state import Part, State
from leakwise.studio.takeaway import NAMES
from studio.states import GOALS, brought, design_for, distance, make_state, matrix, of_value, worst_case


def typed(plain: dict[str, Any]) -> State:
    return msgspec.convert(plain, State)


def quiet(stage: str, done: float | None) -> None:
    assert stage
    assert done is None or 0 <= done <= 1


def parts_of(plain: dict[str, Any], draft: bool = False) -> dict[str, Any]:
    return {part.name: part.body for part in answer(typed(plain), draft=draft, progress=quiet)}


# ------------------------------------------------------------------------------------------------------ the prior


def test_facts_of_a_prior() -> None:
    body = prior_facts(typed(make_state()).prior).body
    assert body["labels"] == ["a", "b", "c"]
    assert body["exact"] == ["1/2", "3/10", "1/5"]
    np.testing.assert_allclose(body["regions"], lw.Prior([0.5, 0.3, 0.2]).regions())
    assert body["set"] is None


def test_counts_and_a_failure_make_a_set() -> None:
    plain = make_state(values=["500", "300", "200"], kind="counts", sample={"failure": "1e-6"})
    body = prior_facts(typed(plain).prior).body
    assert body["sample_size"] == 1000
    assert "0.1767" in body["set"]["words"]
    assert body["set"]["failure"] == pytest.approx(1e-6)


def test_probabilities_and_a_size_are_the_counts_they_must_have_been() -> None:
    sample = {"failure": "1e-6", "size": 1000}
    as_shares = read_prior(typed(make_state(sample=sample)).prior)
    as_counts = read_prior(
        typed(make_state(values=["500", "300", "200"], kind="counts", sample={"failure": "1e-6"})).prior
    )
    assert as_shares == as_counts


def test_a_sample_too_small_to_say_anything_is_said_to_be() -> None:
    plain = make_state(values=["2", "1", "1"], kind="counts", sample={"failure": "1e-6"})
    body = prior_facts(typed(plain).prior).body
    assert body["set"]["is_everything"]
    assert "larger sample" in body["set"]["words"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": ["0.5", "0.3", "0.1"]}, "sum to 1"),
        ({"values": ["0.5", "0.3", "x"]}, "number of 'c' must be a number"),
        ({"values": ["0.5", "0.5", ""]}, "It is empty"),
        ({"values": ["0.5", "0.5"]}, "3 labels and 2 numbers"),
        ({"labels": ["a", "a", "c"]}, "Twice or more"),
        ({"labels": ["a", " ", "c"]}, "row 2"),
        ({"values": ["1", "2", "-1"], "kind": "counts"}, "negative"),
        ({"values": ["1", "2", "0.5"], "kind": "counts"}, "whole numbers"),
        ({"sample": {"failure": "1e-6"}}, "sample size is missing"),
        ({"sample": {"failure": "1e-6", "size": 7}}, "no whole number of rows"),
        ({"sample": {"failure": "2", "size": 10}}, "between 0 and 1"),
    ],
)
def test_what_is_wrong_with_a_prior_is_said_in_its_panel(change: dict[str, Any], words: str) -> None:
    with pytest.raises(AboutPrior, match=words):
        prior_facts(typed(make_state(**change)).prior)


def test_examples_are_the_census_counts() -> None:
    by_key = {one["key"]: one for one in examples()}
    assert sum(map(int, by_key["occupation"]["values"])) == 32561
    assert len(by_key["income"]["labels"]) == 2
    with pytest.raises(InvalidInput, match="no column"):
        counted("shoe size")


def test_labels_and_numbers_are_read_as_on_the_command_line() -> None:
    assert [label(text) for text in (" 7 ", "07", "x y", "-3")] == [7, "07", "x y", -3]
    for text in ("1e9999", "0x10", "nan", "inf", "1_000", "١", "__import__('os')"):
        with pytest.raises(InvalidInput):
            number(text, "it")


# ----------------------------------------------------------------------------------------------------- the answer


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
def test_an_answer_is_what_the_library_finds(goal: dict[str, Any]) -> None:
    plain = make_state(goal=goal)
    found = parts_of(plain)
    body = found["answer"]
    solved = solve(typed(plain), draft=False, progress=quiet)
    exact = float(lw.epsilon(solved.mechanism, solved.nominal))
    assert body["certificate"]["epsilon"] == pytest.approx(exact, abs=1e-9)
    assert body["certificate"]["holds"] == (lw.certify(solved.mechanism, solved.nominal, lift=2).holds)
    assert body["promise"].endswith(".")
    cells = body["matrix"]["mechanism"]["chart"]["data"]["values"]
    assert [cell["v"] for cell in cells] == solved.mechanism.matrix.ravel().tolist()
    weights = solved.mechanism.weights.ravel().tolist()
    assert [cell["exact"] for cell in cells] == [f"{weight}/{solved.mechanism.denominator}" for weight in weights]
    assert "envelope" in found
    assert set(body["files"]) >= {"mechanism", "certificate", "report", "prior"}


def test_a_draft_is_quick_and_has_no_files() -> None:
    found = parts_of(make_state(), draft=True)
    assert list(found) == ["answer"]
    assert "files" not in found["answer"]
    assert list(found["answer"]["matrix"]) == ["mechanism"]
    (raised,) = answer(typed(make_state()), draft=True, progress=quiet, view="lifts")
    assert raised.body["matrix"]["lifts"]["words"].startswith("How many times as likely")


def test_a_search_that_was_stopped_says_so() -> None:
    counts = counted("occupation")
    plain = make_state(list(counts), [str(n) for n in counts.values()], kind="counts", goal=design_for("frequencies"))
    body = parts_of(plain, draft=True)["answer"]
    assert not body["complete"]
    assert "gap" in body["figures"][1]["note"]


# The secret itself makes a value of one row in 1,416 so many times as likely.
RARE = make_state(["a", "c"], ["1415/1416", "1/1416"], goal=brought("identity", "none", ""))


def test_a_broken_limit_is_said_and_drawn() -> None:
    body = parts_of(RARE)["answer"]
    assert body["promise"] == "Some guess becomes 1,416 times as likely; you allow 2."
    assert (body["certificate"]["holds"], body["certificate"]["state"]) == (False, "Limit broken")
    assert "at the outcome 'c' for the value 'c', and your limit is 2." in body["certificate"]["words"]
    chart = body["charts"]["outcomes"]
    lines = [layer["data"]["values"] for layer in chart["layer"] if layer["mark"]["type"] == "rule"]
    assert lines == [[{"at": pytest.approx(np.log(2)), "name": "your limit, ε = 0.69315"}]]
    assert [one["over"] for one in chart["data"]["values"]] == [True, False]
    assert "beyond the dashed line breaks the limit" in body["captions"]["outcomes"]
    assert body["limit"] == {"x": pytest.approx(np.log(2))}
    assert "Some guess becomes 1,416 times as likely; you allow 2." in body["files"]["report"].text


def test_a_limit_that_is_missed_by_a_hair_is_broken_with_the_digits_that_show_it() -> None:
    hair = matrix("1/2 1/2", "1/4 3/4", "1/4 3/4")
    body = parts_of(make_state(level=("lift", "1.33333333"), goal=hair))["answer"]
    assert body["promise"] == "Some guess becomes 1.3333333334 times as likely; you allow 1.33333333."
    assert not body["certificate"]["holds"]
    exact = parts_of(make_state(level=("lift", "4/3"), goal=hair))["answer"]
    assert exact["certificate"]["state"] == "Proven"
    assert not any(one["over"] for one in exact["charts"]["outcomes"]["data"]["values"])


def test_a_limit_that_limits_nothing_does_not_squeeze_the_bars() -> None:
    for level in (("epsilon", "5000"), ("lift", "1e300")):
        body = parts_of(make_state(level=level, goal=brought()))["answer"]
        assert body["certificate"]["holds"]
        assert all(layer["mark"]["type"] != "rule" for layer in body["charts"]["outcomes"]["layer"])
        assert body["limit"] is None


@pytest.mark.parametrize("goal", [design_for("mutual_information"), brought("identity", "none", "")])
def test_one_bound_has_one_number(goal: dict[str, Any]) -> None:
    """2.70, 2.71 and 2.700131 stood on one screen for one limit."""
    body = parts_of(make_state(values=["0.5", "0.12965", "0.37035"], level=("epsilon", "0.9933"), goal=goal))["answer"]
    shown = [body["promise"], body["certificate"]["words"], *(one["note"] for one in body["figures"])]
    limit = {number for words in shown for number in re.findall(r"\b2\.7\d*", words)}
    assert limit == {"2.7002"}
    if not body["certificate"]["holds"]:
        assert set(re.findall(r"\b7\.7\d*", " ".join(shown))) == {"7.7131"}


def test_pictures_say_which_values_and_outcomes_they_leave_out() -> None:
    """The rarest values, which are the most exposed, were dropped without a word."""
    names = [f"v{k}" for k in range(40)]
    body = parts_of(make_state(names, [str(1000 - 20 * k) for k in range(40)], kind="counts", goal=brought()))["answer"]
    drawn = [one["label"] for one in body["charts"]["beliefs"]["data"]["values"]]
    assert drawn == names[10:]
    caption = body["captions"]["beliefs"]
    assert "the 30 most exposed of 40 values; each of the other 10 becomes at most 2.8111 times as likely" in caption
    prior = lw.Prior.from_counts([1000 - 20 * k for k in range(40)], labels=names)
    left = lifts(lw.randomized_response(names, lift=3), prior)[:10]
    assert 2.8110 < left.max() <= 2.8111
    assert "These are the 30 outcomes of 40 that leak the most." in body["captions"]["outcomes"]
    for name in names:
        assert f'<th scope="row">{name}</th>' in body["files"]["report"].text
    few = parts_of(make_state(goal=brought()))["answer"]["captions"]
    assert "most" not in few["beliefs"] + few["outcomes"]


def test_the_gap_of_a_standard_error_is_a_standard_error() -> None:
    """It was shown in squares beside a value that was not."""
    assert gap_words("frequencies", -9.0, -4.0) == "gap at most 1"
    counts = counted("occupation")
    plain = make_state(list(counts), [str(n) for n in counts.values()], kind="counts", goal=design_for("frequencies"))
    solved = solve(typed(plain), draft=True, progress=quiet)
    value, bound = solved.design.value, solved.design.bound
    tile = first_figures(solved)[1]
    assert float(tile["value"]) == pytest.approx(np.sqrt(-value), rel=1e-4)
    gap = float(tile["note"].rpartition("gap at most ")[2])
    assert gap == pytest.approx(np.sqrt(-value) - np.sqrt(-bound), rel=0.1)
    assert gap < 0.6 * solved.design.gap, "far from the square"
    assert tile["note"].rpartition("; ")[2] in " ".join(solved.notes)
    assert between("frequencies", -9.0, -4.0) == "between 2 and 3"
    assert gap_words("guessing", 0.5, 0.75) == "gap at most 25 percentage points"
    assert gap_words("frequencies", float("-inf"), -4.0) == "no upper bound yet"


def test_a_prior_that_was_counted_from_the_table_is_said_to_be() -> None:
    counts: Any = {"values": ["500", "300", "200"], "kind": "counts"}
    body = parts_of(make_state(**counts, origin="table"))["answer"]
    assert body["certificate"]["state"] == "Proven for the counted prior only"
    assert "an estimate from 1,000 rows and was taken as exact" in body["about_prior"]
    assert "counted from your table" in body["about_prior"]
    assert "counted from your table" in body["files"]["report"].text
    draft = parts_of(make_state(**counts, origin="table"), draft=True)["answer"]
    assert draft["certificate"]["state"] == "Proven for the counted prior only"
    typed_in = parts_of(make_state(**counts))["answer"]
    assert "taken as exact" in typed_in["about_prior"]
    assert "table" not in typed_in["about_prior"]
    covered = parts_of(make_state(**counts, origin="table", sample={"failure": "1e-6"}))["answer"]
    assert covered["certificate"]["state"] == "Proven"
    assert "counted from your table" in covered["about_prior"]
    assert "taken as exact" not in covered["about_prior"]
    assert parts_of(make_state())["answer"]["about_prior"] == ""


def test_an_outcome_that_says_nothing_has_no_envelope_to_draw() -> None:
    found = parts_of(make_state(goal=brought("constant", "none", "")))
    assert found["answer"]["promise"].startswith("The outcome says nothing")
    assert found["envelope"]["chart"] is None
    assert "says nothing" in found["envelope"]["words"]


@pytest.mark.parametrize("goal", [design_for("mutual_information"), design_for("guessing"), worst_case()])
def test_a_design_for_a_set_holds_for_the_set(goal: dict[str, Any]) -> None:
    plain = make_state(values=["500", "300", "200"], kind="counts", sample={"failure": "1e-6"}, goal=goal)
    body = parts_of(plain)["answer"]
    priors = lw.Prior.from_counts({"a": 500, "b": 300, "c": 200}).confidence("1e-6")
    solved = solve(typed(plain), draft=False, progress=quiet)
    assert lw.epsilon(solved.mechanism, priors) <= np.log(2) + 1e-9
    assert "sample misleads" in body["certificate"]["words"]
    assert body["code"]["cli"] is None


def test_a_mechanism_that_no_prior_of_the_set_bounds_is_refused_in_words() -> None:
    plain = make_state(
        values=["500", "300", "0"], kind="counts", sample={"failure": "1e-6"}, goal=brought("identity", "none", "")
    )
    with pytest.raises(InvalidInput, match="without any bound"):
        parts_of(plain)


def test_letters_that_cannot_occur_are_left_out_of_pictures_that_need_them() -> None:
    parts = parts_of(make_state(values=["0.6", "0.4", "0"]))
    assert msgspec.json.encode(parts)  # as the page gets them
    body = parts["answer"]
    assert body["matrix"]["lifts"] is None
    assert body["worth"] == []
    assert any("no probability to 'c'" in words for words in body["sentences"])


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (matrix("0.5 0.5", "1 0"), "2 rows for the 3 values"),
        (matrix("0.5 0.5", "1 0", "1"), "rows of one length"),
        (matrix("0.5 0.5", "1 0", "0.5 x"), "row 3, column 2"),
        (matrix("0.5 0.5", "1 0", "0.5 0.6"), "sum"),
        (brought("k_singular", "k", "1.5"), "whole number"),
        (brought("k_singular", "lift", "2"), "takes k"),
        (brought("identity", "k", "2"), "takes no parameter"),
        (worst_case(2), "2 rows for the 3 values"),
        (worst_case(outputs=["x"]), "outputs"),
    ],
)
def test_what_is_wrong_with_a_goal_is_said_in_words(goal: dict[str, Any], words: str) -> None:
    with pytest.raises(LeakwiseError, match=words):
        parts_of(make_state(goal=goal))


# ----------------------------------------------------------------------------------------------------- the curves


def test_a_tradeoff_comes_in_rounds_and_agrees_with_the_library() -> None:
    state = typed(make_state())
    rounds = list(tradeoff_parts(state, progress=quiet))
    assert [part.body["points"] for part in rounds] == sorted(part.body["points"] for part in rounds)
    data = rounds[-1].body["chart"]["layer"][0]["data"]["values"]
    points = sorted((one["x"], one["y"]) for one in data if one["series"] == "optimal for ε-PML")
    curve = lw.tradeoff([0.5, 0.3, 0.2], [x for x, _ in points], "mutual_information")
    np.testing.assert_allclose(curve.values, [y for _, y in points], atol=1e-9)
    names = {layer.get("data", {}).get("name") for layer in rounds[-1].body["chart"]["layer"]}
    assert "current" in names


def test_the_point_lies_on_the_curve() -> None:
    body = parts_of(make_state(level=("epsilon", "0.4")))["answer"]
    value = lw.design([0.5, 0.3, 0.2], "0.4").value
    assert body["point"] == {"x": pytest.approx(0.4), "y": pytest.approx(value)}
    assert parts_of(make_state(goal=worst_case()))["answer"]["point"] is None


def optimum(plain: dict[str, Any]) -> tuple[dict[float, float], str]:
    """The points of the optimum on the curve of a state, and the words below it."""
    *_, last = tradeoff_parts(typed(plain), progress=quiet)
    data = last.body["chart"]["layer"][0]["data"]["values"]
    return {one["x"]: one["y"] for one in data if one["series"] == "optimal for ε-PML"}, last.body["words"]


def test_the_curve_keeps_the_limit_for_anyone_and_those_of_values() -> None:
    prior = [0.5, 0.3, 0.2]
    points, words = optimum({**make_state(), "anyone": "3"})
    assert "keeps a limit for anyone as well: 3 times." in words
    assert points == pytest.approx({x: lw.design(prior, x, anyone=3).value for x in points}, abs=1e-9)
    # Ten times the lift moves with the point, so that a turn of the knob leaves the curve where it is.
    points, words = optimum({**make_state(), "anyone": "20", "values": [of_value("a", lift_of="1.1")]})
    assert "as well: 10 times the lift. It keeps the limits of single values, too." in words
    asked = {x: lw.Prior(prior, labels=["a", "b", "c"]) for x in points}
    found = {x: lw.design(p, x, anyone=10 * np.exp(x), lift_of={"a": 1.1}).value for x, p in asked.items()}
    assert points == pytest.approx(found, abs=1e-9)
    half = {**make_state(level=("epsilon", "0.1234")), "anyone": "11.31", "values": [of_value("a", lift_of="1.1")]}
    assert optimum(half) == (pytest.approx(points, abs=1e-12), words)


def test_the_words_below_a_tradeoff() -> None:
    brings = list(tradeoff_parts(typed(make_state(goal=brought())), progress=quiet))
    assert "information kept" in brings[0].body["words"]
    plain = make_state(values=["500", "300", "200"], kind="counts", sample={"failure": "1e-6"})
    sampled = list(tradeoff_parts(typed(plain), progress=quiet))
    assert "middle of the set" in sampled[0].body["words"]
    alone = list(tradeoff_parts(typed(make_state(["a"], ["1"])), progress=quiet))
    assert alone[-1].body["points"] == 1


def test_steps_agree_with_the_library() -> None:
    (part,) = steps(typed(make_state(goal=worst_case())), progress=quiet)
    assert isinstance(part, Part)
    curve = lw.worst_case_curve([0.5, 0.3, 0.2], lw.ordered_utility("abc"))
    np.testing.assert_allclose([row["epsilon"] for row in part.body["levels"]], curve.epsilon)
    assert part.body["free"] == curve.free_level
    (other,) = steps(typed(make_state(goal=distance(2))), progress=quiet)
    assert [row["level"] for row in other.body["levels"]] == ["-4", "-1", "0"]


def test_each_curve_has_its_utilities() -> None:
    with pytest.raises(InvalidInput, match="steps instead"):
        list(tradeoff_parts(typed(make_state(goal=worst_case())), progress=quiet))
    with pytest.raises(InvalidInput, match="worst-case utility or a distance"):
        list(steps(typed(make_state()), progress=quiet))


# ------------------------------------------------------------------------------------------------ what is taken


TAKEN = {
    **{name: make_state(goal=goal) for name, goal in GOALS.items()},
    "numbers as labels": make_state(["1", "2", "5"], goal=distance()),
    "labels that need care": make_state(["<=50K", 'a "b"', "c, d"], ["3", "2", "1"], kind="counts"),
    "limits of values": {
        **make_state(["a", "b, c", "3"], goal=design_for("frequencies")),
        "anyone": "20",
        "values": [of_value("b, c", lift_of="1.2"), of_value("3", ceiling="0.25", floor="1/2")],
    },
    "reading within limits of values": {
        **make_state(goal=design_for("reading")),
        "anyone": "20",
        "values": [of_value("c", lift_of="1.5")],
    },
    "by epsilon": make_state(level=("epsilon", "0.4321"), goal=design_for("frequencies")),
    "catalog with labels that need care": make_state(["a/b", "c", "d"], goal=brought()),
    "outputs of their own": make_state(goal=worst_case(outputs=["x", "y", "z"], then="expected")),
    "never": make_state(
        goal={"kind": "design", "utility": {"kind": "worst_case", "matrix": [["1", "never"], ["0.5", "1"], ["0", "1"]]}}
    ),
}
SAMPLED = {
    "a set": make_state(values=["500", "300", "200"], kind="counts", sample={"failure": "1e-6"}),
    "a set of shares": make_state(sample={"failure": "1e-3", "size": 1000, "method": "best"}, goal=brought()),
}


def taken(plain: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    body = parts_of(plain)["answer"]
    return body["code"], {what: file.text for what, file in body["files"].items()}


def _in(folder: Path, action: Any) -> None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        action()
    finally:
        os.chdir(before)


@pytest.mark.parametrize("plain", [*TAKEN.values(), *SAMPLED.values()], ids=[*TAKEN, *SAMPLED])
def test_the_python_lines_make_the_same_files(plain: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    code, files = taken(plain)
    _in(tmp_path, lambda: exec(compile(code["python"], "lines", "exec"), {}))
    assert (tmp_path / "mechanism.json").read_text(encoding="utf-8") == files["mechanism"]
    assert (tmp_path / "certificate.json").read_text(encoding="utf-8") == files["certificate"]
    certificate = lw.proof.certificate.load_certificate(tmp_path / "certificate.json")
    if certificate.holds:
        lw.verify(tmp_path / "certificate.json")


@pytest.mark.parametrize("plain", [RARE, *TAKEN.values(), *SAMPLED.values()], ids=["broken", *TAKEN, *SAMPLED])
def test_the_report_names_only_files_that_its_lines_write_or_the_page_offers(
    plain: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    """It named a certificate that nobody had written, and files of the page without saying where they come from."""
    body = parts_of(plain)["answer"]
    code, offered = body["code"], {file.name for file in body["files"].values()}
    report = html.unescape(body["files"]["report"].text)
    lines = [code["python"], code["cli"] or "", code["cli_note"], report]
    assert set(re.findall(r"\b\w+\.(?:json|csv|html)\b", " ".join(lines))) <= offered
    for what in code["cli_reads"]:
        assert f"{NAMES[what]} (saved by the button" in report
        assert f"{NAMES[what]} (saved by the button" in code["cli_note"]
    _in(tmp_path, lambda: exec(compile(code["python"], "lines", "exec"), {}))
    (checked,) = set(re.findall(r"leakwise verify ([\w.]+\w)", report))
    assert (tmp_path / checked).is_file()
    result = CliRunner().invoke(app, ["verify", str(tmp_path / checked)])
    assert (result.exit_code == 0) == body["certificate"]["holds"], result.output
    assert ("rejects it" in report) != body["certificate"]["holds"]


@pytest.mark.parametrize("plain", TAKEN.values(), ids=TAKEN)
def test_the_command_line_makes_the_same_mechanism(plain: dict[str, Any], tmp_path: Path) -> None:
    code, files = taken(plain)
    for what in code["cli_reads"]:
        (tmp_path / NAMES[what]).write_text(files[what], encoding="utf-8")
    words = shlex.split(code["cli"])
    assert words[0] == "leakwise"
    results: list[Any] = []
    _in(tmp_path, lambda: results.append(CliRunner().invoke(app, words[1:])))
    assert results[0].exit_code == 0, results[0].output
    if plain["goal"]["kind"] == "design":
        made = lw.Mechanism.load(tmp_path / "mechanism.json")
        (tmp_path / "taken.json").write_text(files["mechanism"], encoding="utf-8")
        assert made.matrix.tolist() == lw.Mechanism.load(tmp_path / "taken.json").matrix.tolist()
    else:
        assert results[0].output.startswith(("No guess about the secret", "The outcome says nothing about the secret"))


def test_the_report_claims_no_release_and_runs_nothing() -> None:
    _, files = taken(make_state(["<script>alert(1)</script>", "b", "c"]))
    text = files["report"]
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert "&lt;script&gt;" in text
    assert "Released" not in text
    _, set_files = taken(SAMPLED["a set"])
    assert "Set of priors" in set_files["report"]


def test_the_second_limit_is_kept_said_and_reproduced() -> None:
    plain = make_state(["no", "yes"], ["0.5", "0.5"])
    alone, both = parts_of(plain)["answer"], parts_of({**plain, "anyone": "20"})["answer"]
    assert "nor more than 20 times as likely for anyone, whatever they knew" in both["promise"]
    assert "whatever they knew" not in alone["promise"]
    assert "For anyone, whatever they knew, it is 20" in both["certificate"]["words"]
    assert (alone["certificate"]["lift"], round(both["certificate"]["lift"], 4)) == (2.0, 1.9048)
    assert 'anyone="20"' in both["code"]["python"]
    assert "--anyone 20" in both["code"]["cli"]


def test_limits_of_single_values_are_kept_said_and_reproduced() -> None:
    plain = {**make_state(), "values": [of_value("a", lift_of="1.2"), of_value("c", ceiling="0.25", floor="0.5")]}
    body = parts_of(plain)["answer"]
    assert "no outcome makes 'a' more than 1.2 times as likely" in body["promise"]
    assert "no outcome makes 'c' more than 25% likely" in body["promise"]
    assert "no outcome makes 'c' less than 0.5 times as likely" in body["promise"]
    assert 'lift_of={"a": "1.2"}, ceiling={"c": "0.25"}, floor={"c": "0.5"}' in body["code"]["python"]
    assert "--lift-of a=1.2 --ceiling c=0.25 --floor c=0.5" in body["code"]["cli"]
    mechanism = solve(typed(plain), draft=False, progress=quiet).mechanism
    found = lifts(mechanism, lw.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"]))
    assert found[0].max() <= 1.2 + 1e-12
    assert found[2].max() <= 1.25 + 1e-12
    assert found[2].min() >= 0.5 - 1e-12
    idle = parts_of({**make_state(), "values": [of_value("a", lift_of="3")]})["answer"]
    assert "lift_of 'a' = 3 is idle" in idle["certificate"]["words"]


def test_what_is_wrong_with_a_limit_of_a_value_is_said_in_words() -> None:
    for limit, words in (
        (of_value("a", lift_of="much"), "The largest lift of a must be a number"),
        (of_value("a", ceiling="0.4"), "ceiling of 40% for 'a' cannot be kept by any mechanism"),
        (of_value("z", floor="0.4"), "'z'"),
    ):
        with pytest.raises(LeakwiseError, match=words):
            parts_of({**make_state(), "values": [limit]})
    # A mechanism that is brought, and worst-case answers, have none; as with the limit for anyone.
    for goal in (brought(), worst_case()):
        parts_of({**make_state(goal=goal), "values": [of_value("a", lift_of="1.1")]})


def test_reading_keeps_labels_and_frequencies() -> None:
    plain = {**make_state(goal=design_for("reading")), "anyone": "20"}
    body = parts_of(plain)["answer"]
    mechanism = solve(typed(plain), draft=False, progress=quiet).mechanism
    assert mechanism.outputs == ("a", "b", "c")
    prior = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(prior @ mechanism.matrix, prior, atol=1e-14)
    assert body["figures"][1]["name"] == "Rows that keep their value"
    assert "keeps more than" in body["certificate"]["words"]
    assert "keep_frequencies=True" in body["code"]["python"]
    assert "--utility guessing --keep-frequencies" in body["code"]["cli"]


def test_the_three_parts_are_those_of_the_library() -> None:
    plain = make_state(["flu", "HIV", "none"], ["0.2", "0.019", "0.781"], goal=design_for("frequencies"))
    body = parts_of({**plain, "anyone": "20"})["answer"]
    prior = lw.Prior({"flu": "0.2", "HIV": "0.019", "none": "0.781"})
    d = lw.design(prior, lift=2, anyone=20, utility="frequencies")
    posterior = {one.label: (one.prior, float(one.range[1])) for one in lw.audit(d.mechanism, prior).letters}
    for row in body["leaks"]["values"]:
        assert row["shares"] == pytest.approx(posterior[row["name"]])
    assert {row["name"] for row in body["leaks"]["values"]} == {"flu", "HIV", "none"}
    assert all(row["outcome"] in map(str, d.mechanism.outputs) for row in body["rows"])
    weights = np.array(body["trial"]["mechanisms"][0]["weights"])
    matrix = np.array(body["trial"]["mechanisms"][0]["rows"])
    assert matrix @ weights.T == pytest.approx(np.eye(3))  # unbiased
    worth = (prior.probabilities * (1 - prior.probabilities)).sum() / -d.value
    assert f"as much about the frequencies as {int(1000 * worth)} without" in body["lost"]["words"]
