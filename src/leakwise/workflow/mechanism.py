"""The mechanism of a release: designed or given, rounded to what can be drawn, and certified within the limit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leakwise.errors import CertificateRejected, InvalidInput, LeakwiseWarning
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Prior, PriorSet
from leakwise.priors.sample import counts_of
from leakwise.priors.sets.around_estimate import checked_failure
from leakwise.priors.sets.noisy import NoisyLayerCake, checked_cost, noisy_counts
from leakwise.proof import AskedLimits, Certificate, StratifiedCertificate, certify, limits_in_stratum

if TYPE_CHECKING:
    from leakwise.optimize import Design, Utility
    from leakwise.optimize.from_data import DataDesign
    from leakwise.sampling import SecureStream

__all__ = [
    "Kept",
    "Sample",
    "certified_mechanism",
    "drawable",
    "how_found",
    "kept_in_reading",
    "refuse_broken",
    "release_utility",
    "spread",
    "warn_of_nothing",
]

_WAY_OUT = (
    "Nothing was released. Ask for a larger lift (lift=, --lift), or leave the mechanism out (mechanism=, --mechanism, "
    "or 'mechanism' in the settings) to have one designed for this table."
)


class Sample(NamedTuple):
    """The rows of the table as a sample, and how often it may mislead.

    With a ``cost``, in nats, all that follows depends on them through noisy counts alone.
    """

    prior: Prior
    failure: float | Fraction | None
    cost: Fraction | None = None


class Kept(NamedTuple):
    """A release for reading whose frequencies are kept: pairs that must never occur, and shares that stay as is."""

    forbidden: Any = None
    keep_at_least: Any = None

    @property
    def words(self) -> dict[str, str]:
        """What was asked for, in the words of the report."""
        told = {}
        if self.forbidden is not None:
            told["never released"] = ", ".join(f"{value!r} as {outcome!r}" for value, outcome in self.forbidden)
        if isinstance(self.keep_at_least, Mapping):
            shares = (f"{value!r} with probability {share}" for value, share in self.keep_at_least.items())
            told["released as it is at least"] = ", ".join(shares)
        elif self.keep_at_least is not None:
            told["released as it is at least"] = f"every value with probability {self.keep_at_least}"
        return told


def kept_in_reading(
    keep_frequencies: bool | None,
    forbidden: Any,
    keep_at_least: Any,
    use: str,
    mechanism: Mechanism | StratifiedMechanism | None,
) -> Kept | None:
    """Return what is kept where outcomes come as often as the values; refuse it where nothing would follow from it."""
    if keep_frequencies not in (None, True, False):
        raise InvalidInput(f"keep_frequencies must be True, False or left out. Got {keep_frequencies!r} instead.")
    given = {"keep_frequencies": keep_frequencies, "forbidden": forbidden, "keep_at_least": keep_at_least}
    named = [name for name, value in given.items() if value is not None]
    if named and (use != "reading" or mechanism is not None):
        beside = "mechanism=" if mechanism is not None else f"use={use!r}"
        raise InvalidInput(
            f"{named[0]} (--{named[0].replace('_', '-')}) goes with use='reading' (--for reading), not with {beside}: "
            "for statistics the frequencies are estimated (lw.estimate), and a given mechanism keeps what it keeps."
        )
    if keep_frequencies is False and len(named) > 1:
        raise InvalidInput(
            f"{named[1]} (--{named[1].replace('_', '-')}) goes with the frequencies kept, the default of "
            "use='reading'. Leave keep_frequencies=False (--no-keep-frequencies) out."
        )
    return Kept(forbidden, keep_at_least) if use == "reading" and keep_frequencies is not False else None


def certified_mechanism(
    basis: PriorSet | Sample,
    asked: AskedLimits,
    use: str | Utility,
    mechanism: Mechanism | None,
    columns: tuple[str, ...],
    time_limit: float,
    keep: Kept | None = None,
    stream: SecureStream | None = None,
) -> tuple[Design | DataDesign | None, Certificate, Certificate]:
    """Return the mechanism's proof, and the one that the receiver may see; a mechanism beyond the limit is refused.

    They differ where the prior comes from the table: the receiver's rests on its rounded frequencies alone. Where
    noise on the counts is paid for, both are the same one, within limit/e^cost.
    """
    found: Design | DataDesign | None = None
    asked.warn_of_idle(basis if isinstance(basis, PriorSet) else basis.prior, 3)
    known: PriorSet
    public: PriorSet
    if isinstance(basis, Sample) and basis.cost is not None:
        known = public = noisy = _noisy(basis, stream)
        asked = limits_in_stratum(asked, noisy)
        if mechanism is None:
            found = _from_noise(noisy, asked, release_utility(use, len(noisy), keep), time_limit)
    elif isinstance(basis, PriorSet):
        known = public = basis
        if mechanism is None:
            from leakwise.optimize import design

            found = design(known, asked, utility=release_utility(use, len(known.nominal), keep), time_limit=time_limit)
    else:
        known, public = (basis.prior.confidence(basis.failure, f"{kind}layer-cake") for kind in ("", "rounded-"))
        if mechanism is None:
            found = _from_rows(basis, asked, use, time_limit, keep)
            if found.certificate is not None and isinstance(found.certificate.prior, AllPriors):
                known = public = AllPriors(public.nominal)
    proven = None if found is None else found.certificate
    if mechanism is None:
        assert found is not None
        mechanism = spread(found.mechanism, columns)
    mechanism = drawable(mechanism)
    if proven is None:
        certificate = certify(mechanism, known, asked)
    elif proven.mechanism is mechanism and proven.prior == known:
        certificate = replace(proven, asked=asked.level)
    else:
        certificate = certify(mechanism, known, asked)
        certificate = replace(certificate, optimality=proven.optimality, remark=proven.remark)
    # Whether a release is made is seen, too: the rounded frequencies decide it.
    shown = certificate if public is known else certify(mechanism, public, asked)
    refuse_broken(certificate, shown)
    if certificate.ratio == 1 and len(known.nominal) > 1:
        warn_of_nothing()
    return found, certificate, shown


def _noisy(basis: Sample, stream: SecureStream | None) -> NoisyLayerCake:
    counts, cost = counts_of(basis.prior), checked_cost(basis.cost)
    noisy = noisy_counts([counts], cost, stream)[0]
    return NoisyLayerCake(basis.prior.alphabet, noisy, sum(counts), cost, checked_failure(basis.failure))


def _from_noise(known: NoisyLayerCake, asked: AskedLimits, utility: Any, time_limit: float) -> Design:
    """Return the better design, for the noisy counts or for every prior; that it is better is told by them, too."""
    from leakwise.optimize import design

    anything = AllPriors(known.nominal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)  # how far each may be from the best is another's bound
        everywhere = design(anything, asked, utility=utility, time_limit=time_limit / 2)
        own = design(known, asked, utility=utility, time_limit=time_limit / 2)
    if own.value > everywhere.value:
        return own
    warnings.warn(
        f"The noisy counts of {known.rows:,} rows are too uncertain to gain anything from them: a mechanism is used "
        "whose guarantee holds for every prior. Pay more for them (prior_cost, --prior-cost), or nothing.",
        LeakwiseWarning,
        stacklevel=4,
    )
    return everywhere


def refuse_broken(*certificates: Certificate | StratifiedCertificate) -> None:
    """Refuse a mechanism of which a certificate does not hold."""
    for one in reversed(certificates):
        if not one.holds:
            raise CertificateRejected(f"{one.sentence} {_WAY_OUT}")


def warn_of_nothing() -> None:
    """Warn of a mechanism whose outcomes say nothing."""
    warnings.warn(
        "The best mechanism within this limit reveals nothing about the secret: all rows draw their outcomes from the "
        "same distribution. Allow a larger lift, or release for statistics.",
        LeakwiseWarning,
        stacklevel=4,
    )


def _from_rows(
    basis: Sample, asked: AskedLimits, use: str | Utility, time_limit: float, keep: Kept | None
) -> DataDesign:
    """Return a mechanism that follows from the rounded frequencies alone."""
    from leakwise.optimize.from_data import design_from_data

    found = design_from_data(
        basis.prior,
        asked,
        failure=basis.failure,
        strategy="certified",
        utility=release_utility(use, len(basis.prior), keep),
        compare=False,
        rounded=True,
        time_limit=time_limit,
    )
    assert found.certificate is not None
    if isinstance(found.certificate.prior, AllPriors) and len(basis.prior) > 1:
        warnings.warn(
            f"The table's {basis.prior.sample_size:,} rows are too few to gain anything from an estimated prior: "
            f"{'a mechanism' if keep else 'randomized response'} is used, whose guarantee holds for every prior.",
            LeakwiseWarning,
            stacklevel=4,
        )
    return found


def release_utility(use: str | Utility, letters: int, keep: Kept | None) -> Any:
    """Least variance of the frequencies; or agreement with the truth, the letters as outcomes, as frequent if kept."""
    if not isinstance(use, str):
        return use
    if use == "statistics":
        return "frequencies"
    from leakwise.optimize import Expected
    from leakwise.optimize.problem.kept_frequencies import kept_frequencies

    agreement = Expected(np.eye(letters))
    return agreement if keep is None else kept_frequencies(agreement, *keep)


def spread(mechanism: Mechanism, columns: tuple[str, ...]) -> Mechanism:
    """Put outcomes of a joint secret that are not combinations into its first column; the others point there."""
    if len(columns) == 1 or all(isinstance(one, tuple) and len(one) == len(columns) for one in mechanism.outputs):
        return mechanism
    pointers = (f"see {columns[0]}",) * (len(columns) - 1)
    outputs = [(str(one), *pointers) for one in mechanism.outputs]
    return Mechanism.from_kernel(mechanism.kernel, mechanism.input_alphabet, outputs)


def drawable(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism, rounded where a release cannot draw from it exactly: to a power of two up to 2^64."""
    denominator = mechanism.denominator
    return mechanism.dyadic(60) if denominator & (denominator - 1) or denominator > 1 << 64 else mechanism


def how_found(found: Design | DataDesign | None, keep: Kept | None = None) -> dict[str, Any]:
    """Return how the mechanism was found, and what was asked of it, in the words of the report."""
    return {**_found(found), **({} if keep is None else keep.words)}


def _found(found: Design | DataDesign | None) -> dict[str, Any]:
    if found is None:
        return {"mechanism": "given by the user"}
    from leakwise.optimize.from_data import DataDesign as FromRows

    if isinstance(found, FromRows):
        best = found.alternatives[0]
        return {"designed for": found.utility, "found by": f"{found.strategy} ({best.note})", "value": found.value}
    told: dict[str, Any] = {
        "designed for": found.utility,
        "found by": found.method,
        "value": found.value,
        "no mechanism within the limit has more than": found.bound,
        "so it may fall short of the best by at most": found.gap,
    }
    # A search that was stopped early may know no bound, which is left out rather than written as a number.
    return {name: said for name, said in told.items() if not (isinstance(said, float) and math.isinf(said))}
