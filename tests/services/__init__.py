"""The services: formats, replay, minimum batch, crashes, metadata, privacy, operations.

Tests are numbered as in docs/service-tests.md.
"""
