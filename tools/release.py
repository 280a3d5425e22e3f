"""What a release needs: `check TAG` compares its version, `notes` prints its part of the changelog,
`sbom FOLDER` writes what is in it.

python tools/release.py check v0.2.0
python tools/release.py notes > notes.md
python tools/release.py sbom dist
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

# The one for Python packages; npm brings its own.
CYCLONEDX = "cyclonedx-bom==7.5.0"
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


def sbom(folder: Path) -> list[Path]:
    """Writes two bills of materials: what the wheel needs, and what was built into its page."""
    own = ROOT / ".venv" / "bin" / "uv"
    uv = str(own) if own.exists() else shutil.which("uv") or "uv"
    tool = [uv, "tool", "run", "--quiet", "--from", CYCLONEDX, "cyclonedx-py", "requirements"]
    needs = ["requirements/run.txt", "--pyproject", "pyproject.toml", "--output-reproducible"]
    page = ["npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, words, place in (("whorl", [*tool, *needs], ROOT), ("page", page, ROOT / "web")):
        done = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, text=True, check=True)
        bill = json.loads(done.stdout)
        bill["metadata"]["component"]["version"] = whorl.__version__
        path = folder / f"{name}.cdx.json"
        path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
        written.append(path)
    return written


def main(arguments: list[str]) -> str | None:
    """Says what is wrong, or nothing."""
    match arguments:
        case ["check", tag]:
            return fault_of(tag) or None
        case ["notes"]:
            print(notes())
            return None
        case ["sbom", folder]:
            print(*sbom(Path(folder)), sep="\n")
            return None
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
