"""The shuffler's half of a card: a gateway key that is stored first, and a signature for ever."""

from __future__ import annotations

from dataclasses import dataclass

from smoothdp.errors import InvalidData
from smoothdp.services.formats.card import Card, SignedCard, check_card, gateway_config, sign_card
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.windows.tables import GIVEN, OFFERED, OPEN, SIGNED
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import Storage
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.tokens import new_secret
