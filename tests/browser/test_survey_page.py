"""The survey page: the answer stays in the browser, one outcome leaves it, and no second one is ever drawn."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

import leakwise as lw
from exported.mechanisms import HOSTILE
from leakwise.cli import app

pytest.importorskip("playwright")

CHROMIUM = Path("/usr/bin/chromium")
FOLDER = Path(__file__).parents[2] / "examples" / "survey_page"
MECHANISM = lw.Mechanism.load(FOLDER / "mechanism.json")
# All bits of every draw: the last outcome, "daily", of whatever answer; and none: the first, "never".
ONES, ZEROS = (f"crypto.getRandomValues = (bytes) => bytes.fill({fill})" for fill in (255, 0))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Any]:
    """The example's own server, with an empty table of answers."""
    spec = importlib.util.spec_from_file_location("collect", FOLDER / "collect.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.Survey(tmp_path / "answers.csv", port=0) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Visitor:
    """A browser of its own, and everything that leaves it."""

    def __init__(self, chromium: Any, survey: Any, *scripts: str) -> None:
        self.context = chromium.new_context()
        self.address = f"http://127.0.0.1:{survey.server_port}/index.html"
        self.requests: list[Any] = []
        self.complaints: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request))
        for script in scripts:
            self.context.add_init_script(script)
        self.page = self.open()

    def open(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.address)
        return page

    @property
    def sent(self) -> list[dict[str, str]]:
        """What was posted."""
        return [json.loads(request.post_data) for request in self.requests if request.method == "POST"]

    @property
    def everything(self) -> str:
        """All that left the browser, and all that it keeps."""
        told = [f"{one.url} {one.headers} {one.post_data}" for one in self.requests]
        return " ".join([*told, json.dumps(self.context.storage_state()), str(self.context.cookies())])


def rows(survey: Any) -> list[str]:
    return survey.answers.read_text(encoding="utf-8").split()


def test_what_leaves_the_page_is_one_outcome_however_often_it_is_sent(chromium: Any, survey: Any) -> None:
    from playwright.sync_api import expect

    visitor = Visitor(chromium, survey, ONES)
    other = visitor.open()  # a second tab, opened before anything was drawn
    page = visitor.page
    page.get_by_role("button").click()
    expect(page.get_by_role("status")).to_have_text("Please choose an answer first.")
    page.get_by_label("never").check()
    page.get_by_role("button").dblclick()
    expect(page.get_by_role("status")).to_have_text("Thank you. The result was sent.")
    expect(page.get_by_role("button")).to_be_hidden()
    assert [(one["question"], one["outcome"]) for one in visitor.sent] == [("smokes", "daily")]
    assert page.locator("input:checked").count() == 0
    # Reloaded, gone back to, in the tab that still shows the question, in a new one, and with other random bits.
    visitor.context.add_init_script(ZEROS)
    page.reload()
    expect(page.get_by_role("status")).to_have_text("Thank you. The result was sent.")
    page.goto("about:blank")
    page.go_back()
    expect(page.get_by_role("status")).to_have_text("Thank you. The result was sent.")
    other.get_by_label("sometimes").check()
    other.get_by_role("button").click()
    expect(other.get_by_role("status")).to_have_text("Thank you. The result was sent.")
    expect(visitor.open().get_by_role("button")).to_be_hidden()
    assert len(visitor.sent) == 1
    assert rows(survey) == ["smokes", "daily"]
    # The answer itself is in no address, header, body, storage or cookie, and nothing went elsewhere.
    assert not re.search("never|sometimes", visitor.everything)
    assert {request.url.rpartition("/")[0] for request in visitor.requests} == {visitor.address.rpartition("/")[0]}
    assert visitor.complaints == []
    visitor.context.close()


