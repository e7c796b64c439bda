"""One of several secrets in a proof about a row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from leakwise.alphabet import joined
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.proof.certificate import Certificate
from leakwise.proof.ratio import every_prior_ratio
from leakwise.proof.several.links import Known
from leakwise.proof.stratified import StratifiedCertificate

__all__ = ["SecretPart"]


@dataclass(frozen=True)
class SecretPart:
    """One of several secrets.

    Attributes
    ----------
    names
        Its columns.
    certificate
        What its outcome adds, for the priors that count once the outcomes of the earlier secrets were drawn.
    alone
        What was known of it without them, where those priors are all that the earlier guarantees leave possible.
    possible
        How many mechanisms the rows of the table could have chosen for a row of it; 1 where they choose none.
    least
        Whether its lift is the least that meets margins, so that the rows may have chosen it as well.
    """

    names: tuple[Hashable, ...]
    certificate: Certificate | StratifiedCertificate
    alone: Known | None = None
    possible: int = 1
    least: bool = False

    @property
    def title(self) -> str:
        """The columns in words."""
        return joined(self.names)

    @property
    def mechanism(self) -> Mechanism | StratifiedMechanism:
        """What its outcomes are drawn from."""
        return self.certificate.mechanism

    @property
    def known(self) -> Known:
        """The priors that the certificate is about."""
        found = self.certificate
        return found.priors if isinstance(found, StratifiedCertificate) else found.prior

    @property
    def before(self) -> Known:
        """What was known of it without the outcomes of earlier secrets, where that is told apart."""
        return self.known if self.alone is None else self.alone

    @property
    def anyone(self) -> Fraction | None:
        """The largest lift for any prior whatever; None where it has no bound."""
        found = self.certificate
        if isinstance(found, StratifiedCertificate):
            return found.every_prior
        return every_prior_ratio(found.mechanism.kernel)[0]
