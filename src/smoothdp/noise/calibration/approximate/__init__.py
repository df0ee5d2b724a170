"""The largest shift in approximate DP, and the privacy profile of a release."""
