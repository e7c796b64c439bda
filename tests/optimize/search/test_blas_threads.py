"""A search uses one thread of linear algebra, and gives the others back."""

from __future__ import annotations

import threading

import scipy.linalg  # noqa: F401  (its library is loaded before threads are counted)
from threadpoolctl import ThreadpoolController, threadpool_limits

import leakwise as lw
from leakwise.optimize.search.blas_threads import one_blas_thread


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
