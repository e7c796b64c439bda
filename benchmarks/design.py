"""Optimal mechanisms: how close to the bound, how fast, in how much memory, beside the paper's own algorithm; one run.

Run ``python benchmarks/design.py`` (``--quick`` leaves out the largest alphabets, ``--only TEXT`` runs the cases whose
arguments contain the text and leaves the figures of others as they were). Every case runs in a process of its
own, so that its peak memory is its own; an interpreter with Leakwise loaded takes about 60 MB of it. Times are
wall-clock seconds of ``lw.design`` as a user calls it, certificate included.

- *as printed* is [EX] Algorithm 1 line by line in plain Python, and the linear program of Theorem 5 over its list by
  ``scipy.optimize.linprog``: what a reader of the paper would write. *our listing* is ``method="enumeration"`` without
  rounding or certificate: the same list made with care, the same program on the solver that columns use. Both are timed
  in the same process as ``lw.design``, which is timed with its certificate; all libraries are loaded before.
- *frequencies* are plain calls, timed in CPU-seconds, beside randomized response, subset selection and Hadamard
  response with the largest ratio of probabilities that keeps the same limits: their variance over ours.
- *under LDP* are plain calls as well, beside the same and OUE and OLH, over ε from 0.5 to 4.
- *gap* is bound less value; the bound is proven for e^ε rounded up, the value is that of the exact integers.
- *random designs* are certified again by ``lw.certify``: none may leak more than was asked for.

Priors are Dirichlet(1, …, 1), Zipf's law, and real ones: the states of the United States, the occupations of Adult, and
the 307 combinations of Adult's four columns. The column *target* says whether what the project set out to reach is
kept; a target that is not kept is a figure like any other. Exit status 1 only for wrong results: optima that differ, an
ε above the request, a value above its bound. Figures go to benchmarks/results/design.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from book import Book

SEED = 2026
RESULTS = Path(__file__).parent / "results" / "design.json"
EPSILONS = (0.3, 0.8, 1.5)
LDP = (0.5, 1.0, 2.0, 4.0)
SIZES = (20, 30, 40, 50, 100, 200)

# What the issue promises: relative gaps for mutual information, seconds, and megabytes.
LARGEST_GAP = {20: 1e-9, 30: 1e-6, 40: 1e-6, 50: 1e-6, 100: 1e-6, 200: 1e-6}
LONGEST, MOST_MEGABYTES = 60.0, 1024.0
LEAST_RATIO = 100  # against enumeration at N = 14
# For frequencies: relative gap, CPU-seconds and megabytes, by the number of values.
RECOVERED = {
    15: (1e-4, 10, 2048),
    20: (1e-4, 10, 2048),
    50: (0.03, 2, 2048),
    100: (0.03, 5, 2048),
    300: (0.05, 30, 2048),
    1000: (0.1, 120, 2048),
}

# The priors of each size: random, real, and Zipf's law.
COLUMNS = {
    15: ("Dirichlet", "occupations", "Zipf"),
    20: ("Dirichlet", "Zipf"),
    50: ("Dirichlet", "Zipf"),
    51: ("states",),
    100: ("Dirichlet", "Zipf"),
    300: ("Dirichlet", "Zipf"),
    307: ("Adult's cells",),
    1000: ("Dirichlet", "Zipf"),
}
# Thousands of residents of the 50 states and the District of Columbia, July 2020, by number (U.S. Census Bureau).
STATES = """
4922 731 7421 3031 39368 5808 3557 987 713 21733 10710 1407 1827 12588 6755 3164 2914 4477 4645 1350 6056 6894
9967 5657 2967 6152 1081 1938 3138 1366 8882 2106 19337 10601 765 11693 3981 4242 12783 1057 5218 893 6887 29361
3250 623 8591 7694 1785 5833 582
"""


def dirichlet(size: int, seed: int = SEED) -> Any:
    import leakwise as lw

    return lw.Prior(np.random.default_rng([seed, size]).dirichlet(np.ones(size)))


def prior_of(law: str, size: int) -> Any:
    """Dirichlet, Zipf, or a real column: states, occupations of Adult, or all that Adult's four columns say of one."""
    import leakwise as lw
    from leakwise.data import adult_counts

    if law == "Dirichlet":
        return dirichlet(size)
    if law == "states":
        return lw.Prior([int(number) for number in STATES.split()])
    if law == "Adult's cells":
        return lw.Prior([cell["rows"] for cell in adult_counts()])
    if law == "occupations":
        counts: dict[str, int] = {}
        for cell in adult_counts():
            counts[cell["occupation"]] = counts.get(cell["occupation"], 0) + cell["rows"]
        return lw.Prior(list(counts.values()))
    masses = 1 / np.arange(1, size + 1)
    return lw.Prior(masses / masses.sum())


