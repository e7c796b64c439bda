"""The pictures of the documentation, kept by the browser tests when they are asked to (``make screenshots``)."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
# Each picture with its width in pixels.
WIDTHS = {"studio-1366": 1366, "studio-400": 400, "report": 1000, "gallery": 1000}
_HEAD = b"\x89PNG\r\n\x1a\n"


def asked() -> bool:
    """Whether pictures are to be kept."""
    return bool(os.environ.get("LEAKWISE_SCREENSHOTS"))


def keep(page: Page, name: str) -> None:
    """Keep what the window shows as a picture of the documentation, where pictures are asked for."""
    if asked():
        assert page.viewport_size is not None
        assert page.viewport_size["width"] == WIDTHS[name]
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.png").write_bytes(smaller(page.screenshot()))


def chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a PNG file, each with its kind."""
    assert content.startswith(_HEAD)
    place = len(_HEAD)
    while place < len(content):
        (size,) = struct.unpack(">I", content[place : place + 4])
        yield content[place + 4 : place + 8], content[place + 8 : place + 8 + size]
        place += 12 + size


def size(content: bytes) -> tuple[int, int]:
    """The width and the height of a PNG file."""
    width, height = struct.unpack(">II", dict(chunks(content))[b"IHDR"][:8])
    return width, height


def smaller(content: bytes) -> bytes:
    """The same picture with 256 of its colours: a third of the bytes, and the eye sees hardly a difference."""
    width, height = size(content)
    assert dict(chunks(content))[b"IHDR"][8:] == b"\x08\x02\x00\x00\x00", "three bytes a pixel, as Chromium writes"
    pixels = _unfiltered(zlib.decompress(b"".join(body for kind, body in chunks(content) if kind == b"IDAT")), width)
    colours, places, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    # The most frequent ones, and then always the one that is farthest from all that are there.
    chosen, frequent = list[int](), np.argsort(-counts)
    nearest, codes = np.full(len(colours), np.inf), np.zeros(len(colours), dtype=np.uint8)
    for turn in range(min(256, len(colours))):
        chosen.append(int(frequent[turn] if turn < 100 else nearest.argmax()))
        far = np.abs(colours.astype(np.int16) - colours[chosen[-1]]).sum(axis=1)
        codes[far < nearest] = turn
        nearest = np.minimum(nearest, far)
    palette, codes = colours[chosen], codes[places.ravel()].reshape(height, width)
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), codes], axis=1)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    sums = (struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts)
    return _HEAD + b"".join(
        struct.pack(">I", len(body)) + kind + body + check for (kind, body), check in zip(parts, sums, strict=True)
    )


def _unfiltered(raw: bytes, width: int) -> np.ndarray:
    """The pixels of a PNG file, whose lines each tell how they follow from the one above and the pixel before."""
    step, above, lines = 3 * width + 1, bytearray(3 * width), []
    for start in range(0, len(raw), step):
        kind, line = raw[start], bytearray(raw[start + 1 : start + step])
        if kind == 2:
            line = bytearray((one + up) & 255 for one, up in zip(line, above, strict=True))
        elif kind:
            for place in range(len(line)):
                left = line[place - 3] if place >= 3 else 0
                corner = above[place - 3] if place >= 3 else 0
                up = above[place]
                guess = (left, up, (left + up) // 2, _nearest(left, up, corner))[(0, 0, 1, 2, 3)[kind]]
                line[place] = (line[place] + guess) & 255
        lines.append(bytes(line))
        above = line
    return np.frombuffer(b"".join(lines), dtype=np.uint8).reshape(-1, width, 3)


def _nearest(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))
