"""Exact draws from integer weights over a power of two, fed by a secure stream.

This room knows nothing of privacy. A law is a list of integers that sum to ``2**bits``; a draw is a function of a
uniform ``bits``-bit word that takes each outcome on exactly as many words as its weight says. Nothing is rounded on the
way.
"""

from __future__ import annotations

from leakwise.sampling.code import CodeSampler
from leakwise.sampling.inverse import InverseSampler
from leakwise.sampling.keyed import ByteTexts, KeyedWords
from leakwise.sampling.order import random_order
from leakwise.sampling.rows import RowSampler
from leakwise.sampling.sets import draw_each_letter, draw_so_many
from leakwise.sampling.stream import SecureStream, stream_for_this_thread
from leakwise.sampling.structured import StructuredSampler

__all__ = [
    "ByteTexts",
    "CodeSampler",
    "InverseSampler",
    "KeyedWords",
    "RowSampler",
    "SecureStream",
    "StructuredSampler",
    "draw_each_letter",
    "draw_so_many",
    "random_order",
    "stream_for_this_thread",
]