# -- the cases, each run in its own process ----------------------------------------------------------------------------


def designed(size: int, epsilon: float, utility: str = "mutual_information") -> dict[str, Any]:
    import leakwise as lw

    prior = dirichlet(size)
    start = time.perf_counter()
    design = lw.design(prior, epsilon=epsilon, utility=utility)
    spent = time.perf_counter() - start
    assert lw.certify(design.mechanism, prior, epsilon=epsilon).holds
    return {
        "case": f"{utility}, N = {size}, ε = {epsilon}",
        "value": design.value,
        "gap": design.gap,
        "relative_gap": design.gap / abs(design.bound),
        "seconds": spent,
        "outcomes": design.mechanism.shape[1],
        "method": design.method,
    }


def recovered(size: int, law: str, lift: float, anyone: float | None = None) -> dict[str, Any]:
    """A plain design for frequencies, and the variance of known mechanisms at the same limits over its own."""
    import leakwise as lw

    prior = prior_of(law, size)
    assert len(prior) == size
    start = time.process_time()
    design = lw.design(prior, lift=lift, anyone=anyone, utility="frequencies")
    spent = time.process_time() - start
    answer = {
        "case": f"frequencies, N = {size}, {law}, lift {lift:g}" + (f", anyone {anyone:g}" if anyone else ""),
        "value": design.value,
        "gap": design.gap,
        "relative_gap": design.gap / abs(design.bound),
        "seconds": spent,
        "outcomes": design.mechanism.shape[1],
        "method": design.method,
    }
    ratios = {name: variance / -design.value for name, variance in known_variances(prior, lift, anyone).items()}
    return {**answer, "ratios": ratios}


def known_variances(prior: Any, lift: float, anyone: float | None) -> dict[str, float]:
    """Randomized response, subset selection, Hadamard response: with the largest ratio that keeps the limits."""
    p, size = prior.probabilities, len(prior)
    powers = 1 << (size - 1).bit_length()
    places = np.arange(powers)
    parity = np.zeros((powers, powers), dtype=bool)
    for bit in range(powers.bit_length() - 1):
        parity ^= ((places[:, None] & places) >> bit & 1).astype(bool)
    hadamard = parity[:size, 1:] if size < powers else parity[:, 1:]
    generator = np.random.default_rng(SEED)
    chosen = max(1, round(size / (1 + lift)))
    subsets = np.argsort(generator.random((size, 20 * size)), axis=0) < chosen
    families = {"randomized response": np.eye(size, dtype=bool), "subset selection": subsets}
    families["Hadamard response"] = np.concatenate([hadamard, ~hadamard], axis=1)
    return {name: _variance(sets, p, lift, anyone) for name, sets in families.items()}


def _variance(sets: Any, p: Any, lift: float, anyone: float | None) -> float:
    """Each value picks among the sets that hold it with a larger probability: as much larger as the limits allow."""

    def at(ratio: float) -> Any:
        weights = np.where(sets, ratio, 1.0)
        return weights / weights.sum(axis=1, keepdims=True)

    least, most = 1.0, anyone or 1e6
    for _ in range(60):
        middle = math.sqrt(least * most)
        matrix = at(middle)
        within = (matrix.max(axis=0) <= lift * (p @ matrix)).all()
        within &= anyone is None or bool((matrix.max(axis=0) <= anyone * matrix.min(axis=0)).all())
        least, most = (middle, most) if within else (least, middle)
    matrix = at(least)
    law = p @ matrix
    lifts = matrix / law
    information = (lifts * law) @ lifts.T
    if np.linalg.cond(information) > 1e12:
        return math.inf
    return float(np.trace(np.linalg.inv(information)) - p @ p)


