"""``leakwise memo-key``: make the key by which draws repeat, or show the fingerprint of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakwise.cli.screen.output import JsonOption, Said, show

__all__ = ["memo_key"]


def memo_key(
    keyfile: Annotated[Path, typer.Argument(metavar="KEYFILE", help="The key file to make, or to look at.")],
    as_json: JsonOption = False,
) -> None:
    """Make a key file for leakwise release --memo, which only you can read; of one that exists, show the fingerprint.

    With the key, a person's unchanged value has the same outcome in every release by the same mechanism, so that
    releasing it again tells nothing new. Keep it as you keep the table: anyone who gets it can undo the releases made
    with it; if it is lost, another release is a second draw, which adds to what is known.

    \b
    leakwise memo-key key.bin
    """
    from leakwise.tables.memo.key import MemoKey

    made = not keyfile.exists()
    key = MemoKey.create(keyfile) if made else MemoKey(keyfile)
    words = f"{keyfile}: {'a new key' if made else 'a key'} with the fingerprint {key.fingerprint}"
    show(Said([words], {"keyfile": str(keyfile), "fingerprint": key.fingerprint, "made": made}), as_json)
