"""Programs that keep exactly what they claim, and no more: each refutation of one is a false alarm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from bugs import BUGS, geometric, keep_of
from truth import must

import leakwise as lw

__all__ = ["alarm", "bugs", "correct_program"]

Generator = np.random.Generator
Asked = tuple[Callable[[Any, int], Any], list[Any], dict[str, Any]]


def _matrix(generator: Generator) -> Asked:
    """A random mechanism, at its own LDP ε or at its own PML ε for a random prior."""
    inputs, outcomes = int(generator.integers(2, 6)), int(generator.integers(2, 9))
    m = lw.Mechanism(generator.dirichlet(np.full(outcomes, generator.choice([0.5, 1.0, 5.0])), inputs))
    rows = m.matrix / m.matrix.sum(axis=1, keepdims=True)
    claim: dict[str, Any] = {"epsilon": lw.ldp(m)}
    if generator.random() < 0.5:
        prior = lw.Prior(generator.dirichlet(np.full(inputs, 2.0)))
        claim = {"epsilon": lw.epsilon(m, prior), "prior": prior}
    return lambda x, count: generator.choice(outcomes, count, p=rows[x]), list(range(inputs)), claim


def _unary(generator: Generator) -> Asked:
    bits, epsilon = int(generator.integers(7, 20)), float(generator.uniform(0.1, 3))
    flip = 1 - keep_of(epsilon / 2)
    inputs = generator.choice(bits, int(generator.integers(2, 4)), replace=False).tolist()
    return (
        lambda x, count: (np.arange(bits) == x) ^ (generator.random((count, bits)) < flip),
        inputs,
        {"epsilon": epsilon},
    )


def _noise(generator: Generator) -> Asked:
    """Geometric noise on a grid, often so wide that its answers go into bins."""
    epsilon, steps = float(10 ** generator.uniform(-2.5, 0)), int(generator.integers(1, 5))
    return lambda x, count: (x + geometric(generator, epsilon, count)) / 8, [0, steps], {"epsilon": epsilon * steps}


def _nothing(generator: Generator) -> Asked:
    """Answers of many parts that have nothing to do with the input, which is all that they claim."""
    parts = int(generator.integers(3, 30))
    kind = generator.integers(3)

    def program(x: int, count: int) -> Any:
        if kind == 0:
            return generator.normal(size=(count, parts))
        if kind == 1:
            return generator.integers(0, 3, (count, parts))
        return generator.exponential(size=count)

    return program, [0, 1], {"lift": 1}


def _columns(generator: Generator) -> Asked:
    """Several bits of the same secret, each by randomized response: their ε add up."""
    epsilons = generator.uniform(0.02, 0.5, int(generator.integers(7, 13)))
    flips = 1 / (np.exp(epsilons) + 1)
    return (
        lambda x, count: np.where(generator.random((count, len(flips))) < flips, 1 - x, x),
        [0, 1],
        {"epsilon": math.fsum(epsilons) + 1e-12},
    )


def _corrected(generator: Generator) -> Asked:
    """The correct one of a known bug."""
    one = list(BUGS.values())[int(generator.integers(len(BUGS)))]
    return one.make(generator, False), list(one.inputs), {"epsilon": one.epsilon}


_KINDS = (_matrix, _unary, _noise, _nothing, _columns, _corrected)


def correct_program(generator: Generator) -> Asked:
    """Return a program, its inputs and its claim, all at random."""
    return _KINDS[int(generator.integers(len(_KINDS)))](generator)


def alarm(generator: Generator, failure: float, samples: int) -> bool:
    """Return whether a correct program is called wrong."""
    program, inputs, claim = correct_program(generator)
    found = lw.audit_program(program, inputs, **claim, failure=failure, samples=samples, batch=True)
    return bool(found.verdict == "refuted")


def bugs(generator: Generator) -> None:
    """A known bug is found, and a correct program is not refuted at a failure probability that never happens."""
    one = list(BUGS.values())[int(generator.integers(len(BUGS)))]
    must(one.audit(generator, wrong=True, failure=1e-3).verdict == "refuted", f"{one.name} was not found")
    must(not alarm(generator, 1e-9, 6_000), "a correct program was refuted")
