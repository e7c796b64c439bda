"""Starting the studio: a socket on the loopback address, the server on it, and a browser if one is wanted."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from leakwise.errors import InvalidInput, require

__all__ = ["PORT", "Running", "listen", "serve"]

PORT = 8765
_HOST = "127.0.0.1"


def listen(port: int | None = None) -> socket.socket:
    """A listening socket on 127.0.0.1: this port, or (without one) the usual one or any that is free."""
    if port is not None and not 0 <= port <= 65535:
        raise InvalidInput(f"port must be a number from 0 to 65535. Got {port!r} instead.")
    for candidate in (PORT, 0) if port is None else (port,):
        place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            place.bind((_HOST, candidate))
            place.listen(128)
        except OSError as error:
            place.close()
            if candidate == 0 or port is not None:
                raise InvalidInput(
                    f"The studio cannot listen on port {candidate}: {error.strerror}. Give another one with --port, or "
                    "none to take any that is free."
                ) from error
        else:
            return place
    raise AssertionError  # pragma: no cover - port 0 returned or raised


def _server(place: socket.socket) -> tuple[Any, str]:
    """A server for this socket that is not yet running, and its address."""
    uvicorn = require("uvicorn", extra="studio", purpose="The studio")
    require("starlette", extra="studio", purpose="The studio")
    require("vl_convert", extra="studio", purpose="The studio")
    from leakwise.studio.app import create_app

    port = place.getsockname()[1]
    config = uvicorn.Config(
        create_app(port),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config), f"http://{_HOST}:{port}/"


def serve(port: int | None = None, *, started: Callable[[str], None], browser: bool = True) -> None:
    """Serve the studio until it is interrupted.

    Parameters
    ----------
    port
        Where to listen on 127.0.0.1; 0 for any free one, None for the usual one if it is free.
    started
        Called with the address before the first request is taken.
    browser
        Whether to open it in a browser.
    """
    place = listen(port)
    try:
        server, address = _server(place)
        started(address)
        if browser:
            threading.Timer(0.2, webbrowser.open, [address]).start()
        server.run(sockets=[place])
    finally:
        place.close()


class Running:
    """A studio in a thread of this process, for tests and notebooks.

    >>> with Running() as studio:
    ...     print(studio.address)
    http://127.0.0.1:...
    """

    def __init__(self, port: int = 0) -> None:
        self._place = listen(port)
        self._server, self.address = _server(self._place)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._place]}, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        # The socket listens already: the first request waits until the server takes it.
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        self._place.close()
