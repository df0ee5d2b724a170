"""Divergences of a law from its shifted and dilated copy, certified in balls."""
