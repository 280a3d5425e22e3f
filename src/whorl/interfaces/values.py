"""Values as people read them: texts as lines, JSON folded by key; and how two values differ.

What is only a part says so: of long lists and deep objects it is told how much is left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import plural, safe
from whorl.interfaces.formatting import line, plain_lines
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from difflib import SequenceMatcher

    from whorl.language import Json

# How a text becomes lines, and by how many columns those are set in.
Render: TypeAlias = "Callable[[str, int], Iterable[str]]"
# A line of a comparison: `+`, `-`, `~`, `@` or a space, and what it says.
Change: TypeAlias = tuple[str, str]

_LINE_MAX = 88
_CUT_AT = 2_000
_ITEMS_MAX = 20
_DEPTH_MAX = 6
# What programs print is no Markdown, whatever it looks like.
_LOGS = frozenset({"stdout", "stderr"})
_WORDS = regex(r"(?:\w+|[^\w\s]+)\s*|\s+")
_WORDS_MAX = 2_000
# Of two lines that share less, both are shown whole.
_ALIKE_MIN = 0.4


def value_lines(
    value: Json, render: Render = plain_lines, *, whole: bool = False, indent: int = 0
) -> Iterator[str]:
    """A value in lines, `whole` or folded; `indent` is how far they will be set in."""
    return _Writer(render, whole=whole).lines(value, indent, 0)


class _Writer:
    """Writes one value."""

    def __init__(self, render: Render, *, whole: bool) -> None:
        self._render = render
        self._items_max = 10**9 if whole else _ITEMS_MAX
        self._depth_max = 10**9 if whole else _DEPTH_MAX

    def lines(self, value: Json, indent: int, depth: int) -> Iterator[str]:
        if isinstance(value, str):
            yield from self._render(value, indent)
        elif (words := one_line(value)) is not None:
            yield words
        elif depth >= self._depth_max:
            yield f"… {plural(len(value), 'entry', 'entries')}"  # type: ignore[arg-type]
        elif isinstance(value, dict):
            yield from self._fields(value, indent, depth)
        else:
            assert isinstance(value, list)
            yield from self._items(value, indent, depth)

    def _fields(self, value: dict[str, Json], indent: int, depth: int) -> Iterator[str]:
        for at, (name, inner) in enumerate(value.items()):
            if at == self._items_max:
                yield f"… {plural(len(value) - at, 'more field')}"
                return
            head, words = f"{line(name, 200)}:", one_line(inner)
            if words is not None:
                yield f"{head} {words}"
                continue
            yield head
            is_log = name in _LOGS and isinstance(inner, str)
            below = plain_lines(str(inner)) if is_log else self.lines(inner, indent + 2, depth + 1)
            yield from (f"  {text}" for text in below)

    def _items(self, value: list[Json], indent: int, depth: int) -> Iterator[str]:
        for at, inner in enumerate(value):
            if at == self._items_max:
                yield f"… {plural(len(value) - at, 'more item')}"
                return
            words = one_line(inner)
            below = [words] if words is not None else self.lines(inner, indent + 2, depth + 1)
            yield from (f"{'- ' if first == 0 else '  '}{t}" for first, t in enumerate(below))


def one_line(value: Json) -> str | None:
    """A value that needs no more than a line; a text that reads as another value has quotes."""
    if isinstance(value, str):
        fits = len(value) <= _LINE_MAX and "\n" not in value and "\r" not in value
        return (safe(value) if _is_bare(value) else _json(value)) if fits else None
    if not isinstance(value, dict | list) or not value:
        return _json(value)
    if len(value) > _ITEMS_MAX or any("\n" in text for text in _texts(value)):
        return None
    words = _json(value)
    return words if len(words) <= _LINE_MAX else None


def _is_bare(text: str) -> bool:
    if not text or text != text.strip() or text[0] in "\"'[{":
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _json(value: Json) -> str:
    return safe(json.dumps(value, ensure_ascii=False))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def changes(old: Json, new: Json) -> Iterator[Change]:
    """How a value differs from another one: texts by line and word, objects by key."""
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return
    if isinstance(old, str) and isinstance(new, str):
        yield from _text_changes(old, new)
    elif isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _entry_changes(f"{line(name, 200)}:", _at(old, name), _at(new, name))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _item_changes(old, new)
    else:
        yield from _both("", old, new)


def _at(value: dict[str, Json], name: str) -> tuple[Json, ...]:
    return (value[name],) if name in value else ()


def _entry_changes(head: str, old: tuple[Json, ...], new: tuple[Json, ...]) -> Iterator[Change]:
    """A field or an item, which either of them may not have."""
    if not old or not new:
        mark, (value,) = ("+", new) if new else ("-", old)
        yield from _block(mark, head, value)
        return
    before, after = old[0], new[0]
    words, others = one_line(before), one_line(after)
    is_text = isinstance(before, str) and isinstance(after, str)
    is_nested = type(before) is type(after) and isinstance(before, dict | list)
    if words == others and before == after:
        return
    if words is None or others is None or is_nested:
        inner = list(changes(before, after))
        yield from [(" ", head), *((mark, f"  {text}") for mark, text in inner)] if inner else []
    elif is_text and (marked := _marked_words(words, others)):
        yield "~", f"{head} {marked}"
    else:
        yield from _both(head, before, after)


def _both(head: str, old: Json, new: Json) -> Iterator[Change]:
    """Two values that have nothing in common."""
    words = [one_line(value) for value in (old, new)]
    if None not in words and sum(len(str(word)) for word in words) <= _LINE_MAX:
        yield "~", f"{head} {words[0]} → {words[1]}".lstrip()
        return
    yield from _block("-", head, old)
    yield from _block("+", head, new)


def _block(mark: str, head: str, value: Json) -> Iterator[Change]:
    words = one_line(value)
    if words is not None:
        yield mark, f"{head} {words}".lstrip()
        return
    if head:
        yield mark, head
    yield from ((mark, f"{'  ' if head else ''}{text}") for text in value_lines(value))


def _matcher(
    old: Sequence[str], new: Sequence[str], *, autojunk: bool = True
) -> SequenceMatcher[str]:
    # Most commands compare nothing.
    from difflib import SequenceMatcher

    return SequenceMatcher(None, old, new, autojunk)


def _item_changes(old: list[Json], new: list[Json]) -> Iterator[Change]:
    before, after = ([json.dumps(item, sort_keys=True) for item in each] for each in (old, new))
    for tag, i1, i2, j1, j2 in _matcher(before, after).get_opcodes():
        if tag == "equal":
            continue
        for at in range(max(i2 - i1, j2 - j1)):
            is_new = i1 + at >= i2
            number = (j1 if is_new else i1) + at + 1
            sides = (tuple(old[i1:i2][at : at + 1]), tuple(new[j1:j2][at : at + 1]))
            yield from _entry_changes(f"[{number}]:", *sides)


def _text_changes(old: str, new: str) -> Iterator[Change]:
    before, after = (text.removesuffix("\n").splitlines() for text in (old, new))
    if before == after:
        yield "~", f"{_json(old[-20:])} → {_json(new[-20:])}"
        return
    for group in _matcher(before, after).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        if (first[1], last[2]) != (0, len(before)):
            parts = f"-{first[1] + 1},{last[2] - first[1]} +{first[3] + 1},{last[4] - first[3]}"
            yield "@", f"@ {parts} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from ((" ", safe(text)) for text in before[i1:i2])
            else:
                yield from _line_changes(before[i1:i2], after[j1:j2])


def _line_changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """Lines that take the place of others; of long ones only some words may differ."""
    before, after = list(map(safe, old)), list(map(safe, new))
    for left, right in zip(old, new, strict=False):
        is_long = max(len(left), len(right)) > _LINE_MAX
        marked = _marked_words(before[0], after[0]) if is_long else ""
        if not marked:
            break
        yield "~", marked
        del before[0], after[0]
    yield from (("-", text) for text in before)
    yield from (("+", text) for text in after)


def _marked_words(old: str, new: str) -> str:
    """Both lines in one, `[-without-]` and `{+with+}` words; empty where they are too different."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > _WORDS_MAX:
        return ""
    matcher = _matcher(before, after, autojunk=False)
    if matcher.ratio() < _ALIKE_MIN:
        return ""
    parts = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        left, right = "".join(before[i1:i2]), "".join(after[j1:j2])
        if tag == "equal":
            parts.append(left)
            continue
        # What follows both is no part of the change.
        space = right[len(right.rstrip()) :]
        same = space if left.endswith(space) else ""
        left, right = left[: len(left) - len(same)], right[: len(right) - len(same)]
        parts.append((f"[-{left}-]" if left else "") + (f"{{+{right}+}}" if right else "") + same)
    return "".join(parts)


def cut(lines: Iterable[str], lines_max: int) -> Iterator[str]:
    """So many lines, the first and the last of all, and how many are left out between them."""
    every = [text if len(text) <= _CUT_AT else f"{text[:_CUT_AT]}…" for text in lines]
    left_out = len(every) - lines_max
    half = lines_max // 2
    yield from every[:half] if left_out > 0 else every
    if left_out > 0:
        yield f"… {plural(left_out, 'more line')} …"
        yield from every[-(lines_max - half) :]
