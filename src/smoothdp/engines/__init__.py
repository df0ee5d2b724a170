"""Engines: the counts that statistics and releases need, from data that are in many places.

Every job is a pure function of one partition and an associative, commutative merge, so that
an engine may split the data as it likes and run a partition again. Nothing here draws
randomness anew: what is random comes from a key, a collection and a user (`keyed_random`).
`run_here` runs a job on one machine; `smoothdp.engines.spark` runs it on Spark.
"""

from smoothdp.engines.by_key.release_table import release_table
from smoothdp.engines.category_counts import category_counts
from smoothdp.engines.collecting.collect import collect
from smoothdp.engines.job import Job, Partition, Run, run_here
from smoothdp.engines.keyed_random import KeyedRandom, keyed_words
from smoothdp.engines.randomized_counts import randomized_counts
from smoothdp.engines.summarize_column import summarize_column

__all__ = [
    "Job",
    "KeyedRandom",
    "Partition",
    "Run",
    "category_counts",
    "collect",
    "keyed_words",
    "randomized_counts",
    "release_table",
    "run_here",
    "summarize_column",
]
