"""The other columns of an opened table: what they say alone, what the guarantee is beside them, and the command.

The page counts the table itself and sends counts; they are not part of the state, so no link contains them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leakwise.alphabet.given import joined
from leakwise.errors import InvalidInput
from leakwise.guarantee import at_most, percent
from leakwise.studio.notebook import notebook
from leakwise.studio.state import File, OtherColumns, Part
from leakwise.studio.table_release import TableRelease
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["whole_row"]

# Of fewer rows the frequencies are mostly chance.
_LEAST = 20


def whole_row(solved: Solved, others: OtherColumns) -> Part:
    """Return what anyone who sees the given columns knows before and learns, and the command that counts them in."""
    told, beyond = list[str](), False
    if others.given:
        fits = all(len(own) == len(solved.nominal) for own in others.counts) and len(others.counts) == len(others.keys)
        if not fits or any(len(key) != len(others.given) for key in others.keys):
            raise InvalidInput("The other columns were counted for other values. Choose the column of the table again.")
        told, beyond = _beside(solved, others, np.array(others.counts, dtype=np.float64))
    release = TableRelease(solved.state, others)
    files = {
        "settings": File(release.settings_name, "application/toml", release.settings),
        "notebook": File(
            f"{release.stem}_release.ipynb", "application/x-ipynb+json", notebook(release, solved.nominal)
        ),
    }
    body = {"cli": release.command, "short_cli": release.short_command, "note": release.note, "files": files}
    return Part("row", {"sentences": told, "beyond": beyond, **body})


def _beside(solved: Solved, others: OtherColumns, counts: Floats) -> tuple[list[str], bool]:
    sizes, names = counts.sum(axis=1), joined(others.given)
    seen = np.flatnonzero(sizes >= _LEAST)
    if not seen.size:
        return [f"No combination of {names} has {_LEAST} rows: almost every row is known by them."], True
    few = int(sizes[sizes < _LEAST].sum())
    rest = f" {few:,} rows are in combinations of fewer than {_LEAST}, and are not counted here." if few else ""
    shares = counts[seen] / sizes[seen, None]
    whole = counts.sum(axis=0) / sizes.sum()
    alone = np.divide(shares, whole, out=np.zeros_like(shares), where=whole > 0)
    at, value = np.unravel_index(int(alone.argmax()), alone.shape)
    told = [
        f"{names} alone: where {_where(others, int(seen[at]))}, {others.column} = {solved.nominal.labels[value]} is "
        f"{at_most(float(alone[at, value]))} times as likely as in the whole table "
        f"({percent(float(shares[at, value]))} instead of {percent(float(whole[value]))}). "
        f"No mechanism changes that.{rest}"
    ]
    lifts = np.array([_largest_lift(solved.mechanism.matrix, own) for own in shares])
    worst, asked = int(lifts.argmax()), solved.certificate.asked
    beyond = asked is not None and not asked.allows(Fraction(float(lifts[worst]) * (1 - 1e-9)))
    make = "makes" if len(others.given) == 1 else "make"
    told += [
        f"This mechanism was made for the secret alone. For anyone who also sees {names}, an outcome makes a value up "
        f"to {at_most(float(lifts[worst]))} times as likely as {names} {make} it already, "
        f"where {_where(others, int(seen[worst]))}. "
        + ("That is beyond your limit." if beyond else "That is within your limit, for the frequencies of the table."),
        "The command under 4 makes a mechanism for each combination, and keeps your limit for them as well.",
    ]
    return told, beyond


def _largest_lift(matrix: Floats, prior: Floats) -> float:
    law, most = prior @ matrix, matrix[prior > 0].max(axis=0)
    return float(np.divide(most, law, out=np.zeros_like(law), where=law > 0).max())


def _where(others: OtherColumns, place: int) -> str:
    return ", ".join(f"{name} = {key}" for name, key in zip(others.given, others.keys[place], strict=True))
