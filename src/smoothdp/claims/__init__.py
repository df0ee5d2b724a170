"""What a privacy claim is, and how claims imply, convert and compose."""

from smoothdp.claims.curves.pair import Pair
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.codec import guarantee_from_json
from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.conversions import (
    add_remove_to_replace_one,
    gaussian_to_approx,
    gaussian_to_zcdp,
    pure_to_zcdp,
    zcdp_to_approx,
    zcdp_triangle,
)
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.legendre import curve_to_profile, profile_to_curve
from smoothdp.claims.guarantees.smoothed import SmoothedDP
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release

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
    "add_remove_to_replace_one",
    "curve_to_profile",
    "gaussian_to_approx",
    "gaussian_to_zcdp",
    "guarantee_from_json",
    "profile_to_curve",
    "pure_to_zcdp",
    "zcdp_to_approx",
    "zcdp_triangle",
]
