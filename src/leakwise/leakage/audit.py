"""Everything that a mechanism leaks, at once: the numbers, the pictures, and the sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Drawn, Parts
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exact import Level, float_above, level
from leakwise.guarantee import taken_as_exact
from leakwise.leakage.audit_pictures import pictures
from leakwise.leakage.audit_sentences import sentences
from leakwise.leakage.audit_summary import summary
from leakwise.leakage.audit_tables import tables
from leakwise.leakage.measures.arguments import checked, checked_delta, is_small
from leakwise.leakage.measures.average import maximal_leakage, min_entropy_leakage
from leakwise.leakage.measures.differential import ldp, privacy_profile, probabilistic_ldp
from leakwise.leakage.measures.information import f_information, mutual_information
from leakwise.leakage.measures.information_privacy import InformationPrivacy, local_information_privacy
from leakwise.leakage.measures.pointwise import largest_lifts, pml
from leakwise.leakage.measures.posteriors import posterior_ranges
from leakwise.leakage.measures.privacy_profile import PrivacyProfile
from leakwise.leakage.measures.shannon_capacity import ShannonCapacity, shannon_capacity
from leakwise.leakage.measures.tail import Quantiles, pml_quantiles, psi1, psi2, tail_probability
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet
from leakwise.priors.support import over_support
from leakwise.proof import KeptLimit, asked_limits, certify
from leakwise.types import Floats

__all__ = ["Audit", "Letter", "Outcome", "audit"]

# What asks every pair of letters about every outcome is left out beyond so many terms: it would take minutes.
_MOST_PAIRS = 20_000_000
# The capacity needs the matrix, a pass over it at each of a few hundred steps.
_MOST_ENTRIES = 4_000_000
_KINDS = ("details", "summary")


@dataclass(frozen=True)
class Outcome:
    """One outcome: how likely it is, how much it leaks, and about which value."""

    label: Label
    probability: float
    leakage: float
    letter: Label
    ratio: Fraction | float

    @property
    def lift(self) -> float:
        """How many times as likely the value has become, rounded up; ``ratio`` is exact where the matrix is small."""
        return float_above(Fraction(self.ratio))


@dataclass(frozen=True)
class Letter:
    """One value: its prior probability, and the largest and least it can have after an outcome.

    ``range`` contains the least and the largest again, exact where the matrix is small, else rounded outwards.
    """

    label: Label
    prior: float
    most: float
    least: float
    range: tuple[Fraction | float, Fraction | float]


@dataclass(frozen=True, repr=False)
class Audit(Drawn):
    """What a mechanism leaks about a secret with a given prior; leakages in nats, rounded up.

    Attributes
    ----------
    mechanism, prior
        What was audited. For a set of priors ``epsilon`` and the outcomes are the worst over the set, the rest is for
        its nominal prior.
    epsilon, ratio, outcomes, letters
        The ε of PML; e^ε, exact where the matrix is small; each outcome; each value that can occur. ``outcomes`` and
        ``letters`` are empty beyond 2²² entries.
    left_out
        Values of the domain that have probability zero: no measure of a single prior counts them.
    level, tail, psi1, psi2
        The limit asked about (e^ε = 2 by default), P(ℓ > ε), and both approximate PML there.
    delta, quantiles
        The probability asked about, and both δ-quantiles of the leakage.
    maximal_leakage, min_entropy_leakage, mutual_information, total_variation, chi_square, hellinger
        Averages over the outcomes.
    capacity
        The Shannon capacity between two proven values; None where the matrix is too large.
    ldp, ldp_delta, probabilistic_ldp, information_privacy
        ε-LDP; the ε of (ε, δ)-LDP; P(privacy loss > limit); both sides of the information density. ``ldp_delta`` and
        ``probabilistic_ldp`` are None where there are too many pairs of values.
    region, zeros_allowed
        The privacy region of ``epsilon``, and how many values an outcome may rule out there.
    limits
        Each further limit that was asked about, and whether the mechanism keeps it, decided on exact integers.
    """

    mechanism: Mechanism
    prior: PriorSet
    epsilon: float
    ratio: Fraction | float
    outcomes: tuple[Outcome, ...]
    letters: tuple[Letter, ...]
    left_out: tuple[Label, ...]
    level: Level
    tail: float
    psi1: float
    psi2: float
    delta: float
    quantiles: Quantiles
    maximal_leakage: float
    min_entropy_leakage: float
    mutual_information: float
    total_variation: float
    chi_square: float
    hellinger: float
    capacity: ShannonCapacity | None
    ldp: float
    ldp_delta: float | None
    probabilistic_ldp: float | None
    information_privacy: InformationPrivacy
    region: int
    zeros_allowed: int
    profile: PrivacyProfile = field(compare=False)
    limits: tuple[KeptLimit, ...] = ()

    @property
    def lift(self) -> float:
        """e^ε, rounded up: how many times as likely the best supported guess can become."""
        return float_above(Fraction(self.ratio))

    @property
    def of_set(self) -> bool:
        """Whether a set of priors was audited; some figures are then for all of them, others for the nominal one."""
        return self.prior is not self.prior.nominal

    @property
    def sentences(self) -> list[str]:
        """What it means, in words that need no mathematics."""
        return sentences(self)

    # -- tables -------------------------------------------------------------------------------------------------

    def _shown(self) -> Parts:
        return [*(part for table in tables(self) for part in (table, "")), list(self.sentences)]

    # -- pictures -----------------------------------------------------------------------------------------------

    def chart(self, kind: str = "details", *, limit: object = None) -> dict[str, Any]:
        """Return a picture as one Vega-Lite specification.

        Parameters
        ----------
        kind
            ``"details"``: the kernel, the leakage of each outcome and the curves of failure. ``"summary"``: one picture
            for people who decide, without nats: how far the worst outcome raises a guess about each value, and how many
            times as likely any guess can become, against the limit, after further processing (at ``delta``) and for
            anyone.
        limit
            For the summary: the largest lift that is allowed; by default the one that the audit was asked about.
        """
        if kind not in _KINDS or (kind != "summary" and limit is not None):
            raise InvalidInput(
                f"kind must be one of {', '.join(_KINDS)}, and limit= goes with 'summary'. Got kind={kind!r}, "
                f"limit={limit!r}.{did_you_mean(kind, _KINDS)}"
            )
        return pictures(self) if kind == "details" else summary(self, limit)

    # -- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: every number, the outcomes, the values and the sentences."""
        both = self.information_privacy
        return {
            "epsilon": float(self.epsilon),
            "lift": self.lift,
            "failure": self.prior.failure,
            "holds_for": {"epsilon": "every prior of the set", "others": "the nominal prior"} if self.of_set else None,
            "prior_taken_as_exact": taken_as_exact(self.prior) is not None,
            "maximal_leakage": self.maximal_leakage,
            "min_entropy_leakage": self.min_entropy_leakage,
            "mutual_information": self.mutual_information,
            "total_variation": self.total_variation,
            "chi_square": self.chi_square,
            "hellinger": self.hellinger,
            "capacity": None if self.capacity is None else {"lower": self.capacity.lower, "upper": self.capacity.upper},
            "level": {"asked": self.level.words, "epsilon": self.level.epsilon},
            "tail": self.tail,
            "psi1": self.psi1,
            "psi2": self.psi2,
            "delta": self.delta,
            "quantiles": {"lower": self.quantiles.lower, "upper": self.quantiles.upper},
            "ldp": self.ldp,
            "ldp_delta": self.ldp_delta,
            "probabilistic_ldp": self.probabilistic_ldp,
            "information_privacy": {"upper": both.upper, "lower": both.lower, "epsilon": both.epsilon},
            "region": self.region,
            "zeros_allowed": self.zeros_allowed,
            "left_out": [label_to_plain(label) for label in self.left_out],
            "outcomes": [
                {
                    "label": label_to_plain(each.label),
                    "probability": each.probability,
                    "leakage": each.leakage,
                    "letter": label_to_plain(each.letter),
                }
                for each in self.outcomes
            ],
            "letters": [
                {"label": label_to_plain(each.label), "prior": each.prior, "most": each.most, "least": each.least}
                for each in self.letters
            ],
            "limits": [
                {"name": one.name, "limit": one.limit, "kept": one.kept, "outcome": label_to_plain(one.outcome)}
                for one in self.limits
            ],
            "sentences": list(map(str, self.sentences)),
        }


