"""Whether one mechanism for all secrets would do better than one after the other: told to the owner of the table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns, StratumCounts
from leakwise.priors import Prior, PriorByStratum
from leakwise.proof import SeveralCertificate
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.source import Opened
from leakwise.tables.strata.rows import read_table
from leakwise.workflow.joint_advice import JointAdvice, joint_advice
from leakwise.workflow.several_arguments import Named, PriorOfAll

__all__ = ["advice_on_secrets"]

# Combinations of values that one mechanism is designed for, rows that are counted for it, and seconds for each design.
_MOST_VALUES, _MOST_ROWS, _SECONDS = 400, 1_000_000, 1.0


def advice_on_secrets(
    data: Any,
    secrets: Sequence[Named],
    joint: PriorOfAll | None,
    by: GivenColumns | None,
    certificate: SeveralCertificate,
    rows: int,
) -> JointAdvice | None:
    """Return how the mechanisms compare with one for all secrets; None where that is not known, or there are too many.

    What goes with what is that of the joint prior, or of the table itself. Where only priors of the secrets alone are
    known, nothing is looked up in the table.
    """
    combinations = math.prod(len(one.letters) for one in secrets)
    if len(secrets) < 2 or combinations > _MOST_VALUES or certificate.ratio is None:
        return None
    failure = None
    if joint is None:
        counted = all(isinstance(one.public, str) for one in secrets)
        if not counted or rows > _MOST_ROWS or isinstance(data, Opened):
            return None
        joint, failure = _counted(data, secrets, by), certificate.exact_failure or None
    return joint_advice(joint, certificate.mechanism, certificate.ratio, failure=failure, seconds=_SECONDS)


def _counted(data: Any, secrets: Sequence[Named], by: GivenColumns | None) -> PriorOfAll:
    """How often each combination of values occurs, by given columns."""
    sizes = [len(one.letters) for one in secrets]
    labels = Alphabet(
        [
            tuple(part for one, label in zip(secrets, row, strict=True) for part in _parts(one, label))
            for row in itertools.product(*(one.letters.labels for one in secrets))
        ]
    )
    table = read_table(data)
    given = () if by is None else by.names
    whole = np.zeros(len(labels), dtype=np.int64)
    strata = None if by is None else StratumCounts(by, len(labels))
    for batch in table.batches([*(name for one in secrets for name in one.names), *given]):
        columns = [
            encode_columns([batch[name] for name in one.names], one.names, one.letters, "inputs", encode=table.encode)
            for one in secrets
        ]
        codes = np.ravel_multi_index([one.astype(np.intp) for one in columns], sizes)
        whole += np.bincount(codes, minlength=len(labels))
        if by is not None and strata is not None:
            strata.add(by.encode([batch[name] for name in given], table.encode), codes)
    if by is None or strata is None:
        return Prior.from_integers(labels, whole.tolist(), int(whole.sum()))
    counts = strata.strata()
    return PriorByStratum(
        {key: Prior.from_integers(labels, row, sum(row)) for key, row in counts.items()},
        dict(zip(by.names, by.domains, strict=True)),
        {key: sum(row) for key, row in counts.items()},
    )


def _parts(one: Named, label: Any) -> tuple[Any, ...]:
    return label if len(one.names) > 1 else (label,)
