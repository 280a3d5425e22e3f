"""Files that a question brings along: of the project, known by what they hold, and bounded."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.files.rights import FileRights
from whorl.providers.files.tasks import SIZE_MAX, TOTAL_MAX
from whorl.providers.json_values import clean
from whorl.providers.models.conversation import CHARACTERS_PER_TOKEN, Attachment

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import Settings
    from whorl.providers.task import Inputs

FILES_MAX = 20
# What the servers count for an image at most; a smaller one is settled with the reply.
IMAGE_TOKENS = 5_000
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def named_files(inputs: Inputs) -> list[tuple[str, bool]]:
    """The paths of the files that a question names, and of each whether it must be an image."""
    named: list[tuple[str, bool]] = []
    for field in ("images", "files"):
        value = inputs.get(field)
        for path in value if isinstance(value, list) else [] if value is None else [value]:
            if not isinstance(path, str) or not path:
                inputs.refuse(field, f"must be paths of files, not {path!r:.80}")
            named.append((path, field == "images"))
    if len(named) > FILES_MAX:
        inputs.refuse("files", f"and 'images' are {len(named)}, and at most {FILES_MAX} are sent")
    return named


def expected_files(inputs: Inputs, settings: Settings) -> tuple[Attachment, ...]:
    """The files with the tokens that they may take, as far as a look at their sizes tells."""
    rights, expected = FileRights.of(settings), list[Attachment]()
    for path, is_image in named_files(inputs):
        tokens = IMAGE_TOKENS
        if not is_image and not path.lower().endswith(_IMAGE_ENDINGS):
            try:
                size = rights.resolve(path).stat().st_size
            except (OSError, ProviderError):
                # A path that is still to be computed, or that is refused when it is read.
                size = 0
            tokens = min(size, SIZE_MAX) // CHARACTERS_PER_TOKEN
        expected.append(Attachment(path, "", b"", tokens))
    return tuple(expected)


def read_files(inputs: Inputs, settings: Settings, run: str) -> tuple[Attachment, ...]:
    """The files with their content. Raises ProviderError P113, P125."""
    rights = FileRights.of(settings, run)
    read: list[Attachment] = []
    for path, is_image in named_files(inputs):
        content = rights.read(rights.resolve(path, "read"), path, size_max=SIZE_MAX)
        kind = _type_of(content)
        if not kind or (is_image and not kind.startswith("image/")):
            wanted = "an image (PNG, JPEG, GIF, WebP)"
            wanted = wanted if is_image else f"{wanted}, a PDF or a text in UTF-8"
            inputs.refuse("images" if is_image else "files", f"names {path[:200]!r}: not {wanted}")
        is_seen = kind.startswith("image/")
        tokens = IMAGE_TOKENS if is_seen else len(content) // CHARACTERS_PER_TOKEN
        read.append(Attachment(path, kind, content, tokens))
        if sum(len(file.content) for file in read) > TOTAL_MAX:
            inputs.refuse("files", f"have more than {TOTAL_MAX:,} bytes in all")
    return tuple(read)


def with_texts(prompt: str, files: tuple[Attachment, ...]) -> tuple[str, tuple[Attachment, ...]]:
    """The prompt with the files behind it that are texts, and the files that are none."""
    texts = [file for file in files if file.type == "text/plain"]
    parts = [f"<file name={f.name!r}>\n{clean(f.content.decode())}\n</file>" for f in texts]
    return "\n\n".join([prompt, *parts]), tuple(file for file in files if file not in texts)


def described(files: tuple[Attachment, ...]) -> dict[str, Json]:
    """What the journal keeps of the files: their hashes, not their content."""
    listed: list[Json] = [
        {
            "path": file.name,
            "type": file.type,
            "size": len(file.content),
            "sha256": hashlib.sha256(file.content).hexdigest(),
        }
        for file in files
    ]
    return {"files": listed} if listed else {}


def _type_of(content: bytes) -> str:
    """The media type of what servers take, by the first bytes, or nothing."""
    for signature, kind in _SIGNATURES:
        if content.startswith(signature):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    try:
        return "" if "\0" in content.decode("utf-8-sig") else "text/plain"
    except UnicodeDecodeError:
        return ""
