"""What a certificate says, checked by brute force: plain floats, linear programs of SciPy, no code of ours.

Small alphabets only. Tolerances are those of floats: a forgery is a claim that is wrong by more.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, linprog
from scipy.stats import beta as beta_law
from scipy.stats import binom as binomial_law

import leakwise as lw
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, LayerCake
from leakwise.proof.aggregates import AggregateCertificate
from leakwise.proof.envelope import EnvelopeCertificate
from leakwise.proof.masks import MaskCertificate
from leakwise.proof.records import PointwiseRecordCertificate, RecordInformationCertificate
from leakwise.proof.stratified import StratifiedCertificate

__all__ = ["FalsePromise", "aggregate_probability", "clamped_noise", "must", "must_be_true"]

NEAR = 1e-7


class FalsePromise(AssertionError):
    """A number on the unsafe side."""


def must(holds: bool, words: str) -> None:
    """Raise where a promise does not hold."""
    if not holds:
        raise FalsePromise(words)


def must_be_true(certificate: object) -> None:
    """Raise FalsePromise when a certificate that was accepted claims something false."""
    repr(certificate)
    if isinstance(certificate, AggregateCertificate):
        _aggregate(certificate)
    elif isinstance(certificate, EnvelopeCertificate):
        _envelope(certificate)
    elif isinstance(certificate, MaskCertificate):
        _leakage(certificate.guarantee)
        _mask(certificate)
    elif isinstance(certificate, PointwiseRecordCertificate):
        _pointwise_records(certificate)
    elif isinstance(certificate, RecordInformationCertificate):
        _record_information(certificate)
    elif isinstance(certificate, StratifiedCertificate):
        _by_stratum(certificate)
    else:
        assert isinstance(certificate, lw.results.Certificate)
        _leakage(certificate)
        _optimality(certificate)


# ------------------------------------------------------------------------------------------------ sets of priors


def floats(prior: lw.Prior) -> np.ndarray:
    return np.array([int(w) / prior.denominator for w in prior.weights.tolist()])


def entries(m: lw.Mechanism) -> np.ndarray:
    return np.array([[int(w) / m.denominator for w in row] for row in m.weights.tolist()])


def counts(prior: lw.Prior) -> np.ndarray:
    must(prior.sample_size is not None and prior.sample_size % prior.denominator == 0, "a confidence without a sample")
    return np.array([int(w) * (prior.sample_size // prior.denominator) for w in prior.weights.tolist()], dtype=float)


def least_mass(priors: lw.PriorSet, v: np.ndarray) -> float:
    """min Q·v over the set."""
    if isinstance(priors, lw.Prior):
        return float(floats(priors) @ v)
    if isinstance(priors, AllPriors):
        return float(v.min())
    if isinstance(priors, Hull):
        return min(float(floats(corner) @ v) for corner in priors.corners)
    p, size = floats(priors.nominal), len(v)
    if isinstance(priors, KLBall):
        return _least_of_kl(p, v, float(priors.radius))
    if isinstance(priors, LayerCake):
        seen, level = counts(priors.nominal), priors.exact_failure / max(2**size - 2, 1)
        rows, ends = [], []
        for chosen in itertools.product([0, 1], repeat=size):
            if 0 < sum(chosen) < size and (k := float(np.dot(chosen, seen))):
                rows.append([-c for c in chosen])
                ends.append(-float(beta_law.ppf(float(level), k, seen.sum() - k + 1)))
        found = linprog(v, np.array(rows) if rows else None, ends or None, [np.ones(size)], [1], bounds=(0, 1))
        return float(found.fun)
    lower = [float(x) for x in priors.lower] if isinstance(priors, Box) else [0.0] * size
    upper = [float(x) for x in priors.upper] if isinstance(priors, Box) else [1.0] * size
    # Q = p + up - down, Σ (up + down) ≤ β
    scale = float(v.max()) or 1.0
    cost = np.concatenate([v, -v]) / scale
    rows = [np.ones(2 * size)] if priors.beta is not None else []
    ends = [float(priors.beta)] if priors.beta is not None else []
    for i in range(size):
        row = np.zeros(2 * size)
        row[i], row[size + i] = 1, -1
        rows += [row, -row]
        ends += [upper[i] - p[i], p[i] - lower[i]]
    same = np.concatenate([np.ones(size), -np.ones(size)])
    found = linprog(cost, np.array(rows), ends, [same], [0], bounds=(0, None))
    return float(p @ v) + scale * float(found.fun)


def _least_of_kl(p: np.ndarray, v: np.ndarray, radius: float) -> float:
    """Q_i ∝ π_i/(v_i - τ) at the τ where the divergence is the radius; a letter never seen takes what is left."""
    if radius == 0 or np.ptp(v) == 0:
        return float(p @ v)
    seen, least, span = p > 0, float(v.min()), float(np.ptp(v))

    def at(log_gap: float) -> tuple[float, np.ndarray]:
        q = np.zeros(len(p))
        q[seen] = p[seen] / (v[seen] - least + math.exp(log_gap) * span)
        q /= q.sum()
        return float(np.sum(p[seen] * np.log(p[seen] / q[seen]))), q

    if at(-200.0)[0] <= radius:
        divergence, q = at(-200.0)
        return least + math.exp(divergence - radius) * (float(q @ v) - least) if not seen[v == least].any() else least
    root = brentq(lambda x: at(x)[0] - radius, -200.0, 60.0, xtol=1e-12)
    return float(at(root)[1] @ v)


def _failure(priors: lw.PriorSet) -> None:
    """The failure probability must be what the method gives for this sample."""
    method = getattr(priors, "method", None)
    if not priors.failure:
        must(method is None, f"nothing fails by {method!r}")
        return
    p = priors.nominal
    n, failure = counts(p), float(priors.exact_failure)
    size, m = len(n), float(n.sum())
    must(method is not None, "a failure probability without a method")
    if isinstance(priors, LayerCake):
        must(method == "layer-cake", f"a layer cake by {method!r}")
        return
    if size == 1:
        return
    if method == "weissman":
        must(isinstance(priors, Ball), f"{method} on {type(priors).__name__}")
        _radius_suffices(priors.beta, n, failure, sharp=False)
    elif method == "weissman-phi":
        must(isinstance(priors, Ball), f"{method} on {type(priors).__name__}")
        _radius_suffices(priors.beta, n, failure, sharp=True)
    elif method == "kl":
        must(isinstance(priors, KLBall), f"{method} on {type(priors).__name__}")
        x, d = m * float(priors.radius), size - 1
        types = math.lgamma(m + size) - math.lgamma(size) - math.lgamma(m + 1)
        bounds = [math.log(2) - x] if size == 2 else [types - x] + [d * (1 + math.log(x / d)) - x] * (x >= d)
        must(min(bounds) <= math.log(failure) + NEAR, "a KL ball too small")
    else:
        must(isinstance(priors, Box) and method in ("clopper-pearson", "best"), f"{method!r} is no method")
        if method == "best":
            failure /= 2
            must(priors.beta is not None, "no radius")
            _radius_suffices(priors.beta, n, failure, sharp=True)
        level = failure / (2 if size == 2 else 2 * size)
        for k, low, high in zip(n, priors.lower, priors.upper, strict=True):
            lowest = beta_law.ppf(level, k, m - k + 1) if k else 0.0
            highest = beta_law.isf(level, k + 1, m - k) if k < m else 1.0
            must(float(low) <= lowest + NEAR and float(high) >= highest - NEAR, "a box too small")


def _radius_suffices(radius: Fraction, n: np.ndarray, failure: float, *, sharp: bool) -> None:
    m, union = float(n.sum()), math.log(2 ** len(n) - 2) - math.log(failure)
    needed = math.sqrt(2 * union / m)
    sums = [sum(chosen) / m for k in range(len(n) + 1) for chosen in itertools.combinations(n.tolist(), k)]
    middle = max(min(s, 1 - s) for s in sums)
    for _ in range(500 if sharp else 0):
        kappa = min(0.5, middle + needed / 2)
        phi = 2.0 if kappa > 0.5 - 1e-9 else math.log((1 - kappa) / kappa) / (1 - 2 * kappa)
        needed = min(needed, 2 * math.sqrt(union / (m * phi)))
    must(float(radius) >= needed * (1 - NEAR), f"a radius of {float(radius)} where {needed} is needed")


# ---------------------------------------------------------------------------------------------------- the leakage


def _leakage(c: lw.results.Certificate) -> None:
    priors, matrix = c.prior, entries(c.mechanism)
    _failure(priors)
    here = np.array(priors.support)
    lifts = []
    for v in matrix.T:
        mass = least_mass(priors, v)
        top = float(v[here].max())
        lifts.append(top / mass if mass > 0 else (math.inf if top > 0 else 0.0))
    worst, said = max(lifts), c.largest_lift
    must(said >= worst * (1 - NEAR), f"a lift of {worst} where {said} is claimed")
    if not isinstance(priors, (KLBall, LayerCake)):
        must(said <= worst * (1 + NEAR), f"a lift of {worst} where {said} is claimed")
    column = c.mechanism.outputs.index(c.outcome)
    letter = c.mechanism.inputs.index(c.letter)
    shown = float(matrix[letter, column]) / max(least_mass(priors, matrix[:, column]), 1e-300)
    # What a layer cake proves is below the least mass of the set by what the stacking loses.
    near = 0.1 if isinstance(priors, LayerCake) else 1e-6
    must(bool(here[letter]) and shown >= worst * (1 - near), "another place is worse")
    must(c.holds, "accepted although it does not hold")
    if c.asked is not None:
        allowed = float(c.asked.exponent) if c.asked.exponent is not None else math.log(c.asked.above)
        must(math.log(worst) <= allowed + 1e-9, "more leaks than was asked")


def _by_stratum(c: StratifiedCertificate) -> None:
    """Every stratum that a row can be in keeps what is claimed for it, and what was asked for in all of them."""
    must(c.holds, "accepted although it does not hold")
    worst = 1.0
    for key in c.priors:
        priors, here = c.priors[key], np.array(c.priors[key].support)
        _failure(priors)
        for v in entries(c.mechanism[key]).T:
            mass, top = least_mass(priors, v), float(v[here].max())
            lift = top / mass if mass > 0 else (math.inf if top > 0 else 0.0)
            said = math.inf if c.ratios[key] is None else float(c.ratios[key])
            must(said >= lift * (1 - NEAR), f"a lift of {lift} where {said} is claimed")
            worst = max(worst, lift)
    anyone = [_for_anyone(entries(one)) for one in c.mechanism.mechanisms]
    if c.mechanism.otherwise is not None:
        worst = max(worst, _for_anyone(entries(c.mechanism.otherwise)))
    must(c.largest_lift >= worst * (1 - NEAR), f"a lift of {worst} where {c.largest_lift} is claimed")
    for limit, reached in ((c.asked, worst), (c.anyone, max(anyone))):
        if limit is not None:
            allowed = float(limit.exponent) if limit.exponent is not None else math.log(limit.above)
            must(math.log(reached) <= allowed + 1e-9, "more leaks than was asked")
    for label, most in c.limits.lift_of:
        place = c.mechanism.inputs.index(label)
        for key in c.priors:
            for v in entries(c.mechanism[key]).T:
                mass = least_mass(c.priors[key], v)
                if c.priors[key].support[place] and v.max() > 0:
                    must(v[place] <= float(most.above) * mass * (1 + NEAR), f"{label} becomes more likely than asked")


def _for_anyone(matrix: np.ndarray) -> float:
    return max(float(v.max() / v.min()) if v.min() > 0 else math.inf for v in matrix.T if v.max() > 0)


# -------------------------------------------------------------------------------------------------- the optimality


F = {
    "mutual_information": lambda x: x * math.log(x) if x else 0.0,
    "total_variation": lambda x: abs(x - 1) / 2,
    "chi_square": lambda x: (x - 1) ** 2,
    "hellinger": lambda x: (1 - math.sqrt(x)) ** 2,
}


def worth(claim: object, p: np.ndarray, lift: np.ndarray, guess: int | None = None) -> float:
    """What one column is worth."""
    if claim.utility in F:
        return math.fsum(pi * F[claim.utility](x) for pi, x in zip(p, lift, strict=True))
    gains = np.eye(len(p)) if claim.gains is None else claim.gains
    scores = (p * lift) @ gains
    return float(scores.max() if guess is None else scores[guess])


def _optimality(c: lw.results.Certificate) -> None:
    claim = c.optimality
    if claim is None:
        return
    p, matrix = floats(c.prior.nominal), entries(c.mechanism)
    law = p @ matrix
    lifts = [matrix[:, j] / law[j] for j in range(len(law)) if law[j] > 0]
    masses = [mass for mass in law if mass > 0]
    if claim.utility == "frequencies":
        seen = p > 0
        information = sum(mass * np.outer(lift[seen], lift[seen]) for mass, lift in zip(masses, lifts, strict=True))
        if np.linalg.cond(information) > 1e9:
            must(claim.value <= 1e9, "a value where none is known")
            return
        true = float((p**2).sum() - np.trace(np.linalg.inv(information)))
    elif claim.utility == "margin":
        _margin(claim, c.prior, p, masses, lifts)
        return
    else:
        guesses = [None] * len(lifts)
        if claim.guesses is not None:
            guesses = [claim.guesses.index(c.mechanism.outputs[j]) for j in range(len(law)) if law[j] > 0]
        true = math.fsum(
            mass * worth(claim, p, lift, guess) for mass, lift, guess in zip(masses, lifts, guesses, strict=True)
        )
    slack = NEAR * (1 + abs(true))
    must(claim.value <= true + slack, f"a utility of {true} where {claim.value} is claimed")
    must(claim.bound >= true - slack, f"a utility of {true} where at most {claim.bound} is claimed")
    must(all(_allowed(claim, c.prior, lift) for lift in lifts), "the mechanism is not among those compared")
    if claim.utility != "frequencies":
        best = _best_known(claim, c.prior, p)
        must(claim.bound >= best - NEAR * (1 + abs(best)), f"{best} is reached where at most {claim.bound} is claimed")


def _margin(claim: object, priors: lw.PriorSet, p: np.ndarray, masses: list, lifts: list) -> None:
    """The margins are met, and by none of the mechanisms with smaller lifts that are made of columns of two values."""

    def largest(columns: np.ndarray, shares: np.ndarray) -> float:
        inverse = np.linalg.pinv((columns[p > 0] * shares) @ columns[p > 0].T)
        contrasts = claim.gains[p > 0]
        return float((np.diag(contrasts.T @ inverse @ contrasts) - (p[p > 0] @ contrasts) ** 2).max())

    true = largest(np.array(lifts).T, np.array(masses))
    must(-claim.value >= true - NEAR * (1 + true), f"a variance of {true} where {-claim.value} is claimed")
    must(-claim.value <= 1 < -claim.bound, "margins that are not met, or are met with less")
    columns = np.array(_two_valued(claim, priors, p)).T
    for seed in range(20):
        costs = np.random.default_rng(seed).random(columns.shape[1]) - columns.max(axis=0)
        shares = linprog(costs, A_eq=columns[p > 0], b_eq=np.ones(int((p > 0).sum())), bounds=(0, None)).x
        there = (
            largest(columns, shares) if np.linalg.matrix_rank(columns[p > 0] * shares) == (p > 0).sum() else math.inf
        )
        must(there >= -claim.bound * (1 - NEAR), f"a variance of {there} where at least {-claim.bound} is claimed")


def _allowed(claim: object, priors: lw.PriorSet, lift: np.ndarray, near: float = 1e-6) -> bool:
    here = np.array(priors.support)
    top, low = float(lift[here].max()), float(lift[here].min())
    inside = low >= float(claim.low) - near and (claim.ldp is None or top <= float(claim.ldp) * low * (1 + near) + near)
    return inside and (claim.high is None or top <= float(claim.high) * least_mass(priors, lift) * (1 + near) + near)


def _two_valued(claim: object, priors: lw.PriorSet, p: np.ndarray) -> list[np.ndarray]:
    """Columns with two values that are allowed, each pushed as far as it goes."""
    size, columns = len(p), [np.ones(len(p))]
    for chosen in itertools.product([False, True], repeat=size):
        raised = np.array(chosen)
        mass = float(p[raised].sum())
        if not 0 < mass < 1:
            continue
        start, stop = 0.0, 1.0
        for _ in range(14):  # the share of the way from the constant column to «the letter is in the set»
            share = (start + stop) / 2
            good = _allowed(claim, priors, 1 - share + share * raised / mass, near=0.0)
            start, stop = (share, stop) if good else (start, share)
        columns.append(1 - start + start * raised / mass)
    return columns


def _best_known(claim: object, priors: lw.PriorSet, p: np.ndarray) -> float:
    """The best mixture of columns with two values."""
    columns = _two_valued(claim, priors, p)
    values = [worth(claim, p, column) for column in columns]
    seen = p > 0
    found = linprog(-np.array(values), A_eq=np.array(columns).T[seen], b_eq=np.ones(int(seen.sum())), bounds=(0, None))
    return -float(found.fun) if found.status == 0 else -math.inf


# ------------------------------------------------------------------------------------------- envelopes and masks


def _envelope(c: EnvelopeCertificate) -> None:
    """δ_c(log t) as the linear program that it is: parts w_xy of q_y with Σ_y w_xy (p_xy/q_y - t) ≥ 0."""
    p, matrix, t = floats(c.prior), entries(c.mechanism), float(c.lift)
    law = p @ matrix
    lifts = [matrix[:, j] / law[j] for j in range(len(law)) if law[j] > 0]
    masses = np.array([mass for mass in law if mass > 0])
    letters = [x for x in range(len(p)) if p[x] > 0 and any(lift[x] > t * (1 + 1e-12) for lift in lifts)]
    if not letters:
        return
    outcomes, rows, ends = len(masses), [], []
    for place, x in enumerate(letters):
        row = np.zeros((len(letters), outcomes))
        row[place] = [t - lift[x] for lift in lifts]
        rows.append(row.ravel())
        ends.append(0.0)
    for y in range(outcomes):
        row = np.zeros((len(letters), outcomes))
        row[:, y] = 1
        rows.append(row.ravel())
        ends.append(masses[y])
    found = linprog(-np.ones(len(letters) * outcomes), np.array(rows), ends, bounds=(0, None))
    must(float(c.delta) >= -found.fun - NEAR, f"δ is {-found.fun}, claimed is {float(c.delta)}")


def clamped_noise(ratio: float, last: int) -> np.ndarray:
    """P(clamp(s + Z) = y) for s and y from 0 to ``last``."""
    if ratio == 0:
        return np.eye(last + 1)
    steps = np.abs(np.subtract.outer(np.arange(last + 1), np.arange(last + 1)))
    kernel = ratio**steps / (1 + ratio)
    kernel[:, 1:-1] *= 1 - ratio
    return kernel


def aggregate_probability(kind: str, unknown: int, ratio: float, prior: list[float], lift: float) -> float:
    """The largest probability of events, one for each value, whose lift for it is at least so much.

    For a histogram only events in the cell of the value are tried, one value at a time.
    """
    kernel, found = clamped_noise(ratio, unknown), []
    for chance in prior:
        others = np.zeros(unknown + 1)
        others[:unknown] = binomial_law.pmf(np.arange(unknown), unknown - 1, chance)
        own, other = np.roll(others, 1) @ kernel, others @ kernel
        law = chance * own + (1 - chance) * other
        order = np.argsort(-own / np.where(law > 0, law, 1.0))
        excess, masses = np.cumsum((own - lift * law)[order]), law[order]
        if chance <= 0 or not (own > lift * law * (1 + 1e-12)).any():
            found.append(0.0)
            continue
        inside = int((excess >= 0).sum())  # from the largest lift on the excess rises, then falls below 0 once
        share = 0.0
        if inside < len(masses):
            before = excess[inside - 1] if inside else 0.0
            share = before / (before - excess[inside]) * masses[inside]
        found.append(float(masses[:inside].sum() + share))
    return min(1.0, sum(found)) if kind == "count" else max(found)


def _aggregate(c: AggregateCertificate) -> None:
    """No prior of the claim has events beyond the lift of a larger probability; small numbers of records only."""
    must(0 <= c.delta < 1 and c.lift >= 1 and 0 <= c.ratio < 1 and c.unknown >= 1, "not a claim")
    if c.unknown > 1000:
        return
    for piece in c.pieces:
        least, slack = [float(chance) for chance in piece], float(1 - sum(piece))
        must(slack >= 0, "probabilities beyond 1")
        for place in range(len(least)):
            for share in (0.0, 0.3, 1.0):
                prior = [
                    p + slack * (share if i == place else (1 - share) / (len(least) - 1)) for i, p in enumerate(least)
                ]
                # At the lift itself the claim says nothing: it is about a larger one.
                found = aggregate_probability(c.kind, c.unknown, float(c.ratio), prior, float(c.lift) * (1 + 1e-9))
                must(found <= float(c.delta) * (1 + 1e-4) + 1e-9, f"δ is {found}, claimed is {float(c.delta)}")


def _mask(c: MaskCertificate) -> None:
    """No mechanism on the mask has its largest lift below the ratio: a program that must have no solution."""
    # The solver allows itself 1e-7 in every row, which tiny columns live on.
    ratio, priors = float(c.ratio) * (1 - 1e-3), c.guarantee.prior
    must(c.ratio >= 1, "a ratio below 1")
    matrix = entries(c.guarantee.mechanism)
    places = [c.outputs.index(label) if label in c.outputs else None for label in c.guarantee.mechanism.outputs]
    for column, place in zip(matrix.T, places, strict=True):
        fits = not column.any() if place is None else not column[~c.allowed[:, place]].any()
        must(fits, "the mechanism leaves the mask")
    must(c.guarantee.largest_lift >= float(c.ratio) * (1 - NEAR), "it leaks less than the least")
    if not isinstance(priors, lw.Prior) or ratio <= 1:
        return
    p, (rows, columns) = floats(priors), c.allowed.shape
    seen = [x for x in range(rows) if p[x] > 0]
    limits, same = [], []
    for y in range(columns):
        for x in seen:
            row = np.zeros((rows, columns))
            row[:, y] = -ratio * p
            row[x, y] += 1
            limits.append(row.ravel())
    for x in seen:
        row = np.zeros((rows, columns))
        row[x] = 1
        same.append(row.ravel())
    ends = [(0, 1 if allowed else 0) for allowed in c.allowed.ravel()]
    found = linprog(
        np.zeros(rows * columns), np.array(limits), np.zeros(len(limits)), np.array(same), [1] * len(seen), bounds=ends
    )
    must(found.status == 2, f"a mechanism on the mask has its lifts below {ratio}")


def _pointwise_records(c: PointwiseRecordCertificate) -> None:
    """No prior with p ≤ e^-b lifts a value of a record further: both fills in floats, at many shares."""
    must(c.min_entropy >= 0, "a min-entropy below 0")
    most = math.exp(-float(c.min_entropy))
    worst = []
    for case in c.cases:
        letter, rows = np.array(case.letter), np.array(case.rows)
        must(bool((np.abs(rows.sum(axis=1) - 1) < 1e-6).all()) and rows.shape[1] == len(c.outcomes), "not a mechanism")
        sizes = np.array([float(m) for m in case.datasets]) * max(most, 1 / case.total)
        others = [sum(m for m, b in zip(case.datasets, case.letter, strict=True) if a == b) for a in set(case.letter)]
        must(len(set(others)) == 1 and len(others) == len(case.values), "datasets are missing")
        for a in range(len(case.values)):
            own = letter == a
            lifts = [largest_lift(column[own], column[~own], sizes[own], sizes[~own]) for column in rows.T]
            must(max(lifts) <= float(c.ratio) * (1 + NEAR), f"a lift of {max(lifts)} above {float(c.ratio)}")
            worst.append(lifts)
    # The place that is shown is one of the worst.
    start = sum(len(case.values) for case in c.cases[: c.case])
    must(worst[start + c.letter][c.outcome] >= max(map(max, worst)) * (1 - 1e-3), "the lift is reached elsewhere")


def largest_lift(own: np.ndarray, rest: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> float:
    """max P(y | a) / P(y): both fills at 2,000 shares, in the limit 0, and at every share where a class is full."""
    first, last = np.argsort(-own), np.argsort(rest)
    ends, beyond = np.cumsum(sizes[first]), np.cumsum(others[last])
    low = max(0.0, 1 - float(others.sum()))
    high = max(low, min(1.0, float(ends[-1])))
    shares = np.concatenate([np.linspace(low, high, 2000), ends, 1 - beyond])
    shares = np.clip(shares, max(low, 1e-12), high)
    a = np.interp(shares, [0, *ends], [0, *np.cumsum(sizes[first] * own[first])])
    b = np.interp(1 - shares, [0, *beyond], [0, *np.cumsum(others[last] * rest[last])])
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts = np.where(a > 0, a / (shares * (a + b)), 0.0)
        limit = own.max() / np.interp(1.0, [0, *beyond], [0, *np.cumsum(others[last] * rest[last])])
    return float(lifts.max(initial=limit if low == 0 else 0.0))


def _record_information(c: RecordInformationCertificate) -> None:
    """No belief of enough entropy learns more: many of them, mixed with the uniform one as far as that asks for."""
    generator = np.random.default_rng(0)
    for case in c.cases:
        letter, rows = np.array(case.letter), np.array(case.rows)
        logs = np.array([math.log(m) for m in case.datasets])
        uniform = np.array([m / case.total for m in case.datasets])
        for _ in range(200):
            belief = generator.dirichlet(np.full(len(letter), 10.0 ** generator.uniform(-2, 0.5)))
            for share in np.linspace(0, 1, 21):
                u = (1 - share) * belief + share * uniform
                if u @ logs - float(_x_log_x(u).sum()) >= float(c.entropy):
                    joint = np.array([u[letter == a] @ rows[letter == a] for a in range(len(case.values))])
                    both = _x_log_x(joint).sum() - _x_log_x(joint.sum(axis=1)).sum() - _x_log_x(joint.sum(axis=0)).sum()
                    must(float(both) <= float(c.bound) + NEAR, f"a belief learns {both}, claimed is {float(c.bound)}")
                    break


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.where(x > 0, x, 1.0))
