"""An experiment to start from: the optimum at some lifts, in fractions, beside every mechanism of the catalogue.

``python examples/experiment.py results`` writes into the folder: ``compared.csv`` with what each mechanism leaks and
tells at each lift, ``optimum.tex`` with an optimum for a paper, and ``optimum.json``, which ``leakwise verify`` checks.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import leakwise as lw

PRIOR = lw.Prior({"never": "3/5", "past": "1/4", "daily": "3/20"})
LIFTS = ("11/10", "3/2", "2")


def main(folder: Path) -> None:
    """Run the experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for lift in LIFTS:
        found = lw.compare(PRIOR, lift=lift)
        for row in found.rows:
            lines.append({"limit": lift, "mechanism": row.name, "lift": row.lift, "ldp": row.ldp, **row.values})
        best = next(row for row in found.rows if row.name == "design for mutual_information")
        print(
            f"lift {lift}: {best.values['mutual_information']:.6f} of at most {found.bounds['mutual_information']:.6f}"
        )
    with (folder / "compared.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, fieldnames=list(lines[0]))
        table.writeheader()
        table.writerows(lines)

    optimum = lw.design(PRIOR, lift=LIFTS[0], utility="total_variation")
    exact = optimum.exact()
    print(f"total variation at lift {LIFTS[0]}: {exact.value} = {' + '.join(f'({dual})' for dual in exact.duals)}")
    (folder / "optimum.tex").write_text(exact.to_latex(), encoding="utf-8")
    optimum.certificate.save(folder / "optimum.json")

    year = lw.randomized_response(PRIOR.labels, epsilon=0.05).repeat(365)
    print(f"randomized response every day of a year: lift {math.exp(lw.epsilon(year, PRIOR)):.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
