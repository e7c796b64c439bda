"""One mechanism per stratum: the other columns of a row are known when its outcome is drawn."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns, Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.mechanism.code_kernel import CodeKernel
from leakwise.mechanism.kernel import CommonLawKernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Bools

__all__ = ["AnyMechanism", "StratifiedMechanism"]

_SHOWN = 12


class StratifiedMechanism(Shown):
    """A mechanism for every stratum, over one domain: which one draws depends on the given columns of the row.

    Strata with equal mechanisms share one, in memory and on file. An outcome means the same set of values in every
    stratum that has it. The same functions take it as take a :class:`Mechanism`: ``lw.release``, ``lw.estimate``,
    ``lw.audit``, ``lw.certify``.

    Parameters
    ----------
    mechanisms
        A mapping from strata to mechanisms with the same inputs. A stratum is a value of the given column, or a tuple
        of values where there are several.
    given
        A mapping from the given columns to their domains (lists of values, or ``lw.bins`` for numbers).
    secret
        The name of the secret column; a tuple for a joint secret.
    impossible
        Values that cannot occur in a stratum, by strata. A row that has one is refused.
    otherwise
        The mechanism of every row that is in none of these strata, also where a value of a given column was not
        declared; without one, such a row is refused.

    Examples
    --------
    >>> from leakwise.mechanism import randomized_response
    >>> weak, strong = (randomized_response(["no", "yes"], lift=lift) for lift in (4, 2))
    >>> sm = StratifiedMechanism({"f": weak, "m": strong}, given={"sex": ["f", "m"]})
    >>> sm["m"] is strong, sm.strata
    (True, ('f', 'm'))
    """

    given_columns: GivenColumns
    secret: Hashable
    otherwise: Mechanism | None
    outcomes_digest: str | None = None
    """Of the released table that the file belongs to from which this was read."""
    _mechanisms: Mapping[Label, Mechanism]
    _impossible: Mapping[Label, tuple[Label, ...]]

    def __init__(
        self,
        mechanisms: Mapping[Any, Mechanism],
        given: Mapping[Hashable, Any] | GivenColumns,
        *,
        secret: Hashable = None,
        impossible: Mapping[Any, Iterable[Label]] | None = None,
        otherwise: Mechanism | None = None,
    ) -> None:
        columns = given if isinstance(given, GivenColumns) else GivenColumns(_with_domains(given))
        if not mechanisms and otherwise is None:
            raise InvalidInput("mechanisms must contain at least one stratum, or otherwise be given. Got neither.")
        shared: dict[object, Mechanism] = {}
        kept: dict[Label, Mechanism] = {}
        for key, one in mechanisms.items():
            kept[columns.stratum(key)] = _shared(_checked(one, f"the mechanism of stratum {key!r}"), shared)
        rest = None if otherwise is None else _shared(_checked(otherwise, "otherwise"), shared)
        first = next(iter(kept.values()), rest)
        assert first is not None
        for name, one in [*((repr(key), one) for key, one in kept.items()), *([("otherwise", rest)] if rest else [])]:
            if one.inputs != first.inputs:
                raise InvalidInput(
                    f"All mechanisms must have the same inputs, in one order. That of {name} has "
                    f"{some_of(one.inputs)}, the first {some_of(first.inputs)}."
                )
        zeros = {}
        for key, values in (impossible or {}).items():
            codes = sorted({first.input_alphabet.code(value, name="impossible value") for value in values})
            if len(codes) == len(first.inputs):
                raise InvalidInput(f"impossible names every value in stratum {key!r}: then no row can have it.")
            if codes:
                zeros[columns.stratum(key)] = tuple(first.inputs[code] for code in codes)
        for attribute, value in (
            ("given_columns", columns),
            ("secret", secret),
            ("otherwise", rest),
            ("_mechanisms", kept),
            ("_impossible", zeros),
        ):
            object.__setattr__(self, attribute, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A StratifiedMechanism cannot be changed ({name!r}); make a new one.")

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The names of the given columns."""
        return self.given_columns.names

    @property
    def strata(self) -> tuple[Label, ...]:
        """The strata that have a mechanism of their own choice, in order."""
        return tuple(self._mechanisms)

    @property
    def input_alphabet(self) -> Alphabet:
        """The values of the secret, as an alphabet."""
        return self.mechanisms[0].input_alphabet

    @property
    def inputs(self) -> tuple[Label, ...]:
        """The values of the secret."""
        return self.input_alphabet.labels

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The different mechanisms, each once."""
        found = [*self._mechanisms.values(), *([] if self.otherwise is None else [self.otherwise])]
        return tuple({id(one): one for one in found}.values())

    @cached_property
    def output_alphabet(self) -> Alphabet:
        """The outcomes of all strata together, as an alphabet."""
        labels = dict.fromkeys(label for one in self.mechanisms for label in one.outputs)
        # Numbers that nobody named are names once outcomes of several strata stand side by side.
        return Alphabet(labels, name="outcomes")

    @property
    def outputs(self) -> tuple[Label, ...]:
        """The outcomes of all strata together."""
        return self.output_alphabet.labels

    def __getitem__(self, stratum: Any) -> Mechanism:
        key = self.given_columns.stratum(stratum)
        found = self._mechanisms.get(key, self.otherwise)
        if found is None:
            raise InvalidInput(
                f"The stratum {self.given_columns.described(key)} was not declared when this mechanism was made. Its "
                f"strata are {some_of(self._mechanisms)}." + did_you_mean(key, self._mechanisms)
            )
        return found

    def impossible(self, stratum: Any) -> tuple[Label, ...]:
        """Return the values that cannot occur in a stratum."""
        return self._impossible.get(self.given_columns.stratum(stratum), ())

    @property
    def zeros(self) -> Mapping[Label, tuple[Label, ...]]:
        """The values that cannot occur, for each stratum that has such values."""
        return MappingProxyType(dict(self._impossible))

    def support(self, stratum: Any) -> Bools:
        """Return which values can occur in a stratum."""
        mask = np.ones(len(self.inputs), dtype=np.bool_)
        mask[[self.input_alphabet.index[value] for value in self.impossible(stratum)]] = False
        return mask

    def cells(self) -> Iterator[tuple[Label, Mechanism, tuple[Label, ...]]]:
        """Each stratum with its mechanism and the values that cannot occur in it, without a search for any of them."""
        for key, one in self._mechanisms.items():
            yield key, one, self._impossible.get(key, ())

    def __contains__(self, stratum: object) -> bool:
        return stratum in self._mechanisms

    def __iter__(self) -> Iterator[Label]:
        return iter(self._mechanisms)

    def __len__(self) -> int:
        return len(self._mechanisms)

    # -- drawing ------------------------------------------------------------------------------------------------

    def sample(self, letter: Label, stratum: Any, size: int | None = None, *, unsafe_seed: int | None = None) -> Any:
        """Draw an outcome for a value in a stratum (or ``size`` of them); as :meth:`Mechanism.sample`."""
        if letter in self.impossible(stratum):
            where = self.given_columns.described(self.given_columns.stratum(stratum))
            raise InvalidInput(f"letter {letter!r} cannot occur where {where}: it was declared impossible there.")
        return self[stratum].sample(letter, size, unsafe_seed=unsafe_seed)

    # -- files, equality and looks ------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all mechanisms as versioned JSON with exact integers and a checksum, each once."""
        from leakwise.mechanism.stratified_file import save_stratified

        save_stratified(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StratifiedMechanism:
        """Read what :meth:`save` wrote; a damaged or newer file is an error."""
        from leakwise.mechanism.stratified_file import load_stratified

        return load_stratified(path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StratifiedMechanism):
            return NotImplemented
        return (
            self.given_columns == other.given_columns
            and self.secret == other.secret
            and dict(self._impossible) == dict(other._impossible)
            and self.otherwise == other.otherwise
            and dict(self._mechanisms) == dict(other._mechanisms)
        )

    def __hash__(self) -> int:
        return hash((self.given_columns, self.strata, self.inputs))

    @property
    def numbered(self) -> Mapping[Label, int]:
        """For each stratum the place of its mechanism among :attr:`mechanisms`."""
        places = {id(one): place for place, one in enumerate(self.mechanisms)}
        return MappingProxyType({key: places[id(one)] for key, one in self._mechanisms.items()})

    def _title(self) -> str:
        strata = f"{len(self):,} {'stratum' if len(self) == 1 else 'strata'} by {self.given_columns.words}"
        different = f"{len(self.mechanisms):,} different mechanisms" if len(self.mechanisms) > 1 else "one mechanism"
        return f"StratifiedMechanism over {len(self.inputs):,} values: {different} for {strata}"

    def _shown(self) -> Parts:
        rows = [
            [*map(str, self.given_columns.parts(key)), f"{place + 1}", self.mechanisms[place].shape[1]]
            for key, place in list(self.numbered.items())[:_SHOWN]
        ]
        notes = [f"The first {_SHOWN} strata of {len(self):,} are shown."] if len(self) > _SHOWN else []
        if self.otherwise is not None:
            notes.append("Rows in every other stratum have the mechanism .otherwise.")
        headers = [*map(str, self.given), "mechanism", "outcomes"]
        return [Table(headers, rows, self._title(), align="l" * len(self.given) + "rr"), *notes]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with exact integers as text, as in the file."""
        from leakwise.mechanism.stratified_file import stratified_to_plain

        return stratified_to_plain(self)


AnyMechanism = Mechanism | StratifiedMechanism
"""One mechanism for all rows, or one for each stratum."""


def _checked(mechanism: Any, name: str) -> Mechanism:
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(f"{name} must be a lw.Mechanism. Got {type(mechanism).__name__} instead.")
    return mechanism


def _with_domains(given: Any) -> Mapping[Hashable, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"given must be a mapping from the given columns to their domains, such as {{'sex': ['f', 'm']}}. Got "
            f"{given!r} instead."
        )
    return given


def _shared(mechanism: Mechanism, known: dict[object, Mechanism]) -> Mechanism:
    """The one that stands for all with the same integers and the same outcomes."""
    kernel = mechanism.kernel
    if isinstance(kernel, CommonLawKernel):
        numbers: object = ("common law", tuple(kernel.common.tolist()))
    elif isinstance(kernel, CodeKernel):
        numbers = ("code", kernel.key)
    elif kernel.weights.dtype == np.object_:
        numbers = tuple(map(tuple, kernel.weights.tolist()))
    else:
        numbers = (str(kernel.weights.dtype), kernel.shape, kernel.weights.tobytes())
    return known.setdefault((mechanism.inputs, mechanism.outputs, kernel.denominator, numbers), mechanism)
