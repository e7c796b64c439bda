"""The border of the page: who may ask, and what a browser may do with the answer.

The studio listens on the loopback address. That alone does not keep other sites out: a page in the same browser can
send requests there (cross-site posts), and a host name whose address changes to 127.0.0.1 makes it look like that
page's own server (DNS rebinding). So the Host must be the one that was announced, an Origin must be this page, and
posts carry a header that no other site can send without asking first; it is never allowed to.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADER", "POLICY", "Border"]

HEADER = "x-leakwise-studio"
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE_METHODS = ("GET", "HEAD")


class Border:
    """Refuses requests that are not this page's own, and puts the policy on every answer."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        if port == 80:  # a browser leaves the usual port out
            self.hosts |= {"127.0.0.1", "localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self.refusal(scope["method"], Headers(scope=scope))
        if refusal is None:
            await self.app(scope, receive, guarded)
        else:
            status, words = refusal
            await PlainTextResponse(words, status)(scope, receive, guarded)

    def refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        """Why a request is refused, or None."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, f"The studio answers to {' and '.join(sorted(self.hosts))} only. Use the address it printed.\n"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{hosts[0].lower()}":
            return 403, "The studio answers to its own page only.\n"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not self._is_visit(method, headers):
            return 403, "The studio answers to its own page only.\n"
        if method not in _SAFE_METHODS and headers.get(HEADER) != "page":
            return 403, f"A post to the studio carries the header {HEADER}: page, as its own page sends it.\n"
        return None

    @staticmethod
    def _is_visit(method: str, headers: Headers) -> bool:
        """A person followed a link to the page; what a site may do with it is nothing, by the policy."""
        return (
            method in _SAFE_METHODS
            and headers.get("sec-fetch-mode") == "navigate"
            and (headers.get("sec-fetch-dest") == "document")
        )
