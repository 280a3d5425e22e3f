"""Where large values lie: a folder that all machines share, or a bucket that speaks S3."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from whorl.errors import StoreError, UsageError
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.settings import TemporalSettings

BUCKET = "s3://"
INSTALL = "install it with `pip install 'whorl[s3]'`"
# A bucket that does not answer is asked again for so long; who waits for it is told then.
PATIENCE_S = 30
_PROBE = "whorl-probe"


class Place(Protocol):
    """Values by name; a name is the hash of its value. Raises StoreError R920."""

    async def put(self, name: str, data: bytes) -> None:
        """Keeps a value, whole or not at all."""

    async def get(self, name: str) -> bytes:
        """The value of a name."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that all machines share."""

    path: Path

    async def put(self, name: str, data: bytes) -> None:
        with _reported(str(self.path), "written"):
            await asyncio.to_thread(self._write, name, data)

    async def get(self, name: str) -> bytes:
        with _reported(str(self.path), "read"):
            return await asyncio.to_thread((self.path / name).read_bytes)

    def _write(self, name: str, data: bytes) -> None:
        if (self.path / name).exists():
            return
        self.path.mkdir(parents=True, exist_ok=True)
        unfinished = self.path / f"{name}.{secrets.token_hex(4)}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path / name)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket: its `store` makes requests that are whole or fail."""

    where: str
    store: Any

    async def put(self, name: str, data: bytes) -> None:
        import obstore

        with _reported(self.where, "written"):
            await obstore.put_async(self.store, name, data)

    async def get(self, name: str) -> bytes:
        import obstore

        with _reported(self.where, "read"):
            found = await obstore.get_async(self.store, name)
            return bytes(await found.bytes_async())


def place_of(settings: TemporalSettings) -> Place | None:
    """Where large values lie, if anywhere. Raises UsageError W920 without the package for it."""
    if not settings.values.startswith(BUCKET):
        return Folder(Path(settings.values)) if settings.values else None
    if find_spec("obstore") is None:
        words = f"the package obstore is not installed, and `values` is {settings.values!r}"
        raise UsageError(words, help=INSTALL, code="W920")
    from obstore.store import S3Store

    bucket, _, prefix = settings.values.removeprefix(BUCKET).partition("/")
    chosen = {
        "endpoint": settings.s3_endpoint,
        "region": settings.s3_region,
        "access_key_id": settings.s3_key.reveal() if settings.s3_key else "",
        "secret_access_key": settings.s3_secret.reveal() if settings.s3_secret else "",
    }
    # What is not said here is taken from the environment (AWS_...), or from the machine's role.
    given: dict[str, Any] = {name: text for name, text in chosen.items() if text}
    if settings.s3_endpoint.startswith("http://"):
        given["client_options"] = {"allow_http": True}
    patience: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=PATIENCE_S)}
    store = S3Store(bucket, prefix=prefix or None, retry_config=patience, **given)
    return Bucket(settings.values, store)


async def check_place(settings: TemporalSettings) -> None:
    """Writes a value and reads it again. Raises StoreError R920, UsageError W920."""
    place = place_of(settings)
    if place is not None:
        await place.put(_PROBE, _PROBE.encode())
        await place.get(_PROBE)


@contextmanager
def _reported(where: str, what: str) -> Iterator[None]:
    """Gives what goes wrong with a place its code, and of the words the first line alone."""
    try:
        yield
    except Exception as fault:
        lines = str(fault).splitlines() or [type(fault).__name__]
        words = f"a value of a run cannot be {what} at {where}: {lines[0]}"
        advice = (
            "check `values` and its keys in [runtime.temporal]; the workers have the right ones"
        )
        raise StoreError(words, code="R920", help=advice) from fault
