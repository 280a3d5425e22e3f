"""A changed text is read in part, and comes to what reading all of it gives, to the place."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from drawn import change, editor, own_files, read
from test_hostile import TEXTS

from campaign import amount
from whorl.dialects.reader import parse
from whorl.errors import EditRefused, InvalidWorkflow
from whorl.source import Mapping, Scalar, Sequence, Value
from whorl.source.editing.rereading import shape_of

if TYPE_CHECKING:
    from whorl.source.editing.editor import Editor


def _whole(value: Value) -> Any:
    """A value with all that is known of where it stands."""
    match value:
        case Scalar():
            return value.value, value.span, value.quoted, value.raw, value.style, value.extent
        case Sequence():
            return value.span, value.layout, [_whole(item) for item in value]
        case Mapping():
            entries = [(_whole(entry.key), _whole(entry.value)) for entry in value]
            return value.span, value.layout, entries, list(value._by_name)


def _check(edited: Editor) -> None:
    now = edited.now
    read_again = parse(now.source, now.document.file, lenient=True)

    assert _whole(now.root) == _whole(read_again.root)
    assert now.shape == shape_of(read_again.root)


def _try(text: str, file: str, seeds: range) -> int:
    made = 0
    for seed in seeds:
        edited = editor(text, file)
        rng = Random(seed)
        for _ in range(4):
            try:
                change(edited, rng)
            except (EditRefused, IndexError):
                break
            made += 1
            _check(edited)
    return made


@pytest.mark.parametrize("name", TEXTS)
def test_odd_texts_are_read_in_part_as_in_whole(name: str) -> None:
    assert _try(*TEXTS[name], range(amount(15, 500)))


@pytest.mark.campaign
def test_files_are_read_in_part_as_in_whole() -> None:
    made = 0
    for _, path in own_files():
        try:
            made += _try(read(path), path.name, range(amount(1, 40)))
        except InvalidWorkflow:
            continue

    assert made > 50
