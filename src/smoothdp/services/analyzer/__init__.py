"""The analyser: takes batches, opens and counts them, charges the ledger, releases."""
