"""The least ratio on a mask of any size."""

from __future__ import annotations

from leakwise.optimize.masks.columns import MaskColumns
from leakwise.optimize.masks.search import LeastRatio, least_ratio

__all__ = ["least_ratio_of"]


def least_ratio_of(
    columns: MaskColumns, *, before: LeastRatio | None = None, target: float | None = None
) -> LeastRatio:
    """The least ratio; ``before`` is the answer on a wider mask over the same prior, whose work is taken over.

    With a ``target`` it is enough to know on which side of it the least ratio is.
    """
    if before is None:
        return least_ratio(columns, target=target)
    pool = None if before.packing is None else before.packing.restricted(columns)
    return least_ratio(columns, known=before.y, packing=pool, target=target)
