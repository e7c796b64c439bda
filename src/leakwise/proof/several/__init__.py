"""One proof for several secrets of a row: what each outcome adds to those before it, and what all of them tell.

Let S_1, S_2, … be functions of a row, u its given columns, and let the mechanism of S_k, which may depend on u and the
outcomes y_1, …, y_(k-1), have lifts of at most t_k for P(S_k | u, y_1, …, y_(k-1)). Then no function of the row has a
lift above t_1 t_2 … from all outcomes together, for anyone who knows u (the mathematics, section 8).

``certificate`` holds the claim, ``links`` checks that every part is about what was known once the earlier outcomes were
drawn, ``row_law`` finds the priors and the largest lifts of a joint prior by going through all of its rows.
"""

from leakwise.proof.several.certificate import SeveralCertificate
from leakwise.proof.several.links import EIGHTHS, LIFTS, lift_of_few_digits, roundings, shares_of_a_total
from leakwise.proof.several.part import SecretPart
from leakwise.proof.several.several_file import load_several_certificate
from leakwise.proof.several.words import row_guarantee

__all__ = [
    "EIGHTHS",
    "LIFTS",
    "SecretPart",
    "SeveralCertificate",
    "lift_of_few_digits",
    "load_several_certificate",
    "roundings",
    "row_guarantee",
    "shares_of_a_total",
]
