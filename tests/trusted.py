"""The environment of tests: their projects are trusted, and the person's own files do not count."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.runtimes.journal.keys import Registry

_FOLDER = tempfile.TemporaryDirectory(prefix="whorl-tests-")
TRUSTED = {"WHORL_TRUST": "1", "XDG_CONFIG_HOME": _FOLDER.name}


def registry_of(path: Path) -> Registry:
    """What tells whether the user of the tests has made the store at a path."""
    from whorl.runtimes.journal.keys import registry_from

    return registry_from(TRUSTED, path, is_named=False)
