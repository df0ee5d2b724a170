"""smoothdp: differential privacy beyond the worst case.

Measure how private a release is that adds no noise, because sampling already did; release
statistics with noise scaled to smooth sensitivity; collect sums and histograms through a shuffler.

The names of daily use are here, all others in their rooms: `smoothdp.noise.StudentT`,
`smoothdp.errors.InvalidData`. A name is loaded on its first use: importing smoothdp loads neither
numpy, scipy, flint nor matplotlib.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pkgutil import get_data
from types import CodeType
from typing import TYPE_CHECKING, Any

# The one list of public names: type checkers read it as it stands, `_homes` does at run time.
if TYPE_CHECKING:
    from smoothdp import (
        claims as claims,
        composition as composition,
        data as data,
        design as design,
        engines as engines,
        errors as errors,
        interop as interop,
        keys as keys,
        ledger as ledger,
        mechanisms as mechanisms,
        noise as noise,
        paper_bounds as paper_bounds,
        papers as papers,
        planning as planning,
        plots as plots,
        queries as queries,
        report as report,
        selection as selection,
        services as services,
        shuffle as shuffle,
        smoothed as smoothed,
        tables as tables,
        testing as testing,
        training_runs as training_runs,
    )
    from smoothdp.claims import (
        ZCDP as ZCDP,
        ApproxDP as ApproxDP,
        DataModel as DataModel,
        GaussianDP as GaussianDP,
        Pair as Pair,
        PureDP as PureDP,
        SmoothedDP as SmoothedDP,
        TradeoffFunction as TradeoffFunction,
        TruncatedCDP as TruncatedCDP,
        guarantee_from_json as guarantee_from_json,
    )
    from smoothdp.composition import (
        Parallel as Parallel,
        attacks as attacks,
        calibrate as calibrate,
        compose as compose,
        split_budget as split_budget,
    )
    from smoothdp.data import (
        read_column as read_column,
    )
    from smoothdp.design import (
        sgd_step_delta as sgd_step_delta,
    )
    from smoothdp.design.rate_design import (
        rate_design as rate_design,
    )
    from smoothdp.exact.random.entropy import (
        SeededRandom as SeededRandom,
        SystemRandom as SystemRandom,
    )
    from smoothdp.ledger import (
        Ledger as Ledger,
    )
    from smoothdp.mechanisms import (
        BernoulliHistogram as BernoulliHistogram,
        DiscreteGaussianMechanism as DiscreteGaussianMechanism,
        DiscreteLaplaceMechanism as DiscreteLaplaceMechanism,
        ExponentialQuantile as ExponentialQuantile,
        GaussianMechanism as GaussianMechanism,
        JointExponentialQuantiles as JointExponentialQuantiles,
        LaplaceMechanism as LaplaceMechanism,
        NoisySamplingHistogram as NoisySamplingHistogram,
        PostProcessed as PostProcessed,
        SamplingAverage as SamplingAverage,
        SamplingHistogram as SamplingHistogram,
        SamplingWinner as SamplingWinner,
        release as release,
    )
    from smoothdp.planning import (
        plan as plan,
        plan_collect as plan_collect,
    )
    from smoothdp.selection import (
        BestOf as BestOf,
        FixedCount as FixedCount,
        NegativeBinomialCount as NegativeBinomialCount,
        PoissonCount as PoissonCount,
    )
    from smoothdp.smoothed import (
        smoothed_delta as smoothed_delta,
    )
    from smoothdp.tables import (
        Person as Person,
    )
    from smoothdp.tables.release_table import (
        release_table as release_table,
    )
    from smoothdp.training_runs import (
        MixtureOfGaussians as MixtureOfGaussians,
        Subsampled as Subsampled,
        SubsampledGaussian as SubsampledGaussian,
        training as training,
    )
    from smoothdp.version import (
        __version__ as __version__,
    )


def _homes() -> dict[str, str]:
    """Return where each name of the list above lives: from its text, or where there is no text
    (an installation of bytecode alone), from the bytecode of this file."""
    try:
        tree = ast.parse(get_data(__name__, "__init__.py") or b"")
    except OSError:
        return _homes_in(sys._getframe(1).f_code)
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == __name__
        for alias in node.names
        if node.module
    }


def _homes_in(code: CodeType) -> dict[str, str]:
    import dis

    homes, module = {}, ""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            module = str(instruction.argval)
        elif instruction.opname == "IMPORT_FROM" and module.split(".")[0] == __name__:
            homes[str(instruction.argval)] = module
    return homes


_HOMES = _homes()

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        # Names that begin with _ are in no room, and many libraries ask for theirs.
        rooms = [room for room in _HOMES if not name.startswith("_") and _is_named(room, name)]
        where = f"; it is smoothdp.{rooms[0]}.{name}" if rooms else ""
        raise AttributeError(f"module 'smoothdp' has no attribute {name!r}{where}")
    home = import_module(_HOMES[name]) if _HOMES[name] != __name__ else None
    if home is None or not hasattr(home, name):
        value: Any = import_module(f"{_HOMES[name]}.{name}")
    else:
        value = getattr(home, name)
    globals()[name] = value
    return value


def _is_named(room: str, name: str) -> bool:
    """Whether a room exports a name: read from its file, so that nothing is loaded to say so."""
    if _HOMES[room] != __name__:
        return False
    for file in (f"{room}/__init__.py", f"{room}.py"):
        try:
            text = get_data(__name__, file) or b""
        except OSError:
            continue
        if f'    "{name}",\n'.encode() in text:
            return True
    return False


def __dir__() -> list[str]:
    return __all__
