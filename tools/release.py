"""What a release needs: `check TAG` compares its version, `notes` prints its part of the changelog.

python tools/release.py check v0.2.0
python tools/release.py notes > notes.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

import whorl  # noqa: E402


def fault_of(tag: str) -> str:
    """Why a tag is none of this version, or nothing."""
    if tag != f"v{whorl.__version__}":
        return f"the tag {tag} is not v{whorl.__version__}, which src/whorl/__init__.py says"
    if not notes():
        return f"CHANGELOG.md has no part `## {whorl.__version__}`"
    return ""


def notes() -> str:
    """The part of the changelog that tells of this version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.escape(whorl.__version__)
    found = re.search(rf"^## {version}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    return found[1].strip() if found else ""


def main(arguments: list[str]) -> str | None:
    """Says what is wrong, or nothing."""
    match arguments:
        case ["check", tag]:
            return fault_of(tag) or None
        case ["notes"]:
            print(notes())
            return None
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