def under_ldp(size: int, law: str) -> dict[str, Any]:
    """Plain designs under LDP alone, and the variance of known mechanisms over theirs.

    OUE, OLH and subset selection are estimated from a bit for each value, which is one with probability ``own`` for the
    value itself and ``other`` for others.
    """
    import warnings

    import leakwise as lw

    warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap, which is a figure here
    prior = lw.Prior.uniform(size) if law == "uniform" else prior_of(law, size)
    p = prior.probabilities

    def of_bits(own: float, other: float) -> float:
        ones = other + p * (own - other)
        return float((ones * (1 - ones)).sum()) / (own - other) ** 2

    ratios, gaps, spent = {}, {}, 0.0
    for epsilon in LDP:
        start = time.process_time()
        design = lw.design(prior, ldp=epsilon, utility="frequencies")
        spent += time.process_time() - start
        t = math.exp(epsilon)
        chosen, hashes = max(1, round(size / (t + 1))), round(t) + 1
        within = chosen * t / (chosen * t + size - chosen)
        beside = (within * (chosen - 1) + (1 - within) * chosen) / (size - 1)
        variances = known_variances(prior, math.inf, t) | {"subset selection": of_bits(within, beside)}
        variances |= {"OUE": of_bits(0.5, 1 / (t + 1)), "OLH": of_bits(t / (t + hashes - 1), 1 / hashes)}
        ratios[f"{epsilon:g}"] = {name: variance / -design.value for name, variance in variances.items()}
        gaps[f"{epsilon:g}"] = design.gap / abs(design.bound)
    return {
        "case": f"under LDP, N = {size}, {law}",
        "seconds": spent,
        "under_ldp": ratios,
        "gaps": gaps,
        "method": design.method,
    }


def algorithm_1_as_printed(p: list[float], t: float, region: int) -> list[list[float]]:
    """[EX] Algorithm 1, line by line."""
    letters = range(len(p))
    vertices = set()  # line 1
    for zeros in range(region):  # line 2: l = 1 … k
        for chosen in itertools.combinations(letters, len(p) - zeros):  # line 3
            if sum(p[i] for i in chosen) < 1 / t:  # line 4: (13)
                continue
            for j in chosen:  # line 6
                free = (1 - t * sum(p[i] for i in chosen if i != j)) / p[j]  # line 8
                if free >= 0:
                    vertices.add(tuple(free if i == j else t if i in chosen else 0.0 for i in letters))  # lines 9, 10
    return [list(vertex) for vertex in vertices]  # line 11


def theorem_5_as_printed(p: list[float], vertices: list[list[float]]) -> float:
    """The linear program of [EX] Theorem 5 by SciPy: weights that sum to one and average every lift to one."""
    from scipy.optimize import linprog

    utilities = [sum(q * x * math.log(x) for q, x in zip(p, vertex, strict=True) if x > 0) for vertex in vertices]
    rows = [[1.0] * len(vertices)] + [[vertex[i] for vertex in vertices] for i in range(len(p))]
    sharp = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # else it stops at 1e-8
    costs = [-utility for utility in utilities]
    answer = linprog(costs, A_eq=rows, b_eq=[1.0] * len(rows), bounds=(0, None), method="highs", options=sharp)
    return -float(answer.fun)


def against_enumeration(size: int, printed: bool = True) -> dict[str, Any]:
    """Where about half of the letters are raised, near the most vertices: N = 14 and on, to show how the two grow."""
    import scipy.optimize  # noqa: F401  # loaded before the clock starts

    import leakwise as lw
    from leakwise.exact import level
    from leakwise.optimize.pricing.vertex_list import list_vertices
    from leakwise.optimize.problem.cones import pml_cone
    from leakwise.optimize.problem.utilities import as_utility
    from leakwise.optimize.search.any_cone import search_vertices
    from leakwise.optimize.search.limits import Limits

    prior = lw.Prior(np.random.default_rng(SEED).dirichlet(np.full(size, 5.0)))
    epsilon = 0.6
    lw.design(prior, epsilon=epsilon)  # libraries are loaded by all before the clock starts
    times = []
    for _ in range(5):
        start = time.perf_counter()
        design = lw.design(prior, epsilon=epsilon)
        times.append(time.perf_counter() - start)
    own = sorted(times)[2]
    cone = pml_cone(prior, level(epsilon).below)
    start = time.perf_counter()
    vertices = list_vertices(cone)
    found = search_vertices(cone, as_utility("mutual_information"), vertices, Limits())
    ours = time.perf_counter() - start
    value = float(found.weights @ (prior.probabilities @ as_utility("mutual_information").f(found.lifts)))
    answer = {
        "case": f"against enumeration, N = {size}, region {prior.region(epsilon)}",
        "value": design.value,
        "difference": abs(value - design.value),
        "gap": design.gap,
        "vertices": vertices.shape[1],
        "listing_seconds": ours,
        "listing_ratio": ours / own,
        "seconds": own,
        "method": design.method,
    }
    if printed:
        p = prior.probabilities.tolist()
        start = time.perf_counter()
        listed = algorithm_1_as_printed(p, math.exp(epsilon), prior.region(epsilon))
        theirs = theorem_5_as_printed(p, listed)
        spent = time.perf_counter() - start
        answer |= {
            "printed_seconds": spent,
            "printed_ratio": spent / own,
            "printed_difference": abs(theirs - design.value),
        }
    return answer


