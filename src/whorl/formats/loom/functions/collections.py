"""Functions on text and content, on arrays and objects, on booleans and order, and on variables."""

from __future__ import annotations

import operator
import re
from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from whorl.formats.loom.values import arguments
from whorl.formats.loom.values.arguments import identity, not_valid, of_units, text, to_units, wrong
from whorl.language.calls import FunctionEntry
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from whorl.language.calls import Run
    from whorl.language.values import Value


# Functions on text, addresses, base64, data URIs and content that is not JSON.
#
# A position or length counts units of UTF-16, as .NET does: an emoji has two. What is left of an
# emoji that is cut is U+FFFD.

STRINGS = arguments.Family("string")
URIS = arguments.Family("uri")
BINARY = arguments.Family("conversion")


@STRINGS("concat(text, ...)", "the texts of all values, one after another")
def concat(run: Run, values: list[Value], between: str = "", function: str = "concat") -> str:
    parts: list[str] = []
    size = len(between) * max(0, len(values) - 1)
    run.limit_text(size, function)
    for value in values:
        part = arguments.print_text(run, value)
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


STRINGS("lastIndexOf(text:str, search:str)", "the position of the last match, or -1")(
    lambda run, text, search: _nth_index_of(run, text, search, -1)
)


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
    """Changes the case as .NET does without a culture, character by character.

    An ß stays, and so do positions; a Turkish ı or İ does not change.
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
        part = f"the start index '{start}' and length '{taken}'"
        reason = f"{part} do not lie within the text, which has the length '{len(text)}'"
        raise not_valid("substring", reason)
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
    kind = arguments.type_name(value)
    raise not_valid("trim", f"its parameters are not valid, a value of type {kind!r} has no spaces")


STRINGS("trimByteOrderMark(text:str)", "without a byte order mark at its start")(
    lambda run, text: text.removeprefix("\ufeff")
)


@STRINGS("chunk(collection:sequence, length:int)", "pieces of a text or array")
def _chunk(run: Run, collection: str | list[Value], size: int) -> Value:
    if size < 1:
        raise wrong("chunk", 1, "be a positive integer", size)
    units = to_units(collection) if isinstance(collection, str) else collection
    run.check_items(-(-len(units) // size), "chunk")
    pieces: list[Any] = [units[start : start + size] for start in range(0, len(units), size)]
    return [*map(of_units, pieces)] if isinstance(collection, str) else pieces


@STRINGS("join(collection, delimiter)", "the texts of all items, joined")
def join(run: Run, collection: Value, delimiter: Value) -> str:
    if not isinstance(collection, list):
        raise wrong("join", 0, "be an array", collection)
    run.spend(len(collection))
    return concat(run, collection, text("join", 1, delimiter), "join")


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


@URIS("uriComponentToString(text:str)", "the text without URI escapes", alias="decodeUriComponent")
def _decode_component(run: Run, text: str) -> str:
    run.spend(text.count("%"))
    return arguments.decode_text(unquote_to_bytes(text), "utf-8")


URIS("uriComponentToBinary(text:str)", "an escaped text as content")(
    lambda run, text: arguments.envelope(_content(run, text, "uriComponentToBinary"))
)


def _uri_part(function: str, part: Callable[[re.Match[str]], Value], run: Run, uri: str) -> Value:
    match = _ADDRESS.match(uri.strip())
    if match is None:
        raise not_valid(function, "the value is not an absolute URI")
    return part(match)


URIS("uriHost(uri:str)", "the host", lambda uri: (uri["host"] or "").lower())(_uri_part)
URIS("uriPath(uri:str)", "the path, or / if it has none", lambda uri: uri["path"] or "/")(_uri_part)
URIS(
    "uriPathAndQuery(uri:str)",
    "the path with the query",
    lambda uri: (uri["path"] or "/") + (uri["query"] or ""),
)(_uri_part)
URIS(
    "uriPort(uri:str)",
    "the port, or the default port of the scheme",
    lambda uri: int(uri["port"] or _PORTS.get(uri["scheme"].lower(), -1)),
)(_uri_part)
URIS("uriQuery(uri:str)", "the query with its `?`", lambda uri: uri["query"] or "")(_uri_part)
URIS("uriScheme(uri:str)", "the scheme", lambda uri: uri["scheme"].lower())(_uri_part)

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+\Z", re.ASCII)


def _content(run: Run, value: Value, function: str) -> bytes:
    content = arguments.print_text(run, value).encode("utf-8", "replace")
    run.check_text(len(content) * 4 // 3, function)
    return content


def _encoded(run: Run, value: Value, function: str) -> str:
    if value is None and function != "base64":
        raise wrong(function, None, "not be null", value)
    if arguments.is_envelope(value):
        return arguments.encode(arguments.content_bytes(run, value))
    return arguments.encode(_content(run, value, function))


BINARY("base64(value)", "the value as base64")(lambda run, value: _encoded(run, value, "base64"))
BINARY("base64ToString(value:str)", "the text that base64 holds", alias="decodeBase64")(
    lambda run, source: arguments.decode_text(arguments.decode(run, source), "utf-8")
)


@BINARY("base64ToBinary(value:str)", "the content that base64 holds")
def _base64_to_binary(run: Run, source: str) -> Value:
    arguments.decode(run, source)
    return {"$content-type": arguments.OCTETS, "$content": source}


BINARY("binary(value)", "the value as content")(
    lambda run, value: {
        "$content-type": arguments.OCTETS,
        "$content": _encoded(run, value, "binary"),
    }
)


@BINARY("dataUri(value)", "the value as a data URI")
def _data_uri(run: Run, value: Value) -> str:
    kind = "text/plain" if isinstance(value, str) else "application/json"
    head = value["$content-type"] if arguments.is_envelope(value) else f"{kind};charset=utf-8"
    return f"data:{head};base64,{_encoded(run, value, 'dataUri')}"


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
            arguments.charset_named(parameter[8:])
    if is_base64:
        return {"$content-type": head, "$content": payload}
    content = _unquoted(payload)
    run.check_text(len(content) * 4 // 3, "dataUriToBinary")
    return arguments.envelope(content, head)


@BINARY("dataUriToString(value:str)", "the text of a data URI")
def _data_uri_to_string(run: Run, source: str) -> str:
    head, payload, is_base64 = _parts("dataUriToString", source)
    _, *parameters = head.split(";")
    if "" in parameters:
        raise not_valid("dataUriToString", "the media type has an empty parameter")
    charset = parameters[0] if parameters else ""
    # Azure takes UTF-8 here and nothing else; a character set further on is not looked at.
    if charset.lower().startswith("charset=") and arguments.charset_named(charset[8:]) != "utf-8":
        raise not_valid("dataUriToString", f"{charset!r} is not supported")
    content = arguments.decode(run, payload) if is_base64 else _unquoted(payload)
    return arguments.decode_text(content, "utf-8")


def _parts(function: str, source: str) -> tuple[str, str, bool]:
    """Return media type, payload and whether that is base64."""
    if source[:5].lower() != "data:" or "," not in source:
        raise not_valid(function, "the value is not a data URI")
    head, _, payload = source[5:].partition(",")
    is_base64 = f";{head.lower()}".endswith(";base64")
    return head[:-7] if is_base64 else head, payload, is_base64


def _unquoted(payload: str) -> bytes:
    return unquote_to_bytes(payload.replace("+", " "))


COLLECTIONS = arguments.Family("collection")
# Azure has no such functions; files of the seed's dialect use them.
LENIENT_COLLECTIONS = arguments.Family("collection")
OBJECTS = arguments.Family("json")
TYPING = arguments.Family("internal")
LOGICAL = arguments.Family("logical")


@COLLECTIONS(
    "contains(collection, value)",
    "whether a text contains the value, an array the item or an object the key; case matters",
)
def _contains(run: Run, collection: Value, value: Value) -> bool:
    if isinstance(collection, str | dict):
        if isinstance(collection, str):
            run.spend(len(collection) >> 6)
        return arguments.text("contains", 1, value) in collection
    if not isinstance(collection, list):
        raise wrong("contains", 0, "be an object, an array or a string", collection)
    run.spend(len(collection))
    if isinstance(value, str):
        return any(item == value for item in collection if isinstance(item, str))
    run.weigh(value)
    wanted = identity(value)
    for item in collection:
        if isinstance(item, list | dict):
            run.weigh(item)
        if identity(item) == wanted:
            return True
    return False


COLLECTIONS("empty(collection:collection)", "whether it is empty; null is empty")(
    lambda run, collection: not collection
)


@COLLECTIONS("last(collection:sequence)", "the last item or character", -1)
@COLLECTIONS("first(collection:sequence)", "the first item or character", 0)
def _end_of(index: int, run: Run, collection: str | list[Value]) -> Value:
    if collection:
        return collection[index]
    return "" if isinstance(collection, str) else None


@COLLECTIONS("skip(collection:sequence, count:int)", "the items or characters after the first ones")
@COLLECTIONS("take(collection:sequence, count:int)", "the items or characters at the front")
def _part_of(function: str, run: Run, collection: str | list[Value], count: int) -> Value:
    if count < 0:
        raise wrong(function, 1, "be a positive integer", count)
    taken = slice(count) if function == "take" else slice(count, None)
    if isinstance(collection, str):
        return of_units(to_units(collection)[taken])
    return collection[taken]


@COLLECTIONS(
    "union(first, second, ...)", "the items or properties of all; for the same key the later value"
)
def _union(run: Run, collections: list[Value]) -> Value:
    if _kind_of_all("union", collections) is list:
        return list(_distinct(_items(run, collections)).values())
    return _merge("union", run, collections)


@COLLECTIONS("intersection(first, second, ...)", "what all arrays or objects have in common")
def _intersection(run: Run, collections: list[Any]) -> Value:
    kind = _kind_of_all("intersection", collections)
    _items(run, collections)
    head, *others = collections
    if kind is list:
        wanted = [{identity(item) for item in each} for each in others]
        items = _distinct(head).items()
        return [item for key, item in items if all(key in each for each in wanted)]
    names = [key for key in head if all(key in each for each in others)]
    keys = {key: identity(head[key]) for key in names}
    return {n: head[n] for n in names if all(identity(each[n]) == keys[n] for each in others)}


def _distinct(items: list[Value]) -> dict[Hashable, Value]:
    """Returns the first of each group of equal items, by a key that equal items share."""
    first: dict[Hashable, Value] = {}
    for item in items:
        first.setdefault(identity(item), item)
    return first


def _kind_of_all(function: str, collections: list[Value]) -> type:
    for place, each in enumerate(collections):
        if not isinstance(each, list | dict):
            raise wrong(function, place, "be an array or an object", each)
    kind, *others = {type(each) for each in collections}
    if others:
        raise EvaluationError(
            f"The template language function {function!r} expects parameters of same type, "
            "either all arrays or all objects"
        )
    return kind


def _items(run: Run, collections: list[Value]) -> list[Value]:
    """Returns the items of all arrays; pays for comparing all items."""
    items: list[Value] = []
    for each in collections:
        run.weigh(each)
        if isinstance(each, list):
            run.check_items(len(items) + len(each), "union")
            items.extend(each)
    return items


COLLECTIONS("reverse(collection:array)", "the array in reverse")(lambda run, items: items[::-1])


@COLLECTIONS(
    "sort(collection:array, sortBy?:str)", "an array in order, of its items or a property of them"
)
def _sort(run: Run, items: list[Value], path: str | None) -> list[Value]:
    if path is not None:
        run.spend(len(items) * (2 + (len(path) >> 5)))
    run.spend(run.weigh(items) * len(items).bit_length() >> 4)
    key = (lambda item: item) if path is None else partial(arguments.forgiving_item, key=path)
    keyed = [(key(item), item) for item in items]
    missing = [item for key, item in keyed if key is None]
    present = [pair for pair in keyed if pair[0] is not None]
    kinds = {float if arguments.is_number(key) else type(key) for key, _ in present}
    if len(kinds) > 1 or kinds & {list, dict}:
        raise not_valid("sort", "the values to sort by are not all numbers or all texts")
    # All keys are of one kind, so Python can compare them.
    ordered = sorted(present, key=lambda pair: pair[0])  # type: ignore[arg-type,return-value]
    return [*missing, *(item for _, item in ordered)]


@LENIENT_COLLECTIONS(
    "append(collection:array_or_null, value)", "an array with one more item; not in Azure"
)
def _append(run: Run, collection: list[Value] | None, value: Value) -> list[Value]:
    items = collection or []
    run.check_items(len(items) + 1, "append")
    return [*items, value]


@OBJECTS("setProperty(object:object, property:str, value)", "the object with a property set")
@OBJECTS("addProperty(object:object, property:str, value)", "the object with a new property")
def _set_property(
    function: str, run: Run, properties: dict[str, Value], key: str, value: Value
) -> dict[str, Value]:
    own = arguments.find_key(properties, key)
    if own is not None and function == "addProperty":
        raise not_valid(function, f"it expects the {key!r} property to not exist in the object")
    run.check_items(len(properties) + 1, function)
    # A property that is there moves to the end and keeps the case that it had.
    others = {other: properties[other] for other in properties if other != own}
    return {**others, own or key: value}


@OBJECTS("removeProperty(object:object, property:str)", "the object without a property")
def _remove_property(run: Run, properties: dict[str, Value], key: str) -> dict[str, Value]:
    gone = arguments.find_key(properties, key)
    run.check_items(len(properties), "removeProperty")
    return {key: value for key, value in properties.items() if key != gone}


@OBJECTS("mergeObjects(object, ...)", "all properties; the later value wins")
def _merge(function: str, run: Run, objects: list[Value]) -> dict[str, Value]:
    merged: dict[str, Value] = {}
    for place, properties in enumerate(objects):
        if not isinstance(properties, dict):
            raise wrong(function, place, "be of type object", properties)
        run.check_items(len(merged) + len(properties), function)
        merged.update(properties)
    return merged


@OBJECTS("coalesce(value, ...)", "the first value that is not null; stops when it is found")
def _coalesce(run: Run, values: list[Value]) -> Value:
    return next((value for value in values if value is not None), None)


_SHOWN_MAX = 100
# The value of null in a variable of a type.
_NULLS: dict[str, Value] = {"string": "", "array": [], "object": None}


@TYPING("$typed(name, type, value)", "a value of the variable's type")
def _typed(run: Run, name: Value, kind: Value, value: Value) -> Value:
    wanted = arguments.text("$typed", 1, kind).lower()
    if value is None and wanted in _NULLS:
        return _NULLS[wanted]
    if wanted == "float" and arguments.is_number(value):
        return float(value)  # type: ignore[arg-type]
    if wanted == arguments.type_name(value).lower() and not isinstance(value, Decimal):
        return value
    shown = run.text(value) if isinstance(value, str | int | float) else arguments.type_name(value)
    only = wanted.capitalize()
    raise EvaluationError(
        f"The variable {name!r} of type {only!r} cannot be initialized or updated with value "
        f"{shown[:_SHOWN_MAX]!r} of type {arguments.type_name(value)!r}. "
        f"The variable {name!r} only supports values of types {only!r}"
    )


TYPING("$typedOrNull(name, type, value)", "the same, or null")(
    lambda run, name, kind, value: None if value is None else _typed(run, name, kind, value)
)


@TYPING("$declared(name:str, value)", "a value for a variable that is declared", reads="$variables")
def _declared(run: Run, name: str, value: Value) -> Value:
    table = run.lookup("$variables")
    if isinstance(table, dict) and arguments.find_key(table, name) is not None:
        return value
    raise EvaluationError(
        f"The variable {name!r} must be initialized before it can be used",
        help="add an InitializeVariable action before this one",
    )


@lru_cache(maxsize=16)
def condition_check(function: str, place: int) -> FunctionEntry:
    """Returns the function that accepts only booleans, for the arguments of `and`, `or`, `if`."""
    check = partial(arguments.boolean, function, place)
    return FunctionEntry(
        "function", "logical", function, lambda run, value: check(value), "the boolean", ("value",)
    )


@LOGICAL("or(condition, ...)", "whether any condition is true; stops at the first true one", any)
@LOGICAL("and(condition, ...)", "whether all conditions are true; stops at the first false", all)
def _decided(
    function: str, decide: Callable[[list[bool]], bool], run: Run, values: list[Value]
) -> bool:
    return decide([arguments.boolean(function, place, value) for place, value in enumerate(values)])


LOGICAL("not(condition:bool)", "the opposite of a boolean")(lambda run, test: not test)
LOGICAL("if(condition:bool, then, otherwise)", "one of two values; only that one is evaluated")(
    lambda run, test, then, otherwise: then if test else otherwise
)
LOGICAL("equals(left, right)", "whether two values are the same; case matters")(arguments.same)


def _ordered(
    function: str, compare: Callable[[Any, Any], bool], run: Run, left: Value, right: Value
) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return compare(left, right)
    if arguments.is_number(left) and arguments.is_number(right):
        # A decimal cannot be ordered beside NaN, which comes before and after nothing.
        is_nan = left != left or right != right  # noqa: PLR0124
        return not is_nan and compare(left, right)
    place = int(arguments.is_number(left) or isinstance(left, str))
    raise wrong(function, place, "be a number or a string as the other one", [left, right][place])


for _name, _compare, _place in (
    ("greater", operator.gt, "after the second"),
    ("greaterOrEquals", operator.ge, "after the second or is equal"),
    ("less", operator.lt, "before the second"),
    ("lessOrEquals", operator.le, "before the second or is equal"),
):
    _doc = f"whether the first number or text comes {_place}"
    LOGICAL(f"{_name}(left, right)", _doc, _compare)(_ordered)
