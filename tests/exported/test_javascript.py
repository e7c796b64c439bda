"""A mechanism as a JavaScript file draws what Python draws, and nothing in its labels gets out of its quotes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc
from typer.testing import CliRunner

import leakwise as lw
from exported.mechanisms import HOSTILE, UNSTRATIFIED, by_strata, rounded, telling_words
from leakwise.cli import app
from leakwise.sampling import SecureStream

Node = Callable[..., Any]
FALSE_ALARM = 1e-9


def asked(mechanism: lw.Mechanism) -> tuple[list[Any], list[int]]:
    """Every value with every telling word."""
    words = telling_words(mechanism)
    return [value for value in mechanism.inputs for _ in words], words * len(mechanism.inputs)


def plain(labels: list[Any]) -> list[Any]:
    return json.loads(json.dumps(labels, default=str))


@pytest.mark.filterwarnings("ignore::leakwise.errors.LeakwiseWarning")  # some rule values out, and say so
def test_every_kind_of_mechanism_draws_the_same_at_the_ends_of_its_outcomes(node: Node) -> None:
    found, expected = {}, {}
    for name, mechanism in UNSTRATIFIED.items():
        sampler = lw.export(mechanism, "js")
        values, words = asked(mechanism)
        expected[name] = plain(sampler.draw_from_words(values, words))
        cases = json.dumps([[str(word), value] for word, value in zip(words, plain(values), strict=True)])
        found[name] = node(
            sampler.source, f"return {cases}.map(([word, value]) => sampler.drawFrom(BigInt(word), value))"
        )
    assert found == expected


def test_strata_choose_the_same_mechanism_and_refuse_the_same_values(node: Node) -> None:
    mechanism = by_strata()
    sampler = lw.export(mechanism, "js")
    ages, words = [0, 18.499, 18.5, 64, 65, 1e9], telling_words(mechanism)
    cases = [
        (word, value, sex, age)
        for word in words
        for value in mechanism.inputs
        for sex in ("f", "m", "it's $1")
        for age in ages
        if not (sex == "m" and age < 18.5 and value == "yes")
    ]
    columns = [list(column) for column in zip(*cases, strict=True)]
    drawn = sampler.draw_from_words(columns[1], columns[0], {"sex": columns[2], "age": columns[3]})
    text = json.dumps([[str(word), *rest] for word, *rest in cases])
    told = f"{text}.map(([word, value, sex, age]) => sampler.drawFrom(BigInt(word), value, {{ sex, age }}))"
    assert node(sampler.source, f"return {told}") == drawn
    lines = """
    const refused = (value, given) => { try { return sampler.drawFrom(0n, value, given); } catch (error) {
      return error.message; } };
    return [refused("yes", { sex: "m", age: 3 }), refused("no", { sex: "m" }), refused("no", [1]), refused("no", 7),
      refused("no", { sex: "x", age: 3 }), refused("no", { sex: "f", age: -1 }), refused("no", { sex: "f", age: "3" }),
      refused("no", Object.create({ sex: "f", age: 3 })), sampler.coarse({ sex: "f", age: 70 }), sampler.given]"""
    needs = 'leakwise: given must be an object with "sex", "age"'
    assert node(sampler.source, lines) == [
        "leakwise: value cannot occur with these given values",
        *[needs] * 3,
        *["no"] * 3,  # of no stratum that is listed: the mechanism of all others
        needs,
        {"sex": "f", "age": "[65, inf)"},
        ["sex", "age"],
    ]


def test_a_million_draws_are_those_of_python(node: Node, tmp_path: Path) -> None:
    """From the words of the stream that releases draw from, with a seed."""
    count, mechanism = 1_000_000, rounded(5, 7, seed=2)
    with pytest.warns(lw.LeakwiseWarning, match="rules some values out"):
        sampler = lw.export(mechanism, "js")
    with pytest.warns(lw.UnsafeSeedWarning):
        stream = SecureStream(unsafe_seed=29)
    words, values = stream.words(count, 64), stream.words(count, 16) % 5
    (tmp_path / "words").write_bytes(words.astype("<u8").tobytes())
    (tmp_path / "values").write_bytes(values.astype("u1").tobytes())
    lines = """
    const words = new BigUint64Array(new Uint8Array(fs.readFileSync("words")).buffer);
    const drawn = Uint8Array.from(fs.readFileSync("values"), (value, row) => sampler.drawFrom(words[row], value));
    fs.writeFileSync("drawn", drawn); return drawn.length"""
    assert node(sampler.source, lines) == count
    drawn = np.frombuffer((tmp_path / "drawn").read_bytes(), dtype=np.uint8)
    assert drawn.tolist() == sampler.draw_from_words(values, words)


def test_the_secure_draw_has_the_probabilities_of_the_mechanism_and_can_be_estimated(
    node: Node, tmp_path: Path
) -> None:
    mechanism = lw.randomized_response(["no", "yes", "rather not say"], lift=5)
    mechanism.save(tmp_path / "m.json")
    people = {"no": 30_000, "yes": 8_000, "rather not say": 2_000}
    lines = f"""return Object.entries({json.dumps(people)}).map(([value, count]) =>
      Array.from({{ length: count }}, () => sampler.draw(value)))"""
    drawn = node(lw.export(tmp_path / "m.json", "js").source, lines)
    for row, outcomes in zip(mechanism.matrix, drawn, strict=True):
        expected = row * len(outcomes)
        met = np.array([outcomes.count(label) for label in mechanism.outputs])
        assert chdtrc(len(met) - 1, (((met - expected) ** 2) / expected).sum()) > FALSE_ALARM
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["smokes"], *([outcome] for outcomes in drawn for outcome in outcomes)])
    words = ["estimate", str(tmp_path / "answers.csv"), "--mechanism", str(tmp_path / "m.json"), "-c", "smokes"]
    done = CliRunner().invoke(app, [*words, "--confidence", "0.999999", "--json"], catch_exceptions=False)
    told = json.loads(done.stdout)
    for truth, (low, high) in zip(people.values(), told["intervals"], strict=True):
        assert low <= truth / 40_000 <= high


def test_what_a_page_sends_by_strata_is_what_estimate_reads(node: Node, tmp_path: Path) -> None:
    ages = lw.bins([0, 18, 65, 120])
    weak, strong = (lw.randomized_response(["no", "yes"], lift=lift) for lift in (9, 4))
    strata = {("f", ages.labels[0]): strong, ("f", ages.labels[1]): weak, ("m", ages.labels[1]): strong}
    mechanism = lw.StratifiedMechanism(strata, given={"sex": ["f", "m"], "age": ages}, otherwise=weak)
    lines = """
    const people = Array.from({ length: 30000 }, (_, n) => ({ sex: n % 2 ? "f" : "m", age: n % 101 }));
    const smokes = (n) => n % 10 < 3 ? "yes" : "no";
    return people.map((given, n) => ({ ...sampler.coarse(given), smokes: sampler.draw(smokes(n), given) }))"""
    sent = node(lw.export(mechanism, "js").source, lines)
    assert {row["age"] for row in sent} == set(ages.labels)
    table = {name: [row[name] for row in sent] for name in ("sex", "age", "smokes")}
    low, high = lw.estimate(table, mechanism, "smokes", confidence=0.999999).intervals[1]
    assert 0.25 < low <= 0.3 <= high < 0.35


def test_labels_stay_labels_and_no_message_has_a_value(node: Node) -> None:
    mechanism = lw.identity(HOSTILE)
    with pytest.warns(lw.LeakwiseWarning, match="rules some values out"):
        sampler = lw.export(mechanism, "js")
    assert sampler.source.isascii()
    assert "</script" not in sampler.source
    assert node(sampler.source, "return sampler.values.map((value) => sampler.draw(value))") == HOSTILE
    lines = """
    const refused = (...told) => { try { return sampler.drawFrom(...told); } catch (error) { return error.message; } };
    const others = ["secret", 1, null, undefined, NaN, Infinity, true, {}, ["1"], new String("1"), 1n, () => "1"];
    const words = [0, "0", -1n, 2n ** 64n, null, 0.5];
    return [others.map((value) => refused(0n, value)), words.map((word) => refused(word, "1"))]"""
    values, words = node(sampler.source, lines)
    assert set(values) == {"leakwise: value is not in the domain; see .values"}
    assert set(words) == {"leakwise: word must be a BigInt from 0 to 2^64 - 1"}


def test_names_of_given_columns_stay_names(node: Node) -> None:
    given = {name: ["a", "b"] for name in HOSTILE[:20]}
    every = {("a",) * 20: lw.randomized_response(["no", "yes"], lift=3)}
    sampler = lw.export(lw.StratifiedMechanism(every, given=given), "js")
    assert sampler.source.isascii()
    assert "</script" not in sampler.source
    lines = "return [sampler.draw('no', Object.fromEntries(sampler.given.map((name) => [name, 'a']))), sampler.given]"
    drawn, names = node(sampler.source, lines)
    assert drawn in ("no", "yes")
    assert names == HOSTILE[:20]


def test_nothing_is_drawn_without_a_secure_generator(node: Node) -> None:
    sampler = lw.export(UNSTRATIFIED["a common distribution"], "js")
    hide = 'Object.defineProperty(globalThis, "crypto", { value: undefined }); Math.random = () => { throw 1; }'
    lines = "try { return sampler.draw('no'); } catch (error) { return error.message; }"
    assert node(sampler.source, lines, before=hide) == (
        "leakwise: crypto.getRandomValues is not here, and no other source of randomness is secure. Nothing was drawn"
    )
    # A fault of the source of words is seen: all bits of a draw come from it.
    fixed = "globalThis.crypto.getRandomValues = (bytes) => bytes.fill(255)"
    assert (
        node(sampler.source, "return ['no', 'yes'].map((value) => sampler.draw(value))", before=fixed)
        == ["rather not say"] * 2
    )


def test_bins_and_dates_take_what_python_takes(node: Node) -> None:
    for bins, told, known in (
        (lw.bins([-1, 0, 1.5, 10]), [-1, -0.5, 0, 1.5, 10, "[0, 1.5)"], [-1.1, 10.1, "5", True, None]),
        (lw.bins("2024-01", "2024-03", "month"), ["2024-01-01", "2024-02-29", "2024-03-31", "2024-02"], None),
        (lw.bins([float("-inf"), 0, float("inf")]).with_missing(), [-1e308, -0.0, 0, 5, None], ["", False]),
    ):
        sampler = lw.export(lw.randomized_response(bins, lift=3), "js")
        expected = [sampler.draw_from_words([value], [2**63])[0] for value in told]
        refused = known or ["2024-04-01", "2023-12-31", "2024-02-30", "2024-2-3", "x", 5, None]
        lines = f"""
        const draw = (value) => {{ try {{ return sampler.drawFrom(2n ** 63n, value); }} catch {{ return 0; }} }};
        return [{json.dumps(told)}.map(draw), {json.dumps(refused)}.map(draw)]"""
        assert node(sampler.source, lines) == [expected, [0] * len(refused)]


@pytest.mark.parametrize("label", [2**53, (1, -(2**60))])
def test_whole_numbers_that_javascript_cannot_tell_apart_are_refused(label: Any) -> None:
    with pytest.raises(lw.InvalidInput, match="beyond the whole numbers"):
        lw.export(lw.randomized_response([label, 3], lift=2), "js")


def test_a_joint_secret_is_an_array(node: Node) -> None:
    mechanism = lw.randomized_response([("a", 1), ("a", 2), ("b", None)], lift=2)
    lines = "return [sampler.drawFrom(2n ** 64n - 1n, ['b', null]), sampler.drawFrom(0n, ['a', 2])]"
    assert node(lw.export(mechanism, "js").source, lines) == [["b", None], ["a", 1]]


def test_a_script_can_be_required_and_gives_one_name(tmp_path: Path, node: Node) -> None:
    sampler = lw.export(UNSTRATIFIED["a common distribution"], "script", name="smokes")
    sampler.save(tmp_path / "smokes.cjs")
    before = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url)'
    module = lw.export(UNSTRATIFIED["a common distribution"], "js").source
    lines = (
        "const names = Object.keys(globalThis); const one = require('./smokes.cjs'); return [one.draw('no') !== '', "
    )
    lines += "globalThis.smokes === one, Object.keys(globalThis).filter((name) => !names.includes(name))]"
    assert node(module, lines, before=before) == [True, True, ["smokes"]]


def test_samplers_are_small() -> None:
    """The code is below 7 kB, first lines included; with a common distribution it stays small at any size."""
    code = len(lw.export(lw.randomized_response(2, lift=3), "js").source)
    assert code < 7_000
    assert len(lw.export(lw.randomized_response(100, lift=3), "js").source) < 10_000
    assert len(lw.export(lw.randomized_response(10, lift=3).then(rounded(10, 12)), "js").source) < 10_000
    large = lw.export(lw.randomized_response(50, lift=3).then(rounded(50, 60)), "js").source
    assert len(large) < code + 3_000 * (16 + 2 + 3)
