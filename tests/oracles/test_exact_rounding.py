from __future__ import annotations


def test_place() -> None:
    assert True
