"""Reading byte strings of the protocol: numbers big-endian, vec(x) = u16 length, x; no rest."""

from __future__ import annotations

VERSION = 2
"""The first byte of every message of the protocol."""
HASH_BYTES = 32


class DecodeError(Exception):
    """Bytes that are no message of this format: nothing of them is used."""


class Reader:
    """Takes a byte string apart from its start, and refuses a short one or a rest.

    >>> reader = Reader(bytes.fromhex("02 0001 ff"))
    >>> reader.number(1), reader.vec(), reader.end()
    (2, b'\\xff', None)
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, length: int) -> bytes:
        """Return the next bytes, or raise DecodeError."""
        taken = self._data[self._at : self._at + length]
        if len(taken) != length:
            raise DecodeError("too short")
        self._at += length
        return taken

    def number(self, length: int) -> int:
        """Return the next number of so many bytes, or raise DecodeError."""
        return int.from_bytes(self.take(length), "big")

    def vec(self) -> bytes:
        """Return the next bytes that say their own length, or raise DecodeError."""
        return self.take(self.number(2))

    def version(self) -> None:
        """Raise DecodeError unless the next byte is the version of this protocol."""
        if self.number(1) != VERSION:
            raise DecodeError("another version")

    def end(self) -> None:
        """Raise DecodeError if anything is left."""
        if self._at != len(self._data):
            raise DecodeError("too long")


def vec(data: bytes) -> bytes:
    """Return the bytes after their length.

    >>> vec(b"ab")
    b'\\x00\\x02ab'
    """
    return len(data).to_bytes(2, "big") + data
