"""Which parts of a whorl.toml give rights: each section and key is known to do so, or not to."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.errors import UsageError
from whorl.providers.settings.model_providers import PROVIDER
from whorl.providers.settings.rights import _PARTERS, part_rights
from whorl.providers.settings.sections import SECTIONS, settings_from

HARMLESS_SECTIONS = {"defaults", "limits", "queue", "run", "server"}
HARMLESS_PROVIDER = {
    *("kind", "model", "max_tokens_field", "answer_tokens", "timeout_s", "structured", "stream"),
    *("max_concurrent", "requests_per_minute", "tokens_per_minute", "threads"),
}
# What each key of a provider is given to show that it is a right.
PROVIDER_RIGHTS: dict[str, Any] = {
    "base_url": "https://x.example/v1",
    "api_key": "env:ANOTHER",
    "headers": {"H": "v"},
    "keeps_max_tokens": True,
    "replies": "replies.toml",
}


def test_every_section_is_known_to_give_rights_or_none() -> None:
    assert set(SECTIONS) == set(_PARTERS) | HARMLESS_SECTIONS


def test_every_key_of_a_provider_is_known_to_give_a_right_or_none() -> None:
    assert set(PROVIDER) == set(PROVIDER_RIGHTS) | HARMLESS_PROVIDER
    for key, value in PROVIDER_RIGHTS.items():
        assert part_rights({"providers": {"openai": {key: value}}})[1], key


def test_every_key_of_allow_is_known_to_give_a_right_or_none() -> None:
    values: dict[str, Any] = {"commands": True, "private_network": True, "files": {"write": ["a"]}}
    values["hosts"] = ["example.com"]

    assert SECTIONS["allow"] is not None
    assert set(SECTIONS["allow"]) == set(values)
    harmless, rights = part_rights({"allow": values})
    assert harmless == {"allow": {"hosts": ["example.com"]}}
    assert [right.kind for right in rights] == ["commands", "network", "files"]


def test_a_bucket_of_a_cluster_is_named_with_its_keys() -> None:
    temporal = {"values": "s3://b/p", "s3_endpoint": "https://s3.example", "s3_secret": "env:S"}
    _, rights = part_rights({"runtime": {"kind": "temporal", "temporal": temporal}})

    words = "keeps large values of runs in s3://b/p"
    assert [right.text for right in rights][1:] == [
        f"'https://s3.example' {words}, with the variable S"
    ]
    _, rights = part_rights({"runtime": {"kind": "temporal", "temporal": {"values": "s3://b/p"}}})
    assert [right.text for right in rights][1:] == [f"Amazon S3 {words}"]


@pytest.mark.parametrize("value", [None, 1, "text", [], [{}], True])
@pytest.mark.parametrize("section", SECTIONS)
def test_what_has_the_wrong_type_gives_no_settings(section: str, value: Any) -> None:
    harmless, _ = part_rights({section: value})
    inside, _ = part_rights({section: {"a": value}})

    for table in (harmless, inside):
        assert not permits(table)


def permits(table: dict[str, object]) -> bool:
    try:
        settings = settings_from(table, {"ANOTHER": "secret-0123456789"})
    except UsageError as fault:
        return fault.code != "W901"
    rights = (settings.allow.commands, settings.tasks, settings.mcp, settings.keys)
    return any(rights) or bool(settings.notify.url)
