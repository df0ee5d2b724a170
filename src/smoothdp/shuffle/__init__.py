"""Collect: sums and histograms through a shuffler, with exact accounting (papers 3 and 5)."""

from smoothdp.shuffle.applications.finite_randomizer import FiniteRandomizer
from smoothdp.shuffle.applications.pointers import MultiPartyPointerJumping, PointerChasing
from smoothdp.shuffle.applications.pure_privacy import (
    LocalProtocol,
    SingleMessageProtocol,
    both_bits_randomizer,
    no_two_ones_randomizer,
    to_local_protocol,
)
from smoothdp.shuffle.applications.support import (
    identify_support,
    samples_needed,
    support_success,
)
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from smoothdp.shuffle.histogram.count import ZeroPreservingCount
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.shuffle.messages import Message
from smoothdp.shuffle.paired.count import PairedCount
from smoothdp.shuffle.paired.histogram import PairedHistogram
from smoothdp.shuffle.protocol import ShuffleProtocol, UniformShuffler
from smoothdp.shuffle.split.split_sum import SplitSum
from smoothdp.shuffle.strings.prefix_tree import PrefixTree

__all__ = [
    "BooleanSum",
    "FiniteRandomizer",
    "Histogram",
    "HistogramEstimate",
    "LocalProtocol",
    "LowCommunicationHistogram",
    "Message",
    "MultiPartyPointerJumping",
    "PairedCount",
    "PairedHistogram",
    "PointerChasing",
    "PrefixTree",
    "RealSum",
    "ShuffleProtocol",
    "SingleMessageProtocol",
    "SplitSum",
    "UniformShuffler",
    "ZeroPreservingCount",
    "both_bits_randomizer",
    "identify_support",
    "no_two_ones_randomizer",
    "samples_needed",
    "support_success",
    "to_local_protocol",
]
