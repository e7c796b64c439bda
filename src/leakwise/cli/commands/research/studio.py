"""``leakwise studio``: see and adjust the leakage in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from leakwise.cli.screen.output import JsonOption, Said, show

__all__ = ["studio"]


def studio(
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", help="The port on 127.0.0.1 [default: 8765, or any that is free]."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Explore a secret on a local page: its prior, its mechanism, what it leaks, what protection costs.

    The page is served to this machine only and loads nothing from any other. A table that is opened there is counted in
    the browser; the state of the page is in its address after the #, which browsers do not send.

    \b
    leakwise studio
    leakwise studio --port 9000 --no-browser
    leakwise studio --no-browser --json

    End it with Ctrl-C.
    """
    from leakwise.studio.server import serve

    def started(address: str) -> None:
        show(Said([f"The studio is at {address}", "End it with Ctrl-C."], {"url": address}), as_json)

    serve(port, started=started, browser=not no_browser)
