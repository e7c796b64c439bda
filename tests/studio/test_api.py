"""The JSON API behind the page, asked as the page asks it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import msgspec
import pytest

import leakwise as lw
from leakwise.mechanism.files import MechanismBody, mechanism_from_body
from leakwise.studio.limits import LIMITS
from studio.states import brought, design_for, distance, make_state, worst_case


def ask(client: httpx.Client, panel: str, plain: Any, who: str = "tests", **more: Any) -> tuple[int, list[Any]]:
    answer = client.post(f"api/{panel}", content=json.dumps({"client": who, "state": plain, **more}))
    return answer.status_code, [json.loads(line) for line in answer.text.split("\n") if line]


def parts(events: list[Any]) -> dict[str, Any]:
    return {event["name"]: event["body"] for event in events if event["event"] == "part"}


def test_the_page_and_its_files(client: httpx.Client) -> None:
    page = client.get("")
    assert page.status_code == 200
    assert "<title>Leakwise studio</title>" in page.text
    assert "http" not in page.text.replace("http-equiv", ""), "the page asks for nothing from elsewhere"
    for name in ("app.js", "style.css", "icon.svg", "charts.js"):
        found = client.get(name)
        assert found.status_code == 200
        again = client.get(name, headers={"if-none-match": found.headers["etag"]})
        assert again.status_code == 304
    assert client.get("vega.js").text == "// vega"
    assert client.get("vega.js", headers={"if-none-match": client.get("vega.js").headers["etag"]}).status_code == 304


def test_the_start_holds_examples_limits_and_colours(client: httpx.Client) -> None:
    body = client.get("api/start").json()
    assert body["version"] == lw.__version__
    assert body["limits"]["letters"] == LIMITS.letters
    assert {one["key"] for one in body["examples"]} >= {"occupation", "income"}
    assert body["look"]["dark"]["axis"] != body["look"]["light"]["axis"]


def test_a_prior(client: httpx.Client) -> None:
    status, events = ask(client, "prior", make_state())
    assert status == 200
    assert parts(events)["prior"]["epsilon_max"] == pytest.approx(1.6094, abs=1e-4)


def test_an_answer_in_parts_without_its_files(client: httpx.Client) -> None:
    status, events = ask(client, "answer", make_state(goal=design_for("frequencies")))
    assert status == 200
    found = parts(events)
    assert list(found) == ["answer", "envelope"]
    assert "files" not in found["answer"]


def test_curves(client: httpx.Client) -> None:
    _, events = ask(client, "tradeoff", make_state(["x", "y"], ["0.5", "0.5"]))
    assert parts(events)["tradeoff"]["points"] > 10
    _, events = ask(client, "steps", make_state(goal=worst_case()))
    assert len(parts(events)["steps"]["levels"]) == 3


@pytest.mark.parametrize("goal", [design_for("guessing"), distance(), brought()])
def test_files_before_and_after_an_answer_are_the_same(client: httpx.Client, goal: Any) -> None:
    plain = make_state(level=("epsilon", "0.7"), goal=goal)

    def take(what: str) -> httpx.Response:
        return client.post("api/file", content=json.dumps({"client": "taker", "state": plain, "what": what}))

    before = take("mechanism").json()
    assert before["name"] == "mechanism.json"
    ask(client, "answer", plain)
    assert take("mechanism").json() == before
    body = msgspec.json.decode(json.dumps(json.loads(before["text"])["body"]), type=MechanismBody)
    assert lw.epsilon(mechanism_from_body(body, "it"), [0.5, 0.3, 0.2]) >= 0
    assert take("report").json()["text"].startswith("<!DOCTYPE html>")
    wants = take("utility")
    assert wants.status_code == (200 if goal == distance() else 404)


def test_errors_come_in_words_and_say_where_they_belong(client: httpx.Client) -> None:
    status, events = ask(client, "answer", make_state(values=["0.5", "0.3", "0.1"]))
    assert status == 422
    assert events[0]["about"] == "prior"
    assert "sum to 1" in events[0]["message"]
    status, events = ask(client, "answer", make_state(level=("lift", "0.5")))
    assert (status, events[0]["about"]) == (422, "answer")
    assert "at least 1" in events[0]["message"]
    status, events = ask(client, "tradeoff", make_state(goal=worst_case()))
    assert status == 422
    taken = client.post(
        "api/file", content=json.dumps({"client": "x", "state": make_state(level=("lift", "0")), "what": "mechanism"})
    )
    assert taken.status_code == 422


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "not understood"),
        ("[1]", "Expected"),
        ('{"client": "x"}', "missing required field `state`"),
        (json.dumps({"client": "x", "state": make_state(), "more": 1}), "unknown field `more`"),
        (json.dumps({"client": "x", "state": make_state(["x"] * 101, ["1"] * 101)}), "up to 100 values"),
        (json.dumps({"client": "x", "state": make_state(["x" * 200, "b", "c"])}), "120 characters"),
        ("[" * 100_000, "not understood"),
        (b'{"client": "\xff"}', "not understood"),
    ],
)
def test_what_is_no_request_is_refused_by_name(client: httpx.Client, body: Any, words: str) -> None:
    answer = client.post("api/answer", content=body)
    assert answer.status_code == 400
    assert words in answer.json()["message"]


def test_what_is_not_there(client: httpx.Client) -> None:
    assert client.post("api/kitchen", content="{}").status_code == 404
    assert client.get("nothing.js").status_code == 404
    assert client.get("api/answer").status_code == 405
    assert client.post("", content="{}").status_code == 405


def test_fifty_requests_are_answered_while_a_long_solve_runs(client: httpx.Client, address: str) -> None:
    """The long one takes many seconds; it is called off at the end by a newer request of its panel."""
    heavy = make_state(
        [f"v{k}" for k in range(40)],
        [str(1000 + 37 * k * k % 991) for k in range(40)],
        kind="counts",
        goal=design_for("frequencies"),
    )
    quick = [("prior", make_state([str(k), "z"], ["1", str(k + 1)], kind="counts")) for k in range(50)]
    with ThreadPoolExecutor(60) as threads:
        long = threads.submit(ask, client, "answer", heavy, "heavy")
        answered = list(threads.map(lambda one: ask(client, one[1][0], one[1][1], f"c{one[0]}"), enumerate(quick)))
        assert [status for status, _ in answered] == [200] * 50
        assert [parts(events)["prior"]["labels"][0] for _, events in answered] == [str(k) for k in range(50)]
        pages = list(threads.map(lambda _: client.get("api/start").status_code, range(20)))
        assert pages == [200] * 20
        assert not long.done(), "the long solve was to be running all the while"
        status, _ = ask(client, "answer", make_state(), "heavy")
        assert status == 200
        _, events = long.result()
    assert events[-1]["kind"] == "Cancelled"
