"""Given columns: those that a row shows beside its secret, each with its domain. A stratum is a combination of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from leakwise.alphabet.bins import Bins, alphabet_with_edges, edges_of
from leakwise.alphabet.columns import encode_column, found_domain
from leakwise.alphabet.labels import Alphabet, Label, alphabet_from_plain, as_alphabet, label_from_plain, label_to_plain
from leakwise.errors import InvalidInput, did_you_mean, label_text, some_of
from leakwise.types import Codes

__all__ = ["GivenBody", "GivenColumns", "joined"]


class _DomainBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    labels: list[Any]
    edges: list[float | str] | None = None


class GivenBody(msgspec.Struct, forbid_unknown_fields=True):
    """The names and the domains of the given columns."""

    names: list[Any]
    domains: list[_DomainBody]


class GivenColumns:
    """The names and the domains of the columns that are seen beside a secret.

    Parameters
    ----------
    given
        A mapping from columns to domains (lists of values, or ``lw.bins`` for numbers).

    Examples
    --------
    >>> given = GivenColumns({"sex": ["f", "m"], "income": ["low", "high"]})
    >>> given.words, given.combinations
    ('sex and income', 4)
    >>> given.stratum(["m", "low"])
    ('m', 'low')
    """

    __slots__ = ("domains", "names")

    names: tuple[Hashable, ...]
    domains: tuple[Alphabet, ...]

    def __init__(self, given: Mapping[Hashable, Any]) -> None:
        if not given:
            raise InvalidInput("given must name at least one column. Got none.")
        self.names = tuple(given)
        self.domains = tuple(
            as_alphabet(domain, name=f"the domain of the given column {name!r}") for name, domain in given.items()
        )

    @classmethod
    def read(cls, given: Any, secret: Hashable, column: Callable[[Hashable], Any]) -> GivenColumns:
        """Return the given columns as a user names them: one name, a list of names, or a mapping from names to domains.

        A given column goes out as it is, so the values that occur in it are no secret: without a domain they are it.
        """
        if isinstance(given, Mapping):
            named = dict(given)
        else:
            names = [given] if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else list(given)
            if twice := {name for name in names if names.count(name) > 1}:
                raise InvalidInput(f"given must name each column once. Named twice or more: {some_of(sorted(twice))}.")
            named = dict.fromkeys(names)
        secrets = secret if isinstance(secret, tuple) else (secret,)
        if both := [name for name in named if name in secrets or name == secret]:
            raise InvalidInput(
                f"given must not name the secret: {some_of(both)} is both. A column that goes out as it is has no "
                "secret left to protect."
            )
        return cls(
            {
                name: found_domain(column(name), name=f"column {name!r}") if domain is None else domain
                for name, domain in named.items()
            }
        )

    # -- what they are ------------------------------------------------------------------------------------------

    @property
    def combinations(self) -> int:
        """How many strata the domains allow, whether they occur or not."""
        return math.prod(len(domain) for domain in self.domains)

    @property
    def words(self) -> str:
        """The names of the columns, as in a sentence."""
        return joined(self.names)

    @property
    def quoted(self) -> str:
        """The names of the columns in quotes, for sentences about a file that someone else may have written."""
        return joined(map(repr, self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenColumns) and (self.names, self.domains) == (other.names, other.domains)

    def __hash__(self) -> int:
        return hash((self.names, self.domains))

    def __repr__(self) -> str:
        return f"GivenColumns({self.words})"

    # -- strata -------------------------------------------------------------------------------------------------

    def stratum(self, key: Any) -> Label:
        """Return a stratum as it is written: a value for one column, a tuple of values for several."""
        parts = self.parts(key)
        return parts[0] if len(self) == 1 else parts

    def parts(self, key: Any) -> tuple[Label, ...]:
        """Return the values of a stratum, one for each column."""
        if len(self) == 1:
            parts: tuple[Any, ...] = key if isinstance(key, tuple) and len(key) == 1 else (key,)
        elif isinstance(key, (tuple, list)) and len(key) == len(self):
            parts = tuple(key)
        else:
            raise InvalidInput(
                f"A stratum must be a tuple of {len(self)} values, one for each of {self.words}. Got {key!r} instead."
            )
        for name, domain, part in zip(self.names, self.domains, parts, strict=True):
            if part not in domain.index:
                raise InvalidInput(
                    f"{part!r} is not a declared value of the given column {name!r}: {some_of(domain.labels)}."
                    + did_you_mean(part, domain.labels)
                )
        return tuple(domain.labels[domain.index[part]] for domain, part in zip(self.domains, parts, strict=True))

    def all(self) -> Iterator[Label]:
        """Every combination, in order."""
        return iter(self.domains[0].labels) if len(self) == 1 else itertools.product(*self.domains)

    def described(self, stratum: Label) -> str:
        """Return a stratum in words: ``sex = f, income = low``."""
        return ", ".join(
            f"{name} = {label_text(part)}" for name, part in zip(self.names, self.parts(stratum), strict=True)
        )

    def encode(self, columns: Sequence[Any], encode: Callable[..., Any] = encode_column) -> list[Codes]:
        """Return the codes of the values in each column; a value that was not declared is an error."""
        return [
            encode(column, domain, name=f"the given column {name!r}")
            for name, domain, column in zip(self.names, self.domains, columns, strict=True)
        ]

    def coded(self, codes: Iterable[int]) -> Label:
        """Return the stratum of the codes of its values."""
        parts = tuple(domain.labels[code] for domain, code in zip(self.domains, codes, strict=True))
        return parts[0] if len(self) == 1 else parts

    def narrowed(self, strata: Iterable[Any]) -> GivenColumns:
        """Return the same columns with the values alone that occur in these strata.

        Where there is no stratum, missing values are all that is declared.
        """
        seen: list[set[int]] = [set() for _ in self.domains]
        for key in strata:
            for places, domain, part in zip(seen, self.domains, self.parts(key), strict=True):
                places.add(domain.index[part])
        return GivenColumns(
            {
                name: domain
                if isinstance(domain, Bins)
                else [domain.labels[place] for place in sorted(places)] or [None]
                for name, domain, places in zip(self.names, self.domains, seen, strict=True)
            }
        )

    def coarse(self) -> list[Hashable]:
        """The columns whose numbers are binned: a coarsened column must go out coarsened."""
        return [name for name, domain in zip(self.names, self.domains, strict=True) if isinstance(domain, Bins)]

    # -- files --------------------------------------------------------------------------------------------------

    def to_body(self) -> GivenBody:
        """Return the columns as a file body."""
        return GivenBody(
            [label_to_plain(name) for name in self.names],
            [_DomainBody([label_to_plain(one) for one in domain], edges_of(domain)) for domain in self.domains],
        )

    @classmethod
    def from_body(cls, body: GivenBody, name: str) -> GivenColumns:
        """Return the columns that a file body describes."""
        if len(body.names) != len(body.domains):
            raise InvalidInput(f"{name!r} is damaged: every given column has one domain.")
        names = [label_from_plain(one) for one in body.names]
        if len(set(names)) < len(names):
            raise InvalidInput(f"{name!r} is damaged: a given column stands in it twice.")
        domains = [
            alphabet_with_edges(alphabet_from_plain(one.labels, declared=True, name=name), one.edges, name=name)
            for one in body.domains
        ]
        return cls(dict(zip(names, domains, strict=True)))


def joined(names: Iterable[object]) -> str:
    """Return names as in a sentence.

    >>> joined(["sex", "age", "income"])
    'sex, age and income'
    """
    texts = [str(name) or "''" for name in names]  # the column of row numbers that R and pandas write has no name
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
