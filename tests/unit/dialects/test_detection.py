"""Which dialect a file is of."""

from __future__ import annotations

import pytest

from whorl.dialects import dialects, read_workflow
from whorl.errors import InvalidWorkflow, UsageError


def fault(text: str | bytes, file: str = "a.yaml") -> tuple[str, str]:
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(text, file)
    found = caught.value.diagnostics[0]
    return found.code, f"{found.message}; {found.help}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("steps: {a: {ask: Hi}}", "add `whorl: 1`"),
        ("worl: 1\nsteps: {}", "did you mean 'whorl'"),
        ("a: 1", "begins with `whorl: 1`"),
        ("- 1", "begins with `whorl: 1`"),
        ("just text", "begins with `whorl: 1`"),
    ],
)
def test_an_unknown_file_names_the_first_line_of_a_native_one(text: str, words: str) -> None:
    code, message = fault(text)

    assert code == "W018"
    assert words in message


def test_bytes_are_read_as_utf8() -> None:
    assert read_workflow(b"whorl: 1\nsteps: {a: {ask: Hi}}", "a.yaml").workflow.name == "a"
    assert fault(b"whorl: \xff")[0] == "W001"


@pytest.mark.parametrize("version", ["2", "'1'", "true", "null"])
def test_another_version_of_the_format_is_refused(version: str) -> None:
    assert fault(f"whorl: {version}\nsteps: {{a: {{ask: Hi}}}}")[0] == "W007"


def test_a_dialect_can_be_named() -> None:
    text = "whorl: 1\nsteps: {a: {ask: Hi}}"

    assert read_workflow(text, "a.yaml", dialect="native").workflow.dialect == "native"
    assert "native" in dialects().names()
    with pytest.raises(UsageError, match="nativ"):
        read_workflow(text, "a.yaml", dialect="nativ")
