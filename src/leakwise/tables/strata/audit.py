"""What a table tells about its secret: by the columns that go out as they are, by an outcome, and by both."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns, Label, as_alphabet, label_to_plain
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Broken, Notice
from leakwise.errors import InvalidInput, counted, label_text, some_of, written
from leakwise.guarantee import at_least, at_most, percent
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import Box, Prior, PriorByStratum
from leakwise.priors.sample import counts_of
from leakwise.tables.strata.counting import counts_by_stratum
from leakwise.types import Floats

__all__ = ["OWNER", "StratumLeakage", "TableAudit", "audit_counts", "audit_table"]

_WORST = 10

OWNER = (
    "This output is for the owner of the table, not for anyone who receives a release: it contains exact figures of "
    "the table."
)


@dataclass(frozen=True)
class Lift:
    """A largest lift in the table, between two ends that contain the true one, all of them at once.

    ``value`` is the value of the secret that it is reached for.
    """

    lift: float
    low: float
    high: float
    value: Label

    def written(self) -> str:
        """Return the lift with its interval, as text."""
        return f"{self.lift:.3g} ({at_least(self.low, 3)}-{at_most(self.high, 3)})"


@dataclass(frozen=True)
class StratumLeakage:
    """One stratum: what its given columns say, what an outcome adds, and both together.

    ``alone`` is max P(s|u)/P(s), ``added`` is max P(s|u,y)/P(s|u), ``both`` is max P(s|u,y)/P(s), each over the values
    that occur and the outcomes. Without a mechanism there is only the first.
    """

    stratum: Label
    rows: int
    alone: Lift
    added: Lift | None
    both: Lift | None
    certain: bool
    """Whether the given columns determine the secret in every row of the stratum."""

    @property
    def largest(self) -> float:
        """The largest lift of a value in this stratum, by whatever is seen."""
        return self.alone.lift if self.both is None else self.both.lift


@dataclass(frozen=True, repr=False)
class TableAudit(Shown):
    """What the rows of a table tell about their secret. It is for the table's owner.

    Attributes
    ----------
    secret, given
        The columns.
    strata
        Each stratum, in order; lifts are those of the table, with intervals for the population behind it.
    confidence
        Of all intervals together.
    """

    secret: Hashable
    given_columns: GivenColumns
    strata: tuple[StratumLeakage, ...]
    confidence: float

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The names of the given columns."""
        return self.given_columns.names

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return sum(one.rows for one in self.strata)

    @property
    def worst(self) -> tuple[StratumLeakage, ...]:
        """The strata from the largest lift down, by all that is seen."""
        return tuple(sorted(self.strata, key=lambda one: -one.largest))

    def _at(self, which: str) -> tuple[StratumLeakage, Lift] | None:
        found = [(one, getattr(one, which)) for one in self.strata if getattr(one, which) is not None]
        return max(found, key=lambda pair: pair[1].lift) if found else None

    @property
    def alone(self) -> Lift:
        """The largest lift by the given columns alone."""
        return max((one.alone for one in self.strata), key=lambda lift: lift.lift)

    @property
    def added(self) -> Lift | None:
        """The largest lift that an outcome adds; None without a mechanism."""
        found = self._at("added")
        return None if found is None else found[1]

    @property
    def both(self) -> Lift | None:
        """The largest lift by given columns and outcome together; None without a mechanism."""
        found = self._at("both")
        return None if found is None else found[1]

    @property
    def certain(self) -> tuple[Label, ...]:
        """The strata in which the given columns determine the secret."""
        return tuple(one.stratum for one in self.strata if one.certain)

    @property
    def sentences(self) -> list[str]:
        """What it means, in words."""
        words, makes = self.given_columns.words, "makes" if len(self.given) == 1 else "make"
        itself = "itself" if len(self.given) == 1 else "themselves"
        told = []
        for which, start, end in (
            ("alone", f"By {itself} {words} {makes}", ", which no mechanism changes"),
            ("added", "An outcome then makes", ", which is what a mechanism decides"),
            ("both", f"Together {words} and the outcome make", ""),
        ):
            if (found := self._at(which)) is not None:
                one, lift = found
                where = self.given_columns.described(one.stratum)
                told.append(
                    f"{start} a value up to {at_most(lift.lift, 4)} times as likely: {written(lift.value)} where "
                    f"{where}{end}."
                )
        if self.certain:
            rows = sum(one.rows for one in self.strata if one.certain)
            clear = (
                f"In {counted(len(self.certain), 'stratum', 'strata')} with {counted(rows, 'row')} the secret is in "
                f"clear already, because {words} {'determines' if len(self.given) == 1 else 'determine'} it: "
                f"{some_of(map(self.given_columns.described, self.certain), 3)}."
            )
            told.append(Broken(clear))
        return told

    def _shown(self) -> Parts:
        kinds = ["alone"] if self.both is None else ["alone", "added", "both"]
        titles = {"alone": "given columns", "added": "outcome adds", "both": "both"}
        rows = []
        for one in self.worst[:_WORST]:
            lifts = [getattr(one, kind) for kind in kinds]
            where = ", ".join(map(label_text, self.given_columns.parts(one.stratum)))
            rows.append([where, one.rows, *(lift.written() for lift in lifts)])
        headers = [", ".join(map(str, self.given)), "rows", *(titles[kind] for kind in kinds)]
        title = (
            f"How many times as likely a value of {self.secret!r} becomes by {self.given_columns.words} "
            f"({len(self.strata):,} strata, {self.rows:,} rows; intervals at {percent(self.confidence)} all together). "
            "The worst strata:"
        )
        return [Table(headers, rows, title), list(self.sentences), Notice(OWNER)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""

        def plain(lift: Lift | None) -> dict[str, Any] | None:
            if lift is None:
                return None
            return {"lift": lift.lift, "low": lift.low, "high": lift.high, "value": label_to_plain(lift.value)}

        return {
            "for": "the owner of the table",
            "secret": str(self.secret),
            "given": [str(name) for name in self.given],
            "rows": self.rows,
            "confidence": self.confidence,
            "alone": plain(self.alone),
            "added": plain(self.added),
            "both": plain(self.both),
            "strata": [
                {
                    "stratum": label_to_plain(one.stratum),
                    "rows": one.rows,
                    "alone": plain(one.alone),
                    "added": plain(one.added),
                    "both": plain(one.both),
                    "certain": one.certain,
                }
                for one in self.strata
            ],
            "sentences": self.sentences,
        }


def audit_table(
    data: Any,
    secret: Hashable,
    *,
    given: Any = None,
    mechanism: Mechanism | StratifiedMechanism | None = None,
    domain: Iterable[Label] | Alphabet | None = None,
    confidence: float = 0.95,
) -> TableAudit:
    r"""Tell what the columns of a table say about its secret alone, what an outcome adds, and both together.

    By the chain rule :math:`P(s|u,y)/P(s) = P(s|u)/P(s) \cdot P(s|u,y)/P(s|u)` (the mathematics, section 8): the first
    factor is what given columns say, which no mechanism changes; the second is what a mechanism adds.

    Parameters
    ----------
    data
        A table (pandas, polars, pyarrow, a mapping of columns), or the path of a file.
    secret
        The secret column; a tuple of columns for a joint secret.
    given
        The columns that go out as they are: names, or a mapping from names to domains (lists of values, or
        ``lw.bins``). Left out, those of a stratified mechanism.
    mechanism
        The mechanism that releases the secret; without one only the given columns are looked at.
    domain
        The values of the secret; by default the inputs of the mechanism.
    confidence
        Of all intervals together: they contain the lifts in the population that the rows were drawn from.

    Examples
    --------
    >>> table = {"sex": ["f"] * 100 + ["m"] * 100, "ill": ["no"] * 40 + ["yes"] * 60 + ["no"] * 80 + ["yes"] * 20}
    >>> a = audit_table(table, "ill", given=["sex"], domain=["no", "yes"])
    >>> print(f"{a.alone.lift:.2f}", a.alone.value, a.worst[0].stratum)
    1.50 yes f
    """
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise InvalidInput(f"confidence must be a number strictly between 0 and 1, such as 0.95. Got {confidence!r}.")
    alphabet = _alphabet(mechanism, domain)
    columns, table, names = counts_by_stratum(data, secret, _given(given, mechanism), alphabet)
    return audit_counts(columns, table, alphabet, names if len(names) > 1 else names[0], mechanism, confidence)


def audit_counts(
    columns: GivenColumns,
    table: Mapping[Label, Sequence[int]],
    alphabet: Alphabet,
    title: Hashable,
    mechanism: Mechanism | StratifiedMechanism | None,
    confidence: float = 0.95,
) -> TableAudit:
    """Return the same for a table that was counted already: how often each value occurs in each stratum."""
    priors = PriorByStratum.counted(columns, alphabet, table, title)
    counts = [sum(row) for row in zip(*table.values(), strict=True)]
    whole = Prior.from_integers(alphabet, counts, sum(counts))
    share = (1 - confidence) / (len(priors) + 1)
    ends = _ends(_box(whole, share))
    strata = [_stratum(key, priors, whole, ends, share, _mechanism_in(mechanism, columns, key)) for key in priors]
    return TableAudit(title, columns, tuple(strata), confidence)


def _alphabet(mechanism: Mechanism | StratifiedMechanism | None, domain: Any) -> Alphabet:
    if mechanism is not None and not isinstance(mechanism, (Mechanism, StratifiedMechanism)):
        raise InvalidInput(f"mechanism must be a lw.Mechanism or a lw.StratifiedMechanism. Got {mechanism!r} instead.")
    if domain is None:
        if mechanism is None:
            raise InvalidInput("domain must be declared: the list of values that can occur, whether they do or not.")
        return mechanism.input_alphabet
    alphabet = as_alphabet(domain, name="domain")
    if mechanism is not None and set(alphabet.labels) != set(mechanism.inputs):
        raise InvalidInput(
            f"domain must be the inputs of the mechanism, {some_of(mechanism.inputs)}. Got {some_of(alphabet.labels)}."
        )
    return alphabet if mechanism is None else mechanism.input_alphabet


def _given(given: Any, mechanism: Mechanism | StratifiedMechanism | None) -> Any:
    """The given columns; those of a stratified mechanism keep its domains."""
    own = mechanism.given_columns if isinstance(mechanism, StratifiedMechanism) else None
    if own is None:
        if given is None:
            raise InvalidInput("given must name the columns that go out as they are.")
        return given
    domains: dict[Hashable, Any] = dict(zip(own.names, own.domains, strict=True))
    if given is None:
        return domains
    named = dict(given) if isinstance(given, dict) else dict.fromkeys([given] if isinstance(given, str) else given)
    if missing := [name for name in own.names if name not in named]:
        raise InvalidInput(f"given must name the columns that the mechanism is by: {some_of(missing)} is missing.")
    return {name: domains.get(name, domain) for name, domain in named.items()}


def _mechanism_in(
    mechanism: Mechanism | StratifiedMechanism | None, columns: GivenColumns, stratum: Label
) -> Mechanism | None:
    if not isinstance(mechanism, StratifiedMechanism):
        return mechanism
    parts = dict(zip(columns.names, columns.parts(stratum), strict=True))
    own = tuple(parts[name] for name in mechanism.given)
    key = own[0] if len(own) == 1 else own
    return mechanism[key] if key in mechanism else mechanism.otherwise or mechanism[key]


def _box(prior: Prior, failure: float) -> Box:
    """The probabilities of each value that the rows leave possible, all of them at once (Clopper and Pearson)."""
    from scipy.special import betainccinv, betaincinv

    rows = prior.sample_size or 0
    counts = np.array(counts_of(prior))
    tail = failure / (2 * counts.size)
    lower = np.where(counts > 0, betaincinv(np.maximum(counts, 1), rows - counts + 1, tail), 0.0)
    upper = np.where(counts < rows, betainccinv(counts + 1, np.maximum(rows - counts, 1), tail), 1.0)
    return Box(prior, lower.tolist(), upper.tolist())


def _ends(box: Box) -> tuple[Floats, Floats]:
    return np.array([float(one) for one in box.lower]), np.array([float(one) for one in box.upper])


@np.errstate(divide="ignore", invalid="ignore")
def _stratum(
    key: Label,
    priors: PriorByStratum,
    whole: Prior,
    whole_ends: tuple[Floats, Floats],
    share: float,
    mechanism: Mechanism | None,
) -> StratumLeakage:
    prior, weight = priors[key].nominal, float(priors.weights[key])
    here, seen, labels = prior.probabilities, prior.support, prior.labels
    box = _box(prior, share)
    low, high = _ends(box)
    # A stratum is a part of the whole: P(s) ≥ P(u) P(s|u), whatever else is true.
    most = np.minimum(high / whole_ends[0], 1 / weight)
    least = low / whole_ends[1]
    first = np.where(seen, here / whole.probabilities, 0.0)
    top = int(first.argmax())
    alone = Lift(float(first[top]), max(1.0, float(least.max())), float(most.max()), labels[top])
    rows, certain = prior.sample_size or 0, bool(seen.sum() == 1)
    if mechanism is None:
        return StratumLeakage(key, rows, alone, None, None, certain)
    matrix = mechanism.matrix
    law, column_most = here @ matrix, matrix.max(axis=0)
    possible = column_most > 0
    matrix, law, column_most = matrix[:, possible], law[possible], column_most[possible]
    law_low = box.least_mass(matrix)
    law_high = column_most - box.least_mass(column_most - matrix)
    above = np.where(matrix > 0, matrix / law_low, 0.0)
    adds = np.where(seen[:, None] & (law > 0), matrix / law, 0.0)
    place = np.unravel_index(int(adds.argmax()), adds.shape)
    added = Lift(
        float(adds[place]), max(1.0, float((matrix[seen] / law_high).max())), float(above.max()), labels[int(place[0])]
    )
    product = first[:, None] * adds
    at = np.unravel_index(int(product.argmax()), product.shape)
    # No posterior is above 1: P(s|u,y)/P(s) ≤ 1/P(s).
    ceiling = np.fmin(most[:, None] * above, 1 / whole_ends[0][:, None])
    floor = least[:, None] * (matrix / law_high)
    both = Lift(float(product[at]), max(1.0, float(floor.max())), float(np.nanmax(ceiling)), labels[int(at[0])])
    return StratumLeakage(key, rows, alone, added, both, certain)
