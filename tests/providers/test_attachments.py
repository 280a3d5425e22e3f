"""Images and files that go with a question, at real servers of three formats."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import answering, ask, providers_for, serve
from wires import ANTHROPIC, OLLAMA, OPENAI, Format

from whorl.errors import ProviderError
from whorl.providers.files import SIZE_MAX

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.providers.task import Estimate, Reply

PNG = b"\x89PNG\r\n\x1a\n rest of the picture"
WEBP = b"RIFF\x10\0\0\0WEBP rest of the picture"
PDF = b"%PDF-1.7 rest of the paper"
PNG64, PDF64 = base64.b64encode(PNG).decode(), base64.b64encode(PDF).decode()


def perform(wire: Format, root: Path, **inputs: Any) -> tuple[Reply, list[Any], Estimate]:
    async def main() -> tuple[Reply, list[Any], Estimate]:
        async with serve(answering(wire.plain("a cat"))) as server:
            settings = replace(wire.settings(server.url, stream=False), project_root=str(root))
            async with providers_for(settings) as providers:
                request, kind = ask("What is it?", **inputs), providers.kind("ask")
                estimate = kind.estimate(request)
                reply = await kind.perform(request, print)
            return reply, [seen.json for seen in server.seen], estimate

    return asyncio.run(main())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cat.png").write_bytes(PNG)
    (tmp_path / "dog.webp").write_bytes(WEBP)
    (tmp_path / "paper.pdf").write_bytes(PDF)
    (tmp_path / "notes.txt").write_text("It purrs.")
    return tmp_path


def test_anthropic_is_sent_them_as_blocks_before_the_question(folder: Path) -> None:
    _, sent, _ = perform(ANTHROPIC, folder, files=["cat.png", "paper.pdf"])

    image = {"type": "base64", "media_type": "image/png", "data": PNG64}
    paper = {"type": "base64", "media_type": "application/pdf", "data": PDF64}
    assert sent[0]["messages"][-1]["content"] == [
        {"type": "image", "source": image},
        {"type": "document", "source": paper},
        {"type": "text", "text": "What is it?"},
    ]


def test_ollama_is_sent_images_and_no_papers(folder: Path) -> None:
    _, sent, _ = perform(OLLAMA, folder, images=["cat.png"])
    with pytest.raises(ProviderError, match="cannot be sent the file") as fault:
        perform(OLLAMA, folder, files=["paper.pdf"])

    assert sent[0]["messages"][-1]["images"] == [PNG64]
    assert fault.value.code == "P110"


def test_hashes_are_passed_and_tokens_are_reserved(folder: Path) -> None:
    reply, _, estimate = perform(
        OPENAI, folder, images=["cat.png", "dog.webp"], files=["notes.txt"]
    )
    _, _, bare = perform(OPENAI, folder)

    told: Any = reply.detail["files"]
    assert [file["path"] for file in told] == ["cat.png", "dog.webp", "notes.txt"]
    assert told[0]["sha256"] == hashlib.sha256(PNG).hexdigest()
    assert [file["type"] for file in told] == ["image/png", "image/webp", "text/plain"]
    assert estimate.input_tokens - bare.input_tokens == 10_000 + len("It purrs.") // 4


@pytest.mark.parametrize(
    ("inputs", "code", "words"),
    [
        ({"images": ["notes.txt"]}, "P113", "not an image"),
        ({"files": ["noise.bin"]}, "P113", "a PDF or a text"),
        ({"files": ["none.txt"]}, "P113", "does not exist"),
        ({"files": ["../secret.txt"]}, "P113", "outside of the project"),
        ({"files": [".env"]}, "P125", "may not be read"),
        ({"files": ["large.txt"]}, "P113", "more than 10,000,000 bytes"),
        ({"files": ["notes.txt"] * 21}, "P113", "at most 20 are sent"),
        ({"images": [{"a": 1}]}, "P113", "must be paths of files"),
    ],
)
def test_what_is_no_file_for_models_is_refused_unsent(
    folder: Path, inputs: dict[str, Any], code: str, words: str
) -> None:
    (folder / "noise.bin").write_bytes(b"\0\xff\0")
    (folder / ".env").write_text("KEY=1")
    with (folder / "large.txt").open("wb") as file:
        file.truncate(SIZE_MAX + 1)

    with pytest.raises(ProviderError, match=words) as fault:
        perform(OPENAI, folder, **inputs)

    assert fault.value.code == code
