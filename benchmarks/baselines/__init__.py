"""What users would pick instead, in floats: for comparing errors, not for releasing anything.

All are about replacing one record, n public, as smoothdp's statistics are.
"""
