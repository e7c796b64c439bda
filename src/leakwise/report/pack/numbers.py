"""Every number of a certificate computed again from its integers, with the line that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leakwise.alphabet import joined
from leakwise.errors import InvalidInput
from leakwise.exact import log_upper
from leakwise.guarantee import at_most
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.mechanism import Mechanism
from leakwise.priors import LayerCake, PriorByStratum, PriorSet
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.proof import Certificate, SeveralCertificate, StratifiedCertificate
from leakwise.report.comparison import worth
from leakwise.report.pack.lines import Lines

__all__ = ["Number", "holds_counts", "numbers_of"]

AnyCertificate = Certificate | StratifiedCertificate | SeveralCertificate
Place = tuple[str | int, ...]

# Strata whose numbers are listed one by one; the largest lift is over all of them.
_STRATA = 200
# Standard errors are listed for so many values.
_VALUES = 50


@dataclass(frozen=True)
class Number:
    """A number, on the safe side, how it was computed again, and the line of the certificate that it rests on."""

    name: str
    value: str
    how: str
    line: int | None


def numbers_of(certificate: AnyCertificate, lines: Lines, rows: int | None) -> list[Number]:
    """Return every number that the certificate proves, computed again; with ``rows``, also what they are worth."""
    if isinstance(certificate, SeveralCertificate):
        return list(_several(certificate, lines))
    if isinstance(certificate, StratifiedCertificate):
        return list(_stratified(certificate, lines, ("body",)))
    if isinstance(certificate, Certificate):
        found = list(_one(certificate, lines, ("body",)))
        return [*found, *_accuracy(certificate, lines, rows)] if rows else found
    raise InvalidInput("A pack is of the certificate of a release. This one is of an envelope or a least leakage.")


def _one(certificate: Certificate, lines: Lines, place: Place, of: str = "") -> Iterator[Number]:
    ratio = certificate.ratio
    yield Number(
        f"largest lift{of}",
        "no bound" if ratio is None else at_most(ratio, 9),
        "the largest probability of an outcome over its probability under the prior, on exact integers, rounded up",
        lines.number(*place, "ratio_numerator"),
    )
    if ratio is not None:
        yield Number(f"leakage{of} in nats", at_most(log_upper(ratio), 9), "its logarithm, rounded up", None)
    yield from _limits(certificate.asked, certificate.further.anyone, lines, place, of)
    anyone = ldp_ratio(certificate.mechanism)
    yield Number(
        f"largest lift for any prior{of}",
        "no bound" if anyone is None else at_most(anyone, 9),
        "the largest ratio within a column of the mechanism, on exact integers",
        lines.number(*place, "mechanism"),
    )
    yield from _failure(certificate.failure, lines, (*place, "around"), of)
    if certificate.optimality is not None:
        claim = certificate.optimality
        yield Number(
            f"{claim.utility} of any mechanism within the limits{of}",
            f"at most {claim.bound:.9g} (this one: {claim.value:.9g})",
            "the upper bound by its dual vector, recomputed by the checker",
            lines.number(*place, "optimality", "bound"),
        )


def _stratified(certificate: StratifiedCertificate, lines: Lines, place: Place, of: str = "") -> Iterator[Number]:
    yield Number(
        f"largest lift in any stratum{of}",
        "no bound" if certificate.ratio is None else at_most(certificate.ratio, 9),
        f"the largest of {len(certificate.ratios):,} strata and of combinations without a prior",
        lines.number(*place, "ratios"),
    )
    yield from _limits(certificate.asked, certificate.anyone, lines, place, of)
    every = certificate.every_prior
    yield Number(
        f"largest lift for any prior{of}",
        "no bound" if every is None else at_most(every, 9),
        "the largest ratio within a column of any of the mechanisms",
        lines.number(*place, "mechanism", "mechanisms"),
    )
    yield from _failure(certificate.failure, lines, (*place, "priors", "strata"), of)
    for number, stratum in enumerate(list(certificate.ratios)[:_STRATA]):
        lift = certificate.lift(stratum)
        yield Number(
            f"lift{of} where {certificate.mechanism.given_columns.described(stratum)}",
            "no bound" if lift is None else at_most(lift, 9),
            "from its mechanism and its prior",
            lines.number(*place, "ratios", number),
        )


def _several(certificate: SeveralCertificate, lines: Lines) -> Iterator[Number]:
    yield Number(
        "largest lift of all outcomes of a row together",
        "no bound" if certificate.ratio is None else at_most(certificate.ratio, 9),
        f"the product of the {len(certificate.parts)} lifts below",
        lines.number("body", "parts"),
    )
    for number, part in enumerate(certificate.parts):
        found, of = part.certificate, f" of {joined(part.names)}"
        if isinstance(found, StratifiedCertificate):
            yield from _stratified(found, lines, ("body", "parts", number, "stratified"), of)
        else:
            yield from _one(found, lines, ("body", "parts", number, "certificate"), of)


def _limits(asked: Any, anyone: Any, lines: Lines, place: Place, of: str) -> Iterator[Number]:
    if asked is not None:
        yield Number(f"limit{of}", asked.words, "as it was asked for", lines.number(*place, "asked"))
    if anyone is not None:
        line = lines.number(*place, "further", "anyone")
        yield Number(f"limit for any prior{of}", anyone.words, "as it was asked for", line)


def _failure(failure: float, lines: Lines, place: Place, of: str) -> Iterator[Number]:
    if failure:
        how = "the probability that the rows mislead, bounded for the sets of priors"
        yield Number(f"failure probability of the priors{of}", at_most(failure, 3), how, lines.number(*place))


def _accuracy(certificate: Certificate, lines: Lines, rows: int) -> Iterator[Number]:
    mechanism = certificate.mechanism
    if not isinstance(mechanism, Mechanism) or len(mechanism.inputs) > _VALUES:
        return
    errors = worth(mechanism, certificate.prior.nominal, rows).standard_error
    for label, error in zip(mechanism.inputs, errors or (), strict=False):
        yield Number(
            f"standard error of the frequency of {label}",
            f"{error:.3g}",
            f"from the mechanism and the prior, for {rows:,} rows",
            lines.number("body", "prior", "weights"),
        )


def holds_counts(certificate: AnyCertificate) -> bool:
    """Return whether a certificate contains exact counts of a table, and must stay with it."""
    return any(map(_is_counted, _sets(certificate)))


def _sets(certificate: AnyCertificate) -> Sequence[PriorSet]:
    if isinstance(certificate, SeveralCertificate):
        return [one for part in certificate.parts for one in _sets(part.certificate)]
    known: PriorSet | PriorByStratum
    known = certificate.priors if isinstance(certificate, StratifiedCertificate) else certificate.prior
    return [known[key] for key in known] if isinstance(known, PriorByStratum) else [known]


def _is_counted(known: PriorSet) -> bool:
    if isinstance(known, RoundedLayerCake | NoisyLayerCake):
        return False
    return isinstance(known, LayerCake) or known.nominal.sample_size is not None
