"""One prior per stratum: what the other columns of a row say about its secret, before anything is released."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

from leakwise.alphabet import Alphabet, GivenColumns, Label, as_alphabet, joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, LeakwiseWarning, did_you_mean, some_of
from leakwise.exact import float_above, over_common_denominator, typed
from leakwise.priors.prior import Prior
from leakwise.priors.prior_set import PriorSet, as_prior, as_prior_set
from leakwise.priors.sets.around_estimate import checked_failure
from leakwise.priors.stratum_tables import any_counted, columns_of_strata, counts_of_table, stratum_weights

__all__ = ["PriorByStratum"]

_SHOWN = 20


class PriorByStratum(Shown):
    """A prior of the secret for every stratum: for all rows that have the same values in the given columns.

    A released row shows its given columns, so whoever sees it starts from P(secret | given columns). That prior, and
    not the one of the whole table, is what a lift is to be measured against (the mathematics, section 8).

    Parameters
    ----------
    priors
        A mapping from strata to priors (or sets of priors) over one domain. A stratum is a value of the given column,
        or a tuple of values where there are several. Strata that do not occur are left out.
    given
        The given columns: names, or a mapping from names to domains.
    weights
        How frequent each stratum is: numbers in proportion. Left out, the sample sizes of the priors, else all equal.
    secret
        The name of the secret column (a tuple for several).

    Examples
    --------
    >>> cp = PriorByStratum.from_counts({"f": {"no": 60, "yes": 40}, "m": {"no": 90, "yes": 10}}, given="sex")
    >>> cp["m"].nominal.probabilities.tolist(), cp.weights["m"]
    ([0.9, 0.1], Fraction(1, 2))
    """

    given_columns: GivenColumns
    alphabet: Alphabet
    secret: Hashable

    def __init__(
        self,
        priors: Mapping[Any, Any],
        given: Any,
        weights: Mapping[Any, Any] | None = None,
        *,
        secret: Hashable = None,
    ) -> None:
        if not hasattr(priors, "items") or not priors:
            what = "priors must map each stratum, at least one, to its prior; the columns come second (given)"
            raise InvalidInput(f"{what}. Got {priors!r:.80}.")
        found = {key: as_prior_set(prior, name=f"the prior of stratum {key!r}") for key, prior in priors.items()}
        columns = columns_of_strata(given, found, secret)
        kept = {columns.stratum(key): prior for key, prior in found.items()}
        first = next(iter(kept.values())).alphabet
        for key, prior in kept.items():
            if prior.alphabet.labels != first.labels:
                raise InvalidInput(
                    f"The priors of all strata must have one domain, in one order. Stratum {key!r} has "
                    f"{some_of(prior.labels)}, the first one {some_of(first.labels)}. Declare every value in every "
                    "stratum, with probability 0 where it cannot occur."
                )
        self._fill(columns, first, kept, stratum_weights(kept, columns, weights), secret)

    def _fill(
        self,
        given: GivenColumns,
        alphabet: Alphabet,
        priors: Mapping[Label, PriorSet],
        weights: Mapping[Label, Fraction],
        secret: Hashable,
    ) -> None:
        for name, value in (
            ("given_columns", given),
            ("alphabet", alphabet),
            ("_priors", priors),
            ("_weights", dict(weights)),
            ("secret", secret),
        ):
            object.__setattr__(self, name, value)

    _priors: Mapping[Label, PriorSet]
    _weights: dict[Label, Fraction]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A PriorByStratum cannot be changed ({name!r}); make a new one.")

    # -- other ways in ------------------------------------------------------------------------------------------

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Any], given: Any, *, secret: Hashable = None) -> PriorByStratum:
        """Return the empirical priors of counts: a mapping from strata to counts of the values.

        A stratum whose counts are all zero does not occur and is left out.

        >>> counts = {("f", "low"): {"no": 3, "yes": 1}, ("m", "low"): {"no": 5, "yes": 5}}
        >>> PriorByStratum.from_counts(counts, given=["sex", "income"]).sample_sizes
        mappingproxy({('f', 'low'): 4, ('m', 'low'): 10})
        """
        columns = columns_of_strata(given, counts, secret)
        return cls(
            {key: Prior.from_counts(one) for key, one in counts.items() if any_counted(one)},
            dict(zip(columns.names, columns.domains, strict=True)),
            secret=secret,
        )

    @classmethod
    def from_joint(cls, joint: Any, columns: Sequence[Hashable], secret: Hashable) -> PriorByStratum:
        """Return the priors of the strata of one joint prior over tuples.

        Parameters
        ----------
        joint
            A Prior (or a mapping) whose values are tuples, one part for each of ``columns``.
        columns
            The names of the parts; the secret is one of them, the others are given.

        Examples
        --------
        >>> joint = {("f", "no"): 0.5, ("f", "yes"): 0.25, ("m", "no"): 0.25}
        >>> cp = PriorByStratum.from_joint(joint, ["sex", "ill"], "ill")
        >>> cp["m"].probabilities.tolist(), cp.weights["m"]
        ([1.0, 0.0], Fraction(1, 4))
        """
        known, names = as_prior(joint, name="joint"), list(columns)
        if names.count(secret) != 1:
            raise InvalidInput(f"secret must be one of the columns {some_of(names)}. Got {secret!r} instead.")
        if wrong := [one for one in known.labels if not isinstance(one, tuple) or len(one) != len(names)]:
            raise InvalidInput(
                f"joint must be over tuples of {len(names)} values, one for each of {joined(names)}. Got "
                f"{some_of(wrong)} among them."
            )
        place = names.index(secret)
        rows: list[tuple[Any, ...]] = [one for one in known.labels if isinstance(one, tuple)]
        values = Alphabet(dict.fromkeys(row[place] for row in rows), name=f"the values of {secret!r}")
        others = [at for at in range(len(names)) if at != place]
        given = GivenColumns({names[at]: list(dict.fromkeys(row[at] for row in rows)) for at in others})
        table: dict[Label, list[int]] = {}
        for row, weight in zip(rows, known.weights.tolist(), strict=True):
            key = given.stratum(tuple(row[at] for at in others))
            table.setdefault(key, [0] * len(values))[values.index[row[place]]] += int(weight)
        scale = None if known.sample_size is None else Fraction(known.sample_size, known.denominator)
        return cls._from_table(given, values, table, secret, scale)

    @classmethod
    def from_data(
        cls, data: Any, secret: Hashable, given: Any, domain: Iterable[Label] | Alphabet | None = None
    ) -> PriorByStratum:
        """Return the empirical priors of a table, one for each combination of the given columns that occurs.

        Parameters
        ----------
        data
            A pandas or polars DataFrame, a pyarrow Table, or a mapping from names to columns.
        secret
            The secret column; a tuple of columns for a joint secret.
        given
            The columns that go out with it: names, or a mapping from names to domains (lists of values, or ``lw.bins``
            for numbers). Given columns are public, so without a domain the values that occur are it.
        domain
            The values that the secret can have, whether they occur or not. It must be declared: one inferred from the
            private column leaks which values occur.

        Examples
        --------
        >>> table = {"sex": ["f", "f", "f", "m", "m"], "ill": ["no", "yes", "no", "no", "no"]}
        >>> cp = PriorByStratum.from_data(table, "ill", given=["sex"], domain=["no", "yes"])
        >>> cp["f"].probabilities.round(3).tolist(), cp.sample_sizes["f"]
        ([0.667, 0.333], 3)
        """
        if domain is None:
            raise InvalidInput("domain must be declared: the list of values that can occur, whether they do or not.")
        values = as_alphabet(domain, name="domain")
        columns, table = counts_of_table(data, secret, given, values)
        return cls.counted(columns, values, table, secret)

    @classmethod
    def counted(
        cls, given: GivenColumns, values: Alphabet, table: Mapping[Label, Sequence[int]], secret: Hashable
    ) -> PriorByStratum:
        """Return the empirical priors of the strata of one table, with everything said that a steward should know."""
        rows = sum(map(sum, table.values()))
        if len(table) > 1 and 2 * len(table) > rows:
            raise InvalidInput(
                f"The given columns {given.words} cut {rows:,} rows into {len(table):,} strata: too many, so that "
                "nothing can be learned about the secret within one. Give fewer "
                "columns, or bins for numbers (given={'age': lw.bins(0, 100, 5), …})."
            )
        found = cls._from_table(given, values, table, secret, Fraction(1))
        if len(values) > 1 and all(prior.nominal.support.sum() == 1 for prior in found._priors.values()):
            whole = found.marginal
            told = max(1 / whole.fractions[int(prior.nominal.support.argmax())] for prior in found._priors.values())
            does, makes = ("determines", "it makes") if len(given) == 1 else ("determine", "they make")
            warnings.warn(
                f"{given.words} {does} {secret!r} in every row: seen alone {makes} a value certain that only 1 in "
                f"{int(told):,} rows has. No mechanism changes that. Drop the columns, or coarsen them.",
                LeakwiseWarning,
                stacklevel=3,
            )
        return found

    @classmethod
    def _from_table(
        cls,
        given: GivenColumns,
        values: Alphabet,
        table: Mapping[Label, Sequence[int]],
        secret: Hashable,
        scale: Fraction | None,
    ) -> PriorByStratum:
        """From a table of whole numbers; ``scale`` makes sample sizes of its sums."""
        kept = {key: row for key, row in table.items() if any(row)}
        total = sum(map(sum, kept.values()))

        def size(row: Sequence[int]) -> int | None:
            exact = None if scale is None else sum(row) * scale
            return None if exact is None or exact.denominator != 1 else int(exact)

        found = cls.__new__(cls)
        priors = {key: Prior.from_integers(values, row, size(row)) for key, row in kept.items()}
        weights = {key: Fraction(sum(row), total) for key, row in kept.items()}
        found._fill(given, values, priors, weights, secret)
        return found

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The names of the given columns."""
        return self.given_columns.names

    @property
    def strata(self) -> tuple[Label, ...]:
        """The strata that occur: values of the given column, or tuples of values where there are several."""
        return tuple(self._priors)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values of the secret."""
        return self.alphabet.labels

    @property
    def weights(self) -> Mapping[Label, Fraction]:
        """How frequent each stratum is, exact; they sum to 1."""
        return MappingProxyType(self._weights)

    @property
    def sample_sizes(self) -> Mapping[Label, int | None]:
        """How many rows each prior was counted from; None where it was not counted."""
        return MappingProxyType({key: prior.nominal.sample_size for key, prior in self._priors.items()})

    @property
    def absent(self) -> int:
        """How many combinations of declared values do not occur."""
        return self.given_columns.combinations - len(self._priors)

    @property
    def failure(self) -> float:
        """The probability that the true prior of some stratum is not in its set; rounded up."""
        return float_above(self.exact_failure)

    @cached_property
    def exact_failure(self) -> Fraction:
        """The failure probabilities of all strata together, exact."""
        return sum((getattr(one, "exact_failure", Fraction(0)) for one in self._priors.values()), Fraction(0))

    @cached_property
    def marginal(self) -> Prior:
        """The prior of the secret in all strata together, exact: what the given columns are compared with."""
        total = [Fraction(0)] * len(self.alphabet)
        for key, prior in self._priors.items():
            weight = self.weights[key]
            for place, mass in enumerate(prior.nominal.fractions):
                if mass:
                    total[place] += weight * mass
        numerators, _ = over_common_denominator(total)
        return Prior.from_integers(self.alphabet, numerators)

    def __getitem__(self, stratum: Any) -> PriorSet:
        key = self.given_columns.stratum(stratum)
        if key not in self._priors:
            raise InvalidInput(
                f"The stratum {self.given_columns.described(key)} does not occur: nothing is known about the secret in "
                f"it. Those that occur are {some_of(self._priors)}." + did_you_mean(key, self._priors)
            )
        return self._priors[key]

    def __contains__(self, stratum: object) -> bool:
        return stratum in self._priors

    def __iter__(self) -> Iterator[Label]:
        return iter(self._priors)

    def __len__(self) -> int:
        return len(self._priors)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PriorByStratum):
            return NotImplemented
        mine = (self.given_columns, self.secret, dict(self._priors), self._weights)
        theirs = (other.given_columns, other.secret, dict(other._priors), other._weights)
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.given_columns, self.secret, len(self)))

    # -- sets ---------------------------------------------------------------------------------------------------

    def confidence(self, failure: object, method: str = "weissman") -> PriorByStratum:
        """Return a set of priors for every stratum; all of them contain the true one, except with this probability.

        Each of the K strata gets failure/K. ``method`` as for :meth:`Prior.confidence`.

        >>> cp = PriorByStratum.from_counts({"f": {"no": 600, "yes": 400}, "m": {"no": 900, "yes": 100}}, given="sex")
        >>> cp.confidence("1e-6").exact_failure
        Fraction(1, 1000000)
        """
        share = checked_failure(failure) / len(self)
        if sets := [key for key, one in self._priors.items() if not isinstance(one, Prior)]:
            raise InvalidInput(f"confidence needs counted priors; {some_of(sets)} have a set of priors already.")
        return self.replaced({key: prior.nominal.confidence(share, method) for key, prior in self._priors.items()})

    def replaced(self, priors: Mapping[Label, PriorSet]) -> PriorByStratum:
        """Return the same strata with the same weights and other priors, or sets of priors."""
        found = PriorByStratum.__new__(PriorByStratum)
        found._fill(self.given_columns, self.alphabet, dict(priors), self._weights, self.secret)
        return found

    # -- files and looks ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the priors of all strata as versioned JSON with exact integers and a checksum."""
        from leakwise.priors.by_stratum_file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PriorByStratum:
        """Read what :meth:`save` wrote; a damaged or newer file is an error."""
        from leakwise.priors.by_stratum_file import load

        return load(path)

    def _shown(self) -> Parts:
        headers = [*map(str, self.given), "weight", "rows", *map(str, self.labels[:8])]
        most = sorted(self._priors, key=lambda key: -self.weights[key])[:_SHOWN]
        rows = [
            [
                *map(str, self.given_columns.parts(key)),
                float(self.weights[key]),
                self._priors[key].nominal.sample_size,
                *self._priors[key].nominal.probabilities[:8].tolist(),
            ]
            for key in most
        ]
        secret = "the secret" if self.secret is None else repr(self.secret)
        title = (
            f"Prior of {secret} over {len(self.labels):,} values in {len(self):,} strata by {self.given_columns.words}"
        )
        notes = []
        if len(self) > _SHOWN:
            notes.append(f"The {_SHOWN} most frequent strata are shown.")
        if self.absent:
            notes.append(
                "1 declared combination does not occur."
                if self.absent == 1
                else f"{self.absent:,} declared combinations do not occur."
            )
        if failure := self.exact_failure:
            # What was typed as 1e-3 is the sum of its shares, a hair above: it reads as it was typed.
            failure = typed(self.failure, failure) if Fraction(self.failure) == failure else failure
            upwards = Context(prec=3, rounding=ROUND_CEILING)
            shown = upwards.divide(Decimal(failure.numerator), Decimal(failure.denominator)).normalize()
            notes.append(
                f"Each stratum has a set of priors; one misses the true prior with probability at most {shown}."
            )
        return [Table(headers, rows, title), *notes]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the columns, and for each stratum its weight and its prior."""
        from leakwise.priors.by_stratum_file import to_plain_data

        return to_plain_data(self)
