"""What the poll page keeps in its browser, for programs of its own."""

from __future__ import annotations

# Draws of people by window, invitation and pass; `paid` windows are paid, one unless it is set.
STORE = """
let paid = 1;
const { outcomes, placeOf, toHex } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
const at = (window, invitation, pass) =>
  placeOf({ task: { proof: "slots" }, taskId: "task", window, invitation, pass });
const draw = async (...where) => {
  const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
  return outcomes.keep(await at(...where), { row, signed: of(4) }, { most: paid })
    .then(() => "", (error) => error.message);
};
"""
