"""Noise laws at unit scale, for noise scaled to smooth sensitivity.

One file per law. Each is a `NoiseDistribution`: density, distribution function, quantiles
and moments in floats, and certified divergences from its own shifted and dilated copies.
`NoiseDistribution.calibrate` returns the `Calibration` for a guarantee; the lower bounds say
what no noise can beat.
"""

from __future__ import annotations

from smoothdp.noise.calibration import Calibration
from smoothdp.noise.calibration.lower_bounds import tail_lower_bound, variance_lower_bound
from smoothdp.noise.joint.joint_poly_place import JointCalibration, JointPolyPlace
from smoothdp.noise.joint.max_law import MaxLaw
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.arsinh_normal import ArsinhNormal
from smoothdp.noise.laws.gaussian import Gaussian
from smoothdp.noise.laws.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.laws.laplace import Laplace
from smoothdp.noise.laws.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.laws.log1p_normal import Log1pNormal
from smoothdp.noise.laws.poly_place import PolyPlace
from smoothdp.noise.laws.student_t import StudentT
from smoothdp.noise.laws.uniform_log_normal import UniformLogNormal
from smoothdp.noise.specification import ParameterSpec

__all__ = [
    "ArsinhNormal",
    "Calibration",
    "Gaussian",
    "GeneralizedCauchy",
    "JointCalibration",
    "JointPolyPlace",
    "Laplace",
    "LaplaceLogNormal",
    "Log1pNormal",
    "MaxLaw",
    "NoiseDistribution",
    "ParameterSpec",
    "PolyPlace",
    "StudentT",
    "UniformLogNormal",
    "tail_lower_bound",
    "variance_lower_bound",
]

LAWS: tuple[type[NoiseDistribution], ...] = tuple(
    law
    for name in __all__
    if isinstance(law := globals()[name], type)
    and issubclass(law, NoiseDistribution)
    and law is not NoiseDistribution
)
"""The laws among these names: whoever asks for all laws walks this list."""
