"""The finite labelled alphabet of a secret or of an outcome, and columns of data as codes in it."""

from leakwise.alphabet.bins import Bins, alphabet_with_edges, bins, edges_of, newest, numbered_edges
from leakwise.alphabet.columns import encode_column, encode_distinct, found_domain
from leakwise.alphabet.given import GivenBody, GivenColumns, joined
from leakwise.alphabet.labels import (
    Alphabet,
    Label,
    alphabet_from_plain,
    as_alphabet,
    code_dtype,
    label_from_plain,
    label_to_plain,
)
from leakwise.alphabet.strata import ListedStrata, StratumCounts

__all__ = [
    "Alphabet",
    "Bins",
    "GivenBody",
    "GivenColumns",
    "Label",
    "ListedStrata",
    "StratumCounts",
    "alphabet_from_plain",
    "alphabet_with_edges",
    "as_alphabet",
    "bins",
    "code_dtype",
    "edges_of",
    "encode_column",
    "encode_distinct",
    "found_domain",
    "joined",
    "label_from_plain",
    "label_to_plain",
    "newest",
    "numbered_edges",
]
