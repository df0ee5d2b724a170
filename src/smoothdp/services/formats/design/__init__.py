"""What a task is made of: its fields, what they may be, the protocols and their calibration."""
