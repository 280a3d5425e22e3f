"""The one way out to the network: every address checked, every size bounded."""

from __future__ import annotations

from whorl.providers.outbound.client import Call, Credential, Outbound, Received
from whorl.providers.outbound.policy import Policy
from whorl.providers.outbound.reading import Incoming
from whorl.providers.outbound.urls import Target, origin_of, target_of

__all__ = [
    "Call",
    "Credential",
    "Incoming",
    "Outbound",
    "Policy",
    "Received",
    "Target",
    "origin_of",
    "target_of",
]
