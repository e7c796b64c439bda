"""What a table's rounded frequencies alone prove: the bounds of every table that rounds to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.priors.prior import Prior
from leakwise.priors.sample import cell_of, counts_of, rounded_parts
from leakwise.priors.sets.stacked import MOST_ROWS, SetBounds, Stacked
from leakwise.types import Counts, Floats, Indices

__all__ = ["RoundedLayerCake"]


class RoundedLayerCake(Stacked):
    """All priors of the layer cakes of all tables with the same number of rows and the same rounded frequencies.

    A set of letters counts as often as it does in that one of those tables where it is rarest. So what follows from
    this set depends on the table through its rounded frequencies alone, and holds for the
    :class:`~leakwise.priors.sets.layer_cake.LayerCake` of each. It holds nothing else of the table.

    The rows may be those of several strata together, of which the prior's own has ``own``: rows of other letters than
    A that all of them have at most, its own has at most as well, and so it has at least the rest of its rows in A.

    Parameters
    ----------
    sample
        The estimate, with its sample size.
    failure
        As for the layer cake.

    Examples
    --------
    >>> sample = Prior.from_counts([600, 400])
    >>> [f"{sample.confidence(0.01, one).least_mass([1.0, 0.0]):.3f}" for one in ("layer-cake", "rounded-layer-cake")]
    ['0.559', '0.556']
    """

    kind = "layer cakes of all tables with these rounded frequencies"
    rows: int
    own: int
    parts: tuple[int, ...]
    _low: Counts
    _high: Counts
    _bounds: SetBounds

    def __init__(self, sample: Prior, failure: object) -> None:
        counts = counts_of(sample)
        self._fill(sample.alphabet, rounded_parts(counts), sum(counts), failure, sum(counts))

    @classmethod
    def of_parts(
        cls, letters: Alphabet, parts: Sequence[int], rows: int, failure: object, own: int | None = None
    ) -> RoundedLayerCake:
        """Return the set of rounded frequencies that are known already: about √n parts in all, one at least each.

        ``own`` is how many of the rows are of the stratum itself; all of them unless it is given.
        """
        found = cls.__new__(cls)
        found._fill(letters, parts, rows, failure, rows if own is None else own)
        return found

    def _fill(self, letters: Alphabet, parts: Sequence[int], rows: int, failure: object, own: int) -> None:
        if not 1 <= own <= rows <= MOST_ROWS:
            raise InvalidInput(f"own must be between 1 and the rows, {rows:,} (at most 2^52). Got {own!r} instead.")
        if len(parts) != len(letters) or rows < 1 or min(parts) < 1:
            raise InvalidInput(f"parts must be one positive number for each of {len(letters)} values. Got {parts!r}.")
        super().__init__(Prior.from_integers(letters, list(parts)), failure, "rounded-layer-cake")
        low, high = cell_of(parts, rows)
        if not sum(low) <= rows <= sum(high) or min(b - a for a, b in zip(low, high, strict=True)) < 0:
            raise InvalidInput(f"No table of {rows:,} rows has the rounded frequencies {list(parts)!r}.")
        bounds = SetBounds(own, self.log_level)
        self._set(rows=rows, own=own, parts=tuple(parts), _low=np.array(low), _high=np.array(high), _bounds=bounds)

    @property
    def sample_size(self) -> int:
        """How many rows the bounds rest on: those of the stratum itself."""
        return self.own

    @property
    def holds_nominal(self) -> bool:
        return False  # with at least one part each, the frequencies of many letters and few rows may be far from all

    def bounds_along(self, order: Indices) -> Floats:
        least, most = np.cumsum(self._low[order], axis=0), np.cumsum(self._high[order], axis=0)
        outside = np.minimum(most[-1] - most, self.rows - least)[:-1]
        return self._bounds(np.maximum(self.own - outside, 0))

    def reordered(self, order: Indices) -> RoundedLayerCake:
        parts = [self.parts[place] for place in order]
        letters = self.nominal.reordered(order).alphabet
        return RoundedLayerCake.of_parts(letters, parts, self.rows, self.exact_failure, self.own)

    def _key(self) -> tuple[object, ...]:
        return (self.rows, self.own, self.parts)

    def _size(self) -> list[tuple[str, str]]:
        together = [] if self.own == self.rows else [("rows of all strata together", f"{self.rows:,}")]
        return [("rows", f"{self.own:,}"), *together, ("level of each set (log)", number(self.log_level))]
