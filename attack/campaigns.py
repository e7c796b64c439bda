"""What is attacked. A case takes its randomness, and raises when a promise is broken."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from accounts import accounts
from adaptive import adaptive
from aggregates import aggregates_campaign
from budgets import budgets
from cases import letters, random_level, random_mechanism, random_prior
from correct import bugs
from densities import densities
from forgeries import forgeries, wrong_methods
from masks import masks
from orders import orders
from readers import damage, readers
from roundings import roundings
from rows import all_rows_together, rows
from totals import totals_campaign
from truth import must

import leakwise as lw
from leakwise.exact import log_lower, log_upper
from records import records_campaign

__all__ = ["CAMPAIGNS"]

Generator = np.random.Generator


def exact_lifts(m: lw.Mechanism, prior: lw.Prior) -> list[Fraction | None]:
    """max_i p_ij / Σ π_i p_ij over the support, as fractions, in plain integers; None for an outcome without mass."""
    weights, pi = m.weights.tolist(), [int(w) for w in prior.weights]
    total, found = sum(pi), []
    for column in zip(*weights, strict=True):
        mass = sum(p * v for p, v in zip(pi, column, strict=True))
        top = max(v for p, v in zip(pi, column, strict=True) if p)
        found.append(Fraction(top * total, mass) if mass else None)
    return found


def exact_ldp(m: lw.Mechanism) -> Fraction | None:
    """max_j max_i p_ij / min_i p_ij; None where it is infinite."""
    worst = Fraction(1)
    for column in zip(*m.weights.tolist(), strict=True):
        if max(column):
            if not min(column):
                return None
            worst = max(worst, Fraction(max(column), min(column)))
    return worst


def near(value: float, ratio: Fraction, what: str) -> None:
    """Not below log(ratio), and above it by rounding only."""
    low, high = log_lower(ratio), log_upper(ratio)
    must(value >= low, f"{what} = {value!r} is below the exact {low!r}")
    must(value <= high * (1 + 1e-9) + 1e-12, f"{what} = {value!r} is far above the exact {high!r}")


def audits(generator: Generator) -> None:
    rows, columns = letters(generator), letters(generator)
    prior, m = random_prior(generator, rows), random_mechanism(generator, rows, columns)
    lifts = exact_lifts(m, prior)
    worst = max(one for one in lifts if one is not None)
    near(lw.epsilon(m, prior), worst, "epsilon")
    certificate = lw.certify(m, prior)
    must(certificate.ratio == worst, "the certificate has another ratio")
    for value, one in zip(lw.pml(m, prior).tolist(), lifts, strict=True):
        if one is not None:
            near(value, one, "pml")
    exact = exact_ldp(m)
    if exact is None:
        must(math.isinf(lw.ldp(m)), "LDP should be infinite")
    else:
        near(lw.ldp(m), exact, "ldp")
    near(
        lw.maximal_leakage(m), Fraction(sum(max(c) for c in zip(*m.weights.tolist(), strict=True)), m.denominator), "L"
    )


UTILITIES = ("mutual_information", "total_variation", "chi_square", "hellinger", "guessing", "frequencies")


def designs(generator: Generator) -> None:
    size = letters(generator, 12) if generator.random() < 0.95 else letters(generator, 50)
    prior = random_prior(generator, size)
    asked = random_level(generator, prior)
    utility = str(generator.choice(UTILITIES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # time limits, and letters without mass
        d = lw.design(prior, utility=utility, time_limit=0.5, **asked)
    d.certificate.verify()
    must(d.certificate.holds, "the design is beyond its level")
    again = lw.certify(d.mechanism, prior, **asked)
    must(again.holds, "certified again it is beyond its level")
    worst = max(one for one in exact_lifts(d.mechanism, prior) if one is not None)
    must(again.ratio == worst, "the certificate has another ratio")
    must(d.value <= d.bound, f"value {d.value} above bound {d.bound}")
    if utility == "mutual_information":
        true = lw.mutual_information(d.mechanism, prior)
        must(d.value <= true + 1e-12, f"value {d.value} above the mutual information {true}")
        must(d.bound >= true - 1e-12, f"bound {d.bound} below the mutual information {true}")


def programs(generator: Generator) -> None:
    rows, columns = letters(generator, 8), letters(generator, 8)
    prior = random_prior(generator, rows)
    if generator.random() < 0.5:
        m = random_mechanism(generator, rows, columns)
        delta = float(generator.choice([1e-12, 1e-6, 0.01, 0.5, 1 - 2.0**-53, generator.random()]))
        found = lw.envelope(m, prior, max(delta, 1e-12))
        must(found.lower <= found.upper + 1e-12, "the bounds of the envelope cross")
        must(found.epsilon <= lw.epsilon(m, prior) + 1e-9, "an envelope above ε")
        found.certificate.verify()
        return
    allowed = generator.random((rows, columns)) < generator.uniform(0.2, 0.9)
    allowed[np.arange(rows), generator.integers(0, columns, rows)] = True
    found = lw.least_leakage(prior, allowed)
    found.certificate.verify()
    must(bool((found.mechanism.matrix.sum(axis=1) > 0).all()), "a row without an answer")
    must(lw.certify(found.mechanism, prior).epsilon_upper <= found.epsilon + 1e-9, "leaks more than it says")


def _stored(generator: Generator, folder: Path) -> tuple[Path, Callable[[Path], object]]:
    """A file as a user stores it, and how it is read."""
    size = letters(generator, 5)
    prior = lw.Prior.from_counts(generator.integers(1, 50, size))
    kind = generator.integers(6)
    if kind == 0:
        random_mechanism(generator, size, size).save(folder / "m.json")
        return folder / "m.json", lambda path: lw.Mechanism.load(path).to_dict()
    if kind == 1:
        prior.save(folder / "p.json")
        return folder / "p.json", lambda path: lw.Prior.load(path).to_dict()
    if kind == 2:
        lw.design(prior, lift=1.5).certificate.save(folder / "c.json")
        return folder / "c.json", lambda path: _checked(lw.verify(path))
    if kind == 3:
        book = lw.Ledger(folder / "l.db")
        book.reserve("d", "s", lw.certify(lw.randomized_response(size, lift=2), prior))
        book.close() if hasattr(book, "close") else None
        return folder / "l.db", lambda path: lw.Ledger(path).to_dict()
    labels = [f"v{k}" for k in range(size)]
    m = lw.randomized_response(labels, lift=3)
    rows = generator.choice(labels, 200).tolist()
    if kind == 4:
        pyarrow.parquet.write_table(pyarrow.table({"s": rows}), folder / "t.parquet")
        lw.release(folder / "t.parquet", m, column="s", out=folder / "r.parquet")
        return folder / "r.parquet", lambda path: lw.estimate(path).to_dict()
    (folder / "t.csv").write_text("s\n" + "\n".join(rows) + "\n")
    lw.release(folder / "t.csv", m, column="s", out=folder / "r.csv")
    return folder / "r.csv", lambda path: lw.estimate(path, m, column="s").to_dict()


def _checked(certificate: object) -> object:
    """A certificate that is accepted must be true, whatever was done to the file."""
    assert isinstance(certificate, lw.results.Certificate)
    worst = max(one for one in exact_lifts(certificate.mechanism, certificate.prior.nominal) if one is not None)
    must(certificate.ratio == worst, "a changed certificate was believed")
    must(certificate.holds, "a certificate that does not hold was believed")
    return "accepted"


def files(generator: Generator) -> None:
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        path, read = _stored(generator, Path(name))
        read(path)
        data = bytearray(path.read_bytes())
        for _ in range(int(generator.integers(1, 4))):
            damage(data, generator)
        path.write_bytes(bytes(data))
        try:
            read(path)
        except lw.LeakwiseError:
            return


CAMPAIGNS: dict[str, Callable[[Generator], None]] = {
    "audits": audits,
    "designs": designs,
    "programs": programs,
    "files": files,
    "readers": readers,
    "forgeries": forgeries,
    "methods": wrong_methods,
    "budgets": budgets,
    "orders": orders,
    "roundings": roundings,
    "masks": masks,
    "accounts": accounts,
    "adaptive": adaptive,
    "rows": rows,
    "together": all_rows_together,
    "bugs": bugs,
    "densities": densities,
    "records": records_campaign,
    "aggregates": aggregates_campaign,
    "totals": totals_campaign,
}