def distance_under_ldp(size: int = 100, epsilon: float = 1.0) -> dict[str, Any]:
    import leakwise as lw

    prior = dirichlet(size)
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    start = time.perf_counter()
    design = lw.design(prior, ldp=epsilon, utility=lw.Expected(-distance))
    spent = time.perf_counter() - start
    return {
        "case": f"expected distance under LDP, N = {size}, ε = {epsilon}",
        "value": design.value,
        "gap": design.gap,
        "relative_gap": design.gap / abs(design.bound),
        "seconds": spent,
        "outcomes": design.mechanism.shape[1],
        "method": design.method,
    }


def structured(kind: str, size: int = 10**6) -> dict[str, Any]:
    """A million letters without a matrix: build, certify, sample a million rows."""
    import leakwise as lw

    weights = np.random.default_rng(SEED).integers(500, 1500, size)
    prior = lw.Prior(weights)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    if kind == "Theorem 3":
        epsilon = 0.5 * float(prior.least_probability)
        design = lw.design(prior, epsilon=epsilon)
        mechanism, method = design.mechanism, design.method
        leaks = design.epsilon
    else:
        epsilon = 3.0
        mechanism = lw.randomized_response(size, pml=epsilon, prior=prior)
        method, leaks = "randomized response", 0.0
    built = time.perf_counter() - start
    start = time.perf_counter()
    certificate = lw.certify(mechanism, prior, epsilon=epsilon).verify()
    certified = time.perf_counter() - start
    start = time.perf_counter()
    released = lw.release(np.arange(size), mechanism)
    sampled = time.perf_counter() - start
    assert certificate.holds
    assert len(released) == size
    assert max(leaks, certificate.epsilon_upper) <= epsilon
    return {
        "case": f"{kind}, N = {size:,}",
        "seconds": built,
        "certify_seconds": certified,
        "sample_seconds": sampled,
        "megabytes_of_the_prior": before,
        "method": method,
    }


def coded(law: str, lift: float, anyone: float | None = None, size: int = 10_000) -> dict[str, Any]:
    """Thousands of values: design, certificate, a million released rows and the estimate from them, no matrix."""
    import warnings

    import leakwise as lw

    warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap, which is the figure here
    prior = prior_of(law, size)
    start = time.process_time()
    design = lw.design(prior, lift=lift, anyone=anyone, utility="frequencies")
    laps = [time.process_time()]
    assert lw.certify(design.mechanism, prior, lift=lift, anyone=anyone).holds
    laps.append(time.process_time())
    rows = np.random.default_rng(SEED).choice(size, size=1_000_000, p=prior.probabilities)
    released = lw.release(rows, design.mechanism)
    laps.append(time.process_time())
    lw.estimate(released, design.mechanism)
    laps.append(time.process_time())
    return {
        "case": f"a code, N = {size:,}, {law}, lift {lift:g}" + (f", anyone {anyone:g}" if anyone else ""),
        "value": design.value,
        "gap": design.gap,
        "relative_gap": design.gap / abs(design.bound),
        "seconds": laps[-1] - start,
        "laps": np.diff([start, *laps]).tolist(),
        "outcomes": design.mechanism.shape[1],
        "method": design.method,
    }


