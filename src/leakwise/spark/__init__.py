"""Where data outgrows one machine: the release of Spark DataFrames, and the counts to estimate from.

``release`` draws on the executors, exactly and from their operating systems' randomness, and hands back a DataFrame
that reads what was written once. ``protect`` designs the mechanisms first, certifies and enters them.
``foreach_batch`` releases the batches of a stream. ``estimate`` estimates from a released DataFrame, ``counts`` gives
what :func:`leakwise.estimate` takes. Plain Spark and Spark Connect.
"""

from leakwise.rooms import offering
from leakwise.spark.batches import foreach_batch
from leakwise.spark.counting import counts
from leakwise.spark.driver import mechanism, release
from leakwise.spark.estimating import estimate
from leakwise.spark.protecting import protect
from leakwise.spark.sessions import session

__all__ = ["counts", "estimate", "foreach_batch", "mechanism", "protect", "release", "session"]
__dir__ = offering(globals())
