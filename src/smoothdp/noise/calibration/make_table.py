"""Make `table.json`: ``python -m smoothdp.noise.calibration.make_table`` (some minutes)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.noise.arsinh_normal import ArsinhNormal
from smoothdp.noise.calibration.calibrate import compute_claim
from smoothdp.noise.calibration.shapes import compute_shape
from smoothdp.noise.calibration.table import FILE, make_entry
from smoothdp.noise.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.log1p_normal import Log1pNormal
from smoothdp.noise.poly_place import PolyPlace
from smoothdp.noise.student_t import StudentT
from smoothdp.noise.uniform_log_normal import UniformLogNormal

Row = tuple[type[NoiseDistribution], Guarantee, Fraction]


def rows() -> Iterator[Row]:
    """Yield families, guarantees and smoothings: the defaults, on a grid of epsilon and t."""
    for epsilon in ("1/10", "1/5", "1/2", "1", "2"):
        e = Fraction(epsilon)
        for ratio in ("1/50", "1/20", "1/10", "1/5", "3/10", "1/2"):
            yield ArsinhNormal, ZCDP(e * e / 2), e * Fraction(ratio)
        # Releases of small data come out at 11/20 and 3/5.
        for ratio in ("11/20", "3/5", "7/10", "1"):
            yield Log1pNormal, ZCDP(e * e / 2), e * Fraction(ratio)
        for ratio in ("1/20", "1/10", "1/5"):
            yield PolyPlace, ApproxDP(e, delta="1e-6"), e * Fraction(ratio)
    # The example of `smoothdp noise`.
    for family in (PolyPlace, StudentT, GeneralizedCauchy, UniformLogNormal, LaplaceLogNormal):
        yield family, ZCDP(Fraction(1, 2)), Fraction(1, 10)
    yield Log1pNormal, ZCDP(Fraction(1, 2)), Fraction(1, 10)


def main() -> None:
    """Write the table beside this file."""
    made = []
    for family, guarantee, smoothing in rows():
        law = compute_shape(family, guarantee, smoothing)
        claim = compute_claim(law, guarantee, smoothing)
        made.append(asdict(make_entry(law, guarantee, smoothing, claim)))
        print(f"{law!r} {guarantee!r} {smoothing}: {claim.reason}", file=sys.stderr)
    text = json.dumps({"entries": made}, indent=1)
    Path(__file__).with_name(FILE).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
