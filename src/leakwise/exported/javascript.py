"""A mechanism as a JavaScript file: its integers as data, and the code that draws from them."""

from __future__ import annotations

import datetime
import json
import math
from importlib import resources
from typing import Any

from leakwise.alphabet import Bins, Label
from leakwise.alphabet.dates import DateBins
from leakwise.errors import InvalidInput
from leakwise.exported.contents import Contents, Domain
from leakwise.mechanism import CommonLawKernel, Mechanism

__all__ = ["javascript"]

# Before and after the code: of a module, and of a plain script, which node can require.
_FRAMES = {
    "js": (
        "const leakwise = ",
        "export const { draw, drawFrom, coarse, values, outcomes, given, sha256 } = leakwise;\n"
        "export default leakwise;\n",
    ),
    "script": (
        'globalThis["@NAME@"] = ',
        'if (typeof module === "object" && module.exports) module.exports = globalThis["@NAME@"];\n',
    ),
}

_SAFE = (1 << 53) - 1
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def javascript(contents: Contents, kind: str, header: str, name: str, checksum: str) -> str:
    """Return the file as text, in ASCII.

    Parameters
    ----------
    contents
        What is drawn from.
    kind
        ``js`` for a module, ``script`` for a plain script.
    header
        Lines that are comments already.
    name
        What the sampler is called.
    checksum
        The SHA-256 of the mechanism file.
    """
    data = {
        "sha256": checksum,
        "values": _domain(contents.secret),
        "outcomes": _labels(contents.outcomes, "outcomes"),
        "given": [{"name": one.name, **_domain(one)} for one in contents.given],
        "mechanisms": [_mechanism(one, contents.places(one)) for one in contents.mechanisms],
        "strata": [[one.number, one.mechanism, *([one.never] if one.never else [])] for one in contents.strata],
        "otherwise": contents.otherwise,
    }
    code = resources.files("leakwise.exported").joinpath("sampler.js").read_text(encoding="utf-8")
    before, after = (one.replace("@NAME@", name) for one in _FRAMES[kind])
    return f"{header}{before}{code.replace('@DATA@', literal(data))}{after}"


def literal(data: Any) -> str:
    """Return data as a literal that can be in a script in a page: nothing in it ends the script or a line.

    >>> literal(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":  # outside of its texts JSON has none of them
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _domain(domain: Domain) -> dict[str, Any]:
    told: dict[str, Any] = {"labels": _labels(domain.alphabet.labels, domain.name)}
    if isinstance(domain.bins, Bins):
        # JSON has no infinite numbers: JavaScript reads them from these texts.
        told["edges"] = [
            edge if math.isfinite(edge) else f"{'-' if edge < 0 else ''}Infinity" for edge in domain.bins.edges.tolist()
        ]
        told["days"] = isinstance(domain.bins, DateBins)
    return told


def _labels(labels: tuple[Label, ...], name: str) -> list[Any]:
    found = [_label(label, name) for label in labels]
    if len({json.dumps(one) for one in found}) < len(found):
        raise InvalidInput(f"{name}: a text and a date that JavaScript cannot tell apart. Use other labels.")
    return found


def _label(label: Label, name: str) -> Any:
    if isinstance(label, tuple):
        return [_label(part, name) for part in label]
    if isinstance(label, int) and not isinstance(label, bool) and abs(label) > _SAFE:
        raise InvalidInput(
            f"{name}: {label} is beyond the whole numbers that JavaScript can tell apart (2^53). Use texts as labels."
        )
    if label is None or isinstance(label, (bool, int, str)):
        return label
    if isinstance(label, float) and math.isfinite(label):
        return label
    if isinstance(label, datetime.date) and not isinstance(label, datetime.datetime):
        return label.isoformat()
    raise InvalidInput(
        f"{name}: the label {label!r} of type {type(label).__name__} has no counterpart in JavaScript. Use texts, "
        "numbers, booleans, dates, or None."
    )


def _mechanism(mechanism: Mechanism, places: list[int]) -> dict[str, Any]:
    """The integers: each different one once, and for each row which of them; or the common ones of all rows."""
    kernel = mechanism.kernel
    told: dict[str, Any] = {"bits": kernel.bits(), "outcomes": places}
    if isinstance(kernel, CommonLawKernel):
        return {**told, "weights": [f"{weight:x}" for weight in kernel.common.tolist()]}
    rows = kernel.weights.tolist()
    number = {weight: place for place, weight in enumerate(sorted({weight for row in rows for weight in row}))}
    width = len(_digits(len(number) - 1))
    return {
        **told,
        "weights": [f"{weight:x}" for weight in number],
        "width": width,
        "rows": ["".join(_digits(number[weight]).rjust(width, "0") for weight in row) for row in rows],
    }


def _digits(number: int) -> str:
    """A number with the digits of base 36."""
    text = ""
    while number or not text:
        number, digit = divmod(number, len(_DIGITS))
        text = _DIGITS[digit] + text
    return text
