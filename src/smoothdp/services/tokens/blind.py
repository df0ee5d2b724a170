"""Blind RSA signatures, RSABSSA-SHA384-PSS-Deterministic (RFC 9474), with all that a client checks.

Salt and factor are given, not drawn: a client that was stopped makes the same request again.
Whatever the key is, a token says nothing of the request that led to it (proofs/issued-tokens#4).
The arithmetic of a client is Python's, whose time depends on its numbers: who can time a
client from the inside has its store as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384

from smoothdp.services.tokens.issuer_key import MODULUS_BYTES, IssuerPublicKey
from smoothdp.services.tokens.pss import SALT_BYTES, pss_encode
from smoothdp.services.tokens.refusals import TokenRefused

_NEXT = "Send nothing, and take part in the next window"


@dataclass(frozen=True, slots=True)
class Blinded:
    """A message that was blinded: what is sent, and what opens the answer.

    Attributes:
        request: m r^e mod n, as long as n; it says nothing of m.
        encoded: m, the encoded message as a number.
        inverse: 1 / r mod n. Not to be stored: the seed gives it again.
    """

    request: bytes
    encoded: int = field(repr=False)
    inverse: int = field(repr=False)


def blind(key: IssuerPublicKey, message: bytes, *, salt: bytes, blind: bytes) -> Blinded:
    """Return a message blinded by r = OS2IP(blind) mod (n - 1) + 1.

    m = EMSA-PSS-ENCODE(message, 2,047 bits, salt), and m r^e mod n is sent. Both m and r must
    be units mod n: an n of many small primes would else mark whom the divisor of m names.

    Source: RFC 9474, section 4.2, with r from given bytes.

    Args:
        key: the issuer's, from a card that was checked.
        message: the token input.
        salt: 48 bytes.
        blind: 272 bytes, so that r is within 2^-128 of uniform.

    Raises:
        TokenRefused: m or r has a divisor in common with n, or a salt of another length.

    >>> from smoothdp.services.tokens.issuer_key import IssuerKey
    >>> key = IssuerKey.generate()
    >>> blinded = blind(key.public, b"a slot", salt=bytes(48), blind=bytes(271) + b"7")
    >>> token = finalize(key.public, b"a slot", blinded, key.sign(blinded.request))
    >>> verify(key.public, b"a slot", token), verify(key.public, b"another", token)
    (True, False)
    """
    if len(salt) != SALT_BYTES:
        raise TokenRefused(
            expected=f"a salt of {SALT_BYTES} bytes",
            got=f"{len(salt)}",
            remedy="Derive it from the seed",
        )
    return blinded_by(
        key.n, key.e, message, salt=salt, factor=int.from_bytes(blind, "big") % (key.n - 1) + 1
    )


def blinded_by(n: int, e: int, message: bytes, *, salt: bytes, factor: int) -> Blinded:
    """Return a message blinded by a factor, for any modulus and exponent.

    Raises:
        TokenRefused: the message or the factor has a divisor in common with n.
    """
    bits = n.bit_length()
    number = int.from_bytes(pss_encode(message, bits=bits - 1, salt=salt), "big")
    if gcd(number, n) != 1:
        raise _no_unit("message")
    try:
        inverse = pow(factor, -1, n)
    except ValueError:
        raise _no_unit("blinding factor") from None
    request = number * pow(factor, e, n) % n
    return Blinded(request.to_bytes(-(-bits // 8), "big"), number, inverse)


def finalize(key: IssuerPublicKey, message: bytes, blinded: Blinded, answer: bytes) -> bytes:
    """Return the signature s = answer / r mod n, after s^e = m and the verification of RFC 8017.

    s^e = m is what makes s uniform among the e-th roots of m, so that it says nothing of the
    request, whatever the key is.

    Source: RFC 9474, section 4.4.

    Raises:
        TokenRefused: an answer of another length, not below n, or that is no signature.
    """
    number = int.from_bytes(answer, "big")
    good = len(answer) == MODULUS_BYTES and number < key.n
    signature = number * blinded.inverse % key.n
    if good and pow(signature, key.e, key.n) == blinded.encoded:
        token = signature.to_bytes(MODULUS_BYTES, "big")
        if verify(key, message, token):
            return token
    raise TokenRefused(
        expected="the issuer's signature on the blinded message",
        got="something else",
        remedy=_NEXT,
    )


def verify(key: IssuerPublicKey, message: bytes, signature: bytes) -> bool:
    """Return whether a signature is RSASSA-PSS with SHA-384 and a salt of 48 bytes (RFC 8017).

    The library does it: 27 microseconds.
    """
    return pss_verifies(key.library_key, message, signature, salt_bytes=SALT_BYTES)


def pss_verifies(
    key: rsa.RSAPublicKey, message: bytes, signature: bytes, *, salt_bytes: int
) -> bool:
    """Return RSASSA-PSS-VERIFY of RFC 8017, section 8.1.2, by the library."""
    scheme = padding.PSS(padding.MGF1(SHA384()), salt_length=salt_bytes)
    try:
        key.verify(signature, message, scheme, SHA384())
    except InvalidSignature:
        return False
    return True


def _no_unit(what: str) -> TokenRefused:
    return TokenRefused(
        expected=f"a {what} without a divisor in common with the issuer's modulus",
        got="one with such a divisor: the key was made to mark people",
        remedy=_NEXT,
    )
