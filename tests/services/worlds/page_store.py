"""What the poll page keeps in its browser, for programs of its own."""

from __future__ import annotations

# Two people of whom each may have answered in two windows, and what is known of one pass.
STORE = """
const { outcomes, placeOf, toHex } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
const at = (window, invitation, pass) =>
  placeOf({ task: { proof: "slots" }, taskId: "task", window, invitation, pass });
const draw = async (...where) => {
  const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
  return outcomes.keep(await at(...where), { row, signed: of(4) }, { most: 1 })
    .then(() => "", (error) => error.message);
};
"""
