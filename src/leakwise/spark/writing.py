"""Rows written once: to a draft beside their place, moved there when all of them are there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from leakwise.errors import InvalidInput
from leakwise.spark.drafts import DRAWN, TABLE, check_draft, draft
from leakwise.spark.failures import translation
from leakwise.spark.places import Place

__all__ = ["write_once"]

_COMMIT = {
    # Version 1 of Hadoop's committer moves files to their place when the whole job is done, version 2 when a task is:
    # with it a job that fails has left rows behind.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}

# The name of a file of rows holds the number of its task and a name of its job.
_JOB = re.compile(r"/part-\d+-([0-9a-f-]{36})[^/]*$")


def write_once(
    spark: Any,
    place: Place,
    drawn: Any,
    shuffled: Callable[[Any], Any] | None = None,
    by: Sequence[str] = (),
    moved: Callable[[], None] = lambda: None,
) -> bool:
    """Draw and write the rows of a DataFrame that draws; False where something is at the place when they are there.

    Parameters
    ----------
    drawn
        The DataFrame that draws.
    shuffled
        What brings the rows into another order, if anything. It is given what was drawn read from files, since a plan
        that drew could draw again, and in another order, for a part of the rows.
    by
        Columns that the rows are put into folders by.
    moved
        Called when the rows are at their place, where others may see them.
    """
    if place.folders is None:
        if shuffled is not None:
            raise InvalidInput(
                f"order='shuffle' writes the rows twice, and the first must be removed again. The files at "
                f"{place.path!r} are out of reach of a Spark Connect client. Release in a session on the cluster, or "
                "shuffle the table there and pass order='keep'."
            )
        return _write_in_place(spark, place.path, drawn, by, moved)
    with draft(place.folders, place.path) as inside, translation():
        if shuffled is not None:
            drawn.write.options(**_COMMIT).parquet(inside + DRAWN)
            drawn = shuffled(spark.read.schema(drawn.schema).parquet(inside + DRAWN))
        drawn.write.options(**_COMMIT).partitionBy(*by).parquet(inside + TABLE)
        check_draft(place.folders, inside)
        there = place.folders.move(inside + TABLE, place.path)
        if there:
            moved()
        return there


def _write_in_place(spark: Any, path: str, drawn: Any, by: Sequence[str], moved: Callable[[], None]) -> bool:
    """For a client without a hand on the files: Spark looks before it writes, and what was written is looked at."""
    from pyspark.errors import AnalysisException

    with translation():
        try:
            drawn.write.mode("error").options(**_COMMIT).partitionBy(*by).parquet(path)
        except AnalysisException as error:
            # Found before anything ran: what is there is not ours.
            if error.getCondition() == "PATH_ALREADY_EXISTS":
                return False
            raise
    moved()
    files = map(unquote, spark.read.schema(drawn.schema).parquet(path).inputFiles())
    jobs = {found[1] for file in files if (found := _JOB.search(file))}
    if len(jobs) > 1:
        raise InvalidInput(
            f"{len(jobs)} jobs wrote to path {path!r} at the same time, so that rows are there several times. Share "
            "none of it and remove it: two draws of a row reveal more than one. Give every job a path of its own."
        )
    return True
