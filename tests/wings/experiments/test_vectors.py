"""The page answers rules as Python does: both are held to the same vectors."""

from __future__ import annotations

import json

import pytest

from experiments.vectors import FILE, made


@pytest.mark.slow
def test_the_vectors_of_the_page_are_what_python_answers() -> None:
    """`python -m experiments.vectors` writes them anew."""
    kept = json.loads(FILE.read_text())

    assert kept == json.loads(json.dumps(made()))
    answers = [told for one in kept for asked in one["asked"] for told in asked["answers"]]
    assert sum("why" in told for told in answers) > 50
    assert sum("why" not in told for told in answers) > 200
