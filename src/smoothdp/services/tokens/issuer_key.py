"""The issuer's key of one task and window: RSA of 2,048 bits, e = 65537.

The library has no RSA without padding, so the private operation is here. With gmpy2 its powers
are those of GMP's ``mpz_powm_sec``, whose time and memory access depend on lengths alone; what
is left (reductions, one inverse) works on numbers that a fresh random factor hides. Without
gmpy2 Python's ``pow`` shows its exponents by time: only the 64 random bits in each exponent
and the factor stand against that. Attacks through a cache that others share stay possible.

With gmpy2 other threads run while a power is computed, so that as many signatures are made at a
time as the process has cores.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import cast

from cryptography.hazmat.primitives.asymmetric import rsa

from smoothdp.errors import InvalidParameter
from smoothdp.services.tokens.refusals import TokenRefused

_Power = Callable[[int, int, int], int]

try:
    import gmpy2
except ImportError:
    _power: _Power = pow
    _shown_power: _Power = pow
    _number: Callable[[int], int] = int
    HARDENED = False
else:

    def _power(base: int, exponent: int, modulus: int) -> int:
        """Return a power of which something is secret; its time depends on lengths alone."""
        with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
            return cast("int", gmpy2.powmod_sec(base, exponent, modulus))

    _shown_power = cast("_Power", gmpy2.powmod)
    _number = cast("Callable[[int], int]", gmpy2.mpz)
    HARDENED = True
"""Whether the private powers take a time that does not depend on the key: gmpy2 is there."""

EXPONENT = 65537
_EXPONENT = _number(EXPONENT)
MODULUS_BITS = 2048
MODULUS_BYTES = MODULUS_BITS // 8
PRIME_BYTES = MODULUS_BYTES // 2
EXPONENT_BLINDING_BITS = 64

# SubjectPublicKeyInfo of RSASSA-PSS with SHA-384, MGF1 with SHA-384 and a salt of 48 bytes
# (RFC 9578, section 8.2.2), up to the modulus: for this length every byte is fixed.
_PREFIX = bytes.fromhex(
    "30820152"  # SEQUENCE
    "303d06092a864886f70d01010a3030"  # id-RSASSA-PSS, its parameters
    "a00d300b0609608648016503040202"  # hash: SHA-384
    "a11a301806092a864886f70d010108300b0609608648016503040202"  # mask: MGF1 with SHA-384
    "a203020130"  # salt: 48
    "0382010f00"  # BIT STRING
    "3082010a0282010100"  # SEQUENCE, INTEGER with a leading zero
)
_SUFFIX = bytes.fromhex("0203010001")
SPKI_BYTES = len(_PREFIX) + MODULUS_BYTES + len(_SUFFIX)


@dataclass(frozen=True)
class IssuerPublicKey:
    """What a token is checked with, and all that a client can check of it.

    A client cannot see whether n has two large primes. It need not: `blind` refuses a message
    or factor that has a divisor in common with n, and `finalize` an answer that is no e-th
    root, so no key makes tokens that lead back to their request.

    Args:
        n: the modulus, odd and of exactly 2,048 bits.

    Raises:
        TokenRefused: another modulus.

    >>> key = IssuerKey.generate().public
    >>> IssuerPublicKey.from_spki(key.spki) == key, len(key.spki), key.e
    (True, 342, 65537)
    """

    n: int

    def __post_init__(self) -> None:
        if type(self.n) is not int or self.n.bit_length() != MODULUS_BITS or self.n % 2 == 0:
            raise TokenRefused(
                expected=f"an odd modulus of {MODULUS_BITS} bits",
                got="another one",
                remedy="Take part in the next window, and tell who made this key",
            )

    @property
    def e(self) -> int:
        """The public exponent, 65537 for every key."""
        return EXPONENT

    @classmethod
    def from_spki(cls, spki: bytes) -> IssuerPublicKey:
        """Return the key of a SubjectPublicKeyInfo (RFC 9578, section 8.2.2), 342 bytes.

        Raises:
            TokenRefused: another length, algorithm, hash, salt or exponent, an even modulus, or
                one that has not 2,048 bits.
        """
        if len(spki) != SPKI_BYTES or not spki.startswith(_PREFIX) or not spki.endswith(_SUFFIX):
            raise TokenRefused(
                expected="an RSASSA-PSS key with SHA-384, a salt of 48 bytes and e = 65537",
                got=f"another key, of {len(spki)} bytes",
                remedy="Take part in the next window, and tell who made this key",
            )
        return cls(int.from_bytes(spki[len(_PREFIX) : -len(_SUFFIX)], "big"))

    @cached_property
    def spki(self) -> bytes:
        """The key as SubjectPublicKeyInfo, 342 bytes."""
        return _PREFIX + self.n.to_bytes(MODULUS_BYTES, "big") + _SUFFIX

    @cached_property
    def library_key(self) -> rsa.RSAPublicKey:
        """The same key in the library, which verifies with it."""
        return rsa.RSAPublicNumbers(EXPONENT, self.n).public_key()


@dataclass(frozen=True, repr=False)
class IssuerKey:
    """What tokens are signed with. Its representation does not show it.

    Args:
        p, q: the primes, of 1,024 bits each, p > q.

    Raises:
        InvalidParameter: numbers that are no such key.

    >>> key = IssuerKey.generate()
    >>> key
    IssuerKey(not shown)
    >>> request = pow(1234567, 65537, key.public.n).to_bytes(256, "big")
    >>> int.from_bytes(key.sign(request), "big")
    1234567
    >>> IssuerKey.from_bytes(key.to_bytes()).public == key.public
    True
    """

    p: int = field(repr=False)
    q: int = field(repr=False)

    def __post_init__(self) -> None:
        prime_bits = {self.p.bit_length(), self.q.bit_length()}
        unit = gcd(EXPONENT, (self.p - 1) * (self.q - 1)) == 1
        if (
            prime_bits != {8 * PRIME_BYTES}
            or not unit
            or self.p <= self.q
            or (self.p * self.q).bit_length() != MODULUS_BITS
        ):
            raise InvalidParameter(
                expected=f"two primes of {8 * PRIME_BYTES} bits that suit e = {EXPONENT}",
                got="other numbers",
                remedy="Make the key with IssuerKey.generate()",
            )

    @classmethod
    def generate(cls) -> IssuerKey:
        """Return a new key from the library's generator."""
        numbers = rsa.generate_private_key(EXPONENT, MODULUS_BITS).private_numbers()
        return cls(max(numbers.p, numbers.q), min(numbers.p, numbers.q))

    @classmethod
    def from_bytes(cls, data: bytes) -> IssuerKey:
        """Return the key of p | q, 256 bytes.

        Raises:
            InvalidParameter: bytes that are no such key.
        """
        if len(data) != MODULUS_BYTES:
            raise InvalidParameter(
                expected=f"an issuer key of {MODULUS_BYTES} bytes",
                got=f"{len(data)}",
                remedy="Read all of the key",
            )
        return cls(
            int.from_bytes(data[:PRIME_BYTES], "big"), int.from_bytes(data[PRIME_BYTES:], "big")
        )

    def to_bytes(self) -> bytes:
        """Return the secret p | q as 256 bytes, for the issuer's own file alone."""
        return self.p.to_bytes(PRIME_BYTES, "big") + self.q.to_bytes(PRIME_BYTES, "big")

    @cached_property
    def public(self) -> IssuerPublicKey:
        """The key that the card names."""
        return IssuerPublicKey(self.p * self.q)

    def sign(self, blinded: bytes) -> bytes:
        """Return blinded^d mod n, 256 bytes: BlindSign of RFC 9474, section 4.3.

        The number is multiplied by r^e for a fresh r, raised modulo p and modulo q to d plus a
        random multiple of p - 1 or q - 1, joined, and divided by r. The result s leaves only
        after s^e = blinded was seen, so that a fault gives nobody a factor of n.

        Raises:
            TokenRefused: another length, or a number that is not below n.
        """
        n, p, q, d_of_p, d_of_q, q_inverse = self._numbers
        number = _number(int.from_bytes(blinded, "big"))
        if len(blinded) != MODULUS_BYTES or number >= n:
            raise TokenRefused(
                expected=f"a blinded message of {MODULUS_BYTES} bytes below the modulus",
                got=f"{len(blinded)} bytes" if len(blinded) != MODULUS_BYTES else "a larger number",
                remedy="Blind it with the key of this task and window",
            )
        factor, inverse = _unit(n)
        hidden = number * _power(factor, _EXPONENT, n) % n
        of_p = _secret_root(hidden, p, d_of_p)
        of_q = _secret_root(hidden, q, d_of_q)
        root = of_q + q * ((of_p - of_q) * q_inverse % p)
        signature = root * inverse % n
        if _shown_power(signature, _EXPONENT, n) != number:
            raise AssertionError("a fault in the private operation: nothing was signed")
        return int(signature).to_bytes(MODULUS_BYTES, "big")

    @cached_property
    def _numbers(self) -> tuple[int, int, int, int, int, int]:
        """n, p, q, d mod (p - 1), d mod (q - 1) and 1 / q mod p, as they are computed with."""
        of_p, of_q = pow(EXPONENT, -1, self.p - 1), pow(EXPONENT, -1, self.q - 1)
        inverse = pow(self.q, -1, self.p)
        n, p, q, of_p, of_q, inverse = map(
            _number, (self.p * self.q, self.p, self.q, of_p, of_q, inverse)
        )
        return n, p, q, of_p, of_q, inverse

    def __repr__(self) -> str:
        return "IssuerKey(not shown)"


def _unit(n: int) -> tuple[int, int]:
    """Return a random number mod n and its inverse."""
    while True:
        factor = _number(1 + secrets.randbelow(int(n) - 1))
        try:
            return factor, pow(factor, -1, n)
        except (ValueError, ZeroDivisionError):  # A divisor of n: this does not happen.
            continue


def _secret_root(number: int, prime: int, exponent: int) -> int:
    """Return number^exponent mod prime, with 64 random bits in the exponent."""
    masked = exponent + secrets.randbits(EXPONENT_BLINDING_BITS) * (prime - 1)
    return _power(number % prime, masked, prime)
