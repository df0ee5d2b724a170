"""Attacks of time: crashes, losses, older copies, clocks, disks, and what is erased."""
