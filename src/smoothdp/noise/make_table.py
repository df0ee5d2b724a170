"""Make `calibration/table.json`: ``python -m smoothdp.noise.make_table`` (some minutes)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from smoothdp import noise
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.noise import calibration
from smoothdp.noise.calibration.proved_claim import compute_claim
from smoothdp.noise.calibration.shapes import compute_shape
from smoothdp.noise.calibration.shipped_claims import FILE, make_entry
from smoothdp.noise.law import NoiseDistribution

Row = tuple[type[NoiseDistribution], Guarantee, Fraction]


def rows() -> Iterator[Row]:
    """Yield each family with the guarantees and smoothings that it names (`_shipped_targets`)."""
    for name in noise.__all__:
        family = getattr(noise, name)
        if isinstance(family, type) and issubclass(family, NoiseDistribution):
            for guarantee, smoothing in family._shipped_targets():
                yield family, guarantee, smoothing


def main() -> None:
    """Write the table beside the code that reads it."""
    made = []
    for family, guarantee, smoothing in rows():
        law = compute_shape(family, guarantee, smoothing)
        claim = compute_claim(law, guarantee, smoothing)
        made.append(asdict(make_entry(law, guarantee, smoothing, claim)))
        print(f"{law!r} {guarantee!r} {smoothing}: {claim.reason}", file=sys.stderr)
    text = json.dumps({"entries": made}, indent=1)
    Path(calibration.__path__[0], FILE).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
