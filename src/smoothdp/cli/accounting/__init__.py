"""`smoothdp account`: ledgers, and what a training run costs."""
