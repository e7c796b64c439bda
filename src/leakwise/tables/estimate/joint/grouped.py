"""Joint estimates within groups of columns that were not randomized, and differences between groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import label_to_plain
from leakwise.charts.shown import Drawn, Parts
from leakwise.charts.specs import vertical
from leakwise.errors import require, some_of
from leakwise.tables.estimate.joint.cross_table import CrossTable
from leakwise.tables.estimate.joint.evidence import Entries, covariance
from leakwise.tables.estimate.joint.result import JointEstimate
from leakwise.tables.estimate.numbers import critical_value

__all__ = ["GroupedJointEstimate"]


@dataclass(frozen=True, repr=False, eq=False)
class GroupedJointEstimate(Drawn, Mapping[Any, JointEstimate]):
    """One :class:`JointEstimate` for each group of columns that were not randomized: a mapping from group to estimate.

    Attributes
    ----------
    by
        The columns of the groups.
    groups
        The estimates.
    """

    by: tuple[Hashable, ...]
    groups: Mapping[Any, JointEstimate]

    def __getitem__(self, group: Any) -> JointEstimate:
        try:
            return self.groups[group]
        except (KeyError, TypeError):
            raise KeyError(f"{group!r} is not a group: {some_of(self.groups)}") from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def difference(self, one: Any, other: Any) -> CrossTable:
        """Return the table of one group minus that of another, with intervals.

        Clusters that have rows in both groups are allowed for.
        """
        a, b = self[one], self[other]
        size, design = a.frequencies.size, a.evidence.design
        entries = Entries.joined([a.evidence.entries, b.evidence.entries])
        error = np.empty(size)
        for number in range(size):
            unit = np.zeros(size)
            unit[number] = 1.0
            sums = unit.reshape(1, *a.evidence.shape)
            (d_a, known_a), (d_b, known_b) = a.evidence.deviations(sums), b.evidence.deviations(sums)
            spread = covariance(design, entries, np.concatenate((d_a, -d_b), axis=1))[0, 0]
            error[number] = np.sqrt(max(spread, 0.0)) if known_a[0] and known_b[0] else np.nan
        value = (a.frequencies - b.frequencies).reshape(-1)
        centre = (a.evidence.linear - b.evidence.linear).reshape(-1)
        claims = size if a.simultaneous else 1
        times = critical_value(a.confidence, None if design is None else design.degrees, claims)
        reach = times * np.nan_to_num(error, nan=np.inf)
        low = np.clip(np.minimum(centre - reach, value), -1.0, 1.0)
        high = np.clip(np.maximum(centre + reach, value), -1.0, 1.0)
        shape = a.evidence.shape
        return CrossTable(
            a.columns,
            a.labels,
            (),
            value.reshape(shape),
            error.reshape(shape),
            np.stack((low, high), axis=-1).reshape(*shape, 2),
            np.isfinite(error).reshape(shape),
            a.confidence,
            a.simultaneous,
            f"Differences between {one} and {other}",
        )

    def _shown(self) -> Parts:
        shown: list[Any] = []
        for group, one in list(self.groups.items())[:20]:
            shown += [f"{' and '.join(map(str, self.by))} = {group}", *one._shown()]
        if len(self) > 20:
            shown.append(f"The first 20 groups of {len(self):,} are shown.")
        return shown

    def chart(self) -> dict[str, Any]:
        """Return the cross-tables of all groups, one below the other, as a Vega-Lite specification."""
        return vertical(*(one.chart() for one in list(self.groups.values())[:20]))

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row for each group and combination of values."""
        pandas = require("pandas", extra="data", purpose="A table of the estimate")
        return pandas.concat(
            [one.to_pandas() for one in self.groups.values()],
            keys=list(self.groups),
            names=[" and ".join(map(str, self.by))] if len(self.by) == 1 else [str(name) for name in self.by],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: a list of groups."""
        return {
            "by": [str(name) for name in self.by],
            "groups": [{"group": label_to_plain(group), **one.to_dict()} for group, one in self.groups.items()],
        }