def test_what_could_not_be_sent_is_sent_again_and_not_drawn_again(chromium: Any, survey: Any) -> None:
    from playwright.sync_api import expect

    visitor = Visitor(chromium, survey, ONES)
    page = visitor.page
    visitor.context.route("**/answers", lambda route: route.abort())
    page.get_by_label("never").check()
    page.get_by_role("button").click()
    expect(page.get_by_role("status")).to_contain_text("no second result will be drawn")
    expect(page.get_by_label("never")).to_be_hidden()
    # The answer to the next request is lost on its way back: the server has it, the page does not know.
    visitor.context.unroute("**/answers")

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    visitor.context.route("**/answers", lose)
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("button", name="Send again")).to_be_enabled()
    visitor.context.unroute("**/answers")
    visitor.context.add_init_script(ZEROS)
    page.reload()
    expect(page.get_by_role("status")).to_have_text("The result was not sent yet.")
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("status")).to_have_text("Thank you. The result was sent.")
    assert len(visitor.sent) == 3
    assert len({json.dumps(one) for one in visitor.sent}) == 1
    assert rows(survey) == ["smokes", "daily"]
    visitor.context.close()


@pytest.mark.parametrize(
    "without",
    [
        'Object.defineProperty(Crypto.prototype, "getRandomValues", { value: undefined })',
        'Storage.prototype.setItem = () => { throw new Error("full"); }',
        "Storage.prototype.setItem = () => {}",
    ],
    ids=["randomness", "storage", "storage that keeps nothing"],
)
def test_without_secure_randomness_or_a_place_to_keep_it_nothing_is_sent(
    chromium: Any, survey: Any, without: str
) -> None:
    from playwright.sync_api import expect

    visitor = Visitor(chromium, survey, without)
    visitor.page.get_by_label("never").check()
    visitor.page.get_by_role("button").click()
    expect(visitor.page.get_by_role("status")).to_contain_text("This did not work")
    assert visitor.sent == []
    assert rows(survey) == ["smokes"]
    assert "never" not in visitor.everything
    visitor.context.close()


def test_a_sampler_in_a_page_keeps_its_labels_in_quotes(chromium: Any) -> None:
    with pytest.warns(lw.LeakwiseWarning, match="rules some values out"):
        source = lw.export(lw.identity(HOSTILE), "script").source
    page = chromium.new_page()
    page.set_content(f"<html><head><script>{source}</script></head><body>whole</body></html>")
    assert page.evaluate("leakwise.values.map((value) => leakwise.draw(value))") == HOSTILE
    assert page.evaluate("[typeof window.broken, document.body.textContent, document.scripts.length]") == [
        "undefined",
        "whole",
        1,
    ]
    page.close()


def test_the_sampler_of_the_example_is_that_of_its_mechanism_and_the_page_says_its_limit() -> None:
    sampler = lw.export(FOLDER / "mechanism.json", "js")
    assert (FOLDER / "sampler.js").read_text(encoding="ascii") == sampler.source
    said = " ".join((FOLDER / "index.html").read_text(encoding="utf-8").split())
    assert "more than 4 times as likely" in sampler.guarantee
    assert "no answer of yours becomes more than 4 times as likely as before" in said
    assert [float(p) for p in MECHANISM.matrix[0]] == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    assert re.findall(r'type="radio" name="answer" value="(\w+)"', said) == list(MECHANISM.inputs)


def test_the_collected_outcomes_are_estimated_and_nothing_else_is_taken(survey: Any) -> None:
    for wrong in (
        b"",
        b"[]",
        b"7",
        b'{"question": "smokes", "id": "1", "outcome": "HIV"}',
        b'{"question": "smokes", "id": "1", "outcome": ["daily"]}',
        b'{"question": "smokes", "id": "1", "outcome": "daily", "answer": "never"}',
    ):
        assert not survey.take(wrong), wrong
    answers = ["never"] * 1200 + ["sometimes"] * 500 + ["daily"] * 300
    outcomes = [MECHANISM.sample(answer) for answer in answers]
    survey.answers.write_text("\n".join(["smokes", *outcomes]) + "\n", encoding="utf-8")
    assert survey.take(b'{"question": "smokes", "id": "1", "outcome": "daily"}')
    assert survey.take(b'{"question": "smokes", "id": "1", "outcome": "never"}')  # the same again: counted once
    assert len(rows(survey)) == 2002
    words = ["estimate", str(survey.answers), "-c", "smokes", "--mechanism", str(FOLDER / "mechanism.json")]
    done = CliRunner().invoke(app, [*words, "--confidence", "0.999999", "--json"], catch_exceptions=False)
    for truth, (low, high) in zip([1200, 500, 300], json.loads(done.stdout)["intervals"], strict=True):
        assert low <= truth / 2000 <= high
