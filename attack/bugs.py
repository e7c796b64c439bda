"""Known ways to leak more than is claimed, each a small program with the correct one next to it.

``python attack/bugs.py`` audits all of them: how long it takes to find each, and what was found.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import leakwise as lw

__all__ = ["BUGS", "Bug"]

Generator = np.random.Generator
Program = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Bug:
    """A program that claims ``epsilon`` (LDP, exact for the correct one or above it), wrong or right."""

    name: str
    what: str
    inputs: tuple[Any, ...]
    epsilon: float
    make: Callable[[Generator, bool], Program]
    samples: int

    def audit(self, generator: Generator, wrong: bool, failure: float = 1e-3, samples: int | None = None) -> Any:
        """Run it until it is refuted or its answers are used up."""
        return lw.audit_program(
            self.make(generator, wrong),
            list(self.inputs),
            epsilon=self.epsilon,
            failure=failure,
            samples=samples or self.samples,
            batch=True,
        )


BUGS: dict[str, Bug] = {}


def bug(
    what: str, inputs: tuple[Any, ...], epsilon: float, samples: int = 100_000
) -> Callable[[Callable[[Generator, bool], Program]], Callable[[Generator, bool], Program]]:
    def note(make: Callable[[Generator, bool], Program]) -> Callable[[Generator, bool], Program]:
        name = make.__name__.replace("_", " ")
        BUGS[name] = Bug(name, what, inputs, epsilon, make, samples)
        return make

    return note


def geometric(generator: Generator, epsilon: float, count: Any) -> Any:
    """Two-sided geometric noise: whole numbers with probability proportional to e^{-ε|k|}."""
    stop = -math.expm1(-epsilon)
    return generator.geometric(stop, count) - generator.geometric(stop, count)


def keep_of(epsilon: float, values: int = 2) -> float:
    """How often randomized response tells the truth."""
    return math.exp(epsilon) / (math.exp(epsilon) + values - 1)


# ------------------------------------------------------------------------------------------------ numbers with noise


@bug("Laplace noise by the inverse CDF in floats: its last binary digits depend on the true value", (0.0, 1.0), 1.0)
def float_laplace(generator: Generator, wrong: bool) -> Program:
    def program(x: float, count: int) -> Any:
        if wrong:
            u = generator.random(count) - 0.5
            return x - np.sign(u) * np.log(1 - 2 * np.abs(u))
        return x + geometric(generator, 1 / 1024, count) / 1024

    return program


@bug("the noise is rounded, the true value is not: its decimals are in every answer", (3.117, 3.125), 1.0)
def rounded_noise(generator: Generator, wrong: bool) -> Program:
    def program(x: float, count: int) -> Any:
        if wrong:
            return np.round(x + geometric(generator, 0.1, count) / 10, 6)
        return (round(10 * x) + geometric(generator, 0.1, count)) / 10

    return program


@bug("the tail of the noise is cut off: answers at the end are possible for one value only", (0, 1), 0.5)
def cut_tail(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        noise = geometric(generator, 0.5, count)
        return x + (np.clip(noise, -8, 8) if wrong else noise)

    return program


@bug("the noise has scale ε instead of 1/ε", (0, 1), 0.5)
def scale_upside_down(generator: Generator, wrong: bool) -> Program:
    return lambda x, count: x + geometric(generator, 1 / 0.5 if wrong else 0.5, count)


@bug("the sum is clipped to the range of the data, which shows their largest value", (3, 4), 1.0)
def range_of_the_data(generator: Generator, wrong: bool) -> Program:
    return lambda x, count: np.clip(x + geometric(generator, 1.0, count), 0, x if wrong else 10)


@bug("a generator with the same seed in every call: the same noise for every row", (0, 1), 1.0)
def same_seed(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        if wrong:
            return [x + int(geometric(np.random.default_rng(7), 1.0, 1)[0]) for _ in range(count)]
        return x + geometric(generator, 1.0, count)

    return program


@bug("one draw of noise for two columns: their difference is exact", ("10,20", "10,21"), 1.0)
def shared_noise(generator: Generator, wrong: bool) -> Program:
    def program(x: str, count: int) -> Any:
        true = np.array([int(part) for part in x.split(",")])
        return true + geometric(generator, 1.0, (count, 1) if wrong else (count, 2))

    return program


@bug("noise goes only to the cells of a histogram that are not empty", ("5,0,2", "4,1,2"), 2.0)
def empty_cells(generator: Generator, wrong: bool) -> Program:
    def program(x: str, count: int) -> Any:
        cells = np.array([int(part) for part in x.split(",")])
        noisy = cells + geometric(generator, 1.0, (count, len(cells)))
        return np.where(cells == 0, 0, noisy) if wrong else noisy

    return program


@bug("where the sampler fails (the logarithm of 0), the true value is returned", (30.417, 31.388), 0.98)
def exception_path(generator: Generator, wrong: bool) -> Program:
    def program(x: float, count: int) -> Any:
        answers = round(x) + geometric(generator, 0.98, count)
        failed = wrong & (generator.integers(0, 256, count) == 0)
        return [x if f else int(a) for f, a in zip(failed, answers, strict=True)]

    return program


# --------------------------------------------------------------------------------------------------- values and bits


@bug("a threshold off by one: <= 73 of 100 instead of < 73", (0, 1), math.log(73 / 27), 600_000)
def off_by_one(generator: Generator, wrong: bool) -> Program:
    return lambda x, count: np.where(generator.integers(0, 100, count) < (74 if wrong else 73), x, 1 - x)


@bug("a lie may be the true value after all, which is then too likely", (0, 1, 2, 3), 1.0)
def lie_that_is_true(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        lie = (x + generator.integers(0 if wrong else 1, 4, count)) % 4
        return np.where(generator.random(count) < keep_of(1.0, 4), x, lie)

    return program


@bug(
    "a lie never is the neighbour of the true value: randint(1, k - 2) instead of randint(1, k - 1)", (0, 1, 2, 3), 1.0
)
def lie_left_out(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        lie = (x + generator.integers(1, 3 if wrong else 4, count)) % 4
        return np.where(generator.random(count) < keep_of(1.0, 4), x, lie)

    return program


@bug("uniform numbers by a byte modulo 48: the first 16 are 6/5 as likely", (0, 24), 0.05, 300_000)
def modulo_bias(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        pad = generator.integers(0, 256, count) % 48 if wrong else generator.integers(0, 48, count)
        return (x + pad) % 48

    return program


@bug("probabilities kept as whole percents: what is below one is impossible", (0, 1), 4.0)
def whole_percents(generator: Generator, wrong: bool) -> Program:
    keep = keep_of(4.0, 60)
    lies = (1 - keep) / 59
    lies = math.floor(100 * lies) / 100 if wrong else lies

    def program(x: int, count: int) -> Any:
        return (x + generator.choice(60, count, p=[1 - 59 * lies, *[lies] * 59])) % 60

    return program


@bug("a PRAM matrix that never changes a value (sdcMicro 303)", ("flu", "cold", "HIV"), math.log(18))
def value_never_changed(generator: Generator, wrong: bool) -> Program:
    names = np.array(["flu", "cold", "HIV"])
    rows = {"flu": [0.9, 0.05, 0.05], "cold": [0.05, 0.9, 0.05], "HIV": [0, 0, 1] if wrong else [0.05, 0.05, 0.9]}
    return lambda x, count: names[generator.choice(3, count, p=rows[x])].tolist()


@bug("missing values stay missing", ("", "no", "yes"), 1.0)
def missing_passes(generator: Generator, wrong: bool) -> Program:
    names = ["", "no", "yes"]

    def program(x: str, count: int) -> Any:
        if wrong and not x:
            return [x] * count
        place = names.index(x)
        lie = (place + generator.integers(1, 3, count)) % 3
        return [names[p] for p in np.where(generator.random(count) < keep_of(1.0, 3), place, lie)]

    return program


@bug("every bit of unary encoding spends all of ε instead of half", (0, 5), 1.0)
def epsilon_twice(generator: Generator, wrong: bool) -> Program:
    flip = 1 - keep_of(1.0 if wrong else 0.5)
    return lambda x, count: (np.arange(16) == x) ^ (generator.random((count, 16)) < flip)


@bug("one coin for all bits of unary encoding", (0, 5), 1.0)
def one_coin(generator: Generator, wrong: bool) -> Program:
    flip = 1 - keep_of(0.5)
    return lambda x, count: (np.arange(16) == x) ^ (generator.random((count, 1 if wrong else 16)) < flip)


@bug("RAPPOR without its memory: the permanent answer is drawn again every day", (0, 1), 1.0)
def no_memory(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        permanent = np.where(generator.random((count, 10 if wrong else 1)) < keep_of(1.0), x, 1 - x)
        return np.where(generator.random((count, 10)) < 0.9, permanent, 1 - permanent)

    return program


# ----------------------------------------------------------------------------------------------- orders and choices


@bug("a shuffle that swaps each place with any place (Fisher and Yates swap with the rest)", (0, 1, 2, 3, 4), 0.05)
def naive_shuffle(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        place = np.full(count, x)
        for here in range(5):
            other = generator.integers(0 if wrong else here, 5, count)
            place = np.where(place == here, other, np.where(place == other, here, place))
        return place

    return program


@bug("a shuffle by sorting with a random comparison", (0, 1, 2, 3), 0.05)
def sorted_at_random(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        if not wrong:
            return generator.integers(0, 4, count)
        place = np.full(count, x)
        for last in range(1, 4):  # insertion sort: each moves down while a coin says so
            stop = last - np.minimum(generator.geometric(0.5, count) - 1, last)
            moved_up = (place >= stop) & (place < last)
            place = np.where(place == last, stop, place + moved_up)
        return place

    return program


@bug("a set is listed in the order of its insertion, the true value first", (0, 8), 0.1)
def order_of_a_set(generator: Generator, wrong: bool) -> Program:
    def program(x: int, count: int) -> Any:
        shown = {x, 8 - x}  # two numbers that share a place in CPython's table
        return [tuple(shown) if wrong else tuple(sorted(shown))] * count

    return program


@bug("the exponential mechanism without its factor 2", ("first", "others"), 1.0)
def without_the_two(generator: Generator, wrong: bool) -> Program:
    utility = {"first": np.array([1.0] + [0.0] * 9), "others": np.array([0.0] + [1.0] * 9)}

    def program(x: str, count: int) -> Any:
        weights = np.exp(utility[x] * (1.0 if wrong else 0.5))
        return generator.choice(10, count, p=weights / weights.sum())

    return program


def _above_threshold(queries: Any, threshold: Any, noise: Any, *, stop: bool) -> Any:
    """Which noisy queries reach the noisy threshold; with ``stop`` only the first of them is told."""
    above = queries + noise >= threshold
    if stop:
        above &= np.cumsum(above, axis=1) == 1
    return above.astype(np.int8)


@bug("the sparse vector technique without noise on the threshold", ("in", "out"), 1.0, 600_000)
def bare_threshold(generator: Generator, wrong: bool) -> Program:
    def program(x: str, count: int) -> Any:
        queries = np.full((count, 8), 1.0 if x == "in" else 0.0)
        threshold = 1.0 + (0.0 if wrong else generator.laplace(0, 2, (count, 1)))
        return _above_threshold(queries, threshold, generator.laplace(0, 4, (count, 8)), stop=True)

    return program


@bug("the sparse vector technique with one noise for all queries", ("first", "second"), 1.0)
def noise_not_refreshed(generator: Generator, wrong: bool) -> Program:
    def program(x: str, count: int) -> Any:
        queries = np.tile([1.0, 0.0] if x == "first" else [0.0, 1.0], (count, 1))
        noise = generator.laplace(0, 4, (count, 1 if wrong else 2))
        return _above_threshold(queries, 1.0 + generator.laplace(0, 2, (count, 1)), noise, stop=not wrong)

    return program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("names", nargs="*", help="only these")
    options = parser.parse_args()
    missed = 0
    for name in options.names or BUGS:
        one = BUGS[name]
        start = time.process_time()
        found = one.audit(np.random.default_rng(options.seed), wrong=True)
        spent = time.process_time() - start
        right = one.audit(np.random.default_rng(options.seed), wrong=False)
        missed += found.verdict != "refuted" or right.verdict == "refuted"
        event = found.events.get("ldp")
        print(
            f"{name:<20} {found.verdict:<11} {found.samples:>9,} answers {spent:6.1f} s  "
            f"ε {one.epsilon:.3f}, found {found.measures['ldp'].lower:.3f}; correct one {right.verdict} at "
            f"{right.measures['ldp'].lower:.3f}  {'' if event is None else event.outcomes[0][:60]}",
            flush=True,
        )
    print(f"{len(options.names or BUGS) - missed} of {len(options.names or BUGS)} judged rightly.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
