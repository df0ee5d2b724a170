"""The shuffler: takes reports, mixes the windows that are over, hands batches over."""
