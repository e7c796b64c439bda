"""The web application: one page, its files, and the small JSON API behind it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from importlib import resources
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from leakwise.charts import render
from leakwise.charts.specs import themed
from leakwise.studio.examples import examples
from leakwise.studio.limits import LIMITS, Limits
from leakwise.studio.pool import PANELS, Pool, Ticket
from leakwise.studio.security import Border
from leakwise.studio.state import Asked, Event, Failed, File, FileAsked, Part, State

__all__ = ["Studio", "create_app"]

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_STATUS = {"Cancelled": 409, "Mistake": 500, "TimeLimit": 504, "Ended": 503, "Busy": 503}
_NDJSON = "application/x-ndjson"
_KEPT = 32

Body = TypeVar("Body", bound=msgspec.Struct)


def create_app(port: int, limits: Limits = LIMITS) -> ASGIApp:
    """The application for a studio that is announced on this port of the loopback address."""
    return Border(Studio(limits).app, port)


class Studio:
    """What the routes share: the workers, the files of the page, and the files of the latest answers."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.pool: Pool | None = None
        self.pages = _static_files()
        self.kept: OrderedDict[bytes, dict[str, File]] = OrderedDict()
        self._vega: asyncio.Task[str] | None = None
        self.app = Starlette(
            routes=[
                Route("/", self.page),
                Route("/vega.js", self.vega),
                Route("/api/start", self.start),
                Route("/api/file", self.file, methods=["POST"]),
                Route("/api/{panel}", self.panel, methods=["POST"]),
                Route("/{name}", self.page),
            ],
            lifespan=self.lifespan,
        )

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Workers and the drawing library from the start to the end of the server."""
        self.pool = Pool(limits=self.limits)
        await self.pool.start()
        # It takes two or three seconds to put together and keeps no other request waiting.
        self._vega = asyncio.create_task(asyncio.to_thread(render.javascript))
        try:
            yield
        finally:
            await self.pool.close()
            self._vega.cancel()

    # -- the page -------------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """A file of the page, out of those that were read at the start: no path of a request is ever opened."""
        name = request.path_params.get("name", "index.html")
        found = self.pages.get(name)
        if found is None:
            return PlainTextResponse("There is no such page.\n", 404)
        content, media, mark = found
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers={"etag": mark, "cache-control": "no-cache"})
        return Response(content, media_type=media, headers={"etag": mark, "cache-control": "no-cache"})

    async def vega(self, request: Request) -> Response:
        """Vega, Vega-Lite and Vega-Embed, as the library itself draws with them."""
        assert self._vega is not None
        script = await asyncio.shield(self._vega)
        mark = f'"{len(script)}-{hashlib.sha256(script.encode()).hexdigest()[:16]}"'
        headers = {"etag": mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(script, media_type="text/javascript", headers=headers)

    async def start(self, request: Request) -> Response:
        """What the page needs before anything is typed: examples, limits, and the colours of the charts."""
        from leakwise import __version__

        look = {name: themed({}, dark)["config"] for name, dark in (("light", False), ("dark", True))}
        return _json({"version": __version__, "examples": examples(), "limits": self.limits, "look": look})

    # -- the API --------------------------------------------------------------------------------------------------

    async def panel(self, request: Request) -> ASGIApp:
        """The answer of a panel as lines of JSON: progress, parts as they are found, or what went wrong."""
        name = request.path_params["panel"]
        if name not in PANELS:
            return _failure(404, "NotFound", f"There is no panel {name!r}. The panels are {', '.join(PANELS)}.")
        asked = await self._read(request, Asked)
        if isinstance(asked, Response):
            return asked
        assert self.pool is not None
        return _Lines(self, await self.pool.submit(name, asked))

    async def file(self, request: Request) -> Response:
        """A file to take away, of the latest answer to this state or of a new one."""
        asked = await self._read(request, FileAsked)
        if isinstance(asked, Response):
            return asked
        key = _key(asked.state)
        if key not in self.kept:
            assert self.pool is not None
            ticket = await self.pool.submit("answer", Asked(f"{asked.client}/file", asked.state))
            async for event in ticket.events():
                self.keep(asked.state, event)
                if isinstance(event, Failed):
                    return _failure(_STATUS.get(event.kind, 422), event.kind, event.message)
                if key in self.kept:
                    break
            self.pool.call_off(ticket)
        found = self.kept.get(key, {}).get(asked.what)
        if found is None:
            return _failure(404, "NotFound", f"There is no {asked.what} file for what is on the screen.")
        return _json(found)

    def keep(self, state: State, event: Event) -> Event:
        """The event as the page gets it: the files of an answer stay here until they are asked for."""
        if not (isinstance(event, Part) and event.name == "answer" and "files" in event.body):
            return event
        self.kept[_key(state)] = msgspec.convert(event.body["files"], dict[str, File])
        while len(self.kept) > _KEPT:
            self.kept.popitem(last=False)
        return Part(event.name, {name: value for name, value in event.body.items() if name != "files"})

    async def _read(self, request: Request, kind: type[Body]) -> Body | Response:
        """The body of a request as a type, or the refusal."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json":
            return _failure(415, "InvalidInput", "The studio reads application/json only.")
        content = bytearray()
        async for chunk in request.stream():
            content += chunk
            if len(content) > self.limits.body:
                return _failure(
                    413,
                    "TooLarge",
                    f"The request is larger than {self.limits.body:,} bytes. Fewer values or shorter labels fit.",
                )
        try:
            return msgspec.json.decode(bytes(content), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _failure(400, "InvalidInput", f"The request is not understood: {_in_words(str(error))}")


class _Lines:
    """The events of a job as lines of JSON; the job is called off when the page goes away."""

    def __init__(self, studio: Studio, ticket: Ticket) -> None:
        self.studio, self.ticket = studio, ticket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.studio.pool is not None
        pool, ticket = self.studio.pool, self.ticket

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            pool.call_off(ticket)

        watcher = asyncio.create_task(watch())
        started = False
        try:
            async for event in ticket.events():
                if not started:
                    status = _STATUS.get(event.kind, 422) if isinstance(event, Failed) else 200
                    headers = [(b"content-type", _NDJSON.encode()), (b"cache-control", b"no-store")]
                    await send({"type": "http.response.start", "status": status, "headers": headers})
                    started = True
                line = msgspec.json.encode(self.studio.keep(ticket.asked.state, event)) + b"\n"
                await send({"type": "http.response.body", "body": line, "more_body": True})
            if not started:  # the worker had nothing to say, which no panel does
                await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watcher.cancel()
            pool.call_off(ticket)


def _key(state: State) -> bytes:
    return hashlib.sha256(msgspec.json.encode(state)).digest()


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def _failure(status: int, kind: str, message: str) -> Response:
    return Response(msgspec.json.encode(Failed(kind, message)) + b"\n", status, media_type=_NDJSON)


def _in_words(message: str) -> str:
    """The message of the decoder, with the limits of this page said as such."""
    if "length <=" in message and (
        "labels" in message or "values" in message or "matrix" in message or "rows" in message
    ):
        return f"{message}. The page takes up to {LIMITS.letters} values and texts of up to {LIMITS.text} characters."
    return f"{message}."


def _static_files() -> dict[str, tuple[bytes, str, str]]:
    """Every file of the page: content, type and mark."""
    found = {}
    for entry in resources.files("leakwise.studio").joinpath("static").iterdir():
        suffix = f".{entry.name.rpartition('.')[2]}"
        if suffix in _TYPES:
            content = entry.read_bytes()
            found[entry.name] = (content, _TYPES[suffix], f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found
