"""One charge, as it is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smoothdp.claims.guarantees.codec import guarantee_from_json
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData
from smoothdp.ledger.amount import Amount


@dataclass(frozen=True)
class Entry:
    """One charge: a mechanism and its cost. Never data, never a sensitivity.

    Attributes:
        number: 1, 2, ... in the order of the charges.
        time: of the charge, UTC, ISO 8601; never earlier than that of the entry before.
        library_version: the version of smoothdp that charged.
        mechanism: its name and description, in words; "external" for a bare guarantee.
        parameters: its public scalar parameters, as text.
        guarantee: the promise of the mechanism.
        claim: the claim that was charged: the guarantee, or one that follows from it.
        costs: the amounts charged, by currency.
        spent: the sum of all charges up to this one, by currency.
        digest: SHA-256 over all of this and the digest of the entry before, in hexadecimal.

    >>> import tempfile
    >>> from smoothdp.ledger.ledger import Ledger
    >>> from smoothdp.claims import PureDP
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     entry = Ledger(folder + "/l.db", budget=PureDP(1)).charge(PureDP("0.5"))
    >>> entry.number, entry.claim
    (1, PureDP(epsilon=1/2, neighbours='replace_one'))
    """

    number: int
    time: str
    library_version: str
    mechanism: str
    parameters: Mapping[str, str]
    guarantee: Guarantee
    claim: Guarantee
    costs: Mapping[str, Amount]
    spent: Mapping[str, Amount]
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain values, for JSON."""
        return {
            "number": self.number,
            "time": self.time,
            "library_version": self.library_version,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "guarantee": json.loads(self.guarantee.to_json()),
            "claim": json.loads(self.claim.to_json()),
            "costs": amounts_to_dict(self.costs),
            "spent": amounts_to_dict(self.spent),
            "digest": self.digest,
        }


def amounts_to_dict(amounts: Mapping[str, Amount]) -> dict[str, str]:
    """Return amounts as text that reads back exactly."""
    return {name: amount.text() for name, amount in amounts.items()}


def amounts_from_dict(texts: Mapping[str, str]) -> dict[str, Amount]:
    """Return the amounts that `amounts_to_dict` wrote."""
    return {name: Amount.parse(text) for name, text in texts.items()}


def body_of(entry: Entry) -> str:
    """Return an entry without its number and digest, as JSON."""
    fields = entry.to_dict()
    del fields["number"], fields["digest"]
    return json.dumps(fields)


def digest_of(previous: str, number: int, body: str) -> str:
    """Return the digest of an entry, which depends on all entries before it."""
    return hashlib.sha256(f"{previous}\n{number}\n{body}".encode()).hexdigest()


def entry_of(number: int, body: str, digest: str) -> Entry:
    """Return the entry that a row holds, or raise InvalidData."""
    try:
        fields = json.loads(body)
        return Entry(
            number=number,
            time=str(fields["time"]),
            library_version=str(fields["library_version"]),
            mechanism=str(fields["mechanism"]),
            parameters=dict(fields["parameters"]),
            guarantee=guarantee_from_json(json.dumps(fields["guarantee"])),
            claim=guarantee_from_json(json.dumps(fields["claim"])),
            costs=amounts_from_dict(fields["costs"]),
            spent=amounts_from_dict(fields["spent"]),
            digest=digest,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidData(
            expected=f"an entry {number} that this version wrote",
            got=f"one that cannot be read ({error})",
            remedy="Restore the ledger from a copy",
        ) from None
