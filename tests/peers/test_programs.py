"""Other packages' mechanisms as black boxes: what they claim is not refuted, what they do not claim is."""

from __future__ import annotations

import importlib.util
import math
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leakwise as lw

LETTERS = ["a", "b", "c", "d"]
EPSILON = 1.0


def opendp() -> Callable[[str], Any]:
    prelude = pytest.importorskip("opendp.prelude", reason="opendp is not installed (pip install leakwise[peers])")
    prelude.enable_features("contrib")
    keep = math.exp(EPSILON) / (math.exp(EPSILON) + len(LETTERS) - 1)
    return prelude.m.make_randomized_response(categories=LETTERS, prob=keep)


def pure_ldp(client: str) -> Callable[[str], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their own, on import
        oracles = pytest.importorskip("pure_ldp.frequency_oracles", reason="pure-ldp is not installed")
    made = getattr(oracles, client)(epsilon=EPSILON, d=len(LETTERS))
    # They count letters from 1 and take 1 away themselves.
    return lambda letter: made.privatise(LETTERS.index(letter) + 1)


def multi_freq_ldpy(name: str) -> Callable[[str], Any]:
    module = pytest.importorskip(
        f"multi_freq_ldpy.pure_frequency_oracles.{name}", reason="multi-freq-ldpy is not installed"
    )
    if name == "GRR":
        return lambda letter: module.GRR_Client(LETTERS.index(letter), len(LETTERS), EPSILON)
    return lambda letter: module.UE_Client(LETTERS.index(letter), len(LETTERS), EPSILON, True)


def diffprivlib() -> Callable[[str], Any]:
    """Its mechanisms alone: the package's own __init__ asks scikit-learn for a name that newer ones do not have."""
    found = importlib.util.find_spec("diffprivlib")
    if found is None or found.submodule_search_locations is None:
        pytest.skip("diffprivlib is not installed (pip install leakwise[peers])")
    if "diffprivlib" not in sys.modules:
        package = types.ModuleType("diffprivlib")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["diffprivlib"] = package
    mechanisms = importlib.import_module("diffprivlib.mechanisms")
    made = mechanisms.Binary(epsilon=EPSILON, value0="a", value1="b")
    return made.randomise


PROGRAMS = {
    "OpenDP randomized response": (opendp, LETTERS),
    "pure-ldp direct encoding": (lambda: pure_ldp("DEClient"), LETTERS),
    "pure-ldp unary encoding": (lambda: pure_ldp("UEClient"), LETTERS),
    "multi-freq-ldpy GRR": (lambda: multi_freq_ldpy("GRR"), LETTERS),
    "multi-freq-ldpy unary encoding": (lambda: multi_freq_ldpy("UE"), LETTERS),
    "diffprivlib binary": (diffprivlib, ["a", "b"]),
}


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("name", PROGRAMS)
def test_their_claim_is_not_refuted_and_a_smaller_one_is(name: str) -> None:
    make, inputs = PROGRAMS[name]
    program = make()
    fair = lw.audit_program(program, inputs, epsilon=EPSILON, failure=1e-6, samples=8_000)
    assert fair.verdict == "not refuted", fair.sentence
    false = lw.audit_program(program, inputs, epsilon=EPSILON / 3, failure=1e-6, samples=24_000)
    assert false.verdict == "refuted", false.sentence
    # How much less a prior makes of it: PML of the same answers.
    pml = lw.audit_program(program, inputs, prior=lw.Prior.uniform(inputs), failure=1e-6, samples=4_000)
    assert pml.measures["pml"].lower <= fair.measures["ldp"].lower + EPSILON


def test_our_own_release_end_to_end() -> None:
    """A table through lw.release, audited from outside: its promise is not refuted, and nearly reached."""
    prior = lw.Prior({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1})
    design = lw.design(prior, lift=2)
    secrets = np.random.default_rng(1).permutation(np.repeat(LETTERS, 40_000)).tolist()
    answers = lw.release({"secret": secrets}, design.mechanism, column="secret")["secret"]
    found = lw.audit_samples(secrets, answers, prior=prior, lift=2, failure=1e-6)
    assert found.verdict == "not refuted", found.sentence
    assert found.measures["pml"].lower > 0.9 * math.log(2)
    whole = lw.audit_samples(
        secrets, answers, prior=prior, lift="2.2", failure=1e-6, outputs=list(design.mechanism.outputs)
    )
    assert whole.verdict == "confirmed", whole.sentence
