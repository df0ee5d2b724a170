"""A program that stops at a point of a test."""

from __future__ import annotations


class Stopped(Exception):
    """As if the power had gone."""
