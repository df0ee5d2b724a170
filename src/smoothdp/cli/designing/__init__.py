"""The command that designs a sample, or a step of training, before it is drawn."""
