"""The error family: what each error is, and what its message offers."""

from __future__ import annotations

import pytest

from leakwise import errors


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (errors.InvalidInput, ValueError),
        (errors.Infeasible, Exception),
        (errors.NotConverged, Exception),
        (errors.CertificateRejected, Exception),
        (errors.MissingExtra, ImportError),
    ],
)
def test_one_family(kind: type[Exception], also: type[Exception]) -> None:
    assert issubclass(kind, errors.LeakwiseError)
    assert issubclass(kind, also)


def test_a_warning_is_no_error() -> None:
    assert issubclass(errors.LeakwiseWarning, UserWarning)
    assert not issubclass(errors.LeakwiseWarning, errors.LeakwiseError)


def test_errors_carry_what_they_found() -> None:
    assert errors.Infeasible("none", witness=[1, 2]).witness == [1, 2]
    stopped = errors.NotConverged("time", lower=0.5, upper=0.75)
    assert (stopped.lower, stopped.upper, str(stopped)) == (0.5, 0.75, "time")


def test_a_missing_package_says_how_to_get_it() -> None:
    with pytest.raises(errors.MissingExtra, match=r"plotting needs the package 'no_such_package'.*leakwise\[plots\]"):
        errors.require("no_such_package.part", extra="plots", purpose="plotting")


def test_a_present_package_is_given() -> None:
    assert errors.require("os.path", extra="data", purpose="paths").join("a", "b") == "a/b"


def test_some_of_counts_the_rest() -> None:
    assert errors.some_of([]) == ""
    assert errors.some_of(range(5)) == "0, 1, 2, 3, 4"
    assert errors.some_of(iter(range(8))) == "0, 1, 2, 3, 4 and 3 more"


def test_did_you_mean_is_silent_without_a_neighbour() -> None:
    assert errors.did_you_mean("qqq", ["alpha", "beta"]) == ""
    assert errors.did_you_mean("alphq", ["alpha", "beta"]) == " Did you mean 'alpha'?"
    assert errors.did_you_mean(12344, [12345, 7]) == " Did you mean 12345?"
