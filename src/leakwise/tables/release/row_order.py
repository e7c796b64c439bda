"""Whether the order of the rows reveals the secret: a streaming test with a proven rate of false alarms.

A released table keeps the order of its rows, and order is a column like any other. If the table was sorted or split by
the secret, a row's position says what the mechanism was to hide. The test looks at the secret's codes alone, in the
order in which the rows go out, and asks whether that order could be a random one.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput, RowOrderWarning
from leakwise.tables.release.row_order_tests import Finding, Trace
from leakwise.types import Indices

__all__ = [
    "FALSE_ALARM",
    "OrderVerdict",
    "RowOrder",
    "WatchedOrder",
    "check_order",
    "refuse_order",
    "warn_of_order",
    "warn_of_verdict",
]

FALSE_ALARM = 1e-7
"""The p-value below which the order is held to tell the secret. Ten secrets in one table stay below 1e-6 together."""

# Neighbours in the declared domain are also looked at as one, in so many groups where the values are at least twice as
# many: a sorted column of numbers that hardly repeat has no runs, but low numbers before high ones.
_GROUPS = (2, 4, 16)


@dataclass(frozen=True)
class OrderVerdict:
    """What the test found.

    Attributes
    ----------
    p_value
        An upper bound of the probability that rows in random order look as dependent on position as these.
    evidence
        What was seen, in words. It holds figures of the table: for its owner, not for a receiver.
    rows
        How many rows were seen.
    """

    p_value: float
    evidence: str
    rows: int

    @property
    def dependent(self) -> bool:
        """Whether position tells the secret, with false alarms below :data:`FALSE_ALARM`."""
        return self.p_value < FALSE_ALARM


class RowOrder:
    """Watch the codes of a secret go by, and tell whether their order depends on them.

    For rows whose order has nothing to do with the secret (given how often each value occurs, every arrangement is as
    likely as every other) the p-value is valid at every size: P(p ≤ α) ≤ α, by exact distributions and inequalities,
    not by approximations. It combines, by the union bound:

    - the number of runs of each value, whose distribution is hypergeometric, and on the first rows the rows that have
      the value of the row before, all values together; both also among the rows that are 2, 3, … apart, which finds
      alternating and periodic placement;
    - the mean position of each value (Hoeffding's inequality for draws without replacement);
    - the counts per file, partition or row group and per block of rows, at sizes four times apart, by a likelihood
      ratio against counts that differ from block to block.

    Of a joint secret the combinations and every column of it are tested; of a secret with more than three values also
    groups of neighbouring ones.

    It sees the secret and the position, nothing else. It cannot see a secret that other columns tell (rows sorted by
    a postcode that goes with the secret keep an order that tells no more than the postcode does), a regular placement
    with a long or irregular period, exact quotas per block, or an order too short or too weak to stand out: two dozen
    rows can be sorted by chance. A verdict that finds nothing is not a proof that the order tells nothing.

    State: a few numbers per value, and up to 65,536 codes.

    Parameters
    ----------
    labels
        The declared values of the secret, in the order of their codes; tuples for a joint secret.

    Examples
    --------
    >>> order = RowOrder(["no", "yes"])
    >>> order.add([0] * 70 + [1] * 30)
    >>> print(order.verdict().evidence)
    98 of 100 rows have the value of the row before, where a random order gives about 57
    """

    def __init__(self, labels: Sequence[Hashable]) -> None:
        self.labels = tuple(labels)
        size = len(self.labels)
        self._views: list[tuple[Indices | None, tuple[str, ...]]] = [(None, ())]
        for place in range(_width(self.labels)):
            part: list[Any] = [label[place] for label in self.labels]  # type: ignore[index]
            index = {value: code for code, value in enumerate(dict.fromkeys(part))}
            names = tuple(f"{value!r} as value {place + 1}" for value in index)
            self._views.append((np.array([index[value] for value in part], dtype=np.intp), names))
        for number in (number for number in _GROUPS if size >= 2 * number):
            groups = np.arange(size) * number // size
            edges = [np.flatnonzero(groups == group)[[0, -1]] for group in range(number)]
            names = tuple(f"{self.labels[low]!r} to {self.labels[high]!r}" for low, high in edges)
            self._views.append((groups, names))
        self._traces = [Trace(size if not names else len(names)) for _, names in self._views]
        self._part: Hashable = None

    @property
    def rows(self) -> int:
        """How many rows were seen."""
        return self._traces[0].rows

    def add(self, codes: npt.ArrayLike, part: Hashable = None) -> None:
        """See the next rows.

        Parameters
        ----------
        codes
            Places of the values in ``labels``, in the order of the rows.
        part
            The file or partition that the rows belong to. The rows of a part come together.
        """
        given = np.asarray(codes)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise InvalidInput(f"codes must be integers in one dimension. Got {given.dtype} of shape {given.shape}.")
        if not given.size:
            return
        if given.min() < 0 or given.max() >= len(self.labels):
            raise InvalidInput(f"codes must lie from 0 to {len(self.labels) - 1}.")
        if part != self._part and self.rows:
            self._close()
        self._part = part
        for trace, (view, _) in zip(self._traces, self._views, strict=True):
            trace.add(given if view is None else view[given])

    def merge(self, later: RowOrder) -> None:
        """Continue with the rows that another one saw, as parts of their own that come after the rows seen here."""
        if later.labels != self.labels:
            raise InvalidInput("Row orders can be merged for the same values only.")
        for mine, theirs in zip(self._traces, later._traces, strict=True):
            mine.merge(theirs)
        self._part = later._part

    def verdict(self) -> OrderVerdict:
        """Give the p-value and the strongest evidence for dependence on position."""
        findings: list[Finding] = []
        for trace, (view, names) in zip(self._traces, self._views, strict=True):
            what = "value" if len(names) in (0, len(self.labels)) else "part of the value or group of values"
            shown = tuple(map(repr, self.labels)) if view is None else names
            findings.append(trace.finding(shown, what))
        best = min(findings, key=lambda finding: finding.log_p)
        with np.errstate(under="ignore"):
            p_value = float(np.exp(min(best.log_p + np.log(len(findings)), 0.0)))
        return OrderVerdict(p_value, best.words, self.rows)

    def _close(self) -> None:
        for trace in self._traces:
            trace.close()


class WatchedOrder(Protocol):
    """What watched the rows go by, over all of them or within strata."""

    def verdict(self) -> OrderVerdict:
        """Give the p-value and the strongest evidence for dependence on position."""


def _width(labels: Sequence[Hashable]) -> int:
    """How many columns a joint secret has; none for a single one."""
    widths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    return widths.pop() if len(widths) == 1 else 0


def check_order(order: object) -> None:
    """Refuse what is not a choice of the order."""
    if order not in (None, "keep", "shuffle"):
        raise InvalidInput(
            'order must be "shuffle" (rows in random order), "keep" (their order, even if it reveals the secret), or '
            f"left out (their own order if a test finds no sign that it reveals the secret). Got {order!r} instead."
        )


def refuse_order(watched: WatchedOrder, secret: str) -> None:
    """Stop a release whose row order reveals the secret."""
    if (verdict := watched.verdict()).dependent:
        raise InvalidInput(f"{_told(verdict, secret)} Nothing was released. {_WAYS_OUT}")


def warn_of_order(watched: WatchedOrder, secret: str, stacklevel: int, ways_out: str | None = None) -> None:
    """Warn that a release keeps a row order that reveals the secret."""
    if (verdict := watched.verdict()).dependent:
        warn_of_verdict(verdict, secret, stacklevel + 1, ways_out)


def warn_of_verdict(verdict: OrderVerdict, secret: str, stacklevel: int, ways_out: str | None = None) -> None:
    """Warn of what a test of the order has found."""
    words = f"{_told(verdict, secret)} The released rows keep that order. {ways_out or _WAYS_OUT}"
    warnings.warn(words, RowOrderWarning, stacklevel=stacklevel + 1)


def _told(verdict: OrderVerdict, secret: str) -> str:
    chance = "less than 1e-99" if verdict.p_value < 1e-99 else f"at most {1.06 * verdict.p_value:.1e}"
    return (
        f"The order of the rows reveals {secret}: {verdict.evidence} (probability by chance {chance}). "
        "Anyone who sees where a row stands would know more than the mechanism lets out."
    )


_WAYS_OUT = (
    'Three ways out: order="shuffle" (--order shuffle) releases the rows in a random order; order="keep" (--order '
    "keep) keeps their order, and the report says so; or sort the table by other columns first, of which none goes "
    "with the secret."
)
