"""What every result has in common: it goes through pickle and comes back saying the same."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pyarrow as pa
import pytest

import leakwise as lw

PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
RR = lw.randomized_response(["a", "b", "c"], lift=3)
COUNTS = lw.Prior.from_counts({"a": 500, "b": 300, "c": 200})
MASK = np.eye(3)
STRATA = lw.PriorByStratum({"f": ["0.5", "0.3", "0.2"], "m": ["0.1", "0.4", "0.5"]}, given="sex")


def _protection(**options):
    return lw.protect({"s": ["a", "b", "c"] * 20}, "s", prior=PRIOR, lift=2, order="keep", **options)


def _several(**options):
    return lw.protect(
        {"s": ["a", "b", "c"] * 20, "t": ["a", "c"] * 30},
        {"s": 2, "t": 1.5},
        prior={"s": PRIOR, "t": PRIOR},
        order="keep",
        **options,
    )


def _joint(**options):
    table = {"s": list("abc") * 20, "t": list("abbcca") * 10, "g": [0, 1] * 30}
    return lw.estimate(table, {"s": RR, "t": RR}, **options)


RESULTS = {
    lw.AllPriors: lambda: lw.AllPriors(PRIOR),
    lw.results.Advised: lambda: lw.advise(
        {"s": list("abcabbaccb") * 200, "g": list("xyyxyxxyxy") * 200}, "s", domain=list("abc"), time_limit=1.0
    ),
    lw.results.AggregateCertificate: lambda: lw.aggregate.count(unknown=9, prior=0.3).envelope(0.1).certificate,
    lw.results.AggregateEnvelope: lambda: lw.aggregate.count(unknown=9, prior=0.3).envelope(0.1),
    lw.results.Audit: lambda: lw.audit(RR, PRIOR),
    lw.Ball: lambda: PRIOR.ball(0.1),
    lw.results.Batches: lambda: lw.release(lw.batches([pa.table({"s": list("abc") * 20})]), RR, "s", order="keep"),
    lw.results.BlackBoxAudit: lambda: lw.audit_samples(["a", "b"] * 50, ["x", "y"] * 50, failure=0.1),
    lw.Box: lambda: lw.Box(PRIOR, [0.4, 0.2, 0.1], [0.6, 0.4, 0.3]),
    lw.results.ShannonCapacity: lambda: lw.measures.shannon_capacity(RR),
    lw.results.SimulatedEnvelope: lambda: lw.measures.simulated_envelope(RR.repeat(3), PRIOR, 0.1, draws=1_000, seed=1),
    lw.results.Certificate: lambda: lw.certify(RR, PRIOR),
    lw.results.Composition: lambda: lw.compose(RR, RR),
    lw.results.CompositionBounds: lambda: lw.measures.composition_bounds(RR.repeat(3), PRIOR, 0.1),
    lw.results.CompositionTable: lambda: lw.measures.composition_table(RR, PRIOR, 0.1, [1, 2]),
    lw.results.Count: lambda: lw.aggregate.count(unknown=9, prior=0.3, noise=1),
    lw.results.CrossTable: lambda: _joint().table("s"),
    lw.results.DataDesign: lambda: lw.design_from_data(
        COUNTS, lift=2, failure=0.01, strategy="layer-cake", compare=False
    ),
    lw.results.Design: lambda: lw.design(PRIOR, lift=2),
    lw.results.DryRun: lambda: _protection(dry_run=True).dry_run,
    lw.results.Envelope: lambda: lw.envelope(RR, PRIOR, 0.1),
    lw.results.EnvelopeCurve: lambda: lw.envelope_curve(RR, PRIOR),
    lw.results.Estimate: lambda: lw.estimate(["a", "b", "c"] * 20, RR),
    lw.Expected: lambda: lw.Expected(MASK),
    lw.FInformation: lambda: lw.FInformation("chi_square"),
    lw.Gain: lambda: lw.Gain(MASK),
    lw.results.ExactOptimum: lambda: lw.design(PRIOR, lift=1.5).exact(),
    lw.results.Exported: lambda: lw.export(RR, "js"),
    lw.results.GroupedEstimate: lambda: lw.estimate({"s": ["a", "b", "c"] * 20, "g": [0, 1] * 30}, RR, "s", by="g"),
    lw.results.GroupedJointEstimate: lambda: _joint(by=["g"]),
    lw.results.Histogram: lambda: lw.aggregate.histogram(unknown=4, prior=PRIOR, noise=1),
    lw.Hull: lambda: lw.Hull([PRIOR, {"a": 0.2, "b": 0.3, "c": 0.5}]),
    lw.results.Independence: lambda: _joint().independence(),
    lw.results.InvariantComparison: lambda: lw.best_invariant(RR, PRIOR),
    lw.results.JointEstimate: lambda: _joint(),
    lw.KLBall: lambda: lw.KLBall(PRIOR, 0.01),
    lw.LayerCake: lambda: COUNTS.confidence(0.01, "layer-cake"),
    lw.results.LeastLeakage: lambda: lw.least_leakage(PRIOR, MASK),
    lw.results.LeastNoise: lambda: lw.aggregate.count(unknown=9, prior=0.3).noise_for(lift=2, delta=0.1),
    lw.results.MarginDesign: lambda: lw.design(PRIOR, margin=0.05, rows=2000),
    lw.Mechanism: lambda: RR,
    lw.results.MechanismComparison: lambda: lw.compare(PRIOR, {"rr": RR}, ["guessing"], lift=2),
    lw.results.MemoLift: lambda: lw.measures.memo_lift(RR, {("a", "b"): 1, ("b", "b"): 1}),
    lw.Prior: lambda: PRIOR,
    lw.PriorByStratum: lambda: STRATA,
    lw.results.PrivacyProfile: lambda: lw.measures.privacy_profile(RR),
    lw.results.Protection: _protection,
    lw.results.Quantity: lambda: _joint().mean([0, 1, 2], "s"),
    lw.results.Refinement: lambda: lw.measures.refines(RR, RR),
    lw.results.Regression: lambda: lw.regress("x ~ s", {"s": list("abc") * 20, "x": [0.0, 1.0] * 30}, {"s": RR}),
    lw.results.RowLift: lambda: lw.measures.row_lift(PRIOR, {"s": RR}),
    lw.results.SampleLeakage: lambda: lw.measures.epsilon_from_sample(RR, COUNTS, failure=0.01),
    lw.results.SecretPart: lambda: _several().certificate.parts[0],
    lw.results.SeveralCertificate: lambda: _several().certificate,
    lw.results.SeveralDryRun: lambda: _several(dry_run=True).dry_run,
    lw.results.SeveralProtection: lambda: _several(),
    lw.results.StratifiedAudit: lambda: lw.audit(lw.design(STRATA, lift=2).mechanism, STRATA),
    lw.results.StratifiedCertificate: lambda: lw.design(STRATA, lift=2).certificate,
    lw.results.StratifiedDesign: lambda: lw.design(STRATA, lift=2),
    lw.results.StratifiedMarginDesign: lambda: lw.design(STRATA, margin=0.05, rows=4000),
    lw.results.Simulation: lambda: lw.simulate(lw.design(PRIOR, lift=2), repeats=20, rows=100),
    lw.StratifiedMechanism: lambda: lw.design(STRATA, lift=2).mechanism,
    lw.SqlTable: lambda: lw.SqlTable("a.db", "t"),
    lw.results.TableAudit: lambda: lw.audit_table(
        {"s": list("abc") * 20, "g": [0, 1] * 30}, "s", given="g", mechanism=RR
    ),
    lw.results.Total: lambda: lw.aggregate.total(unknown=4, prior={0: 0.5, 1: 0.5}, noise=1),
    lw.results.Tradeoff: lambda: lw.tradeoff(PRIOR, [0.2, 0.5]),
    lw.results.UtilitySafe: lambda: lw.utility_safe(PRIOR, MASK, 1),
    lw.WorstCase: lambda: lw.WorstCase(MASK),
    lw.results.WorstCaseCurve: lambda: lw.worst_case_curve(PRIOR, MASK),
}
# A ledger is a file, and so is a key; errors and warnings are no results; a set of priors of no kind is none.
OTHERS = {lw.Ledger, lw.MemoKey, lw.PriorSet}


def test_every_public_class_is_pickled():
    rooms = (lw, lw.results)
    public = {one for room in rooms for name in room.__all__ if inspect.isclass(one := getattr(room, name))}
    public = {one for one in public if not issubclass(one, (Exception, Warning))}
    assert public - OTHERS == set(RESULTS)


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_results_are_pickled(kind):
    result = RESULTS[kind]()
    assert isinstance(result, kind)
    back = pickle.loads(pickle.dumps(result))
    assert type(back) is kind
    assert repr(back) == repr(result) or kind in (lw.Expected, lw.Gain, lw.WorstCase)
    if hasattr(result, "to_dict"):
        assert repr(back.to_dict()) == repr(result.to_dict())


def test_results_on_records_are_pickled():
    query = lw.records.parity(3)
    channel = query.symmetric_channel(flip=0.3)
    found = [
        lw.records.leakage(channel, entropy=1.0),
        lw.records.leakage_curve(channel, [0.5, 1.0]),
        lw.records.least_leakage(query, distortion=0.2, entropy=1.0),
        lw.estimate(["a", "b"] * 20, lw.Mechanism([[0.7, 0.3], [0.2, 0.8]], ["a", "b"], ["a", "b"])),
    ]
    for result in found:
        assert repr(pickle.loads(pickle.dumps(result))) == repr(result)


def test_an_envelope_keeps_its_post_processing():
    found = lw.envelope(RR, PRIOR, 0.1)
    back = pickle.loads(pickle.dumps(found))
    assert back.post_processing == found.post_processing
