"""Sphinx settings. The pages need no network: theme and MathJax come from installed packages."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Leakwise"
author = "The Leakwise authors"
copyright = "The Leakwise authors, Apache-2.0"
release = metadata.version("leakwise")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "live_figures",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes documented once, where they are defined

html_theme = "furo"
html_title = "Leakwise"
html_theme_options = {"footer_icons": []}
html_show_sourcelink = False

# One file of MathJax, the one that draws its letters itself and so asks for no fonts.
_package = metadata.distribution("sphinx-mathjax-offline")
html_static_path = [str(_package.locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg.js")), "look.css"]
html_css_files = ["look.css"]
mathjax_path = "tex-svg.js"

# Results share attribute names (epsilon, lower, bound): a bare mention of one may mean any of them.
suppress_warnings = ["ref.python"]
