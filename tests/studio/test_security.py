"""The attacks that a local server invites, tried."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.datastructures import Headers

from leakwise.studio.limits import LIMITS
from leakwise.studio.security import POLICY, Border
from studio.states import make_state

BODY = json.dumps({"client": "x", "state": make_state()})


def raw(
    address: str, method: str, path: str, headers: dict[str, str], body: Any = None
) -> tuple[int, str, dict[str, str]]:
    """A request with exactly these headers, the Host among them."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(None if body is None else body.encode())
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def page_headers(address: str) -> dict[str, str]:
    return {"Host": urlsplit(address).netloc, "content-type": "application/json", "x-leakwise-studio": "page"}


def test_the_pages_own_post_is_taken(address: str) -> None:
    own = page_headers(address)
    assert raw(address, "POST", "/api/prior", own, BODY)[0] == 200
    port = urlsplit(address).port
    same = {**own, "origin": f"http://127.0.0.1:{port}", "sec-fetch-site": "same-origin"}
    assert raw(address, "POST", "/api/prior", same, BODY)[0] == 200
    local = {**own, "Host": f"localhost:{port}", "origin": f"http://localhost:{port}"}
    assert raw(address, "POST", "/api/prior", local, BODY)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/start"])
def test_a_rebound_host_name_is_refused(address: str, host: str, path: str) -> None:
    """DNS rebinding: the name is the attacker's, the address has become ours."""
    name = host.format(port=urlsplit(address).port)
    status, words, _ = raw(address, "GET", path, {"Host": name})
    assert status == 421
    assert "127.0.0.1" in words


def test_no_host_or_two_are_refused(address: str) -> None:
    port = urlsplit(address).port
    border = Border(lambda *_: None, port or 0)  # type: ignore[arg-type,return-value]
    assert border.refusal("GET", Headers(raw=[])) is not None
    own = f"127.0.0.1:{port}".encode()
    assert border.refusal("GET", Headers(raw=[(b"host", own), (b"host", b"evil.example")])) is not None
    assert border.refusal("GET", Headers(raw=[(b"host", own)])) is None
    assert Border(lambda *_: None, 80).refusal("GET", Headers(raw=[(b"host", b"127.0.0.1")])) is None  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    "more",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:{port}"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost:{port}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"x-leakwise-studio": ""},
        {"x-leakwise-studio": "pages"},
    ],
)
def test_a_cross_site_post_is_refused(address: str, more: dict[str, str]) -> None:
    port = urlsplit(address).port
    headers = page_headers(address) | {name: value.format(port=port) for name, value in more.items()}
    assert raw(address, "POST", "/api/prior", headers, BODY)[0] == 403


def test_a_form_of_another_site_cannot_post(address: str) -> None:
    """What a form or a simple request may send: no header of its own, and a few content types."""
    for media in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"):
        plain = {"Host": urlsplit(address).netloc, "content-type": media}
        assert raw(address, "POST", "/api/prior", plain, BODY)[0] == 403
        assert raw(address, "POST", "/api/prior", page_headers(address) | {"content-type": media}, BODY)[0] == 415


def test_no_other_site_is_ever_allowed(address: str) -> None:
    asking = {
        "Host": urlsplit(address).netloc,
        "origin": "http://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-leakwise-studio",
    }
    status, _, headers = raw(address, "OPTIONS", "/api/prior", asking)
    assert status == 403
    assert not [name for name in headers if name.startswith("access-control")]


def test_pictures_and_scripts_of_another_site_cannot_be_ours(address: str) -> None:
    embed = {"Host": urlsplit(address).netloc, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert raw(address, "GET", "/api/start", {**embed, "sec-fetch-dest": "script"})[0] == 403
    framed = {**embed, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert raw(address, "GET", "/", framed)[0] == 403
    followed = {**embed, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert raw(address, "GET", "/", followed)[0] == 200


def test_every_answer_carries_the_policy(client: httpx.Client) -> None:
    answers = [client.get(path) for path in ("", "app.js", "vega.js", "api/start", "nothing")]
    answers.append(client.post("api/prior", content=BODY))
    answers.append(client.post("api/prior", content="{"))
    for answer in answers:
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers
    assert "unsafe" not in POLICY
    assert answers[-1].headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fpyproject.toml",
        "/%2e%2e/app.py",
        "/static/app.js",
        "/..\\app.py",
        "/etc/passwd",
        "//etc/passwd",
        "/app.js%00.html",
        "/__init__.py",
        "/C:/Windows/win.ini",
    ],
)
def test_no_path_of_a_request_is_opened(address: str, path: str) -> None:
    status, words, _ = raw(address, "GET", path, {"Host": urlsplit(address).netloc})
    assert status in (400, 404)
    assert "import" not in words
    assert "root:" not in words


def test_labels_are_never_paths(client: httpx.Client, tmp_path: Path) -> None:
    """A value that names a file is a value: it is neither opened nor written."""
    secret = tmp_path / "secret.csv"
    secret.write_text("hidden,1\n", encoding="utf-8")
    plain = make_state([str(secret)[-100:], "b", "c"])
    taken = client.post("api/file", content=json.dumps({"client": "x", "state": plain, "what": "prior"}))
    assert taken.json()["name"] == "prior.csv"
    assert "hidden" not in taken.text
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret.csv"]


def test_a_large_body_is_refused_whether_it_says_so_or_not(client: httpx.Client) -> None:
    large = b" " * (LIMITS.body + 1)
    told = client.post("api/answer", content=large)
    assert told.status_code == 413
    assert "1,000,000 bytes" in told.json()["message"]
    streamed = client.post("api/answer", content=(large[k : k + 65536] for k in range(0, len(large), 65536)))
    assert streamed.status_code == 413


def test_text_of_the_user_is_never_run(client: httpx.Client) -> None:
    nasty = "__import__('os').system('touch leaked')"
    for plain in (make_state(values=[nasty, "0.3", "0.2"]), make_state(level=("lift", nasty))):
        answer = client.post("api/answer", content=json.dumps({"client": "x", "state": plain}))
        assert answer.status_code == 422
    assert not Path("leaked").exists()


def test_a_web_socket_is_closed_at_once(address: str) -> None:
    upgrade = {
        "Host": urlsplit(address).netloc,
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version": "13",
    }
    status, _, _ = raw(address, "GET", "/api/start", upgrade)
    assert status != 101
