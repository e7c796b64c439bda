"""Which mechanism a release draws from: one for all rows, or one for each combination of the given columns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakwise.alphabet import Alphabet, GivenColumns, Label
from leakwise.errors import LeakwiseWarning
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Prior, PriorByStratum, PriorSet
from leakwise.priors.sample import coarse_prior
from leakwise.proof import AskedLimits, Certificate, StratifiedCertificate
from leakwise.report import Facts, RowFacts
from leakwise.tables.release.certain_values import refuse_certainty, refuse_certainty_by_stratum
from leakwise.tables.release.impossible_values import refuse_impossible, refuse_impossible_by_stratum
from leakwise.tables.release.sources import Checked
from leakwise.tables.row_columns import RowColumns
from leakwise.workflow.mechanism import Kept, Sample, certified_mechanism, how_found
from leakwise.workflow.strata import CountedStrata, certified_by_stratum

if TYPE_CHECKING:
    from leakwise.optimize import Design, StratifiedDesign
    from leakwise.optimize.from_data import DataDesign
    from leakwise.optimize.problem.margins import Margins
    from leakwise.sampling import SecureStream

__all__ = ["Choice", "Request", "chosen_mechanism"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks of a release.

    Attributes
    ----------
    public
        The prior, or the priors by stratum, that are public; ``"table"`` where they are to be estimated.
    row
        What goes out beside the secret, and as what.
    memo
        Where draws repeat: the person column, and the fingerprint of the key.
    learned
        Whether ``public`` was learned from the table, rounded.
    goal
        Margins that the mechanism is designed for, instead of for the use.
    """

    asked: AskedLimits
    use: str
    keep: Kept | None
    mechanism: Mechanism | StratifiedMechanism | None
    letters: Alphabet
    public: PriorSet | PriorByStratum | str
    failure: float | Fraction | None
    least_rows: int
    prior_cost: Fraction | None
    row: RowColumns
    time_limit: float
    allow_certainty: bool
    memo: dict[str, str] | None = None
    learned: bool = False
    goal: Margins | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the secret, as texts."""
        return tuple(map(str, self.row.secret)) or ("column",)

    @property
    def title(self) -> str:
        """The columns of the secret, as messages name them."""
        return " and ".join(map(repr, self.columns))

    @property
    def told_row(self) -> RowColumns | None:
        """What goes out beside the secret; None where the table has no other column."""
        return self.row if self.row.beside or self.row.dropped else None

    @property
    def origin(self) -> str:
        """Where the prior comes from: ``"given"`` or ``"table"``."""
        return "table" if self.learned or isinstance(self.public, str) else "given"


@dataclass(frozen=True)
class Choice:
    """The mechanism of a release with its proof, the proof that the receiver may see, and how it was found.

    ``counts`` are those of the table by combinations of given columns, of which there is one, without a name, where
    one mechanism serves all rows; ``prior`` is what that one compares with.
    """

    design: Design | DataDesign | StratifiedDesign | None
    certificate: Certificate | StratifiedCertificate
    shown: Certificate | StratifiedCertificate
    counts: Mapping[Label, Sequence[int]]
    prior: Prior | None = None

    def facts(self, request: Request, **told: Any) -> Facts | RowFacts:
        """Return what the report says."""
        common: dict[str, Any] = {
            "columns": request.columns,
            "use": request.use if request.mechanism is None else "given",
            "origin": request.origin,
            "failure": None if request.failure is None else float(request.failure),
            "how": _how_found(self.design, request.keep) if request.goal is None else self._for_margins(request),
            "time": Facts.now(),
            "row": request.told_row,
            "memo": request.memo,
            **told,
        }
        if isinstance(self.shown, StratifiedCertificate):
            return RowFacts(certificate=self.shown, sizes={key: sum(row) for key, row in self.counts.items()}, **common)
        assert self.prior is not None
        return Facts(certificate=self.shown, prior=self.prior, **common)

    def _for_margins(self, request: Request) -> dict[str, Any]:
        """What was asked of the design, and the least lift with what is proven of it."""
        from leakwise.optimize.margin_result import MarginDesign, StratifiedMarginDesign

        assert request.goal is not None
        told: dict[str, Any] = {"designed for": "margins", **request.goal.words}
        found = self.design if isinstance(self.design, MarginDesign | StratifiedMarginDesign) else None
        if found is not None:
            told["found by"] = found.method
        if request.asked.level is not None:
            told["least lift"] = float(request.asked.level.shown)
        if found is not None and found.bound > 1:
            told["no lift suffices up to"] = math.floor(found.bound * 10**6) / 10**6
        return told


def _how_found(design: Design | DataDesign | StratifiedDesign | None, keep: Kept | None) -> dict[str, Any]:
    from leakwise.optimize import StratifiedDesign

    if not isinstance(design, StratifiedDesign):
        return how_found(design, keep)
    told: dict[str, Any] = {"designed for": design.utility, "found by": design.method, "value": design.value}
    if math.isfinite(design.bound):
        told |= {
            "no mechanisms within the limit have more than": design.bound,
            "so they may fall short of the best by at most": design.gap,
        }
    return told if keep is None else {**told, **keep.words}


def chosen_mechanism(request: Request, seen: Checked, by: GivenColumns | None, stream: SecureStream | None) -> Choice:
    """Return the mechanism for what was seen; refuse one that exceeds the limits, or by which rows could be read."""
    if by is None:
        return _for_all_rows(request, seen, request.public, stream)
    if not seen.strata:
        # No combination of the given columns can be named: what holds for every prior holds for all of them.
        warnings.warn(
            f"The combinations of {by.words} are too many to be named, or are not plain values: one mechanism is used, "
            "which holds for every prior. Dropping columns (drop=, --drop) would be more accurate.",
            LeakwiseWarning,
            stacklevel=3,
        )
        asked = request.asked
        if asked.level is not None and asked.anyone is not None and asked.anyone.below >= asked.level.below:
            asked = replace(asked, anyone=None)  # the first limit is for anyone already
        return _for_all_rows(replace(request, asked=asked), seen, AllPriors(Prior.uniform(request.letters)), stream)
    return _by_stratum(request, seen.strata, by, stream)


def _for_all_rows(
    request: Request, seen: Checked, public: PriorSet | PriorByStratum | str, stream: SecureStream | None
) -> Choice:
    letters, occurring, columns = request.letters, seen.counts, request.columns
    counts = occurring.tolist()
    if isinstance(public, PriorSet):
        refuse_impossible(occurring, public, columns)
        basis: PriorSet | Sample = public
    else:
        basis = Sample(Prior.from_integers(letters, counts, sum(counts)), request.failure, request.prior_cost)
    mechanism = request.mechanism
    assert not isinstance(mechanism, StratifiedMechanism)
    found, certificate, shown = certified_mechanism(
        basis, request.asked, request.goal or request.use, mechanism, columns, request.time_limit, request.keep, stream
    )
    refuse_certainty(certificate.mechanism, shown.prior, (letters, occurring), columns, allowed=request.allow_certainty)
    counted = isinstance(basis, Sample) and basis.cost is None
    prior = coarse_prior(counts, letters) if counted else certificate.prior.nominal
    return Choice(found, certificate, shown, {(): counts}, prior)


def _by_stratum(
    request: Request, counts: Mapping[Label, Sequence[int]], by: GivenColumns, stream: SecureStream | None
) -> Choice:
    secret = request.row.secret
    if isinstance(request.public, PriorByStratum):
        refuse_impossible_by_stratum(counts, request.public, request.columns)
        basis: PriorByStratum | CountedStrata = request.public
    else:
        title = secret if len(secret) > 1 else secret[0]
        basis = CountedStrata(
            counts, request.letters, by, title, request.failure, request.least_rows, request.prior_cost
        )
    found, certificate, shown = certified_by_stratum(
        basis,
        request.asked,
        request.goal or request.use,
        request.mechanism,
        request.columns,
        request.time_limit,
        request.keep,
        stream,
    )
    refuse_certainty_by_stratum(shown, counts, request.columns, allowed=request.allow_certainty)
    return Choice(found, certificate, shown, counts)
