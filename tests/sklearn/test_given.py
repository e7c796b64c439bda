"""The randomizer beside given columns: a mechanism for each of their combinations, learnt or from public priors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import leakwise as lw
from leakwise.sklearn import LeakageRandomizer

DOMAIN = ["no", "yes"]


def table(rows: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    sex = generator.choice(["f", "m"], rows)
    share = np.where(sex == "f", 0.7, 0.2)
    ill = np.where(generator.random(rows) < share, "yes", "no")
    return pd.DataFrame({"sex": sex, "age": generator.integers(0, 100, rows), "ill": ill})


def test_the_given_columns_go_out_and_the_others_by_the_mechanism_of_their_stratum() -> None:
    given = {"sex": ["f", "m"], "age": lw.bins(0, 100, 2)}
    randomizer = LeakageRandomizer(lift=2, given=given, domain=DOMAIN, failure=1e-6)
    randomizer.fit(table(20_000, 0))
    (mechanism,) = randomizer.mechanisms_
    assert isinstance(mechanism, lw.StratifiedMechanism)
    assert len(mechanism) == 4
    fresh = table(5000, 1)
    out = randomizer.set_output(transform="pandas").transform(fresh)
    assert list(out.columns) == ["sex", "age", "ill"]
    assert out["sex"].tolist() == fresh["sex"].tolist()
    assert set(out["age"]) == set(lw.bins(0, 100, 2))
    for key, rows in out.groupby(["sex", "age"]):
        assert set(rows["ill"]) <= set(mechanism[key].outputs)
    e = lw.estimate(out, mechanism)
    assert abs(e.frequencies[1] - (fresh["ill"] == "yes").mean()) < 6 * e.standard_error[1]
    assert "than 2 times as likely as 'sex' and 'age' make it already" in randomizer.guarantees["ill"]
    again = pickle.loads(pickle.dumps(randomizer))
    assert again.transform(fresh).shape == (5000, 3)
    # A sex that the sample did not have goes through the mechanism for every prior.
    assert len(randomizer.transform(fresh.assign(sex="x"))) == 5000
    with pytest.raises(lw.InvalidInput, match="column 'age' has 1 of 5000 rows with values outside"):
        randomizer.transform(fresh.assign(age=[*fresh["age"][:-1], 101]))


def test_public_priors_by_stratum_are_taken_and_others_refused() -> None:
    priors = lw.PriorByStratum({"f": {"no": 0.3, "yes": 0.7}, "m": {"no": 0.8, "yes": 0.2}}, given={"sex": ["f", "m"]})
    frame = table(400, 2)[["sex", "ill"]]
    randomizer = LeakageRandomizer(lift=1.5, given=["sex"], prior={"ill": priors})
    out = randomizer.fit(frame).transform(frame)
    assert out[:, 0].tolist() == frame["sex"].tolist()
    assert np.exp(randomizer.epsilons_[0]) <= 1.5 + 1e-9
    with pytest.warns(lw.RowOrderWarning, match="within"):
        randomizer.transform(frame.sort_values("ill", ignore_index=True))
    randomizer.transform(frame.sort_values("sex", ignore_index=True))
    with pytest.raises(lw.InvalidInput, match=r"prior must be a lw\.PriorByStratum for column 'ill'"):
        LeakageRandomizer(lift=2, given=["sex"], prior={"no": 0.5, "yes": 0.5}).fit(frame)
    with pytest.raises(lw.InvalidInput, match=r"prior must be a lw\.PriorByStratum for column 'ill'"):
        LeakageRandomizer(lift=2, given=["sex"], domain=DOMAIN).fit(frame)
    # The priors say nothing of someone who sees the age as well.
    with pytest.raises(lw.InvalidInput, match="for column 'ill', by 'sex' and 'age'"):
        LeakageRandomizer(lift=2, given=["sex", "age"], prior={"ill": priors}).fit(table(400, 2))
    with pytest.raises(lw.InvalidInput, match="Did you mean 'sex'"):
        LeakageRandomizer(lift=2, given=["sexx"], prior={"ill": priors}).fit(frame)
