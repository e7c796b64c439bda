"""Settings that all tests share.

Hypothesis runs under a profile named by LEAKWISE_HYPOTHESIS_PROFILE: ``default`` for people, ``ci`` (the same
examples every time, so that a red build is red for everybody) for scripts/check, ``attack`` for a long hunt.
No profile has a deadline: no test of this house depends on speed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Workers of pytest-xdist have the width of a terminal that is not there: what is printed is that of a pipe, everywhere.
os.environ.pop("COLUMNS", None)

# The machine may be busy with other work; slowness of generating data is no fault of the code under test.
PATIENT = [HealthCheck.too_slow]

settings.register_profile("default", deadline=None, max_examples=100, suppress_health_check=PATIENT)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("attack", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("LEAKWISE_HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


# The identity is what tests of tables compare with: that its rows can be read is for their own test to say.
COMPARE_WITH_THE_IDENTITY = ("tables", "spark")
NOT_SAID = pytest.mark.filterwarnings("ignore::leakwise.errors.CertaintyWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files come first; a warning that rows can be read is an error everywhere else, as every warning is."""
    folders = [Path(__file__).parent / name for name in COMPARE_WITH_THE_IDENTITY]
    items.sort(key=lambda item: turn_of(item.nodeid))
    for item in items:
        if item.path.name != "test_certain_values.py" and any(map(item.path.is_relative_to, folders)):
            item.add_marker(NOT_SAID)


# What takes long begins early, so that no worker has a long file left when the other has none.
LONG = ("tests/spark/", "tests/browser/", "tests/docs/", "tests/workflow/", "tests/optimize/", "tests/cli/", "tests/")


def turn_of(test: str) -> int:
    """Return the place of a test's folder in the order of the run; the short examples of the code come last."""
    return next((place for place, folder in enumerate(LONG) if test.startswith(folder)), len(LONG))


def scope_of(test: str) -> str:
    """Return what a worker takes at once: a file, whose tests share what is long to make, or all that needs an engine.

    The pages of the documentation share nothing.
    """
    if test.startswith("tests/spark/") or "how-to/spark.md" in test:
        return "spark"
    if test.startswith("tests/peers/test_engines.py") or "how-to/engines.md" in test:
        return "ray"
    return test if test.startswith("tests/docs/test_examples.py") else test.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Make what the tests of a file share once, not once for each worker, and start one Spark.

    The marks of pytest-xdist have no effect with pytest 9.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False  # by the number of tests, which says little of how long they take
    return ByFile(config, log)
