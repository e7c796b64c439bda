"""The pytest plugin: what fails and what it says, the error of a whole session, the file for other programs."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.pytest import _Account, _share, assert_leaks_at_most

pytest_plugins = ["pytester"]

TESTS = """
    import random
    from leakwise.pytest import assert_leaks_at_most

    coin = random.Random(1)

    def keeps(x):
        return x if coin.random() < 0.75 else 1 - x

    def test_true():
        assert_leaks_at_most(keeps, [0, 1], lift=4, samples=2_000, seconds=None)

    def test_false():
        assert_leaks_at_most(keeps, [0, 1], epsilon=0.5, samples=20_000, seconds=None)

    def test_own_confidence():
        assert_leaks_at_most(keeps, [0, 1], lift=4, samples=2_000, seconds=None, confidence=0.999)
"""


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """A session inside this one forgets at its end what it loaded first, and NumPy cannot be loaded twice."""
    assert_leaks_at_most(lambda x: 0, [0, 1], lift=2, samples=80)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "leakwise.pytest", "-p", "no:cacheprovider", *options)


def test_a_false_claim_fails_with_event_inputs_counts_bound_and_claim(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    done = run(pytester, "--leakwise-confidence", "0.95", "--leakwise-json", "claims.json")
    done.assert_outcomes(passed=2, failed=1)
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: keeps leaks more than it claims.",
            "*claim:  LDP ε at most 0.5",
            "*found:  LDP ε at least * (a lift of *)",
            "*event:  The outcomes '*' are at least * times as likely for * as for *.",
            "*counts: They came * times in * answers for * and * times in * for *.",
            "*A program that keeps its claim fails so with probability at most 0.0083334 (confidence 99.166%)*",
            # 0.05/2 and 0.05/6 of the session's 0.05, and what a test asked for itself
            "3 claims were tested, 1 refuted. * with probability at most 0.034334.",
        ]
    )
    assert "audit_program" not in done.stdout.str()  # the way inside is hidden
    told = json.loads((pytester.path / "claims.json").read_text(encoding="utf-8"))
    assert {name: told[name] for name in ("format", "version", "confidence", "tested", "refuted", "exit_code")} == {
        "format": "leakwise-pytest",
        "version": 1,
        "confidence": 0.95,
        "tested": 3,
        "refuted": 1,
        "exit_code": 1,
    }
    assert told["false_alarm"] == pytest.approx(0.05 / 2 + 0.05 / 6 + 0.001)
    true, false, own = told["claims"]
    assert [one["test"].partition("::")[2] for one in told["claims"]] == [
        "test_true",
        "test_false",
        "test_own_confidence",
    ]
    assert [one["verdict"] for one in told["claims"]] == ["not refuted", "refuted", "not refuted"]
    assert (true["failure"], own["failure"]) == (0.025, 0.001)
    assert false["claimed"]["epsilon"] == 0.5
    assert 0.5 < false["at_least"]["epsilon"] < 1.0986
    event = false["event"]
    assert {event["input"], event["other"]} == {0, 1}
    assert event["count"][0] > event["other_count"][0]
    assert set(false) == {
        *("test", "program", "measure", "claimed", "verdict", "at_least", "failure", "event", "answers", "seconds"),
        "sentence",
    }


def test_the_example_of_the_page_runs_and_fails_as_it_says(pytester: pytest.Pytester) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "test-your-code.md").read_text(encoding="utf-8")
    example, said = (page.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("py", "text"))
    pytester.makepyfile(example.replace("epsilon=1", "epsilon=1, samples=5_000, seconds=None"))
    run(pytester).assert_outcomes(passed=1)
    pytester.makepyfile(test_other=example.replace("0.7310", "0.85").replace("epsilon=1", "epsilon=1, seconds=None"))
    done = run(pytester, "test_other.py")
    done.assert_outcomes(failed=1)
    shown = done.stdout.str()
    for line in said.splitlines()[:2] + said.splitlines()[-1:]:
        assert line.partition(" 2,048")[0] in shown
    assert [line[:9] for line in said.splitlines()[2:5]] == ["  found: ", "  event: ", "  counts:"]


def test_the_claims_of_workers_are_in_the_file(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    options = ["-p", "leakwise.pytest", "-n", "1", "--leakwise-json", "claims.json"]
    done = pytester.runpytest_subprocess(*options)
    done.assert_outcomes(passed=2, failed=1)
    told = json.loads((pytester.path / "claims.json").read_text(encoding="utf-8"))
    assert sorted(one["verdict"] for one in told["claims"]) == ["not refuted", "not refuted", "refuted"]
    # Half is kept for workers that replace others.
    assert told["false_alarm"] == pytest.approx(0.005 * (1 / 2 + 1 / 6) + 0.001)


def test_the_failures_of_a_session_add_up_to_its_own() -> None:
    account = _Account(0.99, 1.0)
    assert sum(account.next() for _ in range(10_000)) <= 0.01
    for workers in (1, 2, 7):
        shares = [_share({"workercount": workers, "workerid": f"gw{n}"}) for n in range(1_000)]
        assert sum(shares) <= 1 + 1e-12
        assert len(set(shares[:workers])) == 1


def test_a_session_without_claims_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    done = run(pytester)
    done.assert_outcomes(passed=1)
    assert "leakwise" not in done.stdout.str().partition("collected")[2]


@pytest.mark.parametrize("confidence", ["1", "0", "half", "nan", "1.5"])
def test_a_confidence_that_is_none_is_a_usage_error(pytester: pytest.Pytester, confidence: str) -> None:
    done = run(pytester, "--leakwise-confidence", confidence)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*--leakwise-confidence must be between 0 and 1*Got '{confidence}'*"])


def test_the_plugin_loads_next_to_nothing_before_a_claim() -> None:
    """pytest loads it for everyone who has Leakwise installed."""
    script = "import sys, pytest; before = set(sys.modules); import leakwise.pytest; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in loaded if name.startswith("leakwise")} == {"leakwise", "leakwise.pytest"}
    assert not {"numpy", "scipy"} & set(loaded)


def test_a_claim_beyond_all_floats_is_written_down(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from leakwise.pytest import assert_leaks_at_most

        def test_it():
            assert_leaks_at_most(lambda x: x, [0, 1], epsilon=1000, samples=80)
        """
    )
    run(pytester, "--leakwise-json", "claims.json").assert_outcomes(passed=1)
    told = json.loads((pytester.path / "claims.json").read_text(encoding="utf-8"))
    assert told["claims"][0]["claimed"] == {"epsilon": 1000.0, "lift": None}


def test_outside_pytest_a_claim_stands_alone() -> None:
    script = (
        "from leakwise.pytest import assert_leaks_at_most as check\n"
        "found = check(lambda x: 0, ['a', 'b'], epsilon=0.5, samples=2000)\n"
        "print(found.failure, found.verdict)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.005", "not", "refuted"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either epsilon"),
        ({"epsilon": 1, "lift": 2}, "either epsilon"),
        ({"epsilon": 1, "confidence": 95}, "confidence must be between 0 and 1"),
        ({"epsilon": 1, "confidence": True}, "confidence must be between 0 and 1"),
        ({"epsilon": 1, "seconds": 0}, "seconds must be a positive number"),
        ({"epsilon": 1, "seconds": 1e-9}, "seconds must be enough for 40 answers"),
    ],
)
def test_what_is_no_claim_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(lw.InvalidInput, match=words):
        assert_leaks_at_most(lambda x: random.random() < 0.5, [0, 1], **options)