def audit(
    mechanism: Mechanism,
    prior: Any,
    epsilon: object = None,
    *,
    lift: object = None,
    delta: object = 0.01,
    anyone: object = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
) -> Audit:
    """Measure everything that a mechanism leaks about a secret with this prior.

    Parameters
    ----------
    mechanism
        The mechanism, or a stratified one: then what it leaks in every stratum.
    prior
        A Prior, or a set of priors; for a stratified mechanism a :class:`PriorByStratum`.
    epsilon, lift
        The limit for the tail, ψ1, ψ2 and probabilistic LDP; "twice as likely" (lift 2) by default.
    delta
        The probability for the quantiles and (ε, δ)-LDP.
    anyone, lift_of, ceiling, floor
        Further limits, as for :func:`leakwise.design`: the audit says of each whether the mechanism keeps it.

    Examples
    --------
    >>> from leakwise import Prior, randomized_response
    >>> found = audit(randomized_response(["no", "yes"], lift=3), Prior({"no": 0.75, "yes": 0.25}))
    >>> print(f"{found.epsilon:.4f} {found.ldp:.4f}")
    0.6931 1.0986
    >>> print(found.sentences[0])
    No guess about the secret becomes more than 2 times as likely by seeing the outcome, for anyone who knew the \
prior (rows independent).
    """
    known = align_prior(prior, checked(mechanism))
    nominal = known.nominal
    asked = level(lift=2) if epsilon is None and lift is None else level(epsilon, lift)
    allowed = checked_delta(delta)
    further = asked_limits(anyone=anyone, lift_of=lift_of, ceiling=ceiling, floor=floor)
    rows, columns = mechanism.shape
    structured = isinstance(mechanism.kernel, CommonLawKernel)
    by_pairs = structured or rows * rows * columns <= _MOST_PAIRS
    by_entries = rows * columns <= _MOST_ENTRIES
    leakage = pml(mechanism, known)
    worst = float(leakage.max())
    if not math.isfinite(worst):
        raise InvalidInput(
            "The set of priors allows unbounded leakage: under one of its priors an outcome is impossible that "
            "another value can cause. Audit a single prior, or a smaller set."
        )
    ratios = _ratios(mechanism, known, leakage)
    profile = privacy_profile(mechanism)
    region = nominal.region(worst)
    return Audit(
        mechanism=mechanism,
        prior=known,
        epsilon=over_support(worst, known),
        ratio=max(ratios),
        outcomes=_outcomes(mechanism, nominal, leakage, ratios) if by_entries else (),
        letters=_letters(mechanism, nominal) if by_entries else (),
        left_out=tuple(label for label, here in zip(mechanism.inputs, nominal.support, strict=True) if not here),
        level=asked,
        tail=tail_probability(mechanism, nominal, asked),
        psi1=psi1(mechanism, nominal, asked),
        psi2=psi2(mechanism, nominal, asked),
        delta=float(allowed),
        quantiles=pml_quantiles(mechanism, nominal, allowed),
        maximal_leakage=maximal_leakage(mechanism, known),
        min_entropy_leakage=min_entropy_leakage(mechanism, nominal),
        mutual_information=mutual_information(mechanism, nominal),
        total_variation=f_information(mechanism, nominal, "total_variation"),
        chi_square=f_information(mechanism, nominal, "chi_square"),
        hellinger=f_information(mechanism, nominal, "hellinger"),
        capacity=shannon_capacity(mechanism, tolerance=1e-4) if by_entries else None,
        ldp=ldp(mechanism),
        ldp_delta=profile.epsilon(allowed) if by_pairs else None,
        probabilistic_ldp=probabilistic_ldp(mechanism, asked) if by_pairs else None,
        information_privacy=local_information_privacy(mechanism, nominal),
        region=region,
        zeros_allowed=region - 1,
        profile=profile,
        limits=certify(mechanism, known, further).kept if further else (),
    )


