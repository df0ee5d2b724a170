"""The report about a protocol of the shuffle model: what an analyser learns from users."""

from __future__ import annotations

import math
from typing import Any

from smoothdp import paper_bounds
from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.shared_sections import (
    citation_section,
    curves_section,
    log_text,
    promise_section,
    reproduce_section,
    up,
)
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    RealSum,
    ZeroPreservingCount,
)
from smoothdp.shuffle.envelopes import RedrawnProfile
from smoothdp.shuffle.protocol import ShuffleProtocol
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE

PROTOCOLS = {
    "boolean-sum": BooleanSum,
    "real-sum": RealSum,
    "count": ZeroPreservingCount,
    "histogram": Histogram,
    "low-communication-histogram": LowCommunicationHistogram,
}
"""The protocols by the name that commands use."""
BINNED = ("histogram", "low-communication-histogram")
"""Those of which the size of the domain is asked."""
_FAILURE = "1/20"
_SHARES = (1.0, 0.9, 0.5, 0.1)


def report_protocol(
    name: str,
    n_users: int,
    *,
    guarantee: ApproxDP,
    n_bins: int | None = None,
    n_bits: int | None = None,
    honest_share: Parameter = DEFAULT_HONEST_SHARE,
    command: str = "smoothdp report",
) -> HtmlReport:
    """Return the page about a protocol, calibrated exactly.

    Args:
        name: one of `PROTOCOLS`.
        n_users, guarantee, n_bins, n_bits, honest_share: as the protocol's ``calibrate`` has them.
        command: what the reader types to get the same page.

    Raises:
        InvalidParameter: another name, options that do not belong to it, or too few users.
        MissingExtra: matplotlib is not installed.

    >>> from smoothdp.claims import ApproxDP
    >>> page = report_protocol("boolean-sum", 1000, guarantee=ApproxDP(1, delta="1e-6"))
    >>> page.html().startswith("<!doctype html>")
    True
    """
    if (name in BINNED) != (n_bins is not None) or (n_bits is not None and name != "real-sum"):
        raise InvalidParameter(
            expected="n_bins with the histograms alone, n_bits with the real sum alone",
            got=f"protocol {name!r}, n_bins={n_bins}, n_bits={n_bits}",
            remedy="Give n_bins for the histograms alone, and n_bits for the real sum alone",
        )
    wanted: dict[str, Any] = {"n_bins": n_bins, "n_bits": n_bits}
    options = {key: value for key, value in wanted.items() if value is not None}
    kind: Any = PROTOCOLS[name]
    protocol = kind.calibrate(n_users, guarantee=guarantee, honest_share=honest_share, **options)
    profile = protocol.profile()
    promise = promise_section(guarantee, delta_at_zero=profile.advantage_bound())
    promise.text(
        f"It holds {protocol.condition()}.",
        kind="caution",
    )
    inputs = Section("Inputs").table(
        [
            ("protocol", protocol.describe()),
            ("users", str(n_users)),
            ("a user sends", protocol.sent_words()),
            ("guarantee", repr(guarantee)),
            ("honest users counted on", str(protocol.honest_assumed)),
            *((key, str(value)) for key, value in options.items()),
        ],
        caption="What was asked, and the protocol that exact calibration found.",
    )
    error = protocol.error(_FAILURE)
    whose = "the protocol" if isinstance(profile, RedrawnProfile) else "the protocol, exact"
    python = (
        "import smoothdp as sd\n"
        f'guarantee = sd.ApproxDP("{guarantee.exact_epsilon}", delta="{guarantee.exact_delta}")\n'
        f"protocol = sd.shuffle.{kind.__name__}.calibrate({n_users}, guarantee=guarantee"
        + f', honest_share="{protocol.honest_share}"'
        + "".join(f", {key}={value}" for key, value in options.items())
        + f')\nprotocol.profile().log_delta(1), protocol.error("{_FAILURE}")'
    )
    return HtmlReport(
        title="What a protocol learns from users who trust nobody",
        lead=f"{protocol.describe()}.",
        sections=(
            inputs,
            promise,
            curves_section(
                {whose: profile, "the guarantee alone": guarantee},
                profile,
                largest_epsilon=max(1.5 * guarantee.epsilon, 0.05),
            ),
            _honest(protocol, guarantee),
            _comparison(name, protocol, guarantee, error),
            reproduce_section(command, python),
            citation_section([protocol.source, guarantee.source]),
        ),
        summary={
            "protocol": protocol.describe(),
            "n_users": n_users,
            "guarantee": guarantee.sentence(delta_at_zero=profile.advantage_bound()),
            "error_95": error,
            "delta": profile.delta(guarantee.exact_epsilon),
        },
    )


