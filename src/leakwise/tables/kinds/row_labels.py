"""Labels of rows (a pandas index) that tell the secret: they go out with the rows, and nobody looks at them.

An index of numbers 0, 1, 2, … and one of ordinary ids pass. Refused is an index that has the name or the values of the
secret, whose labels contain the values, that goes with the secret from row to row more closely than chance allows, or
by which the rows can be put into an order that tells the secret: the numbers of rows that were sorted before.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.types import Array

__all__ = ["RowLabels", "labels_in_file"]

# More labels than this are ids: they name rows, and what goes with them cannot be told from chance.
_MOST_LABELS = 4096
# Rows whose labels are searched for the text of their own value, and how many it takes to be no accident.
_SEARCHED = 1000
_ENOUGH = 20
# Rows that are put into the order of their labels.
_ORDERED = 1 << 16
# How rarely independent labels may be refused.
_CHANCE = 1e-6


class RowLabels:
    """One level of an index beside the codes of the secret, batch by batch."""

    def __init__(self, name: Hashable, names: Sequence[Hashable], alphabet: Alphabet) -> None:
        self._title = "The index" if name is None else f"The index {str(name)!r}"
        self._names, self._alphabet = names, alphabet
        self._same_name = name is not None and name in names
        self._pairs: Counter[tuple[str, int]] | None = Counter()
        self._own = self._searched = self._others = 0
        self._texts = [_texts(label) for label in alphabet.labels]
        self._labels: list[Any] = []
        self._codes: list[int] = []

    def add(self, labels: Sequence[Any], places: Array, codes: Array) -> None:
        """See a batch: its distinct labels, the place of every row among them, and the code of every row's secret."""
        self._search(labels, places, codes)
        room = _ORDERED - len(self._codes)
        self._labels += [labels[place] for place in places[:room].tolist()]
        self._codes += codes[:room].tolist()
        if self._pairs is None or len(labels) > _MOST_LABELS:
            self._pairs = None
            return
        pairs, counts = np.unique(places.astype(np.int64) * len(self._alphabet) + codes, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            place, code = divmod(pair, len(self._alphabet))
            self._pairs[str(labels[place]), code] += count
        if len({label for label, _ in self._pairs}) > _MOST_LABELS:
            self._pairs = None

    def _search(self, labels: Sequence[Any], places: Array, codes: Array) -> None:
        """Whether labels contain the value of their own row; labels that contain every value say nothing by it."""
        for place, code in zip(places[:_SEARCHED].tolist(), codes[:_SEARCHED].tolist(), strict=True):
            if self._searched >= _SEARCHED:
                return
            found = [all(text in str(labels[place]) for text in texts) for texts in self._texts[:64]]
            self._searched += 1
            self._own += code < len(found) and found[code]
            self._others += not all(found)

    def refuse(self) -> None:
        """Refuse labels that tell the secret."""
        how = self._how()
        if how is None and self._orders():
            how = "puts the rows into an order that tells"
        if how is None:
            return
        secret = " and ".join(repr(str(name)) for name in self._names)
        raise InvalidInput(
            f"{self._title} {how} the secret {secret}, and it would go out with the released rows. Drop it: "
            "reset_index(drop=True)."
        )

    def _how(self) -> str | None:
        if self._same_name:
            return "has the name of"
        if self._own == self._searched >= _ENOUGH and self._others:
            return "contains the values of"
        pairs = self._pairs
        if not pairs:
            return None
        if all(label == str(self._alphabet.labels[code]) for label, code in pairs):
            return "has the values of"
        labels, codes = Counter[str](), Counter[int]()
        for (label, code), count in pairs.items():
            labels[label] += count
            codes[code] += count
        if len(pairs) in (len(labels), len(codes)) and (
            (len(pairs) == len(labels) and _no_accident(labels, codes))
            or (len(pairs) == len(codes) and _no_accident(codes, labels))
        ):
            return "goes from row to row with"
        return None

    def _orders(self) -> bool:
        """Whether the rows tell the secret in the order of their labels, where that is not the order they have."""
        from leakwise.tables.release.row_order import RowOrder

        try:
            order = sorted(range(len(self._labels)), key=self._labels.__getitem__)
        except TypeError:  # labels that have no order
            return False
        if order == sorted(order) or order[::-1] == sorted(order):
            return False
        seen = RowOrder(self._alphabet.labels)
        seen.add(np.array([self._codes[place] for place in order], dtype=np.intp))
        return seen.verdict().dependent


def _texts(label: Any) -> list[str]:
    return [str(part) for part in label] if isinstance(label, tuple) else [str(label)]


def _no_accident(groups: Counter[Any], values: Counter[Any]) -> bool:
    """Whether rows of one group would hardly all have one value if the values were put onto the rows by chance."""
    share = max(values.values()) / values.total()
    repeats = groups.total() - len(groups)
    return share < 1 and repeats * -math.log(share) > -math.log(_CHANCE)


def labels_in_file(metadata: Mapping[bytes, bytes]) -> dict[str, Hashable]:
    """Return the columns of a file in which pandas keeps an index, and what the index is called."""
    try:
        note = json.loads(metadata.get(b"pandas", b"{}"))
        kept = [column for column in note.get("index_columns", []) if isinstance(column, str)]
        named = {entry.get("field_name"): entry.get("name") for entry in note.get("columns", [])}
    except (ValueError, AttributeError, TypeError):
        return {}
    return {column: named.get(column) for column in kept}
