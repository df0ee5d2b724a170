"""What the histogram solves with few samples (section 3.3 of paper 3), and pure privacy (4)."""
