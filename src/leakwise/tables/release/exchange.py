"""One batch of rows: its secret columns out, what was drawn for them in. Files, databases and Spark all do this."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leakwise.alphabet import encode_column
from leakwise.mechanism import Mechanism
from leakwise.tables.kinds.joint_columns import decode_parts, encode_columns, parts_of
from leakwise.tables.release.draw import draw_codes
from leakwise.types import Array

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Exchanger", "Look", "Watch"]

Watch = Callable[[Array], None]
Look = Callable[[Array, Hashable], None]
"""Sees the codes of rows, and which part of the file they belong to where the released file keeps its parts."""
"""Sees the codes of every batch as they go by."""

Drawn = dict[Any, tuple[Array, Sequence[Any]]]
"""For each column the codes and the labels of what stands in the place of the secret."""


class Exchanger:
    """From the columns of a batch to the codes and the labels of what stands in the place of the secret ones.

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
    """

    def __init__(
        self,
        secrets: Sequence[tuple[Sequence[Hashable], Mechanism]],
        *,
        encode: Callable[..., Any] = encode_column,
        stream: SecureStream | None = None,
        before: Sequence[Watch] = (),
        after: Sequence[Watch] = (),
    ) -> None:
        self._secrets = [(tuple(names), mechanism, mechanism.sampler) for names, mechanism in secrets]
        self._encode, self._stream, self._before, self._after = encode, stream, before, after
        self.outputs: dict[Any, Sequence[Any]] = {}
        for names, mechanism in secrets:
            self.outputs.update(_outputs(names, mechanism))

    @property
    def names(self) -> list[str]:
        """The columns that are exchanged."""
        return list(self.outputs)

    def __call__(self, batch: Mapping[Any, Any]) -> Drawn:
        """Encode the secret columns of a batch, and draw."""
        return self.draw(
            encode_columns([batch[name] for name in names], names, one.input_alphabet, "inputs", encode=self._encode)
            for names, one, _ in self._secrets
        )

    def draw(self, encoded: Iterable[Array]) -> Drawn:
        """Draw for the codes of each secret."""
        new: Drawn = {}
        for turn, (codes, (names, mechanism, sampler)) in enumerate(zip(encoded, self._secrets, strict=True)):
            drawn = draw_codes(codes, sampler, self._stream)
            if turn < len(self._before):
                self._before[turn](codes)
            if turn < len(self._after):
                self._after[turn](drawn)
            if len(names) == 1:
                new[names[0]] = (drawn, mechanism.outputs)
                continue
            parts = decode_parts(drawn, mechanism.output_alphabet, names)
            for name, (labels, part) in zip(names, parts, strict=True):
                new[name] = (part, labels)
        return new


def _outputs(names: Sequence[Hashable], mechanism: Mechanism) -> dict[Any, Sequence[Any]]:
    """The labels that can stand in each column after the release."""
    if len(names) == 1:
        return {names[0]: mechanism.outputs}
    parts = parts_of(mechanism.output_alphabet, names, "outputs")
    return {name: list(dict.fromkeys(values)) for name, values in zip(names, parts, strict=True)}
