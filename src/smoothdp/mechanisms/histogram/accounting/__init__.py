"""The exact delta(x) of sampled histograms: sums over lines and planes of counts."""
