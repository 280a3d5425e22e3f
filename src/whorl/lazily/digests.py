"""SHA-256 of small contents without OpenSSL, which takes longer to load than they take."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _small  # type: ignore[import-not-found]
    else:
        from _sha256 import sha256 as _small  # type: ignore[import-not-found]
except ImportError:
    _small = hashlib.sha256

_LARGE = 200_000


def sha256(content: bytes) -> Any:
    """What `hashlib.sha256` gives; OpenSSL is the faster one for what is large."""
    return hashlib.sha256(content) if len(content) > _LARGE else _small(content)
