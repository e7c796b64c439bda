"""Serve the survey on this machine, and keep the outcomes that arrive: ``python examples/survey_page/collect.py``.

Then ``leakwise estimate answers.csv --column smokes --mechanism examples/survey_page/mechanism.json``. It is there to
try the page. A server of your own needs HTTPS, must not log bodies, and accepts one answer for each person.
"""

from __future__ import annotations

import csv
import json
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

import leakwise as lw

HERE = Path(__file__).parent
MOST_BYTES = 1000


class Survey(ThreadingHTTPServer):
    """The files of the page, and a table of outcomes."""

    def __init__(self, answers: Path, port: int = 8000) -> None:
        super().__init__(("127.0.0.1", port), Page)
        self.answers, self.known, self.lock = answers, set[str](), Lock()
        self.outcomes = lw.Mechanism.load(HERE / "mechanism.json").outputs
        if not answers.exists():
            self.append("smokes")

    def append(self, text: str) -> None:
        """Add a line to the table."""
        with self.answers.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([text])

    def take(self, body: bytes) -> bool:
        """Keep an outcome, once for each random number; anything else is refused."""
        try:
            told = json.loads(body)
            identity, outcome = str(told["id"]), told["outcome"]
        except (ValueError, TypeError, KeyError):
            return False
        if set(told) != {"question", "id", "outcome"} or told["question"] != "smokes" or outcome not in self.outcomes:
            return False
        with self.lock:
            if identity not in self.known:
                self.known.add(identity)
                self.append(outcome)
        return True


class Page(SimpleHTTPRequestHandler):
    """One visitor."""

    server: Survey

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments, directory=str(HERE))  # type: ignore[arg-type]

    def do_POST(self) -> None:
        """Take an answer."""
        size = int(self.headers.get("Content-Length") or 0)
        taken = self.path == "/answers" and 0 < size <= MOST_BYTES and self.server.take(self.rfile.read(size))
        self.send_response(204 if taken else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Log nothing: who sent what is nobody's business."""


if __name__ == "__main__":
    table = Path(sys.argv[1] if len(sys.argv) > 1 else "answers.csv")
    with Survey(table) as survey:
        print(f"http://127.0.0.1:{survey.server_port}/ collects outcomes in {table}. Stop with Ctrl+C.")
        survey.serve_forever()
