"""Writes the OpenAPI document to a file: `python -m whorl.interfaces.http.openapi [FILE]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from whorl.interfaces.http.app import build_app, document


def openapi_text() -> str:
    """The document as it lies in the repository; its version is that of the API alone."""
    told = document(build_app())
    told["info"]["version"] = "1"
    return json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Writes the file, by default `web/openapi.json`."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "web/openapi.json")
    path.write_text(openapi_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
