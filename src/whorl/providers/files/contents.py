"""What files hold as values: text, JSON, CSV, or bytes in base64."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.json_values import NotJson, as_text, clean, parse_json

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.task import Inputs

ROWS_MAX = 100_000
_MODES = ("text", "json", "csv", "binary")


def from_bytes(content: bytes, inputs: Inputs, name: str) -> Json:
    mode = _mode(inputs)
    if mode == "binary":
        return base64.b64encode(content).decode("ascii")
    text = clean(content.decode("utf-8-sig", "replace"))
    if mode == "text":
        return text
    if mode == "csv":
        return _rows(text, inputs, name)
    try:
        return parse_json(text)
    except NotJson as cause:
        raise ProviderError(f"file {name[:200]!r} is not JSON: {cause}", code="P115") from None


def to_bytes(inputs: Inputs) -> bytes:
    mode, content = _mode(inputs), inputs.get("content")
    if mode == "binary":
        try:
            return base64.b64decode(inputs.text("content"), validate=True)
        except binascii.Error:
            inputs.refuse("content", "is not in base64")
    if mode == "json" and not isinstance(content, str):
        text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    elif mode == "csv" and isinstance(content, list):
        text = _table(content)
    else:
        text = inputs.text("content")
    return clean(text).encode()


def _mode(inputs: Inputs) -> str:
    mode = inputs.text("mode", "text")
    if mode not in _MODES:
        inputs.refuse("mode", f"must be one of {', '.join(_MODES)}, not {mode!r}")
    return mode


def _rows(text: str, inputs: Inputs, name: str) -> Json:
    delimiter = inputs.text("delimiter", ",")
    if len(delimiter) != 1:
        inputs.refuse("delimiter", f"must be one character, not {delimiter!r}")
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append(row)
            if len(rows) > ROWS_MAX:
                inputs.refuse("path", f"has more than {ROWS_MAX:,} rows")
    except csv.Error as fault:
        raise ProviderError(f"file {name[:200]!r} is not CSV: {fault}", code="P115") from None
    if not inputs.flag("header", default=True) or not rows:
        return [[*row] for row in rows]
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def _table(content: list[Json]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    objects = [row for row in content if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in objects for name in row))
    if names:
        writer.writerow(names)
    for row in content:
        if isinstance(row, dict):
            cells = [row.get(name) for name in names]
        else:
            cells = row if isinstance(row, list) else [row]
        writer.writerow(["" if cell is None else as_text(cell) for cell in cells])
    return out.getvalue()
