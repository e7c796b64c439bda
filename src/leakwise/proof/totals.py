"""Whether a mechanism keeps limits on all its outcomes together: maximal leakage, and what survives post-processing.

Maximal leakage is log Σ_y max_x p(y|x), one rational number. That a lift is exceeded with probability δ at most
whatever is done to the outcome is proven by a dual vector, as in :mod:`leakwise.proof.envelope`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.exact import Level
from leakwise.guarantee import at_most, except_with
from leakwise.mechanism import Kernel, Mechanism
from leakwise.priors import Prior, PriorSet
from leakwise.proof.envelope import EnvelopeCertificate
from leakwise.proof.ratio import total_of_maxima
from leakwise.types import Bools

__all__ = ["LEAKAGE", "SURVIVES", "leakage_kept", "survives"]

LEAKAGE, SURVIVES = "maximal leakage", "lift after any post-processing"


def leakage_kept(kernel: Kernel, support: Bools, most: Level) -> tuple[bool, str, str, Fraction]:
    """Return whether the maximal leakage is within a limit, the limit and what it says in words, and e to it."""
    total = total_of_maxima(kernel, support)
    limit = f"at most {at_most(most.epsilon)} nats"
    reached = min(most.above, Fraction(int(np.count_nonzero(support))))  # knowing the value is the most there is
    said = (
        f"Whatever someone wants to guess of the secret, and whatever they knew of it, the outcome makes a right guess "
        f"at most {at_most(reached)} times as likely on average over outcomes."
    )
    return most.allows(total), limit, said, total


def survives(
    mechanism: Mechanism, priors: PriorSet, asked: tuple[Level, Fraction], dual: Sequence[Fraction]
) -> tuple[bool, str, str, Fraction]:
    """Return whether a dual vector proves the limit, it and what it says in words, and the δ that is proven."""
    most, delta = asked
    fits = isinstance(priors, Prior) and len(dual) == mechanism.shape[0] and all(value >= 0 for value in dual)
    claim = EnvelopeCertificate(mechanism, priors, most.below, delta, tuple(dual))
    proven = claim.bound() if fits else Fraction(1)
    limit = f"at most {at_most(most.shown)}, {except_with(delta)}"
    return proven <= delta, limit, claim.sentence, proven
