"""A million draws of one mechanism in Python, JavaScript and SQL, from the same words, and their speed; one run.

Run ``python benchmarks/exported.py`` (``--rows`` for the number of draws). The words are those of the AES-256-CTR
stream that releases draw from, with a seed. *Python* is ``Exported.draw_from_words``, *JavaScript* the exported module
in node, *SQL* the exported function in a PostgreSQL server of its own. "Secure" draws take fresh randomness of the
platform (``crypto.getRandomValues``, ``gen_random_bytes``). Seconds are wall-clock. Exit status 1 if any two outcomes
differ.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from book import Book

import leakwise as lw
from leakwise.sampling import SecureStream
from leakwise.types import Words

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

NODE = """
import fs from "node:fs";
import { webcrypto } from "node:crypto";
import { draw, drawFrom } from "./sampler.mjs";
const words = new BigUint64Array(new Uint8Array(fs.readFileSync("words")).buffer), values = fs.readFileSync("values");
globalThis.crypto ??= webcrypto;  // node 18 has it, and not under the name that browsers have
let start = performance.now();
fs.writeFileSync("drawn", Uint8Array.from(values, (value, row) => drawFrom(words[row], value)));
console.log((performance.now() - start) / 1000);
start = performance.now();
values.forEach((value) => draw(value));
console.log((performance.now() - start) / 1000);
"""


def in_node(sampler: lw.results.Exported, values: Words, words: Words) -> tuple[list[int], float, float]:
    """Draw with node: the outcomes, and the seconds for given words and for fresh ones."""
    node = shutil.which("node")
    if node is None:
        sys.exit("node is not here: apt-get install nodejs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sampler.save(folder / "sampler.mjs")
        (folder / "words").write_bytes(words.astype("<u8").tobytes())
        (folder / "values").write_bytes(values.astype("u1").tobytes())
        (folder / "run.mjs").write_text(NODE, encoding="utf-8")
        done = subprocess.run([node, "run.mjs"], cwd=folder, check=True, capture_output=True, text=True)
        given, fresh = map(float, done.stdout.split())
        return list((folder / "drawn").read_bytes()), given, fresh


def in_sql(sampler: lw.results.Exported, values: Words, words: Words) -> tuple[list[int], float, float]:
    """Draw with PostgreSQL, in the same way."""
    from adbc_driver_postgresql import dbapi

    from postgres_server import running_server

    raw = words.astype("<u8").tobytes()
    rows = {"n": np.arange(len(words)), "word": [raw[at : at + 8] for at in range(0, len(raw), 8)]}
    table = pa.table({**rows, "value": values.astype(np.int64)})
    with running_server() as server:
        server.ask("CREATE EXTENSION pgcrypto")
        psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", server.uri()]
        subprocess.run(psql, input=sampler.source, text=True, check=True)
        with dbapi.connect(server.uri(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("t", table, mode="create")
            start = time.perf_counter()
            cursor.execute("SELECT leakwise_draw_from(word, value) FROM t ORDER BY n")
            drawn = cursor.fetch_arrow_table().column(0).to_pylist()
            given = time.perf_counter() - start
            start = time.perf_counter()
            cursor.execute("SELECT count(leakwise_draw(value)) FROM t")
            cursor.fetchall()
            return drawn, given, time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    count = int(parser.parse_args().rows)
    mechanism = lw.Mechanism(np.random.default_rng(29).dirichlet(np.ones(7), 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.UnsafeSeedWarning)
        stream = SecureStream(unsafe_seed=29)
    words, values = stream.words(count, 64), stream.words(count, 16) % 5
    module, script = lw.export(mechanism, "js"), lw.export(mechanism, "sql")
    start = time.perf_counter()
    drawn = module.draw_from_words(values, words)
    seconds = time.perf_counter() - start
    book = Book("exported")
    book.note(f"{count:,} draws of a 5 × 7 mechanism from given words in Python", f"{seconds:.1f} s")
    right = True
    for language, run, sampler in (("JavaScript (node)", in_node, module), ("SQL (PostgreSQL)", in_sql, script)):
        found, given, fresh = run(sampler, values, words)
        differ = sum(one != other for one, other in zip(found, drawn, strict=True))
        right &= differ == 0
        what = f"outcomes of {language} that differ from Python's, of {count:,} from the same words"
        book.note(what, str(differ), target="0", kept=differ == 0)
        book.note(f"the same draws in {language}", f"{given:.1f} s from given words, {fresh:.1f} s secure")
        size = len(sampler.source)
        book.note(f"size of it in {language}", f"{size:,} bytes", target="below 10,000", kept=size < 10_000)
    for line in book.figures:
        print(f"{line['what']}: {line['figure']}")
    book.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
