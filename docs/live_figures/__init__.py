"""The live figures of a page of the documentation: the studio's own code, with answers that were found beforehand.

A page opened from a disk has no server and may load no modules. So the modules that its figures need are joined into
one script, with the answer for each limit of a grid, as the studio would have found it, and the studio's look for the
figures alone. Both are made anew with every build. The page itself shows a picture where no script runs.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

PAGE = "explanation/the-idea"
PRIOR = {"none": "0.8", "diabetes": "0.18", "HIV": "0.02"}
LIFTS = ("1.05", "1.1", "1.2", "1.3", "1.5", "1.75", "2", "2.5", "3", "4", "5", "7", "10")
TIMES = 10  # the limit for anyone, as the studio offers it
SCRIPT, LOOK = "live-figures.js", "live-figures.css"

_HERE = Path(__file__).parent
_STUDIO = Path(str(resources.files("leakwise.studio"))) / "static"
_IMPORT = re.compile(r'^import (\{[^}]+\}) from "\./(\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)
# What begins a rule of the whole page belongs to the figure here.
_ROOT = re.compile(r"(?m)^(\s*)(?::root|body) \{")


def answers() -> list[dict[str, Any]]:
    """Return what the studio shows for each limit of the grid."""
    from leakwise.studio.answers import solve
    from leakwise.studio.parts import compared, to_try, what_is_lost, what_leaks, what_to_release
    from leakwise.studio.state import DesignGoal, Level, Named, PriorState, State

    found = []
    order = list(PRIOR)
    for lift in LIFTS:
        anyone = f"{TIMES * float(lift):g}"
        prior = PriorState("probabilities", order, list(PRIOR.values()))
        state = State(prior, Level("lift", lift), DesignGoal(Named("frequencies")), anyone=anyone)
        solved = solve(state, draft=False, progress=lambda stage, done: None)
        if not solved.complete or not solved.certificate.holds:
            raise RuntimeError(f"The figures of {PAGE} need a proven best mechanism for lift {lift}; none was found.")
        leaks = what_leaks(solved)
        leaks["values"].sort(key=lambda one: order.index(one["name"]))  # no line moves with the knob
        parts = {"leaks": leaks, "rows": what_to_release(solved), "lost": what_is_lost(compared(solved))}
        found.append({"lift": lift, "anyone": anyone, **parts, "trial": to_try(solved)})
    return found


def script() -> str:
    """Return the page's script with all modules that it imports, as one that a browser takes from a disk."""
    page = BeautifulSoup((_STUDIO / "index.html").read_text(encoding="utf-8"), "html.parser")
    markup = {"parts": str(page.find(class_="parts")), "try": str(page.find(id="try"))}
    data = {"ANSWERS": answers(), "MARKUP": markup}
    made = "\n".join(f"export const {name} = {json.dumps(value)};" for name, value in data.items())
    joined: dict[str, str] = {}

    def join(name: str) -> None:
        if name in joined:
            return
        own = _HERE / name
        text = made if name == "data.js" else (own if own.exists() else _STUDIO / name).read_text(encoding="utf-8")
        for _, imported in _IMPORT.findall(text):
            join(imported)
        names = [name for _, name in _EXPORT.findall(text)]
        text = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', text))
        if odd := re.findall(r"^(?:import|export) .*", text, re.MULTILINE):
            raise RuntimeError(f"{name} imports or exports in a way that cannot be joined: {odd[0]}")
        joined[name] = f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {", ".join(names)} }};\n}})();'

    join("page.js")
    return '(() => {\n"use strict";\nconst modules = {};\n' + "\n".join(joined.values()) + "\n})();\n"


def look() -> str:
    """Return the studio's style, for the figures alone, in the colours that the reader chose for the documentation."""
    style = (_STUDIO / "style.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    chosen = "".join(
        f'\nbody[data-theme="{name}"] & {{{colours}}}' for name, colours in (("light", light), ("dark", dark))
    )
    own = (_HERE / "page.css").read_text(encoding="utf-8")
    return ".live-figure {\n" + _ROOT.sub(r"\1& {", style) + chosen + "\n}\n" + own


def _of_page(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if name == PAGE:
        app.add_css_file(LOOK)
        app.add_js_file(SCRIPT, loading_method="defer")


def _write(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        (static / SCRIPT).write_text(script(), encoding="utf-8")
        (static / LOOK).write_text(look(), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Join the figures to the build."""
    app.connect("html-page-context", _of_page)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
