"""smoothdp: differential privacy beyond the worst case.

Measure how private a release is that adds no noise, because sampling already did. The
public names are loaded on first use: importing smoothdp loads neither numpy, scipy, flint
nor matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smoothdp import interop, noise, paper_bounds, queries, services, shuffle
    from smoothdp.claims import (
        ZCDP,
        ApproxDP,
        DataModel,
        GaussianDP,
        Neighbours,
        Pair,
        PrivacyProfile,
        PureDP,
        Release,
        SmoothedDP,
        TradeoffFunction,
        TruncatedCDP,
        guarantee_from_json,
    )
    from smoothdp.composition import ComposedProfile, compose
    from smoothdp.data import count_column, read_column
    from smoothdp.errors import (
        BudgetExceeded,
        IncompatibleClaims,
        InvalidData,
        InvalidParameter,
        LedgerError,
        MissingExtra,
        OutOfReach,
        PrivacyWarning,
        SmoothdpError,
    )
    from smoothdp.exact.random.entropy import SeededRandom, SystemRandom
    from smoothdp.ledger import Ledger
    from smoothdp.mechanisms import (
        BernoulliHistogram,
        Composed,
        GaussianMechanism,
        IntervalRelease,
        LaplaceMechanism,
        NoisySamplingHistogram,
        PostProcessed,
        SamplingAverage,
        SamplingHistogram,
        SamplingWinner,
        SmoothNoise,
        StratifiedHistogram,
        default_trim,
        release,
    )
    from smoothdp.planning import (
        ErrorPoint,
        Plan,
        errors_by_epsilon,
        errors_by_size,
        plan,
        plan_from_json,
    )
    from smoothdp.report import (
        Account,
        Collection,
        Measurement,
        NoiseTable,
        collect_histogram,
        collect_mean,
        collect_share,
        measure_histogram,
        noise_table,
    )
    from smoothdp.smoothed import (
        DeltaInterval,
        DistributionalDP,
        SampleDesign,
        SmoothedDelta,
        StrataDelta,
        compose_smoothed,
        largest_sample,
        smoothed_by_size,
        smoothed_delta,
        smoothed_delta_interval,
        smoothed_strata,
        smoothed_to_distributional,
    )
    from smoothdp.training_runs import SubsampledGaussian
    from smoothdp.version import __version__

_HOMES = {
    "Account": "smoothdp.report",
    "ApproxDP": "smoothdp.claims",
    "BernoulliHistogram": "smoothdp.mechanisms",
    "BudgetExceeded": "smoothdp.errors",
    "Collection": "smoothdp.report",
    "Composed": "smoothdp.mechanisms",
    "ComposedProfile": "smoothdp.composition",
    "DataModel": "smoothdp.claims",
    "DeltaInterval": "smoothdp.smoothed",
    "DistributionalDP": "smoothdp.smoothed",
    "ErrorPoint": "smoothdp.planning",
    "GaussianDP": "smoothdp.claims",
    "GaussianMechanism": "smoothdp.mechanisms",
    "IncompatibleClaims": "smoothdp.errors",
    "IntervalRelease": "smoothdp.mechanisms",
    "InvalidData": "smoothdp.errors",
    "InvalidParameter": "smoothdp.errors",
    "LaplaceMechanism": "smoothdp.mechanisms",
    "Ledger": "smoothdp.ledger",
    "LedgerError": "smoothdp.errors",
    "Measurement": "smoothdp.report",
    "MissingExtra": "smoothdp.errors",
    "Neighbours": "smoothdp.claims",
    "NoiseTable": "smoothdp.report",
    "NoisySamplingHistogram": "smoothdp.mechanisms",
    "OutOfReach": "smoothdp.errors",
    "Pair": "smoothdp.claims",
    "Plan": "smoothdp.planning",
    "PostProcessed": "smoothdp.mechanisms",
    "PrivacyProfile": "smoothdp.claims",
    "PrivacyWarning": "smoothdp.errors",
    "PureDP": "smoothdp.claims",
    "Release": "smoothdp.claims",
    "SampleDesign": "smoothdp.smoothed",
    "SamplingAverage": "smoothdp.mechanisms",
    "SamplingHistogram": "smoothdp.mechanisms",
    "SamplingWinner": "smoothdp.mechanisms",
    "SeededRandom": "smoothdp.exact.random.entropy",
    "SmoothNoise": "smoothdp.mechanisms",
    "SmoothdpError": "smoothdp.errors",
    "SmoothedDP": "smoothdp.claims",
    "SmoothedDelta": "smoothdp.smoothed",
    "StrataDelta": "smoothdp.smoothed",
    "StratifiedHistogram": "smoothdp.mechanisms",
    "SubsampledGaussian": "smoothdp.training_runs",
    "SystemRandom": "smoothdp.exact.random.entropy",
    "TradeoffFunction": "smoothdp.claims",
    "TruncatedCDP": "smoothdp.claims",
    "ZCDP": "smoothdp.claims",
    "collect_histogram": "smoothdp.report",
    "collect_mean": "smoothdp.report",
    "collect_share": "smoothdp.report",
    "compose": "smoothdp.composition",
    "compose_smoothed": "smoothdp.smoothed",
    "count_column": "smoothdp.data",
    "default_trim": "smoothdp.mechanisms",
    "errors_by_epsilon": "smoothdp.planning",
    "errors_by_size": "smoothdp.planning",
    "guarantee_from_json": "smoothdp.claims",
    "largest_sample": "smoothdp.smoothed",
    "measure_histogram": "smoothdp.report",
    "noise_table": "smoothdp.report",
    "plan": "smoothdp.planning",
    "plan_from_json": "smoothdp.planning",
    "read_column": "smoothdp.data",
    "release": "smoothdp.mechanisms",
    "smoothed_by_size": "smoothdp.smoothed",
    "smoothed_delta": "smoothdp.smoothed",
    "smoothed_delta_interval": "smoothdp.smoothed",
    "smoothed_strata": "smoothdp.smoothed",
    "smoothed_to_distributional": "smoothdp.smoothed",
}

_ROOMS = {"interop", "noise", "paper_bounds", "queries", "services", "shuffle"}

__all__ = [
    "ZCDP",
    "Account",
    "ApproxDP",
    "BernoulliHistogram",
    "BudgetExceeded",
    "Collection",
    "Composed",
    "ComposedProfile",
    "DataModel",
    "DeltaInterval",
    "DistributionalDP",
    "ErrorPoint",
    "GaussianDP",
    "GaussianMechanism",
    "IncompatibleClaims",
    "IntervalRelease",
    "InvalidData",
    "InvalidParameter",
    "LaplaceMechanism",
    "Ledger",
    "LedgerError",
    "Measurement",
    "MissingExtra",
    "Neighbours",
    "NoiseTable",
    "NoisySamplingHistogram",
    "OutOfReach",
    "Pair",
    "Plan",
    "PostProcessed",
    "PrivacyProfile",
    "PrivacyWarning",
    "PureDP",
    "Release",
    "SampleDesign",
    "SamplingAverage",
    "SamplingHistogram",
    "SamplingWinner",
    "SeededRandom",
    "SmoothNoise",
    "SmoothdpError",
    "SmoothedDP",
    "SmoothedDelta",
    "StrataDelta",
    "StratifiedHistogram",
    "SubsampledGaussian",
    "SystemRandom",
    "TradeoffFunction",
    "TruncatedCDP",
    "__version__",
    "collect_histogram",
    "collect_mean",
    "collect_share",
    "compose",
    "compose_smoothed",
    "count_column",
    "default_trim",
    "errors_by_epsilon",
    "errors_by_size",
    "guarantee_from_json",
    "interop",
    "largest_sample",
    "measure_histogram",
    "noise",
    "noise_table",
    "paper_bounds",
    "plan",
    "plan_from_json",
    "queries",
    "read_column",
    "release",
    "services",
    "shuffle",
    "smoothed_by_size",
    "smoothed_delta",
    "smoothed_delta_interval",
    "smoothed_strata",
    "smoothed_to_distributional",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"smoothdp.{name}")
    home = "smoothdp.version" if name == "__version__" else _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'smoothdp' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
