"""What the mechanisms of all strata leak beyond what the given columns say already."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, overload

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, label_text
from leakwise.guarantee import at_most, lift_above
from leakwise.leakage.audit import Audit
from leakwise.leakage.audit import audit as audit_one
from leakwise.leakage.measures.differential import ldp
from leakwise.leakage.measures.information import mutual_information
from leakwise.leakage.measures.pointwise import epsilon
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import PriorByStratum

__all__ = ["StratifiedAudit", "also_by_stratum"]

P = ParamSpec("P")
_SHOWN = 12


@dataclass(frozen=True, repr=False)
class StratifiedAudit(Shown):
    """What a stratified mechanism leaks in every stratum; leakages in nats, rounded up.

    Attributes
    ----------
    mechanism, prior
        What was audited.
    leakages
        The ε of PML in each stratum: what an outcome adds to the given columns.
    ldp
        The largest ε of local differential privacy of its mechanisms: what an outcome tells anyone, whatever they knew.
    mutual_information
        I(secret; outcome | given columns), the mean over the strata by their weights.
    """

    mechanism: StratifiedMechanism
    prior: PriorByStratum
    leakages: Mapping[Label, float]
    ldp: float
    mutual_information: float

    @property
    def worst(self) -> Label:
        """The stratum that leaks most."""
        return max(self.leakages, key=lambda key: self.leakages[key])

    @property
    def epsilon(self) -> float:
        """The ε of PML in the worst stratum."""
        return self.leakages[self.worst]

    def __getitem__(self, stratum: Any) -> Audit:
        """Everything that the mechanism of one stratum leaks there."""
        return audit_one(self.mechanism[stratum], self.prior[stratum])

    def _shown(self) -> Parts:
        given, weights = self.prior.given_columns, self.prior.weights
        most = sorted(self.leakages, key=lambda key: -self.leakages[key])[:_SHOWN]
        rows = [
            [*map(label_text, given.parts(key)), float(weights[key]), at_most(lift_above(self.leakages[key])),
             at_most(self.leakages[key], 5)]
            for key in most
        ]  # fmt: skip
        title = (
            f"What an outcome adds to {given.words} in {len(self.leakages):,} strata: ε {at_most(self.epsilon, 5)} "
            f"where {given.described(self.worst)}. For any prior whatever ε {at_most(self.ldp, 5)}; on average "
            f"{self.mutual_information:.4g} nats. The strata that leak most:"
        )
        return [Table([*map(str, given.names), "weight", "lift", "ε"], rows, title)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon": self.epsilon,
            "worst": label_to_plain(self.worst),
            "ldp": self.ldp,
            "mutual_information": self.mutual_information,
            "strata": [
                {"stratum": label_to_plain(key), "weight": float(self.prior.weights[key]), "epsilon": value}
                for key, value in self.leakages.items()
            ],
        }


class Audits(Protocol[P]):
    """A function that audits one mechanism, and the mechanisms of all strata."""

    @overload
    def __call__(
        self, mechanism: StratifiedMechanism, prior: Any, *args: P.args, **options: P.kwargs
    ) -> StratifiedAudit: ...

    @overload
    def __call__(self, mechanism: Mechanism, prior: Any, *args: P.args, **options: P.kwargs) -> Audit: ...


def also_by_stratum(one: Callable[Concatenate[Mechanism, Any, P], Audit]) -> Audits[P]:
    """Return a function that audits as the given one does, and takes stratified mechanisms as well."""

    @functools.wraps(one)
    def run(mechanism: Any, prior: Any, *args: P.args, **options: P.kwargs) -> Any:
        if not isinstance(mechanism, StratifiedMechanism):
            return one(mechanism, prior, *args, **options)
        if args or options:
            raise InvalidInput("A stratified mechanism is audited without limits: ask those of a stratum, audit[…].")
        return _audited(mechanism, prior)

    return run


def _audited(mechanism: StratifiedMechanism, priors: Any) -> StratifiedAudit:
    if not isinstance(priors, PriorByStratum) or priors.given_columns != mechanism.given_columns:
        raise InvalidInput(
            "prior must be a lw.PriorByStratum by the given columns of the mechanism, "
            f"{mechanism.given_columns.words}. Got {type(priors).__name__} instead."
        )
    leakages = {key: float(epsilon(mechanism[key], priors[key])) for key in priors}
    information = sum(
        float(priors.weights[key]) * mutual_information(mechanism[key], priors[key].nominal) for key in priors
    )
    return StratifiedAudit(mechanism, priors, leakages, max(map(ldp, mechanism.mechanisms)), information)
