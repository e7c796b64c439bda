"""Failures of a job as errors of this house: the one line that matters out of a stack of two languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from leakwise.errors import InvalidInput, LeakwiseError, MissingExtra

__all__ = ["NOT_THERE", "translated", "translation"]

# How the shipped function says that an executor cannot load what it needs.
NOT_THERE = "leakwise cannot be loaded on an executor"

_OURS = re.compile(r"^leakwise\.errors\.(?P<kind>\w+): (?P<words>.*)$", re.MULTILINE)
_ABSENT = re.compile(rf"^ImportError: (?P<words>{NOT_THERE}.*)$", re.MULTILINE)
# Spark itself needs these before it comes to the shipped function.
_UNARMED = re.compile(r"^ModuleNotFoundError: No module named '(?P<name>pyarrow|pandas|numpy)'", re.MULTILINE)


def translated(error: Exception) -> LeakwiseError | None:
    """Return what went wrong in words of its own; None where Leakwise has nothing to add to what Spark says."""
    text = str(error)
    words = ""
    if found := _ABSENT.search(text):
        words = found["words"].strip()
    elif found := _UNARMED.search(text):
        words = f"{NOT_THERE}: its Python has no package {found['name']!r}."
    if words:
        return MissingExtra(
            f"{words} Install it on every executor: pip install 'leakwise[spark]' (or ship it with "
            "the job: --archives, spark.addArtifacts). Nothing was released."
        )
    if found := _OURS.search(text):
        return InvalidInput(f"{found['words'].strip()} The job was stopped, and nothing was released.")
    return None


@contextmanager
def translation() -> Iterator[None]:
    """Errors of a job in words of this house, where it has any."""
    try:
        yield
    except Exception as error:
        known = translated(error)
        if known is None:
            raise
        raise known from error
