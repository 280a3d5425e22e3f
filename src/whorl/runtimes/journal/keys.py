"""The key that encrypts values in the journal, and the list of stores that this user has made.

AES-256-GCM of the package `cryptography`. A text is bound to its run and place, so that moving it
to another place makes it invalid. Without its key it cannot be opened.
"""

from __future__ import annotations

import binascii
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from whorl.errors import StoreError
from whorl.lazily import dataclass, regex
from whorl.source.paths import user_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CODE: Final = "R909"
VARIABLE: Final = "WHORL_KEY"
_FORMAT: Final = "1"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_OTHERS: Final = 0o077


@dataclass(eq=False)
class Seals:
    """Encrypts and decrypts texts, with a key that is read or made when it is first needed.

    Without a `file` only this process has the key.
    """

    file: Path | None = None
    given: str = ""
    _cipher: AESGCM | None = field(default=None, repr=False)
    _bytes: bytes = field(default=b"", repr=False)
    _signing: bytes = field(default=b"", repr=False)
    _name: str = ""

    def seal(self, text: str, *place: str) -> str:
        cipher = self._ready(make=True)
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + cipher.encrypt(nonce, text.encode(), _bound(place))
        return f"{_FORMAT}.{self._name}.{urlsafe_b64encode(sealed).decode()}"

    def open(self, sealed: str, *place: str) -> str:
        """Decrypts a text. Raises StoreError R909 if the key differs or the text was changed."""
        form, _, rest = sealed.partition(".")
        name, _, coded = rest.partition(".")
        if form != _FORMAT:
            raise _damaged(place)
        cipher = self._ready(make=False)
        if name != self._name:
            words = f"the secrets of run {place[0]!r} were encrypted with another key, {name}, "
            words += f"and the current one is {self._name}"
            raise StoreError(words, code=CODE, help=_ADVICE)
        try:
            content = urlsafe_b64decode(coded)
            nonce, closed = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
            return cipher.decrypt(nonce, closed, _bound(place)).decode()
        except Exception as error:
            # The library's own error has no words, and its class is imported with the library.
            if type(error).__name__ == "InvalidTag" or isinstance(error, ValueError):
                raise _damaged(place) from None
            raise

    def signature(self, *place: str) -> str:
        """Signs an address with the key."""
        if not self._signing:
            key = self._read(make=True)
            self._signing = hmac.digest(key, b"addresses that are given away", "sha256")
        return hmac.new(self._signing, _bound(place), "sha256").hexdigest()

    def _ready(self, *, make: bool) -> AESGCM:
        if self._cipher is None:
            # 25 ms, which nobody pays who has no secrets.
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._cipher = AESGCM(self._read(make=make))
        return self._cipher

    def _read(self, *, make: bool) -> bytes:
        if not self._bytes:
            self._bytes = key = self._key(make=make)
            self._name = sha256(b"whorl:" + key).hexdigest()[:8]
        return self._bytes

    def _key(self, *, make: bool) -> bytes:
        if self.given:
            return _decoded(self.given, VARIABLE)
        if self.file is None:
            return os.urandom(_KEY_BYTES)
        try:
            if make and not self.file.exists():
                _make(self.file)
            if self.file.stat().st_mode & _OTHERS:
                words = f"the key {str(self.file)!r} can be read by others"
                raise StoreError(words, code=CODE, help=f"chmod 600 {self.file}")
            return _decoded(self.file.read_text("ascii"), repr(str(self.file)))
        except FileNotFoundError:
            words = f"the key of the secrets is missing: {str(self.file)!r} does not exist"
            raise StoreError(words, code=CODE, help=_ADVICE) from None
        except (OSError, UnicodeDecodeError) as error:
            words = f"the key {str(self.file)!r} cannot be used: {error}"
            raise StoreError(words, code=CODE, help=_ADVICE) from error


def seals_from(environment: Mapping[str, str]) -> Seals:
    return Seals(user_folder(environment) / "key", environment.get(VARIABLE, ""))


_ADVICE: Final = (
    f"restore the key that the run began with, or set {VARIABLE} to it; without it the run can "
    "only be shown and cancelled"
)


def _make(path: Path) -> None:
    """Writes a new key that only this user can read, unless another process has made one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".key-{os.urandom(8).hex()}")
    try:
        _write_new(beside, urlsafe_b64encode(os.urandom(_KEY_BYTES)) + b"\n")
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_new(path: Path, content: bytes) -> None:
    """Writes a new file that only this user can read, until it is on the disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _decoded(text: str, place: str) -> bytes:
    with suppress(binascii.Error, ValueError):
        key = urlsafe_b64decode(text.strip())
        if len(key) == _KEY_BYTES:
            return key
    words = f"{place} is not a key: it must be {_KEY_BYTES} bytes in base64"
    raise StoreError(words, code=CODE, help=_ADVICE)


def _bound(place: tuple[str, ...]) -> bytes:
    return "\0".join(place).encode()


def _damaged(place: tuple[str, ...]) -> StoreError:
    run, *rest = place
    words = f"an encrypted value of run {run!r} was changed: {' '.join(filter(None, rest))!r}"
    return StoreError(words, code=CODE, help="restore the store from a backup")


# Which stores this user has made: a list outside of every project, which no folder brings along.
#
# Each entry is a file of its own, so that many processes may add some at once. It has the random id
# of a store as its name, and holds the path that the store was made at: an id that others have read
# in a copy counts nowhere else. A backup is known by the hash of its content.

HOME: Final = "WHORL_HOME"
_NAME: Final = regex(r"[0-9a-f]{32,64}")


@dataclass(frozen=True, slots=True)
class Registry:
    """The list of stores that this user has made, each at its path.

    `is_named`: the operator has named its folder in the environment, which is enough.
    """

    folder: Path
    path: str
    seals: Seals
    is_named: bool = False

    def admits(self, id_: str) -> bool:
        return self.is_named or self._holds(id_) == os.fsencode(self.path)

    def knows_backup(self, digest: str) -> bool:
        return self._holds(digest) == b""

    def _holds(self, name: str) -> bytes | None:
        path, own = self.folder / name, getattr(os, "geteuid", lambda: None)()
        with suppress(OSError):
            if _NAME.fullmatch(name) and (own is None or path.stat().st_uid == own):
                return path.read_bytes()
        return None

    def add(self, name: str, *, is_backup: bool = False) -> None:
        """Adds the id of a store that will be made, or the hash of a backup."""
        try:
            for folder in (self.folder.parent, self.folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                _write_new(self.folder / name, b"" if is_backup else os.fsencode(self.path))
        except OSError as fault:
            words = f"no store can be registered in {str(self.folder)!r}: {fault.strerror}"
            advice = f"let that folder be written, or name the folder of the store by {HOME}"
            raise StoreError(words, help=advice) from fault


def registry_from(environment: Mapping[str, str], path: Path, *, is_named: bool) -> Registry:
    folder = user_folder(environment) / "stores"
    return Registry(folder, os.path.realpath(path), seals_from(environment), is_named)
