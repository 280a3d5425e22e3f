"""Functions on text, addresses, base64, data URIs and content that is not JSON.

A position or length counts units of UTF-16, as .NET does: an emoji has two. What is left of an
emoji that is cut is U+FFFD.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from whorl.formats.loom.values import printing
from whorl.formats.loom.values.arguments import Family, not_valid, text, type_name, wrong
from whorl.formats.loom.values.printing import of_units, to_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run
    from whorl.language.values import Value


STRINGS = Family("string")
URIS = Family("uri")
BINARY = Family("conversion")


@STRINGS("concat(text, ...)", "the texts of all values, one after another")
def concat(run: Run, values: list[Value], between: str = "", function: str = "concat") -> str:
    parts: list[str] = []
    size = len(between) * (len(values) - 1) if between and values else 0
    for value in values:
        part = printing.print_text(run, value)
        size += len(part)
        run.limit_text(size, function)
        parts.append(part)
    return between.join(parts)


@STRINGS("startsWith(text:str, search:str)", "whether it starts so, ignoring case", str.startswith)
@STRINGS("endsWith(text:str, search:str)", "whether it ends so, ignoring case", str.endswith)
def _ends(test: Callable[[str, str], bool], run: Run, text: str, search: str) -> bool:
    return test(_recased(text, str.lower), _recased(search, str.lower))


STRINGS("indexOf(text:str, search:str)", "the position of the first match, or -1; case is ignored")(
    lambda run, text, search: _searched(text).find(_searched(search))
)


@STRINGS("lastIndexOf(text:str, search:str)", "the position of the last match, or -1")
def _last_index_of(run: Run, text: str, search: str) -> int:
    return _nth_index_of(run, text, search, -1)


@STRINGS(
    "nthIndexOf(text:str, search:str, occurrence:int)",
    "the position of the nth match, or -1; a negative n counts from the end",
)
def _nth_index_of(run: Run, text: str, search: str, count: int) -> int:
    if count == 0:
        raise not_valid("nthIndexOf", "the occurrence counts from 1, or from -1 backwards")
    subject, wanted = _searched(text), _searched(search)
    if not wanted:
        return 0 if count > 0 else max(0, len(subject) - 1)
    if count > 0:
        return _forwards(run, subject, wanted, count)
    # Python searches backwards in quadratic time, forwards in linear time.
    at = _forwards(run, subject[::-1], wanted[::-1], -count)
    return -1 if at < 0 else len(subject) - at - len(wanted)


def _forwards(run: Run, subject: str, wanted: str, count: int) -> int:
    at = -1
    for _ in range(count):
        before, at = at, subject.find(wanted, at + 1)
        passed = (at if at >= 0 else len(subject)) - before
        # Each search prepares what it looks for, and passes a part of the text.
        run.spend(1 + (len(wanted) + passed >> 6))
        if at < 0:
            break
    return at


def _searched(text: str) -> str:
    return to_units(_recased(text, str.lower))


def _recased(text: str, case: Callable[[str], str]) -> str:
    """Change the case as .NET does without a culture, character by character.

    An ß stays, and so do positions; a Turkish ı or İ is no form of another letter.
    """
    if text.isascii():
        return case(text)
    letters = {each: case(each) for each in set(text) - {"ı", "İ"}}
    return text.translate({ord(k): v for k, v in letters.items() if len(v) == 1})


STRINGS("length(collection:sequence)", "how many characters or items there are")(
    lambda run, collection: len(to_units(collection) if isinstance(collection, str) else collection)
)


@STRINGS("replace(text:str, old:str, new:str)", "each old part replaced; case matters")
def _replace(run: Run, text: str, old: str, new: str) -> str:
    if not old:
        raise not_valid("replace", "the text to replace is empty")
    run.spend(len(text) >> 6)
    run.check_text(len(text) + text.count(old) * (len(new) - len(old)), "replace")
    return text.replace(old, new)


@STRINGS("split(text:str, delimiter:str)", "the parts between the delimiters")
def _split(run: Run, text: str, delimiter: str) -> list[str]:
    if not delimiter:
        return [text]
    run.spend(len(text) >> 6)
    run.check_items(text.count(delimiter) + 1, "split")
    return text.split(delimiter)


@STRINGS("substring(text:str, start:int, length?:int)", "a part; it must lie within the text")
def _substring(run: Run, text: str, start: int, count: int | None) -> str:
    text = to_units(text)
    taken = len(text) - start if count is None else count
    if start < 0 or taken < 0 or start + taken > len(text):
        raise not_valid(
            "substring",
            f"the start index '{start}' and length '{taken}' do not lie within the text, "
            f"which has the length '{len(text)}'",
        )
    return of_units(text[start : start + taken])


STRINGS("slice(text:str, start:int, end?:int)", "a part; negative positions count from the end")(
    lambda run, text, start, end: of_units(to_units(text)[start:end])
)
STRINGS("toLower(text:string)", "in lower case")(lambda run, text: _recased(text, str.lower))
STRINGS("toUpper(text:string)", "in upper case")(lambda run, text: _recased(text, str.upper))


@STRINGS("trim(text)", "without white space at either end")
def _trim(run: Run, value: Value) -> str:
    if isinstance(value, str):
        return value.strip()
    raise not_valid(
        "trim", f"its parameters are not valid, a value of type {type_name(value)!r} has no spaces"
    )


STRINGS("trimByteOrderMark(text:str)", "without a byte order mark at its start")(
    lambda run, text: text.removeprefix("\ufeff")
)


@STRINGS("chunk(collection, length:int)", "pieces of a text or array")
def _chunk(run: Run, collection: Value, size: int) -> Value:
    if size < 1:
        raise wrong("chunk", 1, "be a positive integer", size)
    if not isinstance(collection, str | list):
        raise wrong("chunk", 0, "be an array or a string", collection)
    units = to_units(collection) if isinstance(collection, str) else collection
    run.check_items(-(-len(units) // size), "chunk")
    pieces: list[Any] = [units[start : start + size] for start in range(0, len(units), size)]
    return [*map(of_units, pieces)] if isinstance(collection, str) else pieces


@STRINGS("join(collection, delimiter)", "the texts of all items, joined")
def join(run: Run, collection: Value, delimiter: Value) -> str:
    if not isinstance(collection, list):
        raise wrong("join", 0, "be an array", collection)
    between = text("join", 1, delimiter)
    run.spend(len(collection))
    run.limit_text(len(between) * max(0, len(collection) - 1), "join")
    return concat(run, collection, between, "join")


@STRINGS("utf16Length(text:str)", "the number of UTF-16 units", "utf-16-le", 2)
@STRINGS("utf8Length(text:str)", "the number of UTF-8 bytes", "utf-8", 1)
def _encoded_length(encoding: str, unit: int, run: Run, text: str) -> int:
    return len(text.encode(encoding, "surrogatepass")) // unit


@STRINGS("guid(format?:str)", "a new identifier, drawn from the seed of the run", reads="$seed")
def _guid(run: Run, form: str | None) -> str:
    from uuid import UUID

    drawn = UUID(bytes=run.draw()[:16], version=4)
    digits, dashed = drawn.hex, str(drawn)
    tail = ",".join(f"0x{digits[at : at + 2]}" for at in range(16, 32, 2))
    forms = {"N": digits, "D": dashed, "B": f"{{{dashed}}}", "P": f"({dashed})"}
    forms["X"] = f"{{0x{digits[:8]},0x{digits[8:12]},0x{digits[12:16]},{{{tail}}}}}"
    letter = (form or "D").upper()
    if letter not in forms:
        raise not_valid("guid", "its format is one of 'N', 'D', 'B', 'P' and 'X'")
    return forms[letter]


# What encodeURIComponent of JavaScript leaves as it is, beside letters, digits and `_.-~`.
_UNESCAPED = "!'()*"
_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?:[^/?#@]*@)?"
    r"(?P<host>\[[^\]/?#]*\]|[^:/?#]*)(?::(?P<port>[0-9]{0,5}))?)?"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?\Z",
    re.DOTALL,
)


@URIS("uriComponent(text, ...)", "escaped for use in a URI", alias="encodeUriComponent")
def _encode_component(run: Run, values: list[Value]) -> str:
    # The designer writes several parts into one call; Azure joins them.
    source = concat(run, values)
    run.check_text(len(source) * 3, "uriComponent")
    return quote(source, safe=_UNESCAPED, errors="replace")


def _unescaped(run: Run, text: str) -> bytes:
    run.spend_since(2, text.count("%"))
    return unquote_to_bytes(text)


URIS("uriComponentToString(text:str)", "the text without URI escapes", alias="decodeUriComponent")(
    lambda run, text: printing.decode_text(_unescaped(run, text), "utf-8")
)
URIS("uriComponentToBinary(text:str)", "an escaped text as content")(
    lambda run, text: printing.envelope(_content(run, text, "uriComponentToBinary"))
)


def _uri_part(function: str, part: Callable[[re.Match[str]], Value], run: Run, uri: str) -> Value:
    match = _ADDRESS.match(uri.strip())
    if match is None:
        raise not_valid(function, "the value is not an absolute URI")
    return part(match)


_PARTS: tuple[tuple[str, str, Callable[[re.Match[str]], Value]], ...] = (
    ("uriHost", "the host", lambda uri: (uri["host"] or "").lower()),
    ("uriPath", "the path, or / if it has none", lambda uri: uri["path"] or "/"),
    (
        "uriPathAndQuery",
        "the path with the query",
        lambda uri: (uri["path"] or "/") + (uri["query"] or ""),
    ),
    (
        "uriPort",
        "the port, or the default port of the scheme",
        lambda uri: int(uri["port"] or _PORTS.get(uri["scheme"].lower(), -1)),
    ),
    ("uriQuery", "the query with its question mark", lambda uri: uri["query"] or ""),
    ("uriScheme", "the scheme", lambda uri: uri["scheme"].lower()),
)
for _name, _doc, _part in _PARTS:
    URIS(f"{_name}(uri:str)", _doc, _part)(_uri_part)

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+\Z", re.ASCII)


def _content(run: Run, value: Value, function: str) -> bytes:
    content = printing.print_text(run, value).encode("utf-8", "replace")
    run.check_text(len(content) * 4 // 3, function)
    return content


@BINARY("base64(value)", "the value as base64")
def _to_base64(run: Run, value: Value) -> Value:
    if printing.is_envelope(value):
        return value["$content"]
    return printing.encode(_content(run, value, "base64"))


BINARY("base64ToString(value:str)", "the text that base64 holds", alias="decodeBase64")(
    lambda run, source: printing.decode_text(printing.decode(run, source), "utf-8")
)


@BINARY("base64ToBinary(value:str)", "the content that base64 holds")
def _base64_to_binary(run: Run, source: str) -> Value:
    printing.decode(run, source)
    return {"$content-type": printing.OCTETS, "$content": source}


@BINARY("binary(value)", "the value as content")
def _binary(run: Run, value: Value) -> Value:
    if value is None:
        raise wrong("binary", None, "not be null", value)
    if printing.is_envelope(value):
        return printing.envelope(printing.content_bytes(run, value))
    return printing.envelope(_content(run, value, "binary"))


@BINARY("dataUri(value)", "the value as a data URI")
def _data_uri(run: Run, value: Value) -> str:
    if printing.is_envelope(value):
        return f"data:{value['$content-type']};base64,{value['$content']}"
    if value is None:
        raise wrong("dataUri", None, "not be null", value)
    kind = "text/plain" if isinstance(value, str) else "application/json"
    return f"data:{kind};charset=utf-8;base64,{printing.encode(_content(run, value, 'dataUri'))}"


@BINARY("dataUriToBinary(value:str)", "the content of a data URI", alias="decodeDataUri")
def _data_uri_to_binary(run: Run, source: str) -> Value:
    head, payload, is_base64 = _parts("dataUriToBinary", source)
    kind, *parameters = head.split(";")
    if not kind and not parameters:
        head = "text/plain"
    elif not _MEDIA_TYPE.match(kind):
        raise not_valid("dataUriToBinary", f"{kind!r} is not a media type")
    for parameter in parameters:
        if parameter.count("=") > 1 or not parameter:
            raise not_valid("dataUriToBinary", f"{parameter!r} is not a parameter of a media type")
        if parameter.lower().startswith("charset="):
            printing.charset_named(parameter[8:])
    if is_base64:
        return {"$content-type": head, "$content": payload}
    content = _unquoted(payload)
    run.check_text(len(content) * 4 // 3, "dataUriToBinary")
    return printing.envelope(content, head)


@BINARY("dataUriToString(value:str)", "the text of a data URI")
def _data_uri_to_string(run: Run, source: str) -> str:
    head, payload, is_base64 = _parts("dataUriToString", source)
    _, *parameters = head.split(";")
    if "" in parameters:
        raise not_valid("dataUriToString", "the media type has an empty parameter")
    charset = parameters[0] if parameters else ""
    # Azure takes UTF-8 here and nothing else; a character set further on is not looked at.
    if charset.lower().startswith("charset=") and printing.charset_named(charset[8:]) != "utf-8":
        raise not_valid("dataUriToString", f"{charset!r} is not supported")
    return printing.decode_text(
        printing.decode(run, payload) if is_base64 else _unquoted(payload), "utf-8"
    )


def _parts(function: str, source: str) -> tuple[str, str, bool]:
    """Return media type, payload and whether that is base64."""
    if source[:5].lower() != "data:" or "," not in source:
        raise not_valid(function, "the value is not a data URI")
    head, _, payload = source[5:].partition(",")
    is_base64 = f";{head.lower()}".endswith(";base64")
    return head[:-7] if is_base64 else head, payload, is_base64


def _unquoted(payload: str) -> bytes:
    return unquote_to_bytes(payload.replace("+", " "))
