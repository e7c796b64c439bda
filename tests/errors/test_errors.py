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


def test_a_name_that_looks_the_same_says_which_form_of_the_accent_it_has() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    said = errors.did_you_mean(decomposed, ["other", composed])
    assert said == f" Did you mean '{composed}', written with another form of the accent (NFC)?"
    assert errors.did_you_mean(composed, [decomposed]).endswith("another form of the accent (NFD)?")
    assert "accent" not in errors.did_you_mean("cafe", [composed])


def test_a_secret_that_is_a_list_within_a_list_says_what_to_write() -> None:
    import leakwise as lw

    table = {"ill": ["no", "yes"], "sex": ["f", "m"]}
    with pytest.raises(errors.InvalidInput, match=r"Got the list \['ill'\] instead: write 'ill'\.$"):
        lw.protect(table, [["ill"], "sex"], lift=2, prior="uniform")
    with pytest.raises(errors.InvalidInput, match=r"write the tuple \('ill', 'sex'\)\.$"):
        lw.protect(table, [["ill", "sex"]], lift=2, prior="uniform")


def test_a_missing_value_is_called_so_wherever_it_is_shown() -> None:
    import leakwise as lw

    prior = lw.Prior({"no": 0.6, "yes": 0.3, None: 0.1})
    design = lw.design(prior, lift=2)
    response = lw.randomized_response(["no", "yes", None], lift=3)
    certified = lw.certify(response, prior, lift=3)
    table = {"ill": ["no", "yes", None] * 40, "sex": ["f", None] * 60}
    audited = lw.audit_table(table, "ill", given=["sex"], domain=["no", "yes", None], mechanism=response)
    for shown in (prior, design, response, certified, lw.audit(response, prior), audited):
        assert "missing" in repr(shown)
        assert "None" not in repr(shown)
    assert not any("None" in str(name) for name in lw.design(prior, lift=1.3).mechanism.outputs)
    # One that is called so by itself is told apart.
    both = lw.design({"a": 0.2, "b": 0.2, "missing": 0.3, None: 0.3}, ldp=1)
    assert len(set(both.mechanism.outputs)) == len(both.mechanism.outputs)
