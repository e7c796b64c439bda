"""The first lines of a sampler: what it does, what is guaranteed to whom, and what is not covered."""

from __future__ import annotations

import textwrap

__all__ = ["header"]

_WHAT = {
    "js": "Draws the outcome that is sent instead of an answer, before anything leaves this page: draw(value).",
    "sql": 'Draws the outcome that is stored instead of a value: "{name}"(value).',
}
_ONCE = {
    "js": (
        "One draw for each answer: a second draw of the same answer tells more, and the lifts multiply. Keep the "
        "outcome (localStorage) before you send it, and send that one again if sending fails."
    ),
    "sql": (
        "One draw for each row: a second draw of the same value tells more, and the lifts multiply. Every evaluation "
        "draws again. A statement that draws must read its table alone: a join can go through it several times. Never "
        "put this function into a view, a materialized view that is refreshed or a query that readers of the outcomes "
        "can run: they would repeat it and average the noise away. Only you may call it: grant EXECUTE (on both "
        "functions) to the role that stores values, never to readers. Write the outcomes once, and give readers that "
        "table alone:"
    ),
}
_NOT_COVERED = {
    "js": (
        "Not covered: this page sees the answer, and so does whatever else runs in it or in the browser (other "
        "scripts, extensions, analytics, error reports, someone at the screen). Not hidden: who answered, whether, "
        "when and from where. Not covered: answers of people that depend on each other."
    ),
    "sql": (
        "Not covered: the server sees the value, and its logs may keep it (log_statement, "
        "log_min_duration_statement, failed statements); so do backups of a table that has it. Pass the value as a "
        "parameter. Not hidden: which rows there are. Not covered: rows that depend on each other."
    ),
}


def header(
    kind: str, name: str, guarantee: str, checksum: str, shape: str, rounded: bool, given: list[str], coarse: bool
) -> str:
    """Return the first lines, each a comment, in ASCII.

    Parameters
    ----------
    kind
        ``js``, ``script`` or ``sql``.
    name
        What the sampler is called.
    guarantee
        The sentence that is proven.
    checksum
        The SHA-256 of the mechanism file.
    shape
        How many values and outcomes there are.
    rounded
        Whether the mechanism had to be rounded to be drawn from.
    given
        The names of the given columns.
    coarse
        Whether one of them is in bins.
    """
    language = "sql" if kind == "sql" else "js"
    exact = "rounded to 2^-60 and proven again" if rounded else "exactly those of the file"
    source = "gen_random_bytes of pgcrypto" if language == "sql" else "crypto.getRandomValues"
    lines = [
        f"Leakwise sampler, made by leakwise export. {_WHAT[language].format(name=name)}",
        f"Guaranteed: {guarantee}",
        f"{_ONCE[language]}",
        *([_use(name, given)] if language == "sql" else []),
        _NOT_COVERED[language],
        f"Mechanism: {shape}, sha256 {checksum}; probabilities {exact}, drawn from {source} alone.",
    ]
    if given:
        beside = f"Given columns: {', '.join(map(repr, given))}. The guarantee is for someone who sees them too."
        if coarse:
            beside += " Those in bins must be sent or stored as the names of their bins, not finer."
            beside += " coarse(given) returns them." if language == "js" else ""
        lines.append(beside)
    lines.append("Estimate the frequencies of the true values: leakwise estimate TABLE --mechanism THE_FILE")
    return "".join(_comment(line, "-- " if language == "sql" else "// ") for line in lines)


def _use(name: str, given: list[str]) -> str:
    columns = "".join(f", {column}" for column in (f"given_{place}" for place, _ in enumerate(given, 1)))
    return f'INSERT INTO outcomes SELECT "{name}"(value{columns}){columns} FROM truth;'


def _comment(text: str, mark: str) -> str:
    """A sentence as lines of comments. Names in it may be anyone's: what could end a line or a script is escaped."""
    plain = " ".join(text.split()).encode("ascii", "backslashreplace").decode()
    plain = "".join(sign if sign.isprintable() and sign not in "<>" else f"\\x{ord(sign):02x}" for sign in plain)
    return "".join(f"{mark}{line}\n" for line in textwrap.wrap(plain, 116, break_on_hyphens=False))
