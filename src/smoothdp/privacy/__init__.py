"""What a privacy claim is, and how claims imply, convert and compose."""

from smoothdp.privacy.codec import guarantee_from_json
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.model import DataModel
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.pair import Pair
from smoothdp.privacy.profile import PrivacyProfile
from smoothdp.privacy.release import Release
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import ApproxDP, PureDP
from smoothdp.privacy.tradeoff import TradeoffFunction

__all__ = [
    "ZCDP",
    "ApproxDP",
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
    "guarantee_from_json",
]
