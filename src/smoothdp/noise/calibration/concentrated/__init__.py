"""The largest shift in concentrated DP: an estimate in floats, a certificate in balls."""