def random_designs(count: int = 500) -> dict[str, Any]:
    import leakwise as lw

    utilities = ("mutual_information", "total_variation", "chi_square", "hellinger", "guessing")
    generator = np.random.default_rng(SEED)
    above, open_, worst, start = 0, 0, 0.0, time.perf_counter()
    for number in range(count):
        size = int(np.exp(generator.uniform(np.log(2), np.log(30))))
        prior = lw.Prior(generator.dirichlet(np.full(size, generator.choice([0.3, 1.0, 5.0]))))
        epsilon = float(generator.uniform(0.02, 2.5))
        design = lw.design(prior, epsilon=epsilon, utility=utilities[number % len(utilities)])
        design.certificate.verify()
        holds = lw.certify(design.mechanism, prior, epsilon=epsilon).holds
        above += not (holds and design.epsilon <= epsilon and design.value <= design.bound)
        relative = design.gap / max(abs(design.bound), 1e-300)
        worst, open_ = max(worst, relative), open_ + (relative > 1e-6)
    return {
        "case": f"{count} random designs, N = 2 … 30, five utilities",
        "above_the_request": above,
        "relative_gap_above_1e-6": open_,
        "relative_gap": worst,
        "seconds": time.perf_counter() - start,
        "method": "all, certified twice",
    }


