"""Which parts of a whorl.toml give rights: each section and key is known to do so, or not to."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.errors import UsageError
from whorl.providers.settings.rights import _PARTERS, part_rights, shown_command
from whorl.providers.settings.sections import settings_from
from whorl.providers.settings.tables import keys_of

HARMLESS_SECTIONS = {"defaults", "limits", "queue", "run"}
HARMLESS_PROVIDER = {
    *("kind", "model", "answer_tokens", "timeout_s", "structured", "stream"),
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
    assert set(keys_of("")) == set(_PARTERS) | HARMLESS_SECTIONS


def test_every_key_of_a_provider_is_known_to_give_a_right_or_none() -> None:
    assert set(keys_of("providers.NAME")) == set(PROVIDER_RIGHTS) | HARMLESS_PROVIDER
    for key, value in PROVIDER_RIGHTS.items():
        assert part_rights({"providers": {"openai": {key: value}}})[1], key


@pytest.mark.parametrize(
    ("section", "harmless", "rights"),
    [
        (
            "allow",
            {"hosts": ["example.com"]},
            {"commands": True, "private_network": True, "files": {"write": ["a"]}},
        ),
        # Links for others, and the addresses that they are told to call, begin with its address.
        (
            "server",
            {"drain": "5s", "max_concurrent": 2, "hooks_per_minute": 3},
            {"url": "https://x.example"},
        ),
    ],
)
def test_every_key_of_a_section_is_known_to_give_a_right_or_none(
    section: str, harmless: dict[str, Any], rights: dict[str, Any]
) -> None:
    kinds = {"private_network": "network", "url": "addresses"}
    left, found = part_rights({section: {**harmless, **rights}})

    assert set(keys_of(section)) == {*harmless, *rights}
    assert left == {section: harmless}
    assert [right.kind for right in found] == [kinds.get(key, key) for key in rights]


def test_a_bucket_of_a_cluster_is_named_with_its_keys() -> None:
    temporal = {"values": "s3://b/p", "s3_endpoint": "https://s3.example", "s3_secret": "env:S"}
    _, rights = part_rights({"runtime": {"kind": "temporal", "temporal": temporal}})

    words = "keeps large values of runs in s3://b/p"
    assert [right.text for right in rights][1:] == [
        f"'https://s3.example' {words}, with the variable S"
    ]
    _, rights = part_rights({"runtime": {"kind": "temporal", "temporal": {"values": "s3://b/p"}}})
    assert [right.text for right in rights][1:] == [f"Amazon S3 {words}"]


@pytest.mark.parametrize("kind", [{}, {"kind": "local"}, {"kind": "temporal"}])
def test_a_cluster_is_a_right_for_any_kind(kind: dict[str, str]) -> None:
    """A person can choose Temporal where the file does not."""
    temporal = {"address": "x.example:7233", "api_key": "env:A", "encrypt_with": "env:B"}
    harmless, rights = part_rights({"runtime": {**kind, "temporal": temporal}})

    when = "" if kind.get("kind") == "temporal" else " if you choose Temporal"
    assert [(right.kind, right.text) for right in rights] == [
        ("addresses", f"x.example:7233 drives runs{when}, with the variable A, the variable B")
    ]
    assert harmless == ({"runtime": kind} if kind.get("kind") == "local" else {})


def test_a_folder_for_large_values_of_a_cluster_is_named() -> None:
    _, rights = part_rights({"runtime": {"temporal": {"values": "/shared"}}})

    assert [right.text for right in rights] == [
        "this machine drives runs if you choose Temporal",
        "write /shared, which keeps large values of runs on a cluster",
    ]


@pytest.mark.parametrize("more", [{}, {"base_url": "https://api.openai.com/v1/"}])
@pytest.mark.parametrize("name", ["openai", "mine"])
def test_a_key_of_the_folder_itself_is_a_right(name: str, more: dict[str, str]) -> None:
    """With it, prompts and answers are kept in the account of whoever wrote the file."""
    entry = {"api_key": "attackerkey12345", **more}
    harmless, rights = part_rights({"providers": {name: entry}})

    where = "'https://api.openai.com/v1'" if more else f"the address of {name!r}"
    words = f"{where} for models ({name}), with its own key instead of yours"
    assert [(right.kind, right.text) for right in rights] == [("addresses", words)]
    assert harmless == {}


@pytest.mark.parametrize("value", [None, 1, "text", [], [{}], True])
@pytest.mark.parametrize("section", keys_of(""))
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


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["x", "--token=abc/d=="], "x --token=***"),
        (["x", "--api-key", "abc"], "x --api-key ***"),
        (["env", "MY_KEY=abc", "x"], "env MY_KEY=*** x"),
        # A person has to see what would be run.
        (["git", "-c", "credential.helper=!sh x", "pull"], "git -c 'credential.helper=!sh x' pull"),
        (["x", "--api-key", "sh evil"], "x --api-key 'sh evil'"),
    ],
)
def test_keys_among_arguments_are_hidden_and_nothing_that_could_be_code(
    words: list[str], shown: str
) -> None:
    assert shown_command(words) == shown
