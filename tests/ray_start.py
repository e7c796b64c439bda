"""Ray on a machine that is busy: it gives its first process thirty seconds to answer, and has no setting for it."""

from __future__ import annotations

import gc
import os
import signal
import warnings
from pathlib import Path
from typing import Any

TRIES = 5


def children() -> set[int]:
    """Return the processes that this one has started and not collected."""
    return {int(pid) for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}


def patient(init: Any) -> Any:
    """Return ``ray.init`` that starts again where the first process of Ray did not answer in time."""

    def started(*arguments: Any, **options: Any) -> Any:
        for left in reversed(range(TRIES)):
            before = children()
            try:
                return init(*arguments, **options)
            except Exception as error:
                if "timed out during startup" not in str(error) or left == 0:
                    raise
            for process in children() - before:
                os.kill(process, signal.SIGKILL)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # of the processes that were killed here
                gc.collect()
        raise AssertionError("the last try returns or raises")

    return started
