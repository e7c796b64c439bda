"""States as the page sends them, for the tests of the studio and of the browser."""

from __future__ import annotations

from typing import Any


def make_state(
    labels: Any = ("a", "b", "c"),
    values: Any = ("0.5", "0.3", "0.2"),
    *,
    kind: str = "probabilities",
    sample: Any = None,
    level: Any = ("lift", "2"),
    goal: Any = None,
    origin: str | None = None,
) -> dict[str, Any]:
    """A state as the page sends it."""
    return {
        "prior": {
            "kind": kind,
            "labels": list(labels),
            "values": list(values),
            **({"sample": sample} if sample else {}),
            **({"origin": origin} if origin else {}),
        },
        "level": {"kind": level[0], "value": level[1]},
        "goal": goal or design_for("mutual_information"),
    }


def design_for(name: str) -> dict[str, Any]:
    return {"kind": "design", "utility": {"kind": "named", "name": name}}


def of_value(value: str, **limits: str) -> dict[str, str]:
    """The limits of one value, as the page sends them."""
    return {"value": value, "lift_of": "", "ceiling": "", "floor": "", **limits}


def in_a_row(*further: tuple[str, str, str], name: str = "ill", total: str = "", table: str = "") -> dict[str, Any]:
    """Further secrets of the same rows (column, values, lift), as the page sends them."""
    listed = [dict(zip(("name", "values", "lift"), one, strict=True)) for one in further]
    return {"table": table, "name": name, "further": listed, "total": total}


def distance(power: int = 1) -> dict[str, Any]:
    return {"kind": "design", "utility": {"kind": "distance", "power": power}}


def worst_case(size: int = 3, **more: Any) -> dict[str, Any]:
    matrix = [[str(-abs(i - j)) for j in range(size)] for i in range(size)]
    return {"kind": "design", "utility": {"kind": "worst_case", "matrix": matrix, **more}}


def brought(name: str = "randomized_response", parameter: str = "lift", value: str = "3") -> dict[str, Any]:
    return {"kind": "mechanism", "source": {"kind": "catalog", "name": name, "parameter": parameter, "value": value}}


def matrix(*rows: str, outputs: list[str] | None = None) -> dict[str, Any]:
    return {
        "kind": "mechanism",
        "source": {"kind": "matrix", "rows": [row.split() for row in rows], "outputs": outputs},
    }


GOALS = {
    "statistics": design_for("frequencies"),
    "information": design_for("mutual_information"),
    "guessing": design_for("guessing"),
    "reading": design_for("reading"),
    "distance": distance(),
    "squared": distance(2),
    "worst case": worst_case(),
    "worst case, then information": worst_case(then="mutual_information"),
    "worst case, then expected": worst_case(then="expected", by="order"),
    "randomized response": brought(),
    "geometric": brought("truncated_geometric", "epsilon", "0.7"),
    "channel": brought("symmetric_channel", "flip", "0.25"),
    "circle": brought("k_singular", "k", "2"),
    "constant": brought("constant", "none", ""),
    "matrix": matrix("0.7 0.2 0.1", "0.1 0.8 0.1", "1/3 1/3 1/3"),
    "matrix in floats": matrix(
        "0.7 0.3", "0.3333333333 0.6666666667", "0.1234567890123 0.8765432109877", outputs=["x", "y"]
    ),
}
