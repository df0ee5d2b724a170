"""What a privacy claim is, and how claims imply, convert and compose."""

from smoothdp.claims.curves.chords import ChordProfile
from smoothdp.claims.curves.pair import Pair
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.codec import guarantee_from_json
from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.conversions import (
    add_remove_to_replace_one,
    approx_at,
    zcdp_to_approx,
    zcdp_triangle,
)
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.smoothed import SmoothedDP
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ChordProfile",
    "DataModel",
    "GaussianDP",
    "Guarantee",
    "Neighbours",
    "Pair",
    "PrivacyProfile",
    "PureDP",
    "Release",
    "SmoothedDP",
    "TradeoffFunction",
    "TruncatedCDP",
    "add_remove_to_replace_one",
    "approx_at",
    "guarantee_from_json",
    "zcdp_to_approx",
    "zcdp_triangle",
]
