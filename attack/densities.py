"""Random densities under random noise: nothing that is reported may be below what mpmath and sampled outcomes show."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
from truth import must

import leakwise as lw
from leakwise.exact import level
from leakwise.noise import Density, Gaussian, Laplace, Staircase
from leakwise.noise.continuous.leakage import information_between, largest_leakage, tail_between
from leakwise.noise.continuous.outcomes import Weighing

Generator = np.random.Generator
Noise = Laplace | Gaussian | Staircase


def random_density(generator: Generator) -> Density:
    """Level pieces, lines, a bell (perhaps all tail), next to a point, with a gap, or a mixture of them."""
    start = float(generator.choice([0.0, -1e3, 1e-3, generator.normal()]))
    width = float(generator.choice([1e-6, 1.0, 100.0, 1e5]) * generator.uniform(0.5, 2))
    count = int(generator.integers(1, 6))
    edges = start + width * np.sort(np.concatenate([[0, 1], generator.random(count - 1)]))
    parts = {Density.histogram(edges, generator.integers(1, 100, count)): 1.0}
    if generator.random() < 0.5:
        mean = start + width * generator.uniform(-1, 2)
        spread = width * float(generator.choice([0.02, 0.3, 5.0]))
        parts[Density.truncated_normal(mean, spread, edges[0], edges[-1])] = float(generator.uniform(0.1, 3))
    if generator.random() < 0.4:
        middle = start + width * generator.random()
        parts[Density.triangular(edges[0], middle, edges[-1])] = float(generator.uniform(0.1, 3))
    if generator.random() < 0.3:
        parts[Density.uniform(start + 2 * width, start + 3 * width)] = float(generator.uniform(1e-6, 1))
    return Density.mixture(parts)


def random_noise(generator: Generator, span: float, far: float = 0.0) -> Noise:
    scale = span * float(generator.choice([1e-4, 0.05, 0.3, 1.0, 30.0])) * generator.uniform(0.5, 2)
    kind = generator.integers(3)
    if kind == 2:
        # Every step breaks the outcomes at every edge: narrow steps take minutes.
        wide = max(scale, 0.3 * span, 2e12 * float(np.spacing(far)))
        return Staircase(float(generator.choice([0.1, 1.0, 3.0])), wide, float(generator.uniform(0.05, 1)))
    return (Laplace, Gaussian)[kind](scale=scale)


def true_leakage(noise: Noise, density: Density, y: float) -> float:
    """log sup f / ∫ π f by mpmath's quadrature, cut where anything is not smooth."""
    with mpmath.workdps(30):

        def shape(d: mpmath.mpf) -> mpmath.mpf:
            if isinstance(noise, Laplace):
                return mpmath.exp(-abs(d) / noise.scale)
            if isinstance(noise, Gaussian):
                return mpmath.exp(-((d / mpmath.mpf(noise.scale)) ** 2) / 2)
            return mpmath.exp(-noise.fall * mpmath.floor(abs(d) / mpmath.mpf(noise.scale) + 1 - mpmath.mpf(noise.step)))

        # Next to the outcome and to the ends of pieces the noise may fall in steps much smaller than the pieces.
        ends = {y, *(end for piece in density.pieces for end in (piece.low, piece.high))}
        kinks = {y, *(end + k * noise.scale for end in ends for k in range(-30, 31))}
        if isinstance(noise, Staircase):
            reach = max(abs(y - density.low), abs(y - density.high)) / noise.scale + 1
            kinks |= {y + s * (k + noise.step) * noise.scale for k in range(math.ceil(reach)) for s in (1, -1)}
        total = mpmath.mpf(0)
        for piece in density.pieces:
            inner = np.linspace(piece.low, piece.high, 9).tolist()
            if piece.bell is not None:
                inner += [float(piece.bell[0] + k * piece.bell[1]) for k in range(-8, 9)]
            places = sorted({x for x in (*inner, *kinks) if piece.low <= x <= piece.high})
            coefficients = [mpmath.mpf(c.numerator) / c.denominator for c in reversed(piece.coefficients)]
            top, where = mpmath.mpf(0), None
            if piece.bell is not None:
                mean, sd = (mpmath.mpf(part.numerator) / part.denominator for part in piece.bell)
                where = (mean, sd)
                nearest = min(max(mean, piece.low), piece.high)
                top = ((nearest - mean) / sd) ** 2 / 2

            def bell(x: mpmath.mpf, where=where, top=top) -> mpmath.mpf:  # type: ignore[no-untyped-def]
                return mpmath.exp(top - ((x - where[0]) / where[1]) ** 2 / 2) if where else mpmath.mpf(1)

            def value(x: mpmath.mpf, coefficients=coefficients, bell=bell) -> mpmath.mpf:  # type: ignore[no-untyped-def]
                return mpmath.polyval(coefficients, x) * bell(x) * shape(y - x)

            unit = sum(mpmath.quad(bell, pair) for pair in itertools.pairwise(places)) if piece.bell else 1
            total += sum(mpmath.quad(value, pair) for pair in itertools.pairwise(places)) / unit
        return float(mpmath.log(shape(mpmath.mpf(float(density.distance(y)))) / total))


def densities(generator: Generator) -> None:
    density = random_density(generator)
    span = density.high - density.low
    noise = random_noise(generator, span, max(abs(density.low), abs(density.high)))
    y = float(density.low + span * generator.uniform(-0.5, 1.5))
    found, true = float(noise.pml([y], density)[0]), true_leakage(noise, density, y)
    must(found >= true - 1e-9 * (1 + true), f"the leakage {found!r} of an outcome is below the true {true!r}")
    must(found <= true + 1e-6 * (1 + true), f"the leakage {found!r} of an outcome is far above {true!r}")
    seen, most = largest_leakage(noise, density)
    outcomes = density.low + span * generator.uniform(-1, 2, 40)
    leaks = noise.pml(outcomes, density)
    must(seen <= most, "the bounds of ε cross")
    must(float(leaks.max()) <= most, f"an outcome leaks {leaks.max()!r}, more than ε = {most!r}")
    epsilon = float(np.median(leaks)) + 1e-6
    low, high = tail_between(noise, density, level(epsilon, None))
    must(low <= high, "the bounds of a tail cross")
    delta = float(generator.choice([1e-6, 0.01, 0.2, 0.7]))
    below, above = noise.envelope_bounds(density, delta, grid=16)
    must(0 <= below <= above <= most, "the bounds of the envelope are out of order")
    must(low < delta or above >= epsilon, "outcomes leak more than the envelope with probability δ")
    cells, reach = Weighing(noise, density).everything(64, 1e-9)
    chances = [noise.peak * math.fsum(cells.width * mean) for mean in (cells.inside_least, cells.inside_most)]
    must(chances[0] <= 1 + 1e-9 and chances[1] + 2 * noise.upper_tail(reach) >= 1 - 1e-9, "outcomes are missing")
    least, information = information_between(noise, density)
    must(least <= information <= noise.maximal_leakage(density) + 1e-6 + (information - least), "information")
    binned = noise.best_bins(density, int(generator.integers(2, 6)), grid=16)
    binned.certificate.verify()
    must(binned.epsilon <= most + 1e-9, "bins leak more than the noise")
    must(binned.value <= information + 1e-9, "bins tell more than the noise")
    if generator.random() < 0.3:
        finite = lw.envelope(binned.mechanism, binned.prior.nominal, delta)
        must(finite.attained <= above + 1e-9, "bins leak more than the envelope of the noise")
