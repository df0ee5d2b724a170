"""What a statistic errs under an assumption: simulated samples, clamping, and noise."""
