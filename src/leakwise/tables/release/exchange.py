"""One batch of rows: its secret columns out, what was drawn for them in. Files, databases and Spark all do this."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leakwise.alphabet import Bins, encode_column
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import AnyMechanism, SetMechanism, StratifiedMechanism
from leakwise.tables.kinds.joint_columns import encode_columns, parts_of
from leakwise.tables.memo.draws import Memo
from leakwise.tables.release.draw import draw_codes
from leakwise.tables.strata.drawn_columns import DrawnColumn, DrawnColumns, encoder, outcome_columns
from leakwise.tables.strata.given_codes import GivenCodes, bins_of, coarse_codes
from leakwise.tables.strata.mechanisms import RowMechanisms
from leakwise.types import Array

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Exchanger", "Look", "Watch", "refuse_given_secrets", "refuse_roles"]

Watch = Callable[[Array], None]
"""Sees the codes of every batch as they go by."""
Look = Callable[[Array, Hashable], None]
"""Sees the codes of rows, and which part of the file they belong to where the released file keeps its parts."""

Drawn = dict[Any, tuple[Array, Sequence[Any]]]
"""For each column the codes and the labels of what stands in the place of the secret."""


class Exchanger:
    """From the columns of a batch to the codes and the labels of what stands in their place.

    New are the secret columns, which are drawn for, and those that go out in bins. A row of a stratified mechanism is
    drawn for by the mechanism of its stratum. Where that is by the column of an earlier secret, its outcome is meant.

    Parameters
    ----------
    secrets
        The columns of each secret and its mechanism. A mechanism that cannot be drawn from exactly is refused here.
    encode
        What makes codes of a column of the kind at hand.
    stream
        Where the random words come from; the secure streams of the threads when left out.
    before, after
        Shown the codes of the first, second, … secret as they were and as they were drawn.
    coarsen
        The bins in which other columns go out, beside those of given columns.
    drop
        Columns that do not go out.
    memo
        The key and the person column of draws that repeat; ``stream`` then has no part in them.
    plain
        What makes plain values of a person column of the kind at hand.
    drawn
        Outcomes that were drawn already: they are taken as they are.
    unlisted
        Whether outcomes that are too many to list may come as they are drawn: each batch then has labels of its own.
    """

    def __init__(
        self,
        secrets: Sequence[tuple[Sequence[Hashable], AnyMechanism]],
        *,
        encode: Callable[..., Any] = encode_column,
        stream: SecureStream | None = None,
        before: Sequence[Watch] = (),
        after: Sequence[Watch] = (),
        coarsen: Mapping[Any, Bins] | None = None,
        drop: Sequence[Any] = (),
        memo: Memo | None = None,
        plain: Callable[[Any], Any] = lambda column: column,
        drawn: DrawnColumns | None = None,
        unlisted: bool = False,
    ) -> None:
        self._drawn = DrawnColumns() if drawn is None else drawn
        self._rows = 0
        given = [one.given_columns for _, one in secrets if isinstance(one, StratifiedMechanism)]
        self.coarse, self.dropped = bins_of(given, coarsen or {}), tuple(drop)
        self._secrets = [_Secret(tuple(names), mechanism, self.coarse, memo) for names, mechanism in secrets]
        self._memo, self._plain = memo, plain
        self._encode, self._stream, self._before, self._after = encoder(encode), stream, before, after
        self.outputs: dict[Any, Sequence[Any]] = {}
        beside = refuse_given_secrets(secrets, self._drawn.names)
        for names, mechanism in secrets:
            as_they_come = unlisted and isinstance(mechanism, SetMechanism)
            self.outputs.update(dict.fromkeys(names, ()) if as_they_come else _outputs(names, mechanism))
        refuse_roles(list(self.outputs), beside, list(self.coarse), self.dropped)
        self.closed = bool(beside or self.coarse or self.dropped)
        """Whether it was said of the other columns what they are: one that nobody knew of must not go out."""
        self.outputs.update((name, bins.labels) for name, bins in self.coarse.items())
        people = [] if memo is None else [memo.person]
        self.reads: list[Any] = list(dict.fromkeys([*self.outputs, *beside, *people]))

    def __call__(self, batch: Mapping[Any, Any]) -> Drawn:
        """Encode the secret columns of a batch, and draw. It has the columns that this reads."""
        encoded = (
            encode_columns(
                [batch[name] for name in one.names], one.names, one.mechanism.input_alphabet, "inputs",
                encode=self._encode,
            )
            for one in self._secrets
        )  # fmt: skip
        return self.draw(encoded, batch)

    def draw(self, encoded: Iterable[Array], batch: Mapping[Any, Any]) -> Drawn:
        """Draw for the codes of each secret, and put columns into bins; the batch has the other columns it reads."""
        coarse = coarse_codes(batch, self.coarse, self._encode)
        new: Drawn = {name: (codes, self.coarse[name].labels) for name, codes in coarse.items()}
        people = None if self._memo is None else self._memo.ids(self._plain(batch[self._memo.person]))
        columns: dict[Any, DrawnColumn] | None = None
        size = 0
        for turn, (codes, one) in enumerate(zip(encoded, self._secrets, strict=True)):
            size = codes.size
            if columns is None:
                columns = self._drawn.rows(self._rows, size)
            if turn < len(self._before):
                self._before[turn](codes)
            drawn: Array | None
            if isinstance(one.mechanism, SetMechanism):  # its outcomes are listed as they come
                outcomes, drawn = one.mechanism.drawn(codes, self._stream)
            else:
                outcomes, drawn = one.mechanism.output_alphabet, self._drawn.of(one.names, codes, self._rows)
            if drawn is None:
                if one.rows is not None and one.given is not None:
                    read = {name: columns[name] if name in columns else batch[name] for name in one.beside}
                    codes = one.rows.combined(one.rows.of(one.given.read(read, coarse, self._encode)), codes)
                if people is None:
                    drawn = draw_codes(codes, one.sampler, self._stream)
                else:
                    drawn = one.sampler.draw(codes, people)
            if turn < len(self._after):
                self._after[turn](drawn)
            columns |= outcome_columns(one.names, outcomes, drawn)
            new |= {name: (columns[name].places, columns[name].values) for name in one.names}
        self._rows += size
        return new


class _Secret:
    """The columns of a secret, and what draws for them."""

    def __init__(
        self, names: tuple[Hashable, ...], mechanism: AnyMechanism, bins: Mapping[Any, Bins], memo: Memo | None
    ) -> None:
        self.names, self.mechanism = names, mechanism
        self.rows: RowMechanisms | None = None
        self.given: GivenCodes | None = None
        self.beside: tuple[Any, ...] = ()
        if isinstance(mechanism, StratifiedMechanism):
            # Columns that go out in bins have their codes already.
            self.beside = tuple(name for name in mechanism.given if name not in bins)
            self.rows = RowMechanisms(mechanism)
            self.given = GivenCodes(mechanism.given_columns, bins, strict=mechanism.otherwise is None)
        if memo is not None:
            self.sampler: Any = memo.sampler(names, mechanism, self.rows)
        elif isinstance(mechanism, StratifiedMechanism):
            assert self.rows is not None
            self.sampler = self.rows.sampler()
        elif not isinstance(mechanism, SetMechanism):
            self.sampler = mechanism.sampler


def refuse_roles(
    secrets: Sequence[Any], given: Sequence[Any], coarse: Sequence[Any] = (), dropped: Sequence[Any] = ()
) -> None:
    """Refuse a column that is two things: what is drawn by it would tell of it, or it would go out as it is."""
    if both := [name for name in secrets if name in given]:
        raise InvalidInput(
            f"The secret must not be a given column: {some_of(both)} is both. What is drawn for one secret must not "
            "depend on another; release them together as one secret."
        )
    if both := [name for name in secrets if name in coarse]:
        raise InvalidInput(f"The secret must not be coarsened: {some_of(both)}. Declare its bins as its domain.")
    if both := [name for name in dropped if name in (*secrets, *given, *coarse)]:
        raise InvalidInput(
            f"A column that is dropped must be neither the secret, nor given, nor coarsened: {some_of(both)}. What is "
            "drawn would tell of it."
        )


def refuse_given_secrets(secrets: Sequence[tuple[Sequence[Any], AnyMechanism]], drawn: Sequence[Any] = ()) -> list[Any]:
    """Return the given columns that are read from the table: those that no secret is drawn for.

    The mechanism of a later secret may be by the column of an earlier one: by its outcome, which anyone sees. One by
    true values, or by a secret that comes later, is refused.
    """
    before: dict[Any, tuple[Sequence[Any], AnyMechanism] | None] = dict.fromkeys(drawn)
    every = [name for names, _ in secrets for name in names]
    found: list[Any] = []
    for names, mechanism in secrets:
        if isinstance(mechanism, StratifiedMechanism):
            given = mechanism.given_columns
            if late := [name for name in given.names if name in every and name not in before]:
                refuse_roles(late, late)
            for name, domain in zip(given.names, given.domains, strict=True):
                if name not in before:
                    found.append(name)
                elif (earlier := before[name]) is not None:
                    _refuse_true_values(name, domain.labels, _outputs(*earlier)[name], names)
        before.update(dict.fromkeys(names, (names, mechanism)))
    return found


def _refuse_true_values(name: Any, known: Sequence[Any], outcomes: Sequence[Any], names: Sequence[Any]) -> None:
    """Refuse a mechanism that is by other values of a released column than its outcomes."""
    if strange := [one for one in known if one not in outcomes]:
        raise InvalidInput(
            f"The mechanism of {some_of(names)} is by {name!r}, which is released, too: its outcomes are meant, "
            f"{some_of(outcomes)}, and the domain there has {some_of(strange)}. What is drawn for one secret must not "
            "depend on the true value of another; release them together as one secret."
        )


def _outputs(names: Sequence[Hashable], mechanism: AnyMechanism) -> dict[Any, Sequence[Any]]:
    """The labels that can stand in each column after the release."""
    if len(names) == 1:
        return {names[0]: mechanism.outputs}
    parts = parts_of(mechanism.output_alphabet, names, "outputs")
    return {name: list(dict.fromkeys(values)) for name, values in zip(names, parts, strict=True)}
