"""Randomness that is a function of a key, a collection and a user: the same however often it runs.

An engine runs a task again when a machine is lost, and a lazy frame whenever it is read; fresh
randomness would then randomise the same person twice, which is a second disclosure. Whoever
has the key can undo the noise: keep it as the data are kept, and destroy it afterwards.

Source: a pseudorandom function in counter mode; keyed BLAKE2b (RFC 7693).
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.types import WordArray

KEY_BYTES = 32
_BLOCK_BYTES = 64
_WORD = struct.Struct("<Q")
_PERSON = b"smoothdp rows"


def new_key() -> bytes:
    """Return a key of the operating system's generator."""
    return secrets.token_bytes(KEY_BYTES)


def check_key(key: bytes) -> bytes:
    """Return a key of 32 bytes, or raise InvalidParameter."""
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise InvalidParameter(
            expected=f"a key of {KEY_BYTES} bytes",
            got=type(key).__name__,
            remedy="Make a key with keyed_random.new_key()",
        )
    return key


def user_bytes(user: Any) -> bytes:
    """Return a user's name as bytes: whole numbers, texts and bytes never coincide.

    >>> user_bytes(7), user_bytes("7"), user_bytes(np.int32(7))
    (b'i7', b's7', b'i7')
    """
    if isinstance(user, int | np.integer) and not isinstance(user, bool):
        return b"i%d" % int(user)
    if isinstance(user, str):
        return b"s" + user.encode("utf-8", "surrogatepass")
    if isinstance(user, bytes | bytearray):
        return b"b" + bytes(user)
    raise InvalidData(
        expected="users named by whole numbers, texts or bytes",
        got=f"one of type {type(user).__name__}",
        remedy="Give every user a number or a text as name",
    )


def _base(key: bytes, collection: bytes) -> Any:
    if not isinstance(collection, bytes) or not collection:
        raise InvalidParameter(
            expected="collection, the bytes that name one",
            got="none" if isinstance(collection, bytes) else type(collection).__name__,
            remedy="Use collection.noise_name: without it, the noise of two collections cancels",
        )
    base = hashlib.blake2b(key=check_key(key), digest_size=_BLOCK_BYTES, person=_PERSON)
    # Its length first: no name continues another.
    base.update(_WORD.pack(len(collection)) + collection)
    return base


def keyed_words(users: Iterable[Any], *, key: bytes, collection: bytes) -> WordArray:
    """Return the first 64-bit word of each user, an array: what `KeyedRandom.bits(64)` starts with.

    >>> words = keyed_words(["ann", "bob"], key=b"k" * 32, collection=b"tea, 2026")
    >>> int(words[1]) == KeyedRandom(b"k" * 32, collection=b"tea, 2026", user="bob").bits(64)
    True
    """
    base, tail = _base(key, collection), _WORD.pack(0)
    words = bytearray()
    for user in users:
        one = base.copy()
        one.update(tail + user_bytes(user))
        words += one.digest()[:8]
    return np.frombuffer(bytes(words), dtype="<u8").astype(np.uint64)


class KeyedRandom:
    """The random bits of one user in one collection, as `Entropy`: for any protocol's `randomize`.

    Args:
        key: 32 bytes, secret.
        collection: what the bits are for, as `collection.noise_name` says it: another name gives
            independent bits, and the same one the same bits, which must not be used twice.
        user: the name of the user: a whole number, a text or bytes.
    """

    __slots__ = ("_base", "_block", "_rest", "_user")

    def __init__(self, key: bytes, *, collection: bytes, user: Any) -> None:
        self._base = _base(key, collection)
        self._user = user_bytes(user)
        self._block = 0
        self._rest = b""

    @property
    def is_private(self) -> bool:
        """True: nobody without the key can reproduce the bits."""
        return True

    def bits(self, n: int) -> int:
        """Return an integer of n bits, the next of this user."""
        size = -(-n // 8)
        while len(self._rest) < size:
            one = self._base.copy()
            one.update(_WORD.pack(self._block) + self._user)
            self._rest += one.digest()
            self._block += 1
        taken, self._rest = self._rest[:size], self._rest[size:]
        return int.from_bytes(taken, "little") & ((1 << n) - 1)

    def below(self, n: int) -> int:
        """Return an integer in [0, n), uniform by rejection."""
        size = n.bit_length()
        while True:
            value = self.bits(size)
            if value < n:
                return value
