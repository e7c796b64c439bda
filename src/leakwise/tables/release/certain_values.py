"""Releases that can be read: refused where the prior is known, warned of where it is not."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import CertaintyWarning, InvalidInput, some_of
from leakwise.guarantee import percent_at_least, percent_at_most
from leakwise.leakage.measures.certainty import Certainty, certainty, has_cover
from leakwise.mechanism import Mechanism, SetMechanism
from leakwise.priors import PriorSet
from leakwise.proof import StratifiedCertificate
from leakwise.types import Counts

__all__ = ["readable_words", "refuse_certainty", "refuse_certainty_by_stratum", "warn_of_certainty"]

_WAY_OUT = (
    "Nothing was released. Keep the limit for anyone (anyone=, --anyone), ask for a smaller lift, or give "
    "allow_certainty=True (--allow-certainty) if the rows may be read."
)


def refuse_certainty(
    mechanism: Mechanism, priors: PriorSet, seen: tuple[Alphabet, Counts], names: Sequence[Hashable], *, allowed: bool
) -> None:
    """Refuse a release whose outcomes make a value certain, or nearly every guess right, unless that is allowed.

    The prior alone decides, never the counts: whether a release is made is seen. The counts go into the message.

    Parameters
    ----------
    mechanism
        What the rows would be drawn from.
    priors
        What the guarantee is about.
    seen
        The declared values, and how often each occurs in the table.
    names
        The columns of the secret, for the message.
    allowed
        Whether the user allows it.

    Examples
    --------
    >>> import numpy as np
    >>> from leakwise import Prior, identity
    >>> prior = Prior({"1": 0.5, "2": 0.5})
    >>> seen = prior.alphabet, np.array([138, 90])
    >>> refuse_certainty(identity(["1", "2"]), prior, seen, ["sex"], allowed=False)
    Traceback (most recent call last):
    leakwise.errors.InvalidInput: 228 of 228 rows of 'sex' could be read: ...
    """
    if allowed:
        return
    found = certainty(mechanism, priors)
    if not found.readable:
        return
    title = " and ".join(repr(str(name)) for name in names)
    letters, counts = seen
    order = mechanism.input_alphabet.positions_in(letters, mine="mechanism", theirs="domain")
    counts = counts if order is None else counts[order]
    rows = int(counts.sum())
    if found.certain:
        read = sum((int(count) * share for count, share in zip(counts.tolist(), found.read, strict=True)), Fraction(0))
        many = f"{int(read):,}" if read.denominator == 1 else f"about {max(1, round(read)):,}"
        start = f"{many} of {rows:,} rows of {title} could be read"
    else:
        start = f"{title} could be guessed from the release for about {round(found.after * rows):,} of {rows:,} rows"
    raise InvalidInput(f"{start}: {readable_words(found, mechanism)} {_WAY_OUT}")


def refuse_certainty_by_stratum(
    shown: StratifiedCertificate, counts: Mapping[Label, Sequence[int]], names: Sequence[Hashable], *, allowed: bool
) -> None:
    """Refuse a release by strata in some of which outcomes make a value certain, or nearly every guess right.

    Parameters
    ----------
    shown
        The proof that the receiver may see: its priors alone decide.
    counts
        How often each value occurs in each stratum, for the message.
    names
        The columns of the secret, for the message.
    allowed
        Whether the user allows it.
    """
    if allowed:
        return
    mechanism, priors = shown.mechanism, shown.priors
    known: dict[tuple[int, PriorSet], Certainty] = {}
    readable = {}
    for key in mechanism:
        token = (id(mechanism[key]), priors[key])
        if token not in known:
            known[token] = certainty(mechanism[key], priors[key])
        if known[token].readable:
            readable[key] = known[token]
    if not readable:
        return
    first = max(readable, key=lambda key: sum(counts.get(key, ())))
    title = " and ".join(repr(str(name)) for name in names)
    rows, all_rows = sum(sum(counts.get(key, ())) for key in readable), sum(map(sum, counts.values()))
    raise InvalidInput(
        f"{title} could be read, or guessed, in {len(readable):,} of {len(mechanism):,} strata, with {rows:,} of "
        f"{all_rows:,} rows. Where {mechanism.given_columns.described(first)}: "
        f"{readable_words(readable[first], mechanism[first])} {_WAY_OUT}"
    )


def warn_of_certainty(secrets: Iterable[tuple[Sequence[Hashable], Mechanism]], stacklevel: int) -> None:
    """Warn of mechanisms with outcomes that one value alone can cause: without a prior no more can be told."""
    for names, mechanism in secrets:
        if has_cover(mechanism):
            continue
        title = " and ".join(repr(str(name)) for name in names) or "the column"
        if isinstance(mechanism, SetMechanism):
            warnings.warn(
                f"Rows of {title} can be read: a set of few values makes one of them all but certain.",
                CertaintyWarning,
                stacklevel=stacklevel + 1,
            )
            continue
        found = certainty(mechanism)
        if found.certain:
            warnings.warn(
                f"Rows of {title} can be read: {_certain_words(found, mechanism)}",
                CertaintyWarning,
                stacklevel=stacklevel + 1,
            )


def readable_words(found: Certainty, mechanism: Mechanism) -> str:
    """Return what can be read of a release, in a sentence or two, from the law alone."""
    words = [_certain_words(found, mechanism)] if found.certain else []
    if found.guessed:
        words.append(
            f"The best guess is right for up to {percent_at_most(found.after)} of the rows, and for "
            f"{percent_at_least(found.before)} without the release."
        )
    return " ".join(words)


def _certain_words(found: Certainty, mechanism: Mechanism) -> str:
    places = [place for several in found.certain.values() for place in several]
    values = some_of(mechanism.inputs[place] for place in found.certain)
    outcomes = some_of(mechanism.outputs[place] for place in places)
    some = " for some prior of the set" if found.of_some else ""
    if len(places) == 1:
        return f"the outcome {outcomes} makes the value {values} certain{some}."
    return f"the outcomes {outcomes} make the value{'s' * (len(found.certain) > 1)} {values} certain{some}."
