"""Samplers for the place where an answer is given: a mechanism as a JavaScript file, or as functions of PostgreSQL.

What is drawn is fixed by a 64-bit word, the same in all of them and in Python: see :mod:`leakwise.exported.contents`.
"""

from leakwise.exported.export import Exported, export

__all__ = ["Exported", "export"]
