"""What is proved about noise under smooth sensitivity: papers 2 and 4, pure DP, lower bounds."""

from __future__ import annotations

from smoothdp.noise.theorems.closed_form import closed_form_shift
from smoothdp.noise.theorems.lower_bounds import (
    log_tail_lower_bound,
    tail_lower_bound,
    variance_lower_bound,
)
from smoothdp.noise.theorems.paper import paper_shift
from smoothdp.noise.theorems.pure import pure_shift
from smoothdp.noise.theorems.shapes import best_degrees, best_laplace_log_normal_sigma

__all__ = [
    "best_degrees",
    "best_laplace_log_normal_sigma",
    "closed_form_shift",
    "log_tail_lower_bound",
    "paper_shift",
    "pure_shift",
    "tail_lower_bound",
    "variance_lower_bound",
]
