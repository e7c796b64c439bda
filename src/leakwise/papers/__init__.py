"""The computed figures and tables and the examples of the five papers, one function each: what is printed and true.

- :mod:`leakwise.papers.exhibit` says what an exhibit is and lists them;
- one module for each paper holds the functions, named as the paper does: ``figure_1a``, ``table_3``, ``example_2``;
- :mod:`leakwise.papers.errata` lists errata, warnings to implementers and further results, each with a demonstration;
- :mod:`leakwise.papers.runner` makes the files, :mod:`leakwise.papers.gallery` the page of cards around them, and
  :mod:`leakwise.papers.notes_page` that of the notes.

>>> from leakwise.papers.worst_case_utility import example_1
>>> print(example_1().findings[-1].claim)
the mechanism (9) attains it where P(x2) + P(x3) ≤ 1/2
"""

from leakwise.papers.exhibit import (
    PAPERS,
    Exhibit,
    Finding,
    Paper,
    Progress,
    Result,
    compared,
    exhibits,
    find,
    further,
    stated,
)
from leakwise.rooms import offering

__all__ = [
    "PAPERS",
    "Exhibit",
    "Finding",
    "Paper",
    "Progress",
    "Result",
    "compared",
    "exhibits",
    "find",
    "further",
    "stated",
]
__dir__ = offering(globals())
