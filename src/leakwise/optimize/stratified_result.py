"""The result of a design by strata: one mechanism per stratum, what they are worth together, and one proof."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import counted
from leakwise.exact import float_above, float_below
from leakwise.guarantee import at_least, at_most
from leakwise.mechanism import StratifiedMechanism
from leakwise.priors import PriorByStratum
from leakwise.proof import StratifiedCertificate

__all__ = ["OtherStrata", "StratifiedDesign", "StratumDesign"]

_SHOWN = 12


@dataclass(frozen=True)
class StratumDesign:
    """What the mechanism of one stratum is worth there, and where it comes from.

    ``source`` is ``"own"``, ``"shared"`` (another stratum with the same prior has it), ``"merged"`` (it rests on the
    counts of a small stratum together with another) or ``"every prior"`` (too little is known of the stratum: the
    mechanism holds for every prior).
    """

    value: float
    bound: float
    method: str
    source: str


@dataclass(frozen=True)
class OtherStrata:
    """The strata that have no design of their own and are not listed: how many, with what share of all rows."""

    strata: int
    share: Fraction
    design: StratumDesign


@dataclass(frozen=True, repr=False)
class StratifiedDesign(Shown):
    """The best mechanisms found for all strata.

    Attributes
    ----------
    mechanism
        A :class:`StratifiedMechanism`, exact, ready for a release.
    certificate
        The proof for every stratum, on the exact integers.
    prior
        The priors that it was designed for.
    strata
        For each stratum the value, the upper bound, the method and the source of its mechanism.
    utility, constraint
        What was asked for, in words.
    others
        Strata of a table that are not listed, whose rows get the mechanism that holds for every prior; None without.
    names
        What :meth:`legend` returns; empty where outcomes are values.
    """

    mechanism: StratifiedMechanism
    certificate: StratifiedCertificate
    prior: PriorByStratum
    strata: Mapping[Label, StratumDesign]
    utility: str
    constraint: str
    others: OtherStrata | None = None
    names: Mapping[Label, str] = field(default_factory=dict)

    def legend(self) -> dict[Label, str]:
        """Return for each outcome the values that it makes more likely; one outcome means the same in every stratum."""
        return dict(self.names)

    def _pooled(self, values: Mapping[Label, float], other: float) -> Fraction | float:
        """The exact mean; infinite where a value is."""
        if not all(map(math.isfinite, (*values.values(), other))):
            return sum((*values.values(), other))
        listed = sum((self.prior.weights[key] * Fraction(value) for key, value in values.items()), Fraction(0))
        share = Fraction(0) if self.others is None else self.others.share
        return (1 - share) * listed + share * Fraction(other)

    @property
    def value(self) -> float:
        """The utility of a row: the mean over the strata by their weights, rounded down."""
        other = 0.0 if self.others is None else self.others.design.value
        mean = self._pooled({key: one.value for key, one in self.strata.items()}, other)
        return float_below(mean) if isinstance(mean, Fraction) else mean

    @property
    def bound(self) -> float:
        """The upper bound on that mean: no mechanisms within the limit are better; rounded up."""
        other = 0.0 if self.others is None else self.others.design.bound
        mean = self._pooled({key: one.bound for key, one in self.strata.items()}, other)
        return float_above(mean) if isinstance(mean, Fraction) else mean

    @property
    def gap(self) -> float:
        """How far the value may be from the optimum: upper bound minus value, never negative."""
        return max(0.0, self.bound - self.value)

    @property
    def epsilon(self) -> float:
        """The proven leakage in every stratum, in nats, rounded up."""
        return self.certificate.epsilon_upper

    @property
    def method(self) -> str:
        """How the mechanisms were found, from the most frequent way to the least."""
        ways = Counter(one.method for one in self.strata.values())
        return "; ".join(f"{method} ({counted(count, 'stratum', 'strata')})" for method, count in ways.most_common())

    @property
    def fallbacks(self) -> tuple[Label, ...]:
        """The strata of which too little is known: their mechanism holds for every prior."""
        return tuple(key for key, one in self.strata.items() if one.source == "every prior")

    @property
    def shared(self) -> tuple[Label, ...]:
        """The strata that have the design of another stratum with the same, or nearly the same, prior."""
        return tuple(key for key, one in self.strata.items() if one.source == "shared")

    @property
    def merged(self) -> tuple[Label, ...]:
        """The small strata whose mechanism rests on their counts together with those of another one."""
        return tuple(key for key, one in self.strata.items() if one.source == "merged")

    @property
    def fallen(self) -> Fraction:
        """The share of the rows that get the mechanism for every prior, in listed strata and in others; exact."""
        listed = sum((self.prior.weights[key] for key in self.fallbacks), Fraction(0))
        share = Fraction(0) if self.others is None else self.others.share
        return (1 - share) * listed + share

    def __getitem__(self, stratum: Any) -> StratumDesign:
        return self.strata[self.prior.given_columns.stratum(stratum)]

    def _shown(self) -> Parts:
        weights, others = self.prior.weights, 0 if self.others is None else self.others.strata
        rows = [
            ["utility", self.utility],
            ["value, mean over the rows", at_least(self.value, 6)],
            ["upper bound (nothing is better)", at_most(self.bound, 6)],
            ["gap", at_most(self.gap, 2)],
            ["asked", self.constraint],
            ["proven ε in every stratum (nats)", at_most(self.epsilon, 6)],
            ["strata", f"{len(self.strata) + others:,}"],
            ["different mechanisms", f"{len(self.mechanism.mechanisms):,}"],
            [
                "with the mechanism for every prior",
                f"{len(self.fallbacks) + others:,}, {float(100 * self.fallen):.2g}% of the rows",
            ],
        ]
        if self.merged:
            rows.append(["merged with another", f"{len(self.merged):,}"])
        if self.prior.absent and not others:
            kept = "rows are refused" if self.mechanism.otherwise is None else "the mechanism for every prior"
            rows.append(["combinations that do not occur", f"{self.prior.absent:,}: {kept}"])
        most = sorted(self.strata, key=lambda key: -weights[key])[:_SHOWN]
        largest = [
            [
                *map(str, self.prior.given_columns.parts(key)),
                float(weights[key]),
                self.strata[key].value,
                self.strata[key].source,
            ]
            for key in most
        ]
        headers = [*map(str, self.prior.given), "weight", "value", "mechanism"]
        title = f"The {len(most):,} most frequent strata:" if len(self.strata) > _SHOWN else None
        return [Table(["", "design"], rows, self.certificate.sentence, align="ll"), Table(headers, largest, title)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "utility": self.utility,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "epsilon": self.epsilon,
            "constraint": self.constraint,
            "fallbacks": [label_to_plain(key) for key in self.fallbacks],
            "merged": [label_to_plain(key) for key in self.merged],
            "other_strata": 0 if self.others is None else self.others.strata,
            "share_of_rows_for_every_prior": float(self.fallen),
            "strata": [
                {"stratum": label_to_plain(key), "value": one.value, "bound": one.bound, "source": one.source}
                for key, one in self.strata.items()
            ],
            "certificate": self.certificate.to_dict(),
            "mechanism": self.mechanism.to_dict(),
        }
