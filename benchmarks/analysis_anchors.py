"""What others compute from randomized answers, beside what we do, on the same rows: parts of ``analysis.py``.

- *rrreg*: the likelihood of RRreg's ``RRlog`` (Heck & Moshagen 2018, J. Stat. Softw. 85(2)) for Warner's design,
  P(yes | x) = (1 - p) + (2p - 1) F(xβ), and for forced response, p₁ + (1 - p₀ - p₁) F(xβ), maximised by a general
  optimiser; and the correlation of Fox & Tracy (1984), cov(x, y)/(2p - 1) over the standard deviations.
- *simex*: MC-SIMEX (Küchenhoff, Mwalili & Lesaffre 2006, Biometrics 62): misclassify further by Π^λ, extrapolate the
  naive estimates to λ = -1 by a parabola. Its extrapolation is approximate, and Π^λ must be a stochastic matrix.
- *columns*: multi-freq-ldpy (``pip install multi-freq-ldpy``; left out where it is not installed), which estimates each
  column by the inverse and clips: the squared error of the shares of three columns of Adult, same rows.
- *trees*: boosted trees that learn from released labels. The variants are compared on splits of the rows and draws of
  labels that were not used to choose between them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from book import Book

import leakwise as lw
from leakwise.data import adult_table

SEED = 25


def expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def released(g: np.random.Generator, codes: Any, m: lw.Mechanism) -> Any:
    """The places of the outcomes of codes."""
    places = (g.random(codes.size)[:, None] > m.matrix.cumsum(axis=1)[codes]).sum(axis=1)
    return np.minimum(places, m.shape[1] - 1)


def rrreg(book: Book, runs: int) -> None:
    from scipy.optimize import minimize

    g = np.random.default_rng(SEED)
    n = 4000
    x = g.normal(size=n)
    true = (g.random(n) < expit(-0.5 + 0.8 * x)).astype(int)
    worst = 0.0
    for matrix in ([["0.7", "0.3"], ["0.3", "0.7"]], [["0.9", "0.1"], ["0.2", "0.8"]]):  # Warner; forced response
        m = lw.Mechanism(matrix, inputs=["no", "yes"], outputs=["no", "yes"])
        y = released(g, true, m)
        low, high = m.matrix[:, 1]

        def negative(beta: Any, y: Any = y, low: float = low, high: float = high) -> float:
            p = low + (high - low) * expit(beta[0] + beta[1] * x)
            return -float(np.log(np.where(y == 1, p, 1 - p)).sum())

        known = minimize(negative, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10}).x
        f = lw.regress("y ~ x", {"y": np.array(m.outputs)[y], "x": x}, {"y": m})
        worst = max(worst, float(np.abs(np.array(list(f.coefficients.values())) - known).max()))
    book.note(
        "logistic regression, Warner's design and forced response, beside the likelihood of RRreg",
        f"coefficients differ by {worst:.1e} at most",
        target="1e-4",
        kept=worst < 1e-4,
    )
    m = lw.randomized_response(["no", "yes"], lift=3)
    y = released(g, true, m)
    share = (y.mean() - 0.25) / 0.5
    formula = np.cov(x, y, ddof=0)[0, 1] / 0.5 / (x.std() * np.sqrt(share * (1 - share)))
    t = {"s": np.array(m.outputs)[y], "x": x}
    slope = lw.regress("x ~ C(s)", t, {"s": m}).coefficients["C(s)[T.yes]"]
    p = lw.estimate(t, {"s": m}).frequencies[1]
    ours = slope * np.sqrt(p * (1 - p)) / x.std()
    naive = np.corrcoef(x, y)[0, 1]
    book.note(
        "correlation of a released and a true column, beside the formula of RRreg",
        f"{ours:.6f}, formula {formula:.6f}; released values taken for true {naive:.3f}, true "
        f"{np.corrcoef(x, true)[0, 1]:.3f}",
        target="equal to 1e-6",
        kept=bool(abs(ours - formula) < 1e-6),
    )


def log_odds(s: Any, y: Any) -> float:
    cells = np.bincount(2 * s + y, minlength=4) + 0.5
    return float(np.log(cells[3] * cells[0] / (cells[1] * cells[2])))


def power(matrix: Any, exponent: float) -> Any:
    values, vectors = np.linalg.eig(matrix)
    return ((vectors * values.astype(complex) ** exponent) @ np.linalg.inv(vectors)).real


def simex(book: Book, runs: int) -> None:
    g = np.random.default_rng(SEED)
    m = lw.randomized_response(["f", "m"], lift=3)
    levels, draws, n = np.array([0.5, 1.0, 1.5, 2.0]), 20, 4000
    found: dict[str, list[float]] = {"naive": [], "simex": [], "ours": []}
    for _ in range(min(runs, 100)):
        s = (g.random(n) < 0.4).astype(int)
        y = (g.random(n) < expit(-0.5 + 1.2 * s)).astype(int)
        shown = released(g, s, m)
        naive = log_odds(shown, y)
        averages = [naive]
        for level in levels:
            more = power(m.matrix, level)
            again = [(g.random(n) < more[shown, 1]).astype(int) for _ in range(draws)]
            averages.append(float(np.mean([log_odds(one, y) for one in again])))
        found["naive"].append(naive)
        found["simex"].append(float(np.polyval(np.polyfit([0, *levels], averages, 2), -1)))
        f = lw.regress("y ~ C(s)", {"s": np.array(m.outputs)[shown], "y": y}, {"s": m})
        found["ours"].append(f.coefficients["C(s)[T.m]"])
    errors = {name: np.sqrt(np.mean((np.array(one) - 1.2) ** 2)) for name, one in found.items()}
    book.note(
        "logistic coefficient of a released covariate at lift 3, beside MC-SIMEX",
        f"mean {np.mean(found['ours']):.3f} for 1.2, MC-SIMEX {np.mean(found['simex']):.3f}, naive "
        f"{np.mean(found['naive']):.3f}; root mean square error of MC-SIMEX "
        f"{errors['simex'] / errors['ours']:.1f} times ours, of naive {errors['naive'] / errors['ours']:.1f} times",
        target="below MC-SIMEX",
        kept=bool(errors["ours"] < errors["simex"]),
    )
    tridiagonal = np.array([[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
    least = min(float(power(tridiagonal, level).min()) for level in levels)
    ordered = lw.Mechanism([["3/4", "1/4", 0], ["1/4", "1/2", "1/4"], [0, "1/4", "3/4"]], inputs=["a", "b", "c"])
    s = g.choice(3, 20_000, p=[0.5, 0.3, 0.2])
    y = (g.random(s.size) < expit(-0.5 + 0.6 * s)).astype(int)
    t = {"s": np.array(ordered.outputs)[released(g, s, ordered)], "y": y}
    f = lw.regress("y ~ C(s)", t, {"s": ordered})
    near = abs(f.coefficients["C(s)[T.c]"] - 1.2) < 3 * f.standard_errors["C(s)[T.c]"]
    book.note(
        "a mechanism that moves to neighbours only, which MC-SIMEX rejects",
        f"the least entry of Π^λ is {least:.3f}; coefficient of c {f.coefficients['C(s)[T.c]']:.2f} ± "
        f"{f.standard_errors['C(s)[T.c]']:.2f} for 1.2",
        target="estimated",
        kept=bool(near),
    )


def columns(book: Book, runs: int) -> None:
    try:
        from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Aggregator_MI, SPL_GRR_Client
    except ImportError:
        print("multi-freq-ldpy is not installed: its comparison is left out.")
        return
    names = ["sex", "marital_status", "occupation"]
    table = pd.DataFrame(adult_table())[names].sample(3000, random_state=SEED)
    codes = [pd.factorize(table[name], sort=True) for name in names]
    sizes = [len(values) for _, values in codes]
    rows = np.stack([place for place, _ in codes], axis=1)
    truth = [np.bincount(place, minlength=size) / len(rows) for (place, _), size in zip(codes, sizes, strict=True)]
    mechanisms = {
        name: lw.randomized_response(list(range(size)), lift=3) for name, size in zip(names, sizes, strict=True)
    }
    epsilon = 3 * np.log(3)
    np.random.seed(SEED)  # noqa: NPY002 - its generator
    theirs, ours, naive = [], [], []
    for _ in range(min(runs, 30)):
        drawn = [SPL_GRR_Client(tuple(int(one) for one in row), sizes, 3, epsilon) for row in rows]
        shown = {name: np.array([one[at] for one in drawn]) for at, name in enumerate(names)}
        found = SPL_GRR_Aggregator_MI(drawn, sizes, 3, epsilon)
        for at, name in enumerate(names):
            counts = {value: int((shown[name] == value).sum()) for value in range(sizes[at])}
            e = lw.estimate(counts, mechanisms[name])
            theirs.append(((np.asarray(found[at]) - truth[at]) ** 2).sum())
            ours.append(((e.frequencies - truth[at]) ** 2).sum())
            naive.append(((np.array(list(counts.values())) / len(rows) - truth[at]) ** 2).sum())
    by_column = np.mean(np.reshape(theirs, (-1, 3)), axis=0) / np.mean(np.reshape(ours, (-1, 3)), axis=0)
    book.note(
        "shares of sex, marital status and occupation of 3,000 rows of Adult at ε = log 3 each, beside multi-freq-ldpy",
        "its squared error is " + ", ".join(f"{one:.2f}" for one in by_column) + " times ours, from the same outcomes; "
        f"naive {np.mean(naive) / np.mean(ours):.1f} times; it has no joint table and no intervals",
        target="as theirs, within 3%",
        kept=bool(by_column.min() > 0.97),
    )
    ratios = []
    for name, shares in zip(names, truth, strict=True):
        theirs_m = mechanisms[name]
        lift = float((theirs_m.matrix / (shares @ theirs_m.matrix)).max())
        prior = lw.Prior(shares)
        ours_m = lw.design(prior, lift=f"{np.floor(1000 * lift) / 1000:.3f}", utility="frequencies").mechanism
        ratios.append(spread(theirs_m, shares) / spread(ours_m, shares))
    book.note(
        "the same columns by designs for frequencies of no larger lift, beside multi-freq-ldpy",
        "variance of its randomized response "
        + ", ".join(f"{one:.2f}" for one in ratios)
        + " times ours (the distribution is known, and the guarantee is for it)",
        target="not above theirs",
        kept=bool(min(ratios) > 0.999),
    )


def spread(m: lw.Mechanism, shares: Any) -> float:
    """The sum of the variances of all shares, for one row."""
    laws = m.matrix
    information = (laws / (shares @ laws)) @ laws.T
    return float(np.trace(np.linalg.inv(information)) - (shares**2).sum())


def trees(book: Book, runs: int) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.preprocessing import OrdinalEncoder

    table = pd.DataFrame(adult_table())
    X = OrdinalEncoder().fit_transform(table[["sex", "marital_status", "occupation"]])
    y = table.income.to_numpy()
    m = lw.randomized_response(["<=50K", ">50K"], lift=2)
    inner = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    variants = {
        "left-out rows (ours)": {},
        "no EM, the start alone": {"max_iter": 1},
        "EM on its own rows": {"folds": 1, "max_iter": 10},
    }
    scores: dict[str, list[float]] = {name: [] for name in ("clean", "naive", *variants)}
    g = np.random.default_rng(SEED + 1)
    for _ in range(min(runs, 6)):
        order = g.permutation(len(y))
        train, test = order[:8000], order[8000:18000]
        shown = np.array(m.outputs)[released(g, (y[train] == ">50K").astype(int), m)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores["clean"].append(inner.fit(X[train], y[train]).score(X[test], y[test]))
            scores["naive"].append(inner.fit(X[train], shown).score(X[test], y[test]))
            for name, options in variants.items():
                model = lw.sklearn.NoiseAwareClassifier(inner, m, **options).fit(X[train], shown)
                scores[name].append(float((model.predict(X[test]) == y[test]).mean()))
    told = {name: f"{np.mean(one):.4f} ± {np.std(one) / np.sqrt(len(one)):.4f}" for name, one in scores.items()}
    ours = np.mean(scores["left-out rows (ours)"])
    book.note(
        "Adult, boosted trees from labels at lift 2, fresh splits and draws",
        "; ".join(f"{name} {one}" for name, one in told.items()),
        target="above naive",
        kept=bool(ours > np.mean(scores["naive"])),
    )


PARTS = {"rrreg": rrreg, "simex": simex, "columns": columns, "trees": trees}