def _ratios(mechanism: Mechanism, prior: PriorSet, leakage: Floats) -> list[Fraction | float]:
    """e^ℓ of each outcome: exact where that is fast, else above the exponential of its leakage."""
    if is_small(mechanism):
        return [math.inf if ratio is None else ratio for ratio in largest_lifts(mechanism, prior, prior.support)]
    return list((np.exp(leakage) * (1 + 1e-12)).tolist())


def _outcomes(
    mechanism: Mechanism, prior: Prior, leakage: Floats, ratios: list[Fraction | float]
) -> tuple[Outcome, ...]:
    letters = np.where(prior.support[:, None], mechanism.matrix, -1.0).argmax(axis=0)
    law = mechanism.kernel.output_law_floats(prior.weights, prior.denominator)
    return tuple(
        Outcome(label, float(mass), float(value), mechanism.inputs[letter], ratio)
        for label, mass, value, letter, ratio in zip(mechanism.outputs, law, leakage, letters, ratios, strict=True)
        if mass > 0
    )


def _letters(mechanism: Mechanism, prior: Prior) -> tuple[Letter, ...]:
    def inside(posterior: Fraction | float) -> float:
        """Return the float of a posterior: 1 and 0 are exactly that."""
        nearest = float(posterior)
        return math.nextafter(1.0, 0.0) if nearest == 1 and posterior != 1 else nearest

    found = zip(mechanism.inputs, prior.probabilities, posterior_ranges(mechanism, prior), prior.support, strict=True)
    return tuple(
        Letter(label, float(before), inside(ends[1]), inside(ends[0]), ends)
        for label, before, ends, here in found
        if here
    )
