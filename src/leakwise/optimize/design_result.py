"""The result of a design: the mechanism, its utility, the upper bound, and the proof of what it leaks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import heatmap
from leakwise.charts.words import Kept
from leakwise.errors import label_text
from leakwise.guarantee import at_least, at_most
from leakwise.leakage import lifts
from leakwise.mechanism import Mechanism
from leakwise.optimize.finish.outcome_names import coded, legend
from leakwise.priors import Prior, PriorSet
from leakwise.proof import Certificate

if TYPE_CHECKING:
    from leakwise.optimize.exact_optimum import ExactOptimum

__all__ = ["Design", "is_open", "lift_chart"]

# A larger gap, relative to the bound, is never left unsaid.
_GAP = 0.01
# Five percent more variance are two and a half percent wider intervals: what a limited number of outcomes costs.
_GAP_OF_FREQUENCIES = 0.05
_NOTHING = "only the constant keeps the limits, or none is better"


class _Bounded(Protocol):
    @property
    def utility(self) -> str: ...
    @property
    def bound(self) -> float: ...
    @property
    def gap(self) -> float: ...


def is_open(found: _Bounded) -> bool:
    """Return whether the gap of a design, or of one for all strata, is so large that it must be told."""
    largest = _GAP_OF_FREQUENCIES if found.utility == "frequencies" else _GAP
    return found.gap > max(largest * abs(found.bound), 1e-9)


def lift_chart(mechanism: Mechanism, prior: Prior) -> dict[str, Any]:
    """Rows of outcomes with how often they come, columns of letters, cells with the lift: how many times as likely."""
    ratios = np.minimum(lifts(mechanism, prior), np.finfo(np.float64).max)  # a picture has no room for more
    law = mechanism.kernel.output_law_floats(prior.weights, prior.denominator)
    return heatmap(
        [f"{100 * share:.2g}% {label}" for label, share in zip(mechanism.outputs, law.tolist(), strict=True)],
        [label_text(label) for label in mechanism.inputs],
        ratios.T,
        title="How many times as likely each outcome makes each value",
        value_title="lift",
        row_title="outcome, and how often",
        column_title="value",
        diverging_at=1.0,
    )


@dataclass(frozen=True, repr=False)
class Design(Drawn):
    """An optimal (or best found) mechanism.

    Attributes
    ----------
    mechanism
        Exact over a power of two, ready for a release.
    value
        Its utility at the nominal prior, rounded down.
    bound
        The upper bound: no mechanism within the limit has a larger utility; rounded up.
    epsilon
        Its proven leakage, at most what was asked.
    method
        The theorem or the algorithm that found it.
    certificate
        The proof of ``epsilon`` on the exact integers.
    utility
        The name of the utility.
    constraint
        What was asked for, in words.
    """

    mechanism: Mechanism
    value: float
    bound: float
    method: str
    certificate: Certificate
    utility: str
    prior: PriorSet
    constraint: str

    def __post_init__(self) -> None:
        # Where probabilities or lifts are beyond floats, nothing is known of the value.
        if math.isnan(self.value):
            object.__setattr__(self, "value", -math.inf)
        if math.isnan(self.bound):
            object.__setattr__(self, "bound", math.inf)

    @property
    def epsilon(self) -> float:
        """The proven leakage in nats, rounded up."""
        return self.certificate.epsilon_upper

    @property
    def lift(self) -> float:
        """The proven largest lift e^ε, rounded up."""
        return self.certificate.largest_lift

    @property
    def gap(self) -> float:
        """How far the value may be from the optimum: upper bound minus value, never negative."""
        return max(0.0, self.bound - self.value)

    def _rows(self) -> list[list[str]]:
        return [
            ["utility", self.utility],
            ["value", at_least(self.value, 6)],
            ["upper bound (nothing is better)", at_most(self.bound, 6)],
            ["gap", at_most(self.gap, 2)],
            ["asked", self.constraint],
            ["proven ε (nats, rounded up)", at_most(self.epsilon, 6)],
            ["outcomes", self._outcomes()],
            ["method", self.method],
            *([["note", _NOTHING]] if self.certificate.ratio == 1 and len(self.prior.nominal) > 1 else []),
        ]

    def _outcomes(self) -> str:
        names = self.mechanism.outputs
        short = self.utility == "frequencies" and coded(names)
        return f"{len(names):,}, {names[0]} to {names[-1]}: see legend()" if short else f"{len(names):,}"

    def legend(self, outcomes: Iterable[Label] | None = None) -> dict[Label, str]:
        """Return for each outcome, or for some, the values that it makes more likely.

        >>> from leakwise import design
        >>> design({"a": 0.5, "b": 0.3, "c": 0.2}, lift=2).legend()
        {'{a}': '{a}', 'not a': 'not a'}
        """
        return legend(self.mechanism, self.prior.nominal, outcomes)

    def exact(self) -> ExactOptimum:
        """Return the optimum in fractions: columns, weights, duals and value, proven without rounding.

        For a single prior, a limit on the lift alone, up to about twelve values, and "mutual_information",
        "total_variation", "chi_square", "guessing", ``lw.Gain`` and ``lw.Expected``. ``mechanism`` is that optimum
        rounded to a power of two inside the limit.

        >>> from leakwise import design
        >>> best = design({"a": "1/2", "b": "3/10", "c": "1/5"}, lift="3/2", utility="total_variation").exact()
        >>> print(best.value, "=", " + ".join(map(str, best.duals)))
        13/50 = 7/50 + 6/125 + 9/125
        """
        from leakwise.optimize.exact_optimum.from_design import exact_optimum

        return exact_optimum(self)

    def _shown(self) -> Parts:
        heading = f"design for {self.mechanism.shape[0]:,} values"
        return [Table(["", heading], self._rows(), Kept(self.certificate.sentence)), self.mechanism]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture of what each outcome raises (lift above 1) and lowers (below 1), and how often it comes.

        One row for each outcome, with its probability and its name, from likely to rare for most designs.
        """
        return lift_chart(self.mechanism, self.prior.nominal)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the numbers, the certificate and the mechanism."""
        return {
            "utility": self.utility,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "epsilon": float(self.epsilon),
            "method": self.method,
            "constraint": self.constraint,
            "certificate": self.certificate.to_dict(),
            "mechanism": self.mechanism.to_dict(),
        }
