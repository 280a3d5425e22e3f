"""Runs all public files of other systems and writes docs/reference/public-files.md.

    PYTHONPATH=src:tests python tools/run_public_files.py

The files are looked for in ../shared/corpora, or where WHORL_CORPORA says.
"""

from __future__ import annotations

from public_files.page import PAGE, all_rows, write

if __name__ == "__main__":
    write(all_rows())
    print(f"wrote {PAGE}")
