"""Modules that others import and hardly ever use, loaded when something of them is used.

A command starts sooner without them. This is done before anything else is imported, so that no
module of these may be imported here.
"""

from __future__ import annotations

import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# The event loop imports the first two, and uses them where it encrypts, which nobody has it do.
# The others are for terminals, for tracebacks, for addresses in brackets and for digests.
NAMES = ("ssl", "asyncio.sslproto", "shutil", "tokenize", "ipaddress", "hashlib", "hmac")


def postpone() -> None:
    """Has these modules loaded when something of them is used; importing them is done at once."""
    sys.meta_path.insert(0, _Postponing())


class _Postponing:
    """Finds modules as Python does, and loads none of them."""

    def __init__(self) -> None:
        self._loaders: dict[str, Any] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in NAMES:
            return None
        if name == "ssl" and PathFinder.find_spec("_ssl") is None:
            return None  # whoever imports it is told at once that it is not there
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            self._loaders[name], spec.loader = spec.loader, self  # type: ignore[assignment]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Later(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Says who will load it, and does no more."""
        assert module.__spec__ is not None
        module.__spec__.loader_state = self._loaders.pop(module.__name__)


class _Later(ModuleType):
    _LOADING = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        with _Later._LOADING:
            spec = self.__spec__
            if spec is not None and (loader := spec.loader_state) is not None:
                spec.loader_state, spec.loader, self.__loader__ = None, loader, loader
                loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        try:
            return self.__dict__[name]
        except KeyError:
            words = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(words) from None
