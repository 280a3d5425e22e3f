"""The one way out to the network: every address checked, every size bounded."""

from __future__ import annotations

from whorl.providers.outbound.addresses import Policy, Target, origin_of, target_of
from whorl.providers.outbound.client import Call, Credential, Outbound, Received

__all__ = [
    "Call",
    "Credential",
    "Outbound",
    "Policy",
    "Received",
    "Target",
    "origin_of",
    "target_of",
]
