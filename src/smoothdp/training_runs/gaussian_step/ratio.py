"""What integrals along lines ask of a likelihood ratio to the standard normal law.

R(y) = sum p_i e^(m_i y - m_i^2 / 2), m_i >= 0, p_i > 0, is a sum of exponentials. For
0 <= m s <= pi, m the largest m_i: |R(y + is)| falls in s, arg R(y + is) is in [0, m s]
(proofs/mixtures-of-gaussians#4).
"""

from __future__ import annotations

from typing import Protocol

from smoothdp.training_runs.gaussian_step.path_panels import Branch, PanelRow
from smoothdp.types import FloatArray


class Ratio(Protocol):
    """ln R off the real line, with its error, and what integrals of N R^w leave out."""

    @property
    def m(self) -> float:
        """The largest shift."""

    def log_ratio(self, y: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln |R| and arg R at y + i s."""

    def log_real_ratio(self, y: FloatArray) -> FloatArray:
        """Return ln R at real y, within `loss_error`."""

    def loss_error(self, y: FloatArray, s: FloatArray, log_size: FloatArray) -> FloatArray:
        """Return a bound of the error of ln R."""

    def log_left(self, power: float, low: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N R^w| below a point, where ln R is given."""

    def log_right(self, power: float, high: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N R^w| above a point, where ln |R| is given."""

    def beyond(self, branch: Branch, row: PanelRow, log_mgf: float) -> float:
        """Return a bound of the integral beyond the points of a row."""
