"""Every byte string of the second protocol: task, card, slot, report, batch, marks, secrets."""
