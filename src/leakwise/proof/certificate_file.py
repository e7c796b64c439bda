"""Certificates as they are stored: what each version holds beyond the one before it."""

from __future__ import annotations

import msgspec

from leakwise.mechanism.files import MechanismBody
from leakwise.priors.prior import PriorBody
from leakwise.priors.sets.files import SetBody
from leakwise.proof.limits_file import LevelBody, Pair, TotalLimitsBody
from leakwise.proof.optimality import OptimalityBody, TotalBody

__all__ = [
    "CODED",
    "EDGES",
    "FORMAT",
    "IN_TOTAL",
    "LIMITED",
    "MARGIN",
    "PLAIN",
    "VERSION",
    "CertificateBody",
    "LimitedBody",
    "SurvivingBody",
]

FORMAT = "leakwise.certificate"
# 2 holds further limits, a proof among mechanisms that keep the frequencies, or new sets; 3 a mechanism of a code; 4 a
# proof that margins are met, and that a smaller lift does not do.
# 5 bins with infinite edges, and of dates; 6 a limit on all outcomes together; 7 sets of values that are not listed.
PLAIN, LIMITED, CODED, MARGIN, EDGES, IN_TOTAL, VERSION = 1, 2, 3, 4, 5, 6, 7


class CertificateBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim "no outcome of this mechanism has a lift above this ratio for this prior", and its parts."""

    mechanism: MechanismBody
    prior: PriorBody  # for a set of priors its nominal one
    ratio_numerator: str
    ratio_denominator: str
    outcome: int
    letter: int
    asked: LevelBody | None = None
    around: SetBody | None = None  # the set of priors, when it is not the nominal one alone
    optimality: OptimalityBody | None = None
    remark: str | None = None  # why optimality is not part of what is checked


class LimitedBody(CertificateBody, forbid_unknown_fields=True):
    """A certificate with further limits; one without is stored as it always was."""

    optimality: TotalBody | None = None
    further: TotalLimitsBody | None = None


class SurvivingBody(LimitedBody, forbid_unknown_fields=True):
    """A certificate of a lift that survives post-processing, with the dual vector that proves it."""

    dual: list[Pair] | None = None
