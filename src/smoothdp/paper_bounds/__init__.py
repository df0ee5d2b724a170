"""Closed-form bounds of the five papers, by name; each docstring says whether the bound holds.

Bounds that fail in general as printed say so and are named as printed, or ``*_as_printed``; the
others are proved, and rounded so that they stay true as floats. What may underflow is a `Bound`:
a float whose ``.log`` is its natural logarithm, rounded the same way.
"""

from smoothdp.paper_bounds.balcer_cheu import (
    balcer_cheu_error,
    balcer_cheu_omission,
    balcer_cheu_omission_all_epsilon,
    balcer_cheu_smooth,
    balcer_cheu_users,
)
from smoothdp.paper_bounds.bound import Bound
from smoothdp.paper_bounds.bun_steinke import (
    bun_steinke_lemma_33,
    bun_steinke_proposition_5,
    bun_steinke_proposition_35,
    bun_steinke_proposition_36,
    bun_steinke_proposition_39,
    bun_steinke_proposition_39_improved,
    bun_steinke_section_3_1_1,
    bun_steinke_section_3_5,
    bun_steinke_theorem_18,
    bun_steinke_theorem_22,
    bun_steinke_theorem_22_improved,
    bun_steinke_theorem_25,
    bun_steinke_theorem_31,
    bun_steinke_theorem_31_improved,
    bun_steinke_theorem_34,
)
from smoothdp.paper_bounds.chen_long import (
    chen_long_delta,
    chen_long_mu,
    chen_long_random_users,
    chen_long_tradeoff,
)
from smoothdp.paper_bounds.cheu import (
    cheu_choice,
    cheu_delta,
    cheu_epsilon,
    cheu_fixed_set_epsilon,
    cheu_random_users,
)
from smoothdp.paper_bounds.clones import (
    blanket_delta,
    clones_2021_delta,
    clones_delta,
    clones_random_users,
)
from smoothdp.paper_bounds.hladik_tetek import (
    hladik_tetek_claim_16,
    hladik_tetek_claim_16_loss,
    hladik_tetek_claim_16_loss_improved,
    hladik_tetek_claim_17,
    hladik_tetek_claim_18,
    hladik_tetek_lemma_13,
    hladik_tetek_theorem_8,
)
from smoothdp.paper_bounds.liu.lower import (
    liu_exact_lower,
    liu_theorem_3_dp,
    liu_theorem_3_lower,
    liu_theorem_4,
)
from smoothdp.paper_bounds.liu.printed import (
    liu_inequality_7,
    liu_remark_8,
    liu_table_1_as_printed,
    liu_theorem_5_as_printed,
)
from smoothdp.paper_bounds.liu.replacement import (
    liu_theorem_5_dp,
    liu_theorem_5_dp_lower,
    liu_theorem_5_smoothed_upper,
    liu_theorem_5_upper,
)
from smoothdp.paper_bounds.liu.table_1 import liu_table_1
from smoothdp.paper_bounds.liu.upper import (
    liu_all_epsilon_smoothed_upper,
    liu_all_epsilon_upper,
    liu_kl_smoothed_upper,
    liu_kl_upper,
)
from smoothdp.paper_bounds.liu.utility import (
    liu_corollary_3,
    liu_inequality_2,
    liu_lemma_1,
    liu_lemma_2,
    liu_lemma_10,
)

__all__ = [
    "Bound",
    "balcer_cheu_error",
    "balcer_cheu_omission",
    "balcer_cheu_omission_all_epsilon",
    "balcer_cheu_smooth",
    "balcer_cheu_users",
    "blanket_delta",
    "bun_steinke_lemma_33",
    "bun_steinke_proposition_5",
    "bun_steinke_proposition_35",
    "bun_steinke_proposition_36",
    "bun_steinke_proposition_39",
    "bun_steinke_proposition_39_improved",
    "bun_steinke_section_3_1_1",
    "bun_steinke_section_3_5",
    "bun_steinke_theorem_18",
    "bun_steinke_theorem_22",
    "bun_steinke_theorem_22_improved",
    "bun_steinke_theorem_25",
    "bun_steinke_theorem_31",
    "bun_steinke_theorem_31_improved",
    "bun_steinke_theorem_34",
    "chen_long_delta",
    "chen_long_mu",
    "chen_long_random_users",
    "chen_long_tradeoff",
    "cheu_choice",
    "cheu_delta",
    "cheu_epsilon",
    "cheu_fixed_set_epsilon",
    "cheu_random_users",
    "clones_2021_delta",
    "clones_delta",
    "clones_random_users",
    "hladik_tetek_claim_16",
    "hladik_tetek_claim_16_loss",
    "hladik_tetek_claim_16_loss_improved",
    "hladik_tetek_claim_17",
    "hladik_tetek_claim_18",
    "hladik_tetek_lemma_13",
    "hladik_tetek_theorem_8",
    "liu_all_epsilon_smoothed_upper",
    "liu_all_epsilon_upper",
    "liu_corollary_3",
    "liu_exact_lower",
    "liu_inequality_2",
    "liu_inequality_7",
    "liu_kl_smoothed_upper",
    "liu_kl_upper",
    "liu_lemma_1",
    "liu_lemma_2",
    "liu_lemma_10",
    "liu_remark_8",
    "liu_table_1",
    "liu_table_1_as_printed",
    "liu_theorem_3_dp",
    "liu_theorem_3_lower",
    "liu_theorem_4",
    "liu_theorem_5_as_printed",
    "liu_theorem_5_dp",
    "liu_theorem_5_dp_lower",
    "liu_theorem_5_smoothed_upper",
    "liu_theorem_5_upper",
]
