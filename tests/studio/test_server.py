"""Starting the studio, and what is said where it cannot be started."""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from leakwise.charts import render
from leakwise.cli.app import app
from leakwise.errors import InvalidInput, MissingExtra
from leakwise.studio import server
from leakwise.studio.server import Running, listen


def test_it_listens_on_the_loopback_address_only() -> None:
    with listen(0) as place:
        assert place.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"port {port}.*--port"):
            listen(port)
    with pytest.raises(InvalidInput, match="0 to 65535"):
        listen(70_000)


def test_without_a_port_any_free_one_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with listen(0) as taken:
        monkeypatch.setattr(server, "PORT", taken.getsockname()[1])
        with listen() as place:
            assert place.getsockname()[1] != taken.getsockname()[1]


@pytest.mark.parametrize("name", ["starlette", "uvicorn", "vl_convert"])
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"leakwise\[studio\]"):
        server.serve(0, started=lambda _: None, browser=False)


def test_the_command_serves_and_opens_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    served: list[Any] = []

    class Now:
        def __init__(self, _: float, action: Any, given: list[str]) -> None:
            self.start = lambda: action(*given)

    monkeypatch.setattr(server.threading, "Timer", Now)
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: served.append(sockets))
    result = CliRunner().invoke(app, ["studio", "--port", "0"])
    assert result.exit_code == 0, result.output
    assert opened
    assert opened[0] in result.output
    silent = CliRunner().invoke(app, ["studio", "--port", "0", "--no-browser", "--json"])
    assert json.loads(silent.output)["url"].startswith("http://127.0.0.1:")
    assert (len(opened), len(served)) == (1, 2)


def test_the_command_says_in_one_sentence_what_is_wrong() -> None:
    result = CliRunner().invoke(app, ["studio", "--port", "99999"])
    assert result.exit_code == 2
    assert "0 to 65535" in result.output


def test_a_studio_can_be_started_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "javascript", lambda: "// vega")
    with Running() as studio:
        assert httpx.get(studio.address, trust_env=False).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(studio.address, trust_env=False)
