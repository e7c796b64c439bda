"""Joint estimates within groups of columns that were not randomized, and differences between groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import label_to_plain
from leakwise.charts.shown import Drawn, Parts
from leakwise.charts.specs import vertical
from leakwise.errors import InvalidInput, require, some_of
from leakwise.tables.estimate.joint.cross_table import CrossTable
from leakwise.tables.estimate.joint.evidence import Entries, covariance
from leakwise.tables.estimate.joint.independence import GroupedIndependence
from leakwise.tables.estimate.joint.result import JointEstimate
from leakwise.types import Floats

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

        They are made of those of both groups (Newcombe), so that cells without rows keep theirs. Clusters that have
        rows in both groups are allowed for.
        """
        if strangers := [group for group in (one, other) if group not in self.groups]:
            raise InvalidInput(f"{strangers[0]!r} is not a group by {some_of(self.by)}: {some_of(list(self.groups))}.")
        a, b = self[one], self[other]
        size, design = a.frequencies.size, a.evidence.design
        entries = Entries.joined([a.evidence.entries, b.evidence.entries])
        error, shared = np.empty(size), np.zeros(size)
        for number in range(size):
            unit = np.zeros(size)
            unit[number] = 1.0
            sums = unit.reshape(1, *a.evidence.shape)
            (d_a, known_a), (d_b, known_b) = a.evidence.deviations(sums), b.evidence.deviations(sums)
            d = np.zeros((2, d_a.shape[1] + d_b.shape[1]))
            d[0, : d_a.shape[1]], d[1, d_a.shape[1] :] = d_a[0], d_b[0]
            spread = covariance(design, entries, d)
            both = float(np.sqrt(max(spread[0, 0] * spread[1, 1], 0.0)))
            shared[number] = float(np.clip(spread[0, 1] / both, -1.0, 1.0)) if both > 0 else 0.0
            left = max(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1], 0.0)
            error[number] = np.sqrt(left) if known_a[0] and known_b[0] else np.nan
        value = (a.frequencies - b.frequencies).reshape(-1)
        ends = [_reaches(estimate) for estimate in (a, b)]
        centre = ends[0][0] - ends[1][0]
        low = centre - _together(ends[0][1], ends[1][2], shared)
        high = centre + _together(ends[0][2], ends[1][1], shared)
        known = np.isfinite(error)
        low = np.where(known, np.clip(np.minimum(low, value), -1.0, 1.0), -1.0)
        high = np.where(known, np.clip(np.maximum(high, value), -1.0, 1.0), 1.0)
        shape = a.evidence.shape
        return CrossTable(
            a.columns,
            a.labels,
            (),
            value.reshape(shape),
            error.reshape(shape),
            np.stack((low, high), axis=-1).reshape(*shape, 2),
            known.reshape(shape),
            a.confidence,
            a.simultaneous,
            f"Differences between {one} and {other}",
        )

    def independence(self, *columns: Hashable) -> GroupedIndependence:
        """Test in every group whether the true values of some columns (all by default) are independent there."""
        return GroupedIndependence(self.by, {group: one.independence(*columns) for group, one in self.groups.items()})

    def _shown(self) -> Parts:
        by = " and ".join(map(str, self.by))
        shown: list[Any] = [f"Joint frequencies within {len(self):,} groups by {by}"]
        for group, one in list(self.groups.items())[:20]:
            shown += [f"{by} = {group}", one]
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


def _reaches(estimate: JointEstimate) -> tuple[Floats, Floats, Floats]:
    """The unbiased estimate of every cell, brought into [0, 1], and how far its interval reaches down and up."""
    centre = np.clip(estimate.evidence.linear, 0.0, 1.0).reshape(-1)
    ends = estimate.intervals.reshape(-1, 2)
    return centre, np.maximum(centre - ends[:, 0], 0.0), np.maximum(ends[:, 1] - centre, 0.0)


def _together(one: Floats, other: Floats, shared: Floats) -> Floats:
    """The reach of a difference from those of its parts, whose errors have a correlation."""
    return np.asarray(np.sqrt(np.maximum(one**2 + other**2 - 2 * shared * one * other, 0.0)))
