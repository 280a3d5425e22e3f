"""Functions on text, addresses, base64, data URIs and content that is not JSON.

A position or length counts characters, an emoji as one. Logic Apps counts UTF-16 units there, which
can cut an emoji in two; `utf16Length` gives its count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from whorl.dialects.loom.values.arguments import Family, not_valid, text, type_name, whole, wrong
from whorl.dialects.loom.values.printing import (
    charset_named,
    content_bytes,
    decode,
    decode_text,
    encode,
    envelope,
    is_envelope,
    print_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value


def concat(run: Run, values: list[Value], between: str = "", function: str = "concat") -> str:
    parts: list[str] = []
    size = len(between) * (len(values) - 1) if between and values else 0
    for value in values:
        part = print_text(run, value)
        size += len(part)
        run.limit_text(size, function)
        parts.append(part)
    return between.join(parts)


def join(run: Run, collection: Value, delimiter: Value) -> Value:
    if not isinstance(collection, list):
        raise wrong("join", 0, "be an array", collection)
    between = text("join", 1, delimiter)
    run.spend(len(collection))
    run.limit_text(len(between) * max(0, len(collection) - 1), "join")
    return concat(run, collection, between, "join")


def ends_with(run: Run, value: Value, search: Value) -> Value:
    return text("endsWith", 0, value).lower().endswith(text("endsWith", 1, search).lower())


def starts_with(run: Run, value: Value, search: Value) -> Value:
    return text("startsWith", 0, value).lower().startswith(text("startsWith", 1, search).lower())


def index_of(run: Run, value: Value, search: Value) -> Value:
    return _lowered(value).find(text("indexOf", 1, search).lower())


def last_index_of(run: Run, value: Value, search: Value) -> Value:
    subject, wanted = text("lastIndexOf", 0, value), text("lastIndexOf", 1, search)
    if not wanted:
        return max(0, len(subject) - 1)
    return _backwards(run, _lowered(subject), wanted.lower(), 1)


def _lowered(value: Value) -> str:
    """Lower a text without changing its length, so that positions stay true."""
    subject = text("indexOf", 0, value)
    lowered = subject.lower()
    if len(lowered) == len(subject):
        return lowered
    return "".join([low if len(low := each.lower()) == 1 else each for each in subject])


def nth_index_of(run: Run, value: Value, search: Value, occurrence: Value) -> Value:
    subject = _lowered(text("nthIndexOf", 0, value))
    wanted = text("nthIndexOf", 1, search).lower()
    count = whole("nthIndexOf", 2, occurrence)
    if count == 0:
        raise not_valid("nthIndexOf", "the occurrence counts from 1, or from -1 backwards")
    if not wanted:
        return 0 if count > 0 else max(0, len(subject) - 1)
    search_text = _forwards if count > 0 else _backwards
    return search_text(run, subject, wanted, abs(count))


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


def _backwards(run: Run, subject: str, wanted: str, count: int) -> int:
    # Python searches backwards in quadratic time, forwards in linear time.
    at = _forwards(run, subject[::-1], wanted[::-1], count)
    return -1 if at < 0 else len(subject) - at - len(wanted)


def length(run: Run, collection: Value) -> Value:
    if isinstance(collection, str | list):
        return len(collection)
    raise wrong("length", None, "be an array or a string", collection)


def replace(run: Run, value: Value, old: Value, new: Value) -> Value:
    subject, gone = text("replace", 0, value), text("replace", 1, old)
    come = text("replace", 2, new)
    if not gone:
        raise not_valid("replace", "the text to replace is empty")
    run.spend(len(subject) >> 6)
    growth = subject.count(gone) * (len(come) - len(gone))
    run.check_text(len(subject) + growth, "replace")
    return subject.replace(gone, come)


def split(run: Run, value: Value, delimiter: Value) -> Value:
    subject, between = text("split", 0, value), text("split", 1, delimiter)
    if not between:
        return [subject]
    run.spend(len(subject) >> 6)
    run.check_items(subject.count(between) + 1, "split")
    return list(subject.split(between))


def substring(run: Run, value: Value, start: Value, count: Value) -> Value:
    subject, first = text("substring", 0, value), whole("substring", 1, start)
    taken = len(subject) - first if count is None else whole("substring", 2, count)
    if first < 0 or taken < 0 or first + taken > len(subject):
        raise not_valid(
            "substring",
            f"the start index '{first}' and length '{taken}' do not lie within the text, "
            f"which has the length '{len(subject)}'",
        )
    return subject[first : first + taken]


def slice_text(run: Run, value: Value, start: Value, end: Value) -> Value:
    subject, first = text("slice", 0, value), whole("slice", 1, start)
    last = len(subject) if end is None else whole("slice", 2, end)
    return subject[first:last]


def to_lower(run: Run, value: Value) -> Value:
    return _subject("toLower", value).lower()


def to_upper(run: Run, value: Value) -> Value:
    subject = _subject("toUpper", value)
    upper = subject.upper()
    if len(upper) == len(subject):
        return upper
    # .NET maps characters one by one: an ß stays as it is.
    return "".join([up if len(up := each.upper()) == 1 else each for each in subject])


def _subject(function: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    raise wrong(function, None, "be a string", value)


def trim(run: Run, value: Value) -> Value:
    if isinstance(value, str):
        return value.strip()
    raise not_valid(
        "trim", f"its parameters are not valid, a value of type {type_name(value)!r} has no spaces"
    )


def trim_mark(run: Run, value: Value) -> Value:
    return text("trimByteOrderMark", None, value).removeprefix("\ufeff")


def chunk(run: Run, collection: Value, size: Value) -> Value:
    step = whole("chunk", 1, size)
    if step < 1:
        raise wrong("chunk", 1, "be a positive integer", size)
    if not isinstance(collection, str | list):
        raise wrong("chunk", 0, "be an array or a string", collection)
    run.check_items(-(-len(collection) // step), "chunk")
    return [collection[start : start + step] for start in range(0, len(collection), step)]


def utf8_length(run: Run, value: Value) -> Value:
    return len(text("utf8Length", None, value).encode("utf-8", "surrogatepass"))


def utf16_length(run: Run, value: Value) -> Value:
    return len(text("utf16Length", None, value).encode("utf-16-le", "surrogatepass")) // 2


def guid(run: Run, form: Value) -> Value:
    letter = "D" if form is None else text("guid", None, form).upper() or "D"
    from uuid import UUID

    drawn = UUID(bytes=run.draw()[:16], version=4)
    digits, dashed = drawn.hex, str(drawn)
    forms = {"N": digits, "D": dashed, "B": f"{{{dashed}}}", "P": f"({dashed})"}
    forms["X"] = _structured(digits)
    if letter not in forms:
        raise not_valid("guid", "its format is one of 'N', 'D', 'B', 'P' and 'X'")
    return forms[letter]


def _structured(digits: str) -> str:
    tail = ",".join(f"0x{digits[at : at + 2]}" for at in range(16, 32, 2))
    return f"{{0x{digits[:8]},0x{digits[8:12]},0x{digits[12:16]},{{{tail}}}}}"


_string = Family("string")

STRINGS: tuple[FunctionEntry, ...] = (
    _string.collecting("concat(text)", concat, "the texts of all values, one after another"),
    _string("endsWith(text, search)", ends_with, "whether it ends so, case aside"),
    _string("startsWith(text, search)", starts_with, "whether it begins so, case aside"),
    _string("indexOf(text, search)", index_of, "where it is first, case aside, or -1"),
    _string("lastIndexOf(text, search)", last_index_of, "where it is last, or -1"),
    _string(
        "nthIndexOf(text, search, occurrence)",
        nth_index_of,
        "where it is for the nth time, or -1; below 0 counts from the end",
    ),
    _string("length(collection)", length, "how many characters or items there are"),
    _string("replace(text, old, new)", replace, "with each old text made new; case matters"),
    _string("split(text, delimiter)", split, "the parts between the delimiters"),
    _string(
        "substring(text, start, length?)", substring, "a part, which has to lie within the text"
    ),
    _string("slice(text, start, end?)", slice_text, "a part; positions below 0 count from the end"),
    _string("toLower(text)", to_lower, "in lower case"),
    _string("toUpper(text)", to_upper, "in upper case"),
    _string("trim(text)", trim, "without white space at either end"),
    _string("trimByteOrderMark(text)", trim_mark, "without a byte order mark at its start"),
    _string("chunk(collection, length)", chunk, "pieces of a text or array"),
    _string("join(collection, delimiter)", join, "the texts of all items, joined"),
    _string("utf8Length(text)", utf8_length, "how many bytes it has in UTF-8"),
    _string("utf16Length(text)", utf16_length, "how many units it has in UTF-16"),
    _string(
        "guid(format?)", guid, "a new identifier, drawn from the seed of the run", reads="$seed"
    ),
)


# What encodeURIComponent of JavaScript leaves as it is, beside letters, digits and `_.-~`.
_UNESCAPED = "!'()*"
_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?:[^/?#@]*@)?"
    r"(?P<host>\[[^\]/?#]*\]|[^:/?#]*)(?::(?P<port>[0-9]{0,5}))?)?"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?\Z",
    re.DOTALL,
)


def encode_component(run: Run, values: list[Value]) -> Value:
    # The designer writes several parts into one call; Azure joins them.
    source = concat(run, values)
    run.check_text(len(source) * 3, "uriComponent")
    return quote(source, safe=_UNESCAPED, errors="replace")


def decode_component(run: Run, value: Value) -> Value:
    return decode_text(unquote_to_bytes(text("uriComponentToString", None, value)), "utf-8")


def component_to_binary(run: Run, value: Value) -> Value:
    source = text("uriComponentToBinary", None, value)
    run.check_text(len(source) * 4 // 3, "uriComponentToBinary")
    return envelope(source.encode("utf-8", "replace"))


def uri_part(
    function: str, part: Callable[[re.Match[str]], Value], run: Run, value: Value
) -> Value:
    match = _ADDRESS.match(text(function, None, value).strip())
    if match is None:
        raise not_valid(function, "the value is not an absolute URI")
    return part(match)


def _port(address: re.Match[str]) -> int:
    if address["port"]:
        return int(address["port"])
    return _PORTS.get(address["scheme"].lower(), -1)


_uri = Family("uri")

URIS: tuple[FunctionEntry, ...] = (
    _uri.collecting("uriComponent(text)", encode_component, "escaped for use in a URI"),
    _uri.collecting("encodeUriComponent(text)", encode_component, "escaped for use in a URI"),
    _uri("uriComponentToString(text)", decode_component, "without its escapes"),
    _uri("decodeUriComponent(text)", decode_component, "without its escapes"),
    _uri("uriComponentToBinary(text)", component_to_binary, "an escaped text as content"),
    *(
        _uri.named(f"{name}(uri)", uri_part, doc, part)
        for name, doc, part in (
            ("uriHost", "the host", lambda uri: (uri["host"] or "").lower()),
            ("uriPath", "the path, / if it has none", lambda uri: uri["path"] or "/"),
            (
                "uriPathAndQuery",
                "the path with the query",
                lambda uri: (uri["path"] or "/") + (uri["query"] or ""),
            ),
            ("uriPort", "the port, the usual one of the scheme if it has none", _port),
            ("uriQuery", "the query with its question mark", lambda uri: uri["query"] or ""),
            ("uriScheme", "the scheme", lambda uri: uri["scheme"].lower()),
        )
    ),
)


_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+\Z", re.ASCII)


def _content(run: Run, value: Value, function: str) -> bytes:
    content = print_text(run, value).encode("utf-8", "replace")
    run.check_text(len(content) * 4 // 3, function)
    return content


def to_base64(run: Run, value: Value) -> Value:
    if is_envelope(value):
        return value["$content"]
    return encode(_content(run, value, "base64"))


def base64_to_string(run: Run, value: Value) -> Value:
    return decode_text(decode(run, text("base64ToString", None, value)), "utf-8")


def base64_to_binary(run: Run, value: Value) -> Value:
    source = text("base64ToBinary", None, value)
    decode(run, source)
    return {"$content-type": "application/octet-stream", "$content": source}


def binary(run: Run, value: Value) -> Value:
    if value is None:
        raise wrong("binary", None, "not be null", value)
    if is_envelope(value):
        return envelope(content_bytes(run, value))
    return envelope(_content(run, value, "binary"))


def data_uri(run: Run, value: Value) -> Value:
    if is_envelope(value):
        return f"data:{value['$content-type']};base64,{value['$content']}"
    kind = "text/plain" if isinstance(value, str) else "application/json"
    return f"data:{kind};charset=utf-8;base64,{encode(_content(run, value, 'dataUri'))}"


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
