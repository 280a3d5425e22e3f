"""Values on their way through Temporal: JSON in the order of its keys, large ones elsewhere.

Temporal takes values of 2 MB at most, so what is large lies under its content hash in a place
that all workers and readers share. With a key, everything is encrypted before it leaves, for one
run and one call of it: what another one was given, and what is not encrypted, is not taken.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    DefaultPayloadConverter,
    EncodingPayloadConverter,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from whorl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.wings.cluster.values.payload_storage import Place

LARGE = 64 * 1024
_JSON = "json/plain"
_ENCRYPTED = b"whorl/encrypted"
_ELSEWHERE = b"whorl/file"
_NONCE = 12
_NAME = re.compile(rb"[0-9a-f]{64}")
# What Temporal adds to the id of a workflow that a schedule starts.
_FIRED_AT = re.compile(r"-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
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


class Codec(PayloadCodec, WithSerializationContext):
    """Encrypts what leaves, and puts what is large into a place. Raises StoreError R920.

    `_bound` names the run and the call that a value is for, which it is encrypted with.
    """

    def __init__(self, place: Place | None = None, key: str = "") -> None:
        self._place = place
        self._cipher = AESGCM(_key(key)) if key else None
        self._bound = b""

    def with_context(self, context: SerializationContext) -> Self:
        run, call = "", ""
        if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext):
            run = context.workflow_id or ""
            # What a schedule starts is given what the schedule was given.
            run = _FIRED_AT.sub("", run) if run.startswith("whorl/") else run
        # The workflow does not know what the server calls a local activity.
        if isinstance(context, ActivitySerializationContext) and not context.is_local:
            call = context.activity_id or ""
        bound = copy(self)
        bound._bound = f"{run}\0{call}".encode()
        return bound

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._encoded(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._decoded(payload) for payload in payloads]

    async def _encoded(self, payload: Payload) -> Payload:
        if self._cipher is not None:
            nonce, text = secrets.token_bytes(_NONCE), payload.SerializeToString()
            data = nonce + self._cipher.encrypt(nonce, text, self._bound)
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
            payload = Payload.FromString(await self._kept(self._place, payload.data))
        is_encrypted = payload.metadata.get("encoding") == _ENCRYPTED
        if self._cipher is None:
            if is_encrypted:
                raise _unreadable(*_NO_KEY)
            return payload
        if not is_encrypted:
            raise _unreadable("it is not encrypted", "set the same `encrypt_with` everywhere")
        nonce, text = payload.data[:_NONCE], payload.data[_NONCE:]
        clear = Payload()
        try:
            clear.ParseFromString(self._cipher.decrypt(nonce, text, self._bound))
        except InvalidTag:
            why = "it was encrypted with another key, or for another run or call"
            raise _unreadable(why, "check `encrypt_with`") from None
        return clear

    async def _kept(self, place: Place, name: bytes) -> bytes:
        """What was put into a place: its name is the hash of it."""
        if not _NAME.fullmatch(name):
            raise _unreadable("its name is not a hash", "check who writes to the namespace")
        data = await place.get(name.decode())
        if hashlib.sha256(data).hexdigest() != name.decode():
            raise _unreadable("it was changed where it is stored", "check who writes to `values`")
        return data


def bound_to(converter: DataConverter, namespace: str, run: str, call: str = "") -> DataConverter:
    """What reads the values of a run, or of one call of it."""
    if not call:
        return converter.with_context(WorkflowSerializationContext(namespace, run))
    context = ActivitySerializationContext(
        namespace=namespace,
        workflow_id=run,
        activity_id=call,
        workflow_type=None,
        activity_type=None,
        activity_task_queue=None,
        is_local=False,
    )
    return converter.with_context(context)


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
    place = "" if advice.startswith("check who") else " in [runtime.temporal] as workers have it"
    return StoreError(words, code="R920", help=advice + place)
