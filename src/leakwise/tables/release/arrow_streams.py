"""The release of a stream of Arrow batches into another stream, which draws as it is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.mechanism import StratifiedMechanism
from leakwise.tables.formats.carried_mechanism import Carried, pack
from leakwise.tables.memo.draws import Memo
from leakwise.tables.release.checking import RowBeside, RowCheck
from leakwise.tables.release.exchange import Exchanger, Watch
from leakwise.tables.release.row_order import RowOrder, WatchedOrder, warn_of_order
from leakwise.tables.release.secret_columns import Secret
from leakwise.types import Array

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["release_reader"]


class _Watched:
    """The order of the rows of a stream, within strata where the mechanism is by strata."""

    def __init__(self, secret: Secret) -> None:
        chosen = secret.mechanism
        self.batch: Mapping[Any, Any] = {}
        self.order: WatchedOrder = RowOrder(chosen.inputs)
        self._add: Watch = self.order.add
        if isinstance(chosen, StratifiedMechanism):
            beside = RowBeside(chosen.given_columns, strict=chosen.otherwise is None, ordered=True)
            check = RowCheck(secret.names, chosen.input_alphabet, beside=beside)
            assert check.order is not None
            self.order, self._add = check.order, lambda codes: check.add_codes(codes, self.batch)

    def see(self, codes: Array) -> None:
        """See the codes of the batch at hand."""
        self._add(codes)


def release_reader(
    reader: Any, secrets: Sequence[Any], stream: SecureStream | None, order: str | None = None, memo: Memo | None = None
) -> Any:
    """Yield the released rows as a reader, which DuckDB, polars and others take without a copy.

    The batches are drawn as they are read, and can be read once only, so that nothing is drawn twice. Values are
    checked as they go by: one outside the domain ends the stream with an error, and with it whatever reads it. That
    the order of the rows tells the secret is known at the end only, and warned of then; ``"shuffle"`` holds the first
    row back until all were read.
    """
    import pyarrow as pa

    from leakwise.tables.formats.columns import Replacement

    seeded = stream is not None and stream.seeded
    carried = pack(
        [Carried(one.names, one.mechanism) for one in secrets], reader.schema.metadata or {}, unsafe_seed=seeded
    )
    watched = [_Watched(one) for one in secrets] if order is None else []
    exchange = Exchanger(
        [(one.names, one.mechanism) for one in secrets], stream=stream, before=[each.see for each in watched], memo=memo
    )
    replacement = Replacement(reader.schema, exchange.outputs, carried)

    def released() -> Iterator[Any]:
        for batch in reader:
            for each in watched:
                each.batch = batch
            yield replacement.batch(batch, exchange(batch))
        for one, each in zip(secrets, watched, strict=False):
            warn_of_order(each.order, " and ".join(map(str, one.names)), stacklevel=1)

    def reordered() -> Iterator[Any]:
        from leakwise.tables.release.shuffle import shuffled

        for table in shuffled(released(), Path(tempfile.gettempdir()), stream):
            yield from table.to_batches()

    batches = reordered() if order == "shuffle" else released()
    return pa.RecordBatchReader.from_batches(replacement.schema, batches)