def rare_designs(anyone: int | None, count: int = 200) -> dict[str, Any]:
    """Priors with masses from 1e-5 down to 1e-12, half of them beside one of nearly all of it, at lifts from 1.02."""
    import leakwise as lw

    utilities = ("mutual_information", "total_variation", "chi_square", "hellinger")
    generator = np.random.default_rng(SEED)
    above, open_, worst, start = 0, 0, 0.0, time.perf_counter()
    for number in range(count):
        size = int(generator.integers(3, 13))
        masses = generator.dirichlet(np.ones(size))
        few = max(1, size // 3)
        masses[:few] = 10.0 ** generator.uniform(-12, -5, few)
        if number % 2:
            masses[few:-1] *= 1e-7
        prior, lift = lw.Prior(masses / masses.sum()), float(np.exp(generator.uniform(0.02, 2.5)))
        limit = None if anyone is None else anyone * lift
        design = lw.design(prior, lift=lift, anyone=limit, utility=utilities[number % len(utilities)])
        design.certificate.verify()
        above += not (design.value <= design.bound and lw.certify(design.mechanism, prior, lift=lift).holds)
        relative = design.gap / design.bound
        worst, open_ = max(worst, relative), open_ + (relative > 1e-6)
    limits = "" if anyone is None else f", for anyone {anyone} times the lift"
    return {
        "case": f"{count} designs with masses down to 1e-12{limits}",
        "above_the_request": above,
        "relative_gap_above_1e-6": open_,
        "relative_gap": worst,
        "seconds": time.perf_counter() - start,
        "method": "all, certified twice",
    }


CASES: dict[str, Any] = {
    "designed": designed,
    "against_enumeration": against_enumeration,
    "distance_under_ldp": distance_under_ldp,
    "recovered": recovered,
    "under_ldp": under_ldp,
    "structured": structured,
    "coded": coded,
    "random_designs": random_designs,
    "rare_designs": rare_designs,
}


# -- the run -----------------------------------------------------------------------------------------------------------


def in_its_own_process(name: str, **arguments: Any) -> dict[str, Any]:
    words = [sys.executable, __file__, "--case", json.dumps([name, arguments])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} {arguments}: {done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def one_case(text: str) -> None:
    name, arguments = json.loads(text)
    answer = CASES[name](**arguments)
    answer["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(answer))


def wrong_results(answers: list[dict[str, Any]]) -> list[str]:
    """What must never happen."""
    wrong = []
    for answer in answers:
        case = answer["case"]
        if answer.get("above_the_request"):
            wrong.append(f"{case}: {answer['above_the_request']} leak more than was asked for, or exceed their bound")
        for name in ("difference", "printed_difference"):
            if answer.get(name, 0.0) > 1e-9:
                wrong.append(f"{case}: the optima differ by {answer[name]:.1e}")
    return wrong


def targets(answer: dict[str, Any]) -> list[tuple[str, bool]]:
    """What the project set out to reach in this case, and whether it did."""
    case = answer["case"]
    found: list[tuple[str, bool]] = []
    if "N = 14," in case and "printed_ratio" in answer:
        found.append((f"{LEAST_RATIO} × as printed", answer["printed_ratio"] >= LEAST_RATIO))
        found.append((f"{LEAST_RATIO} × our listing", answer["listing_ratio"] >= LEAST_RATIO))
    if case.startswith("expected distance"):
        found.append(("5 s", answer["seconds"] <= 5))
    if case.startswith("frequencies, N") and "ratios" in answer:
        size = int(case.split("N = ")[1].split(",")[0])
        gap, seconds, megabytes = RECOVERED[max(given for given in RECOVERED if given <= size)]
        found.append((f"gap {gap:g}", answer["relative_gap"] <= gap))
        fits = answer["seconds"] <= seconds and answer["peak_megabytes"] <= megabytes
        found.append((f"{seconds} CPU-seconds, {megabytes / 1024:.0f} GB", fits))
        found.append(("8 outcomes a value", answer["outcomes"] <= 8 * size))
        found.append(("none is better", min(answer["ratios"].values()) >= 1 - answer["relative_gap"]))
    if case.startswith("under LDP"):
        least = [min(each.values()) - 1 + answer["gaps"][epsilon] for epsilon, each in answer["under_ldp"].items()]
        found.append(("none is better by more than the gap", min(least) >= 0))
    if case.startswith("a code"):
        found.append(("300 CPU-seconds, 4 GB", answer["seconds"] <= 300 and answer["peak_megabytes"] <= 4096))
        found.append(("8 outcomes a value", answer["outcomes"] <= 80_000))
    if case.startswith("mutual_information"):
        size = int(case.split("N = ")[1].split(",")[0])
        largest = LARGEST_GAP.get(size, 1e-5)
        found.append((f"gap {largest:.0e}", answer["relative_gap"] <= largest))
        if size <= 200:
            fits = answer["seconds"] <= LONGEST and answer["peak_megabytes"] <= MOST_MEGABYTES
            found.append((f"{LONGEST:.0f} s, {MOST_MEGABYTES / 1024:.0f} GB", fits))
    return found


def _verdict(answer: dict[str, Any]) -> str:
    return "\n".join(f"{what}: {'kept' if kept else 'not kept'}" for what, kept in targets(answer))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="only the small cases")
    parser.add_argument("--only", metavar="TEXT", help="only cases whose arguments contain this; others' figures stay")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        one_case(options.case)
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(width=150)
    plan: list[tuple[str, dict[str, Any]]] = [
        ("against_enumeration", {"size": size, "printed": size <= 16}) for size in (14, 16, 18)
    ]
    sizes = SIZES[:2] if options.quick else SIZES
    plan += [("designed", {"size": size, "epsilon": epsilon}) for size in sizes for epsilon in EPSILONS]
    plan += [("designed", {"size": 100, "epsilon": epsilon, "utility": "guessing"}) for epsilon in EPSILONS]
    plan += [("distance_under_ldp", {})]
    plan += [
        ("recovered", {"size": size, "law": law, "lift": lift, "anyone": anyone})
        for size, laws in COLUMNS.items()
        if size <= (51 if options.quick else 1000)
        for law in laws
        for lift in (1.5, 2.0, 5.0)
        for anyone in (None, 10 * lift)
    ]
    plan += [
        ("under_ldp", {"size": size, "law": law})
        for size in ((5, 20) if options.quick else (5, 20, 50, 100))
        for law in ("uniform", "Zipf")
    ]
    if not options.quick:
        plan += [("designed", {"size": size, "epsilon": 0.8}) for size in (1000, 2000)]
        plan += [
            ("coded", {"law": law, "lift": lift, "anyone": anyone})
            for law in ("Dirichlet", "Zipf")
            for lift in (1.5, 2.0, 5.0)
            for anyone in (None, 10 * lift)
        ]
        plan += [("structured", {"kind": kind}) for kind in ("Theorem 3", "randomized response")]
    plan += [("random_designs", {"count": 50 if options.quick else 500})]
    plan += [("rare_designs", {"anyone": anyone, "count": 50 if options.quick else 200}) for anyone in (None, 10)]

    plan = [case for case in plan if not options.only or options.only in json.dumps(case)]
    table = Table(title="Designs")
    for name in ("case", "value", "gap", "relative gap", "seconds", "peak MB", "target", "more"):
        table.add_column(name)
    answers, start = [], time.perf_counter()
    for name, arguments in plan:
        with console.status(f"{name} {arguments}"):
            answer = in_its_own_process(name, **arguments)
        answers.append(answer)
        table.add_row(
            answer["case"],
            *(
                f"{answer[key]:{form}}" if key in answer else ""
                for key, form in [
                    ("value", ".6f"),
                    ("gap", ".1e"),
                    ("relative_gap", ".1e"),
                    ("seconds", ".2f"),
                    ("peak_megabytes", ".0f"),
                ]
            ),
            _verdict(answer),
            _more(answer),
        )
    console.print(table)
    wrong = wrong_results(answers)
    for sentence in wrong:
        console.print(f"[red]Wrong[/red]: {sentence}")
    spent = time.perf_counter() - start
    every = [kept for answer in answers for _, kept in targets(answer)]
    console.print(f"{len(answers)} cases in {spent:.0f} s; {sum(every)} of {len(every)} targets are kept.")
    if not options.quick:
        keep(answers, spent, others=bool(options.only))
    return 1 if wrong else 0


def keep(answers: list[dict[str, Any]], spent: float, *, others: bool) -> None:
    """Write the figures down, if asked with those of others from earlier runs; new cases come after those like them."""
    if others:
        before = json.loads(RESULTS.read_text())
        cases, spent = before["cases"], before["seconds"] + spent
        for answer in answers:
            places = [place for place, case in enumerate(cases) if case["case"] == answer["case"]]
            like = [
                place
                for place, case in enumerate(cases)
                if case["case"].split(",")[:2] == answer["case"].split(",")[:2]
            ]
            if places:
                cases[places[0]] = answer
            else:
                cases.insert(like[-1] + 1 if like else len(cases), answer)
        answers = cases
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "processor": platform.machine()}
    RESULTS.write_text(json.dumps({"machine": machine, "seconds": spent, "cases": answers}, indent=1) + "\n")
    _book(answers).close()


def _book(answers: list[dict[str, Any]]) -> Book:
    """The lines of the benchmark page."""
    book = Book("design")
    for answer in answers:
        gap = answer.get("relative_gap", answer.get("gap"))
        figure = ", ".join(
            filter(None, [f"{answer['seconds']:.2f} s", None if gap is None else f"gap {gap:.1e}", _more(answer)])
        )
        wanted = targets(answer)
        target = "; ".join(what for what, _ in wanted) or None
        book.note(answer["case"], figure, target=target, kept=all(kept for _, kept in wanted) if wanted else None)
    return book


def _more(answer: dict[str, Any]) -> str:
    if "listing_ratio" in answer:
        words = f"{answer['vertices']:,} vertices"
        if "printed_ratio" in answer:
            words += f"; as printed: {answer['printed_seconds']:.1f} s, {answer['printed_ratio']:.0f} times ours, "
            words += f"same optimum to {answer['printed_difference']:.0e}"
        words += f"; our listing: {answer['listing_seconds']:.2f} s, {answer['listing_ratio']:.1f} times, "
        return words + f"same to {answer['difference']:.0e}"
    if "ratios" in answer:
        ratios = ", ".join(f"{name} {ratio:.2f}" for name, ratio in answer["ratios"].items())
        return f"{answer['outcomes']} outcomes; variance over ours: {ratios}"
    if "under_ldp" in answer:
        parts = []
        for epsilon, each in answer["under_ldp"].items():
            name = min(each, key=each.__getitem__)
            parts.append(f"ε {epsilon}: {name} {each[name]:.3f}, gap {answer['gaps'][epsilon]:.1e}")
        return "the best known variance over ours: " + "; ".join(parts)
    if "laps" in answer:
        parts = zip(("design", "certify", "release 1e6 rows", "estimate"), answer["laps"], strict=True)
        return f"{answer['outcomes']} outcomes; " + ", ".join(f"{name} {spent:.1f} s" for name, spent in parts)
    if "certify_seconds" in answer:
        return f"certify {answer['certify_seconds']:.2f} s, release 1e6 rows {answer['sample_seconds']:.2f} s"
    if "above_the_request" in answer:
        return f"{answer['above_the_request']} above the request; {answer['relative_gap_above_1e-6']} with a gap > 1e-6"
    return str(answer["method"])


if __name__ == "__main__":
    sys.exit(main())
