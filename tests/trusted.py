"""The environment of tests: their projects are trusted, and the person's own files do not count."""

from __future__ import annotations

import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="whorl-tests-")
TRUSTED = {"WHORL_TRUST": "1", "XDG_CONFIG_HOME": _FOLDER.name}
