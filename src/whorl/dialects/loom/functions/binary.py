"""Functions between text, base64, data URIs and content that is not JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from whorl.dialects.loom.values.arguments import Family, not_valid, text, wrong
from whorl.dialects.loom.values.contents import (
    charset_named,
    content_bytes,
    decode,
    decode_text,
    encode,
    envelope,
    is_envelope,
)
from whorl.dialects.loom.values.printing import print_text

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+\Z", re.ASCII)


def to_base64(run: Run, value: Value) -> Value:
    if isinstance(value, dict) and is_envelope(value):
        return value["$content"]
    content = _encoded(print_text(run, value))
    run.check_text(len(content) * 4 // 3, "base64")
    return encode(content)


def base64_to_string(run: Run, value: Value) -> Value:
    return decode_text(decode(run, text("base64ToString", None, value)), "utf-8")


def base64_to_binary(run: Run, value: Value) -> Value:
    source = text("base64ToBinary", None, value)
    decode(run, source)
    return {"$content-type": "application/octet-stream", "$content": source}


def binary(run: Run, value: Value) -> Value:
    if value is None:
        raise wrong("binary", None, "not be null", value)
    if isinstance(value, dict) and is_envelope(value):
        return envelope(content_bytes(run, value))
    content = _encoded(print_text(run, value))
    run.check_text(len(content) * 4 // 3, "binary")
    return envelope(content)


def data_uri(run: Run, value: Value) -> Value:
    if isinstance(value, dict) and is_envelope(value):
        return f"data:{value['$content-type']};base64,{value['$content']}"
    content = _encoded(print_text(run, value))
    run.check_text(len(content) * 4 // 3, "dataUri")
    kind = "text/plain" if isinstance(value, str) else "application/json"
    return f"data:{kind};charset=utf-8;base64,{encode(content)}"


def data_uri_to_binary(run: Run, value: Value) -> Value:
    head, payload, is_base64 = _parts("dataUriToBinary", value)
    kind, *parameters = head.split(";")
    if not kind and not parameters:
        head = "text/plain"
    elif not _MEDIA_TYPE.match(kind):
        raise not_valid("dataUriToBinary", f"{kind!r} is not a media type")
    for parameter in parameters:
        if parameter.count("=") > 1 or not parameter:
            raise not_valid("dataUriToBinary", f"{parameter!r} is not a parameter of a media type")
    if is_base64:
        return {"$content-type": head, "$content": payload}
    content = _unquoted(payload)
    run.check_text(len(content) * 4 // 3, "dataUriToBinary")
    return envelope(content, head)


def data_uri_to_string(run: Run, value: Value) -> Value:
    head, payload, is_base64 = _parts("dataUriToString", value)
    _, *parameters = head.split(";")
    if "" in parameters:
        raise not_valid("dataUriToString", "the media type has an empty parameter")
    charset = parameters[0] if parameters else ""
    # Azure takes UTF-8 here and nothing else; a character set further on is not looked at.
    if charset.lower().startswith("charset=") and charset_named(charset[8:]) != "utf-8":
        raise not_valid("dataUriToString", f"{charset!r} is not supported")
    content = decode(run, payload) if is_base64 else _unquoted(payload)
    return decode_text(content, "utf-8")


def _parts(function: str, value: Value) -> tuple[str, str, bool]:
    """Return media type, payload and whether that is base64."""
    source = text(function, None, value)
    if source[:5].lower() != "data:" or "," not in source:
        raise not_valid(function, "the value is not a data URI")
    head, _, payload = source[5:].partition(",")
    if head.lower() == "base64":
        return "", payload, True
    if head.lower().endswith(";base64"):
        return head[:-7], payload, True
    return head, payload, False


def _unquoted(payload: str) -> bytes:
    return unquote_to_bytes(payload.replace("+", " "))


def _encoded(value: str) -> bytes:
    return value.encode("utf-8", "replace")


_binary = Family("conversion")

BINARY: tuple[FunctionEntry, ...] = (
    _binary("base64(value)", to_base64, "the value as base64"),
    _binary("base64ToString(value)", base64_to_string, "the text that base64 holds"),
    _binary("decodeBase64(value)", base64_to_string, "the text that base64 holds"),
    _binary("base64ToBinary(value)", base64_to_binary, "the content that base64 holds"),
    _binary("binary(value)", binary, "the value as content"),
    _binary("dataUri(value)", data_uri, "the value as a data URI"),
    _binary("dataUriToBinary(value)", data_uri_to_binary, "the content of a data URI"),
    _binary("decodeDataUri(value)", data_uri_to_binary, "the content of a data URI"),
    _binary("dataUriToString(value)", data_uri_to_string, "the text of a data URI"),
)
