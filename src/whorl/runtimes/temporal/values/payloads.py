"""Values on their way through Temporal: JSON in the order of its keys, large ones elsewhere.

Temporal takes values of 2 MB at most, so what is large lies under its content hash in a place
that all workers and readers share. With a key, everything is encrypted before it leaves.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    DefaultPayloadConverter,
    EncodingPayloadConverter,
    PayloadCodec,
)

from whorl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.runtimes.temporal.values.places import Place

LARGE = 64 * 1024
_JSON = "json/plain"
_ENCRYPTED = b"whorl/encrypted"
_ELSEWHERE = b"whorl/file"
_NONCE = 12
_NO_KEY = ("it is encrypted", "set `encrypt_with`")
_NO_PLACE = ("it is large, and is stored elsewhere", "set `values`")


class _OrderedJson(EncodingPayloadConverter):
    """The SDK's own converter sorts keys; the main output of a run is the first of its outputs."""

    @property
    def encoding(self) -> str:
        return _JSON

    def to_payload(self, value: Any) -> Payload | None:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return Payload(metadata={"encoding": _JSON.encode()}, data=text.encode())

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        return json.loads(payload.data)


class _Closed(EncodingPayloadConverter):
    """What only a codec can open: whoever meets it here has none. Raises StoreError R920."""

    def __init__(self, encoding: bytes, why: str, advice: str) -> None:
        self._encoding, self._refusal = encoding.decode(), (why, advice)

    @property
    def encoding(self) -> str:
        return self._encoding

    def to_payload(self, value: Any) -> Payload | None:
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        raise _unreadable(*self._refusal)


class _Converter(CompositePayloadConverter):
    def __init__(self) -> None:
        usual = DefaultPayloadConverter().converters.values()
        ours = (_OrderedJson() if c.encoding == _JSON else c for c in usual)
        super().__init__(*ours, _Closed(_ENCRYPTED, *_NO_KEY), _Closed(_ELSEWHERE, *_NO_PLACE))


class Codec(PayloadCodec):
    """Encrypts what leaves, and puts what is large into a place. Raises StoreError R920."""

    def __init__(self, place: Place | None = None, key: str = "") -> None:
        self._place = place
        self._cipher = AESGCM(_key(key)) if key else None

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._encoded(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._decoded(payload) for payload in payloads]

    async def _encoded(self, payload: Payload) -> Payload:
        if self._cipher is not None:
            nonce, text = secrets.token_bytes(_NONCE), payload.SerializeToString()
            data = nonce + self._cipher.encrypt(nonce, text, None)
            payload = Payload(metadata={"encoding": _ENCRYPTED}, data=data)
        if self._place is None or len(payload.data) <= LARGE:
            return payload
        data = payload.SerializeToString()
        name = hashlib.sha256(data).hexdigest()
        await self._place.put(name, data)
        return Payload(metadata={"encoding": _ELSEWHERE}, data=name.encode())

    async def _decoded(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") == _ELSEWHERE:
            if self._place is None:
                raise _unreadable(*_NO_PLACE)
            payload = Payload.FromString(await self._place.get(payload.data.decode()))
        if payload.metadata.get("encoding") != _ENCRYPTED:
            return payload
        if self._cipher is None:
            raise _unreadable(*_NO_KEY)
        nonce, text = payload.data[:_NONCE], payload.data[_NONCE:]
        clear = Payload()
        try:
            clear.ParseFromString(self._cipher.decrypt(nonce, text, None))
        except InvalidTag:
            why = "it was encrypted with another key"
            raise _unreadable(why, "check `encrypt_with`") from None
        return clear


def converter(place: Place | None = None, key: str = "") -> DataConverter:
    """What all clients and workers of a runtime read and write values with."""
    ours = dataclasses.replace(DataConverter.default, payload_converter_class=_Converter)
    if place is not None or key:
        ours = dataclasses.replace(ours, payload_codec=Codec(place, key))
    if key:
        encoded = DefaultFailureConverterWithEncodedAttributes
        ours = dataclasses.replace(ours, failure_converter_class=encoded)
    return ours


def new_key() -> str:
    return urlsafe_b64encode(secrets.token_bytes(32)).decode()


def _key(text: str) -> bytes:
    """The key in a text; one that is no key of ours is made into one."""
    try:
        key = urlsafe_b64decode(text)
    except ValueError:
        key = b""
    return key if len(key) == 32 else hashlib.sha256(text.encode()).digest()


def _unreadable(why: str, advice: str) -> StoreError:
    words = f"a value of a run cannot be read: {why}"
    return StoreError(words, code="R920", help=f"{advice} in [runtime.temporal] as workers have it")
