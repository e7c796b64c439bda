"""A search and an estimate use one thread of linear algebra, and give the others back."""

from __future__ import annotations

import threading

import numpy as np
import scipy.linalg  # noqa: F401  (its library is loaded before threads are counted)
from threadpoolctl import ThreadpoolController, threadpool_limits

import leakwise as lw
from leakwise.lp.blas_threads import one_blas_thread
from leakwise.tables.estimate import mixture


def threads():
    return {one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"}


def test_a_search_runs_on_one_thread_and_puts_back_what_was():
    seen = []
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        lw.design(
            lw.Prior([0.4, 0.3, 0.2, 0.1]), lift=2, utility="frequencies", progress=lambda *_: seen.append(threads())
        )
        assert threads() == before
    assert seen
    assert all(one == {1} for one in seen)


def test_an_estimate_of_many_values_runs_on_one_thread(monkeypatch):
    """With two threads it took up to 37 times as much processor time."""
    seen = []
    step = mixture._interior_step
    monkeypatch.setattr(mixture, "_interior_step", lambda *args, **more: seen.append(threads()) or step(*args, **more))
    with threadpool_limits(2, user_api="blas"):
        m = lw.randomized_response(60, lift=5)
        lw.estimate(np.random.default_rng(0).integers(60, size=600), lw.Mechanism(m.matrix))
    assert seen
    assert all(one == {1} for one in seen)


def test_searches_in_two_threads_end_with_what_was_before_the_first():
    inside, leave = threading.Event(), threading.Event()

    def search():
        with one_blas_thread():
            inside.set()
            leave.wait(60)

    before = threads()
    other = threading.Thread(target=search)
    with one_blas_thread():
        other.start()
        assert inside.wait(60)
        assert threads() == {1}
    leave.set()
    other.join()
    assert threads() == before
