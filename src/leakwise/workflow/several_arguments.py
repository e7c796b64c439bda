"""Several secrets as a user names them: their columns, limits, domains and priors, refused where they contradict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Alphabet, as_alphabet
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.exact import Level, level
from leakwise.priors import AllPriors, Prior, PriorByStratum, PriorSet
from leakwise.proof import NO_LIMITS, AskedLimits
from leakwise.tables.kinds.joint_columns import Product
from leakwise.tables.release.secret_columns import secret_columns
from leakwise.workflow.arguments import (
    PRIOR_WORDS,
    Accuracy,
    asked_accuracy,
    declared_values,
    prior_in_words,
    public_prior,
)
from leakwise.workflow.limits import TEN_TIMES, release_limits

__all__ = ["Named", "PriorOfAll", "SeveralRequest", "as_one_secret", "prior_for_columns", "read_secrets"]

PriorOfAll = Prior | PriorByStratum


@dataclass(frozen=True)
class Named:
    """One of several secrets.

    Attributes
    ----------
    key
        What the user calls it: a column, or a tuple of columns.
    names
        Its columns.
    letters
        Its declared values.
    asked
        The limits of what its outcome may add.
    public
        What is known of it beforehand, alone; ``"table"`` where that is to be estimated, None where a joint prior says.
    anyone
        The limit for anyone, as the user gave it.
    accuracy
        What is to be known of it, where its lift is to be found.
    """

    key: Any
    names: tuple[Hashable, ...]
    letters: Alphabet
    asked: AskedLimits
    public: PriorSet | PriorByStratum | str | None
    anyone: Any = TEN_TIMES
    accuracy: Accuracy | None = None

    def limits_at(self, lift: object) -> AskedLimits:
        """Return its limits with another lift; a limit for anyone that is ten times the lift goes with it."""
        return release_limits(lift=lift, anyone=self.anyone, prior=self.public)

    def with_lift(self, lift: Any) -> Named:
        """Return the same secret with another lift."""
        return replace(self, asked=self.limits_at(lift))

    @property
    def title(self) -> Hashable:
        """The column, or the tuple of columns."""
        return self.names[0] if len(self.names) == 1 else self.names


@dataclass(frozen=True, kw_only=True)
class SeveralRequest:
    """What a user asks of a release of several secrets; as for :func:`leakwise.protect`."""

    lifts: Any
    domain: Any
    anyone: Any
    margin: Any
    values: Any
    prior: Any
    failure: float | None
    given: Any
    unrelated: Any
    drop: Any
    coarsen: Mapping[Any, Any] | None
    least_rows: int
    use: str
    keep_frequencies: bool | None
    total: Any
    joint: bool
    time_limit: float
    order: str | None
    allow_certainty: bool
    out: Any
    overwrite: bool
    dry_run: bool
    ledger: Any
    dataset: str | None
    key: Hashable
    same_as: str | None
    new_people: bool
    certified: Callable[[Any], None] | None
    progress: Any
    unsafe_seed: int | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> SeveralRequest:
        """Return the request of a call; options that are about one secret are refused."""
        if not isinstance(options["lifts"], Mapping):
            name = "joint" if options["joint"] else "total"
            raise InvalidInput(
                f"{name} (--{name}) goes with several secrets: a mapping from them to their lifts, such as "
                "{'diagnosis': 2, ('age', 'sex'): 3} (--protect NAME=LIFT). One secret has its lift."
            )
        own = {one.name for one in fields(cls)}
        others = {name: value for name, value in options.items() if name not in (*own, *_READ)}
        given = [name for name, value in others.items() if value is not None and value is not False]
        if "lift" in given or "epsilon" in given:
            name = "lift" if "lift" in given else "epsilon"
            raise InvalidInput(
                f"{name} must be left out beside a mapping from secrets to lifts: each secret has its own, such as "
                f"{{'diagnosis': 2, ('age', 'sex'): 3}}. Got {name}={options[name]!r}. To limit all of them together, "
                "give total= (--total)."
            )
        if given and not options["joint"]:  # as one secret they may have all that one may have
            raise InvalidInput(
                f"{some_of(given)} must be left out beside a mapping from secrets to lifts: it is about one secret. "
                "Release that one by itself, or leave it out."
            )
        asked = {name: options[name] for name in own}
        if not options["joint"] and isinstance(asked["prior"], str) and asked["prior"] in PRIOR_WORDS:
            asked["prior"] = dict.fromkeys(options["lifts"], asked["prior"])
        return cls(**asked)

    @property
    def most(self) -> Level | None:
        """The lift of all secrets together that was asked for, if any."""
        return None if self.total is None else level(lift=self.total)


# Arguments that are read by another name.
_READ = ("data", "column")


def as_one_secret(asked: SeveralRequest) -> tuple[Any, Any, Any]:
    """Return several secrets as one: all of their columns, the lift of all together, and the limit for anyone."""
    lifts = asked.lifts
    if not lifts:
        raise InvalidInput("column must name at least one secret with its lift. Got an empty mapping.")
    names = {key: key if isinstance(key, tuple) else (key,) for key in lifts}
    _refuse_overlaps(names)
    read, joint = read_priors(asked.prior, names)
    if joint is None and not all(one is None or isinstance(one, str) for one in read.values()):
        raise InvalidInput(
            "joint=True (--joint) needs a prior of all secrets together, over tuples, or prior='table': those of the "
            "secrets alone do not say what goes with what."
        )
    if isinstance(asked.anyone, Mapping):
        raise InvalidInput(
            f"anyone must be one number with joint=True (--joint): there is one secret. Got {asked.anyone!r}."
        )
    if isinstance(asked.margin, Mapping) and any(key in names for key in asked.margin):
        raise InvalidInput(
            "margin must be one number, or map combinations of values, with joint=True (--joint): there is one secret. "
            f"Got {asked.margin!r}."
        )
    if asked.margin is not None and asked.total is None and all(one is None for one in lifts.values()):
        return _columns_of(names), None, asked.anyone
    most, lift = asked.most, Fraction(1)
    for key, one in lifts.items():
        lift *= most.below if one is None and most is not None else level(lift=_lift(one, key)).below
    total: Any = lift if most is None or lift < most.below else most.shown
    return _columns_of(names), total, asked.anyone


def _columns_of(names: Mapping[Any, tuple[Hashable, ...]]) -> Any:
    """The column, or the columns, of all secrets as one."""
    columns = tuple(name for own in names.values() for name in own)
    return columns[0] if len(columns) == 1 else columns


def read_secrets(known: Sequence[Hashable] | None, asked: SeveralRequest) -> tuple[list[Named], PriorOfAll | None]:
    """Return the secrets in their order, and the prior of all together where it is given.

    A secret without a lift of its own may have all of the total.
    """
    lifts, total = asked.lifts, asked.most
    if not lifts:
        raise InvalidInput("column must name at least one secret with its lift. Got an empty mapping.")
    if known is None:
        raise InvalidInput("A mapping from secrets to lifts needs a table. The data is a bare column.")
    names = {key: secret_columns(known, key) for key in lifts}
    _refuse_overlaps(names)
    domains = _domains(asked.domain, names)
    priors, joint = read_priors(asked.prior, names)
    limits = _by_secret(asked.anyone, names, "anyone", TEN_TIMES)
    accuracies = _accuracies(asked, names)
    found = []
    for key, lift in lifts.items():
        own, letters = priors[key], domains.get(key)
        if letters is None:
            letters = (
                _letters_of(joint, names, key) if joint is not None else declared_values(None, own, None, names[key])
            )
        own = prior_in_words(own, letters)
        public = None if joint is not None else public_prior(own, letters)
        one = Named(key, names[key], letters, NO_LIMITS, public, limits[key], accuracies[key])
        if one.accuracy is None:
            one = one.with_lift(total.below if lift is None and total is not None else _lift(lift, key))
        found.append(one)
    return found, joint


def _lift(lift: Any, key: Any) -> Any:
    if lift is None or isinstance(lift, (Mapping, list, tuple, str, bool)):
        alone = " A lift may be None where total= is given, or a margin= of it." if lift is None else ""
        raise InvalidInput(
            f"The lift of {key!r} must be a number of at least 1, such as 2. Got {lift!r} instead.{alone}"
        )
    return lift


def _accuracies(asked: SeveralRequest, names: Mapping[Any, tuple[Hashable, ...]]) -> dict[Any, Accuracy | None]:
    """Return what is to be known of each secret whose lift is to be found, None for the others."""
    if asked.margin is not None and asked.total is not None:
        raise InvalidInput(
            "margin (--margin) does not go with total (--total): the one finds the least lifts, the other shares out "
            "what there is. Leave one of them out; the lifts that are found multiply to the least total."
        )
    open_ones = [key for key, lift in asked.lifts.items() if lift is None]
    if asked.margin is not None and not isinstance(asked.margin, Mapping) and not open_ones:
        raise InvalidInput(
            f"margin (--margin) finds lifts, and every secret has one already. Give None instead of the lift of those "
            f"whose lift is to be found: {{{next(iter(names))!r}: None, ...}} (--protect NAME without a lift)."
        )
    margins = _by_secret(asked.margin, names if isinstance(asked.margin, Mapping) else open_ones, "margin", None)
    if asked.values is not None and not isinstance(asked.values, Mapping):
        raise InvalidInput("values must map secrets to the numbers that their values stand for: there are several.")
    values = _by_secret(asked.values, names, "values", None)
    found: dict[Any, Accuracy | None] = {}
    for key, lift in asked.lifts.items():
        try:
            found[key] = asked_accuracy(margins.get(key), values.get(key), lift, asked.use, None)
        except InvalidInput as error:
            raise InvalidInput(f"Of {key!r}: {error}") from error
    return found


def _refuse_overlaps(names: Mapping[Any, tuple[Hashable, ...]]) -> None:
    owner: dict[Hashable, Any] = {}
    for key, columns in names.items():
        for name in columns:
            if name in owner:
                raise InvalidInput(
                    f"Secrets of one call must not overlap: column {name!r} belongs to {owner[name]!r} and to {key!r}. "
                    "A column is drawn for once: put all columns that belong together into one secret."
                )
            owner[name] = key


def _domains(domain: Any, names: Mapping[Any, tuple[Hashable, ...]]) -> dict[Any, Alphabet]:
    """Return the declared values of each secret for which they are declared."""
    if domain is None:
        return {}
    columns = [name for own in names.values() for name in own]
    if not isinstance(domain, Mapping):
        raise InvalidInput(
            f"domain must map the columns of several secrets to their values: {some_of(columns, 12)}. Got "
            f"{type(domain).__name__} instead."
        )
    if strange := [name for name in domain if name not in columns and name not in names]:
        raise InvalidInput(
            f"domain names {some_of(strange)}, which is not a column of a secret. Those are {some_of(columns, 12)}."
            + did_you_mean(strange[0], columns)
        )
    found: dict[Any, Alphabet] = {}
    for key, own in names.items():
        if key in domain:
            found[key] = as_alphabet(domain[key], name=f"the domain of {key!r}")
        elif all(name in domain for name in own):
            parts = [as_alphabet(domain[name], name=f"the domain of {name!r}") for name in own]
            found[key] = parts[0] if len(own) == 1 else Product(parts)
        elif missing := [name for name in own if name not in domain and any(other in domain for other in own)]:
            raise InvalidInput(f"domain must name the values of {some_of(missing)}, too, which belongs to {key!r}.")
    return found


def read_priors(prior: Any, names: Mapping[Any, tuple[Hashable, ...]]) -> tuple[dict[Any, Any], PriorOfAll | None]:
    """Return what is known of each secret, or of all of them together."""
    if prior is None or isinstance(prior, str):
        return dict.fromkeys(names, prior), None
    if isinstance(prior, AllPriors):
        raise InvalidInput(
            "prior must be by secret where it is every prior: {'diagnosis': lw.AllPriors(...), ...}, each over its own "
            "values."
        )
    if isinstance(prior, Mapping) and all(key in names for key in prior):
        if missing := [key for key in names if key not in prior]:
            raise InvalidInput(f"prior must have one for each secret. Those of {some_of(missing)} are missing.")
        words = [one for one in prior.values() if isinstance(one, str)]
        if "table" in words:
            raise InvalidInput("prior must be 'table' for all secrets or for none.")
        if strange := [one for one in words if one not in PRIOR_WORDS]:
            raise InvalidInput(
                f"prior must be priors or the words {some_of(PRIOR_WORDS)}. Got {some_of(strange)}."
                + did_you_mean(strange[0], PRIOR_WORDS)
            )
        return {
            key: one if isinstance(one, (PriorSet, PriorByStratum, str)) else Prior(one) for key, one in prior.items()
        }, None
    if isinstance(prior, (Prior, PriorByStratum)):
        return dict.fromkeys(names), prior
    if isinstance(prior, Mapping) and all(isinstance(key, tuple) for key in prior):
        return dict.fromkeys(names), Prior(prior)
    columns = [name for own in names.values() for name in own]
    raise InvalidInput(
        f"prior must be 'table', a mapping from each secret to its prior ({some_of(names)}), or a prior of all secrets "
        f"together over tuples of {len(columns)} values, one for each of {some_of(columns, 12)}. Got {prior!r} instead."
    )


def _letters_of(joint: PriorOfAll, names: Mapping[Any, tuple[Hashable, ...]], key: Any) -> Alphabet:
    """The values of a secret that a prior of all secrets together names."""
    columns = [name for own in names.values() for name in own]
    start, size = columns.index(names[key][0]), len(names[key])
    rows: list[Any] = [label if len(columns) > 1 else (label,) for label in joint.labels]
    if wrong := [row for row in rows if not isinstance(row, tuple) or len(row) != len(columns)]:
        raise InvalidInput(
            f"prior must be over tuples of {len(columns)} values, one for each of {some_of(columns, 12)}. Got "
            f"{some_of(wrong)} among them."
        )
    return Alphabet(dict.fromkeys(row[start] if size == 1 else row[start : start + size] for row in rows))


def _by_secret(value: Any, names: Collection[Any], option: str, default: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    if strange := [key for key in value if key not in names]:
        raise InvalidInput(f"{option} names {some_of(strange)}, which is not among the secrets {some_of(names)}.")
    return {key: value.get(key, default) for key in names}


def prior_for_columns(secrets: Sequence[Named], joint: PriorOfAll | None) -> Any:
    """Return what decides which columns may go out beside the secrets: one prior that stands for all."""
    if joint is not None:
        return joint
    known = [one.public for one in secrets if not isinstance(one.public, AllPriors)]
    if not known:
        return secrets[0].public
    by = [one.given_columns if isinstance(one, PriorByStratum) else None for one in known]
    if any(one != by[0] for one in by):
        raise InvalidInput(
            "prior must be by the same given columns, in one order, for every secret: what is known of one where "
            "columns are seen that another's prior does not speak of cannot be told. Give all of them by stratum "
            "(lw.PriorByStratum), or lw.AllPriors for those of which nothing is known."
        )
    return known[0]