def _honest(protocol: ShuffleProtocol[Any, Any], guarantee: ApproxDP) -> Section:
    """Return what is left of the promise when users lie, stay away or collude."""
    rows = []
    for share in _SHARES:
        honest = max(1, math.floor(protocol.n_users * share))
        profile = protocol.profile(n_honest=honest)
        rows.append(
            (
                f"{100 * share:g}% of the users: {honest}",
                log_text(profile.log_delta(guarantee.exact_epsilon)),
            )
        )
    # One user alone: nobody else hides them.
    alone = protocol.local_profile().log_delta(guarantee.exact_epsilon)
    rows.append(("one, or the shuffler colludes", log_text(alone)))
    section = Section("If users lie, or the shuffler does").table(
        rows,
        header=("users who follow the protocol", f"delta at epsilon = {up(guarantee.epsilon)}"),
        caption="The exact delta for an honest user when the others send anything, or nothing, "
        "and tell the analyser; rounded up.",
    )
    if protocol.n_users == 1:
        return section
    return section.text(protocol.liars_sentence(), kind="caution")


def _comparison(name: str, protocol: Any, guarantee: ApproxDP, error: float) -> Section:
    """Return the noise and error beside published bounds, and the local and central models."""
    n, epsilon, delta = protocol.n_users, guarantee.exact_epsilon, guarantee.exact_delta
    section = Section("Beside ordinary DP and the bounds of the papers")
    if name in ("boolean-sum", "real-sum"):
        rows = [("exact", up(float(protocol.expected_random_users)), "proved, the least found")]
        target: dict[str, Any] = {"n_users": n, "epsilon": epsilon, "delta": delta}
        if name == "boolean-sum":
            rows += [
                (label, _try(bound, **target), verdict)
                for label, bound, verdict in (
                    ("clones (2023)", paper_bounds.clones_random_users, "holds, loose"),
                    ("Cheu et al. (2019)", paper_bounds.cheu_random_users, "holds, loose"),
                    ("paper 5", paper_bounds.chen_long_random_users, "false in general"),
                )
            ]
        header = ("expected users who answer at random", "value", "what it is")
    else:
        kind: Any = type(protocol)
        more: dict[str, Any] = {"n_bins": protocol.n_bins} if name in BINNED else {}
        rare = name == "low-communication-histogram"
        gamma = protocol.noise_probability if rare else protocol.omission_probability
        rows = [("exact", up(float(n * gamma)), "proved, the least found")]
        try:
            more["honest_share"] = protocol.honest_share
            paper = kind.calibrate(n, guarantee=guarantee, method="paper", **more)
            gamma = paper.noise_probability if rare else paper.omission_probability
            rows.append(("paper 3", up(float(n * gamma)), "holds, loose"))
        except SmoothdpError as reason:
            rows.append(("paper 3", "none", str(reason)))
        done = "sent" if rare else "omitted"
        header = (f"expected noise bits {done} a bin", "value", "what it is")
    section.table(rows, header=header, caption="How much noise the users add, by several bounds.")
    local, central = _other_models(name, n, guarantee.epsilon)
    unit = "users" if name != "real-sum" else "in units of one user's largest value"
    return section.table(
        [
            ("this protocol", f"{error:.4g}", "users need no trusted curator"),
            ("local model, a randomised bit", f"{local:.4g}", "no shuffler either"),
            ("central model, Laplace noise", f"{central:.4g}", "a curator sees all data"),
        ],
        header=("error that 95% of the runs keep", unit, "what it is"),
        caption="Ordinary differential privacy at the same epsilon, with less trust and with more; "
        "of a histogram, for one bin.",
    )


def _other_models(name: str, n: int, epsilon: float) -> tuple[float, float]:
    """Return the 95% error of randomised bits without a shuffler, and of a trusted curator."""
    if epsilon == 0:
        return math.inf, math.inf
    # A user has a bit in each bin, and changing a value changes two of them.
    changed_bins = 2 if name in BINNED else 1
    e = math.exp(min(epsilon, 600.0) / changed_bins)
    variance = n * e / (e - 1) ** 2
    if name == "real-sum":
        variance = n / 4 * ((e + 1) / (e - 1)) ** 2
    return 1.96 * math.sqrt(variance), -math.log(0.05) * changed_bins / epsilon


def _try(bound: Any, **target: Any) -> str:
    try:
        return up(bound(**target))
    except SmoothdpError:
        return "none"
