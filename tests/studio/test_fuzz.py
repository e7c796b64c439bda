"""Whatever is sent, the studio answers in words: no request makes it stumble."""

from __future__ import annotations

import copy
import json
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.states import GOALS, make_state

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
PANELS = st.sampled_from(["prior", "several", "row", "answer", "tradeoff", "steps", "file"])
ODD = st.sampled_from(
    [
        "",
        " ",
        "0",
        "1",
        "-1",
        "1e-300",
        "1e300",
        "1e999",
        "1/0",
        "0/1",
        "1/3",
        "nan",
        "inf",
        "-inf",
        "never",
        "0x1",
        "½",
    ]
) | st.text(max_size=8)
NUMBERS = st.integers(0, 10**6).map(str) | st.decimals(0, 1, places=6).map(str) | ODD
FEW = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text[:2000]
    lines = [json.loads(line) for line in answer.text.split("\n") if line]
    assert lines
    for line in lines:
        if line.get("event") == "error":
            assert line["kind"] not in ("Mistake", "Ended"), line
            assert len(line["message"]) > 5


@given(PANELS, JSON)
@FEW
def test_any_json(client: httpx.Client, panel: str, body: Any) -> None:
    check(client.post(f"api/{panel}", content=json.dumps(body)))


@given(PANELS, st.binary(max_size=200))
@FEW
def test_any_bytes(client: httpx.Client, panel: str, body: bytes) -> None:
    check(client.post(f"api/{panel}", content=body))


@st.composite
def broken_states(draw: st.DrawFn) -> Any:
    """A state in which something was replaced, somewhere, by something else."""
    state = copy.deepcopy(make_state(goal=draw(st.sampled_from(list(GOALS.values())))))
    for _ in range(draw(st.integers(1, 2))):
        place: Any = state
        while isinstance(place, (dict, list)) and place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], (dict, list)) or draw(st.booleans()):
                place[key] = draw(JSON | NUMBERS)
                break
            place = place[key]
    return state


@given(PANELS, broken_states(), st.booleans())
@FEW
def test_states_with_something_replaced(client: httpx.Client, panel: str, state: Any, draft: bool) -> None:
    body = {"client": "fuzz", "state": state, **({"what": "report"} if panel == "file" else {"draft": draft})}
    check(client.post(f"api/{panel}", content=json.dumps(body)))


@st.composite
def typed_states(draw: st.DrawFn) -> Any:
    """States of the right shape with numbers and names as people (and others) type them."""
    size = draw(st.integers(1, 4))
    labels = draw(
        st.lists(st.text(max_size=6) | st.integers(-9, 9).map(str), min_size=size, max_size=size, unique=True)
    )
    kind = draw(st.sampled_from(["counts", "probabilities"]))
    values = draw(
        st.lists(NUMBERS if draw(st.booleans()) else st.integers(0, 50).map(str), min_size=size, max_size=size)
    )
    sample = draw(
        st.none()
        | st.fixed_dictionaries(
            {
                "failure": st.just("1e-3") | ODD,
                "method": st.sampled_from(["weissman", "weissman-phi", "clopper-pearson", "best"]),
            }
        )
    )
    cells = st.lists(st.lists(NUMBERS, min_size=size, max_size=size), min_size=size, max_size=size)
    goal = draw(
        st.sampled_from([goal for goal in GOALS.values() if "matrix" not in json.dumps(goal)])
        | cells.map(lambda rows: {"kind": "mechanism", "source": {"kind": "matrix", "rows": rows}})
        | cells.map(lambda rows: {"kind": "design", "utility": {"kind": "worst_case", "matrix": rows}})
    )
    level = (draw(st.sampled_from(["epsilon", "lift"])), draw(NUMBERS | st.sampled_from(["1.5", "2", "0.3"])))
    names = st.text(max_size=6) | st.sampled_from(["smokes", "a+b", "-c"])
    further = st.fixed_dictionaries({"name": names, "values": names, "lift": NUMBERS | st.just("2")})
    row = {"table": names, "name": names, "further": st.lists(further, max_size=3), "total": NUMBERS | st.just("")}
    state = make_state(labels, values, kind=kind, sample=sample, level=level, goal=goal)
    return {**state, "row": draw(st.none() | st.fixed_dictionaries(row))}


@given(PANELS, typed_states())
@FEW
def test_states_as_people_type_them(client: httpx.Client, panel: str, state: Any) -> None:
    body = {"client": "typist", "state": state, **({"what": "certificate"} if panel == "file" else {"draft": True})}
    check(client.post(f"api/{panel}", content=json.dumps(body)))
