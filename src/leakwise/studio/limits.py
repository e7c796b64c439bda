"""How much the studio takes on: every limit in one place, each with the words that name it."""

from __future__ import annotations

import msgspec

__all__ = ["LIMITS", "Limits"]


class Limits(msgspec.Struct, frozen=True):
    """What a request may ask for.

    Attributes
    ----------
    body
        Bytes of a request.
    letters
        Values of the secret.
    outputs
        Columns of a matrix that is typed or pasted.
    text
        Characters of one label or one number.
    domain
        Characters of the values of a further secret.
    secrets
        Further secrets of the same rows.
    columns
        Other columns of a table.
    combinations
        Combinations of their values.
    solve
        Seconds that a search may take before it gives the best it has.
    draft
        The same while the slider moves.
    patience
        Seconds after which a worker that has not answered is ended.
    waiting
        Requests that may wait for a worker.
    """

    body: int = 1_000_000
    letters: int = 100
    outputs: int = 200
    text: int = 120
    domain: int = 4000
    secrets: int = 20
    columns: int = 60
    combinations: int = 2000
    solve: float = 20.0
    draft: float = 0.08
    patience: float = 45.0
    waiting: int = 64


LIMITS = Limits()
