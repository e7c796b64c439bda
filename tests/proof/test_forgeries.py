"""A slice of the campaigns of ``make attack``: every field of every kind of certificate, changed with its checksum."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from forgeries import KINDS, changed, changes, honest, judge, written, wrong_methods
from truth import FalsePromise, must_be_true

import leakwise as lw

WHOLE = (
    "leakage weissman",
    "design mutual_information lift",
    "envelope",
    "aggregate count",
    "records pointwise",
    "mask prior",
    "rows prior",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_certificate_is_rejected_or_true(kind, tmp_path):
    path = tmp_path / "c.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        honest(kind, (7, 3)).save(path)
    assert judge(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    every = list(changes(document["body"]))
    # All changes for one certificate of each format, every thirty-first for the others; attack/ makes all of them.
    rejected = 0
    for way, value in every if kind in WHOLE else every[KINDS.index(kind) % 31 :: 31]:
        written(document, changed(document["body"], way, value), path)
        rejected += not judge(path)
    assert rejected


def test_sets_of_every_kind_with_every_method_are_rejected_or_true():
    for number in range(100):
        wrong_methods(np.random.default_rng([17, number]))


def test_the_judge_knows_a_false_claim():
    design = lw.design([0.6, 0.4], lift=1.5).certificate
    must_be_true(design)
    for field, value in (("value", 9.0), ("bound", 0.0)):
        claim = design.optimality.__class__(**{**vars(design.optimality), field: value})
        with pytest.raises(FalsePromise):
            must_be_true(replace(design, optimality=claim))
    with pytest.raises(FalsePromise):
        must_be_true(replace(design, ratio=design.ratio / 2))
