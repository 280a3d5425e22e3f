"""Settings: what a whorl.toml and the well-known variables give, and what is refused."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from whorl.errors import UsageError
from whorl.providers.redaction import Secret, redact
from whorl.providers.settings import Price, Retention
from whorl.providers.settings.sections import RULE, settings_from
from whorl.providers.settings.tables import rows

TOML = """
[defaults]
provider = "openai"
model = "scripted"

[providers.openai]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
api_key = "test-key-openai"

[providers.lm_studio]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"

[providers.ollama]
kind = "ollama"
base_url = "http://127.0.0.1:9"

[prices.scripted]
input = 1000.0
output = 10000.0

[allow]
commands = true
private_network = ["localhost", "10.0.0.0/8"]

[tasks]
"activity:search" = "python:activities:search"

[agents.reviewer]
program = "claude"

[retention]
older_than = "30d"
max_runs = 500
max_size = "2.5GB"
"""

KEY = {"url": "https://api.example.com/v2", "token": "env:TOKEN"}


def test_a_whole_file() -> None:
    settings = settings_from(tomllib.loads(TOML), {"PATH": "/bin", "AWS_SECRET": "x"})

    assert settings.default_provider == "openai"
    assert settings.default_model == "scripted"
    assert settings.providers["openai"].api_key == Secret("test-key-openai")
    assert settings.providers["lm_studio"].api_key is None
    assert settings.providers["ollama"].kind == "ollama"
    assert settings.prices == {"scripted": Price(1000.0, 10000.0)}
    assert settings.allow.commands is True
    assert settings.allow.private_network == ("localhost", "10.0.0.0/8")
    assert settings.tasks == {"activity:search": "python:activities:search"}
    assert settings.agents["reviewer"].program == "claude"
    assert settings.agents["reviewer"].kind == "claude-code"
    assert settings.retention == Retention(30 * 86_400.0, 500, 2_500_000_000)
    assert settings.environment == {"PATH": "/bin"}
    assert "test-key" not in repr(settings)


def test_keys_in_the_environment_make_providers() -> None:
    environment = {"DEEPSEEK_API_KEY": "k" * 10, "OPENAI_API_KEY": "o" * 10, "OLLAMA_HOST": "box:1"}

    settings = settings_from({}, environment)

    assert list(settings.providers) == ["openai", "deepseek", "ollama"]
    assert settings.default_provider == "openai"
    assert settings.providers["openai"].base_url == "https://api.openai.com/v1"
    assert settings.providers["ollama"].base_url == "http://box:1"
    assert len(settings.secrets()) == 2


def test_a_key_of_the_environment_follows_to_its_own_host_alone() -> None:
    key = {"OPENAI_API_KEY": "o" * 10}
    proxied = settings_from({}, {**key, "OPENAI_BASE_URL": "https://proxy.example/v1/"})
    table = {"providers": {"openai": {"base_url": "https://elsewhere.example/v1"}}}

    assert proxied.providers["openai"].base_url == "https://proxy.example/v1"
    assert proxied.providers["openai"].api_key == Secret("o" * 10)
    assert settings_from(table, key).providers["openai"].api_key is None


# In the words of a whorl.toml.
WRONG = [
    *(("provider = {}", "'providers'"), ("defaults.modle = 'x'", "'model'")),
    ("providers.x.base_ur = 'https://x.example'", "'base_url'"),
    *(("prices.m.inputs = 1", "'input'"), ("allow.command = true", "'commands'")),
    ("keys.k.token = 't'", "needs the url"),
    ("keys.k.url = 'https://a.example'", "needs token"),
    ("keys.k = {url = 'https://a.example', tokn = 't'}", "has no 'tokn'"),
    ("connectors.url = 'here'", "[connectors] url must be"),
    ("connectors.replies = [1]", "[connectors] replies must be"),
    *(("limits.iterations = 1001", "at most 1000"), ("limits.time = '25h'", "up to '24h'")),
    ("limits.cpu = '25h'", "cpu must be a duration up to '24h'"),
    ("runtime.temporal.values = 'gs://bucket'", 'must be a folder that all share, or "s3://'),
    ("runtime.temporal = {values = 's3://bucket/prefix', s3_key = 'k'}", "s3_secret go together"),
    ("runtime.temporal = {values = 's3://bucket/prefix', s3_key = 'env:NONE'}", "is not set"),
    ("retention.days = 30", "[retention] has no 'days'"),
    ("retention.older_than = 30", "a time such as '30d'"),
    ("retention.max_runs = 0", "a whole number of at least 1"),
    ("retention.max_size = '5'", "a size such as '500MB'"),
    ("workflows.folders = 'a'", "must be a list of texts"),
    ("providers.mine.kind = 'opnai'", "'opnai' is not known; did you mean 'openai'?"),
    ("defaults = 'x'", "[defaults] must be a table, not a text"),
    ("defaults.model = 5", "[defaults] model must be a text, not a number"),
    ("providers.x = {}", "needs a base_url such as 'https://api.example.com/v1'"),
    ("providers.x.base_url = 'ftp://x.example'", "not 'ftp://x.example'"),
    (
        "providers.x.base_url = 'https://u:p@x.example'",
        "without a user or password, not 'https://x.example'",
    ),
    ("providers.x = {base_url = 'https://x.example', max_concurrent = 0}", "of at least 1, not 0"),
    ("providers.x = {base_url = 'https://x.example', timeout_s = -1}", "of at least 0, not -1"),
    ("providers.x = {base_url = 'https://x.example', headers = {a = 1}}", "must be a text"),
    ("providers.x = {kind = 'scripted', replies = 'file.toml'}", "whose rules were not read"),
    ("providers.x = {kind = 'scripted', replies = [{match = '(', replies = ['a']}]}", "missing )"),
    ("providers.x = {kind = 'scripted', replies = [{match = 'a', replies = []}]}", "needs match"),
    ("prices.m.input = -1", "input must be a number of at least 0, not -1"),
    ("allow.commands = 'yes'", "commands must be true, false or a list of texts, not a text"),
    ("tasks.t = 'os.system'", "'t' must be 'python:module:function' or a URL, not 'os.system'"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_is_wrong_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings_from(tomllib.loads(text), {})

    assert caught.value.code == "W901"
    assert words in f"{caught.value} {caught.value.help}"


def test_a_secret_is_shown_nowhere() -> None:
    import copy
    import pickle

    secret = Secret("abcdefgh1234")

    assert "abcdefgh" not in f"{secret} {secret!r} {secret!s:>20} {[secret]}"
    assert secret.reveal() == "abcdefgh1234"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.copy(secret)


def test_keys_connectors_and_limits() -> None:
    table = {
        "keys": {
            "mine": KEY,
            "basic": {"url": "https://b.example", "username": "ada", "password": "swordfish"},
            "header": {"url": "https://c.example", "headers": {"X-Key": "env:OTHER"}},
        },
        "connectors": {"url": "http://127.0.0.1:8080/", "replies": {"Mail": [1, {"body": 2}]}},
        "limits": {"iterations": 100, "time": "2h", "cpu": "30m"},
    }
    settings = settings_from(table, {"TOKEN": "tok-12345678", "OTHER": "other-key"})

    assert settings.keys["mine"].headers == (("Authorization", Secret("Bearer tok-12345678")),)
    assert settings.keys["basic"].headers == (
        ("Authorization", Secret("Basic YWRhOnN3b3JkZmlzaA==")),
    )
    assert settings.keys["header"].headers == (("X-Key", Secret("other-key")),)
    assert settings.connectors.url == "http://127.0.0.1:8080"
    assert settings.connectors.replies == {"Mail": [1, {"body": 2}]}
    assert settings.limits == {"iterations": 100, "time": 7_200.0, "cpu": 1_800.0}
    hidden = redact("tok-12345678 swordfish other-key", settings.secrets())
    assert hidden == "*** *** ***"


def test_the_keys_of_a_bucket_are_secrets() -> None:
    table = {
        "values": "s3://bucket/prefix",
        "s3_key": "env:K",
        "s3_secret": "a-long-secret-of-a-bucket",
    }
    settings = settings_from({"runtime": {"temporal": table}}, {"K": "the-key-of-a-bucket"})

    assert settings.runtime.temporal.values == "s3://bucket/prefix"
    said = [secret.reveal() for secret in settings.secrets()]
    assert said == ["the-key-of-a-bucket", "a-long-secret-of-a-bucket"]
    assert "of-a-bucket" not in repr(settings)


def test_every_setting_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/settings.md").read_text()
    page += (Path(__file__).parents[2] / "docs/reference/configuration.md").read_text()
    known = {key for keys, _, _ in rows() for key in keys if key != "NAME"} | {*RULE}

    assert [key for key in known if not re.search(rf"\b{key}\b", page)] == []


SECRET = "sk-OUT-OF-PLACE"


@pytest.mark.parametrize(
    "text",
    [
        "providers.p = {base_url = 'https://a.example', api_key = ['SECRET']}",
        "providers.p.base_url = 'https://me:SECRET@a.example/v1'",
        "providers.p.base_url = 'me:SECRET@a.example/v1'",
        "providers.p.base_url = 'a.example/v1?key=SECRET'",
        "providers.p = 'SECRET'",
        "providers.p = {base_url = 'https://a.example', headers = 'SECRET'}",
        "notify = {url = 'https://a.example', headers = 'Bearer SECRET'}",
        "notify.url = 'https://me:SECRET@a.example'",
        "mcp.m.url = 'https://me:SECRET@a.example'",
        "mcp.m.command = 'server --key SECRET'",
        "mcp.m = {command = ['server'], env = 'KEY=SECRET'}",
        "connectors.url = 'https://me:SECRET@a.example'",
        "tasks.t = 'ftp://me:SECRET@a.example'",
        "keys.k = {url = 'https://a.example', token = ['SECRET']}",
        "keys.k = {url = 'https://me:SECRET@a.example', token = 'x'}",
        "keys.k = 'SECRET'",
        "agents.claude = {program = 'claude', env = {KEY = ['SECRET']}}",
        "agents.claude = {program = 'claude', env = 'KEY=SECRET'}",
    ],
)
def test_no_error_prints_what_may_be_a_secret(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings_from(tomllib.loads(text.replace("SECRET", SECRET)), {})

    assert "OUT-OF-PLACE" not in f"{caught.value} {caught.value.help}"
