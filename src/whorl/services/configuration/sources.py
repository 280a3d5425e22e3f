"""Where settings come from: the whorl.toml of a folder, the user's own file, a named file, a table.

What the person says wins: the user's file over the folder's, and over both what is named on the
command line or given as a table. Of the folder's file counts what has been trusted.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import UsageError
from whorl.lazily import dataclass, regex
from whorl.services.configuration.trust import (
    USER_CONFIG,
    VARIABLE,
    Judged,
    check_grants,
    is_foreign,
    judge,
)
from whorl.source.paths import user_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whorl.providers.settings import RuntimeSettings

CONFIG_BYTES_MAX = 1_000_000
Table: TypeAlias = "dict[str, object]"
# Sections that count as a whole; of others an entry does: no address of one file is given the key
# of another.
_WHOLE = frozenset({"notify", "connectors"})

_NAMED = regex(r"has no '([^']+)'|\] (\w+) must")
_PLACE = regex(r"\s*\(at (?:line (?P<line>[0-9]+), column (?P<column>[0-9]+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What counts as whorl.toml, and how the folder's own file stands, if there is one.

    `variables` are those that a trusted configuration of another system brings, `notes` say what
    of it has no effect, and `files` are all that it was read from.
    """

    table: Table
    judged: Judged | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()

    def checked(self, runtime: RuntimeSettings) -> RuntimeSettings:
        """Without a way to a cluster, where the one of the folder is not trusted, and no other."""
        from whorl.providers.settings.runtime import names_cluster

        refusal = None if self.judged is None else self.judged.refusal()
        if self.judged is None or refusal is None or not names_cluster(self.judged.table):
            return runtime
        if names_cluster(self.table):
            return runtime
        return replace(runtime, temporal=replace(runtime.temporal, refused=refusal))


def read_configuration(
    file: Path | None,
    environment: Mapping[str, str],
    *,
    given: Mapping[str, object] | None = None,
    is_own_word: bool = False,
    foreign: Path | None = None,
) -> Configuration:
    """The configuration of a project; `is_own_word`: the person named `file`, or trusts it.

    `foreign` is a configuration of another system, which counts below whorl.toml and is trusted
    together with it.
    """
    user, grants = _user_table(environment)
    if given is not None:
        return Configuration(_merged(user, dict(given)))
    if foreign is not None:
        return _with_foreign(file, foreign, environment, (user, grants), is_own_word=is_own_word)
    if file is None:
        return Configuration(user)
    content = _read_bytes(file)
    table = parsed(content, file)
    if is_own_word:
        return Configuration(_merged(user, _with_replies(table, file.parent)))
    judged = judge(file, content, table, environment, grants=grants)
    counting = _with_replies(judged.permitted, file.parent)
    return Configuration(_merged(counting, user), judged)


def _with_foreign(
    file: Path | None,
    foreign: Path,
    environment: Mapping[str, str],
    own: tuple[Table, Table],
    *,
    is_own_word: bool,
) -> Configuration:
    """Both configurations of a folder as one; its hash is that of all files of both."""
    from whorl.services.configuration.foreign import read_foreign

    found = read_foreign(foreign)
    content = b"" if file is None else _read_bytes(file)
    table = {} if file is None else parsed(content, file)
    written = _merged(found.sections.table, table)
    judged = judge(file or foreign, content + found.content, written, environment, grants=own[1])
    notes = found.sections.notes
    if not is_own_word and not judged.is_trusted:
        harmless = _merged(judged.harmless, own[0])
        return Configuration(harmless, judged, notes=notes, files=found.files)
    folder = (file or foreign).parent
    counting = _with_replies(_merged(found.expanded(environment), table), folder)
    whole = _merged(own[0], counting) if is_own_word else _merged(counting, own[0])
    judged_as = None if is_own_word else judged
    return Configuration(whole, judged_as, found.sections.variables, notes, found.files)


def _user_table(environment: Mapping[str, str]) -> tuple[Table, Table]:
    """The user's own file without its grants, and these."""
    path = user_folder(environment) / USER_CONFIG
    if not path.is_file():
        return {}, {}
    if environment.get(VARIABLE) != "1" and is_foreign(path):
        words = f"{str(path)!r} or its folder belongs to another user"
        advice = f"make them your own, or set XDG_CONFIG_HOME; {VARIABLE}=1 allows it"
        raise UsageError(words, help=advice, code="W909")
    table = parsed(_read_bytes(path), path)
    grants = check_grants(table.pop("trust", {}), str(path))
    return _with_replies(table, path.parent), grants


def _merged(below: Table, above: Table) -> Table:
    merged = dict(below)
    for section, value in above.items():
        other = merged.get(section)
        if section in _WHOLE or not isinstance(other, dict) or not isinstance(value, dict):
            merged[section] = value
        else:
            merged[section] = other | value
    return merged


def _with_replies(table: Table, folder: Path) -> Table:
    """A table with the replies that it names by file."""
    made = dict(table)
    providers = table.get("providers")
    if isinstance(providers, dict):
        made["providers"] = {name: _scripted(entry, folder) for name, entry in providers.items()}
    connectors = table.get("connectors")
    if isinstance(connectors, dict) and isinstance(connectors.get("replies"), str):
        replies = _read_replies(folder / connectors["replies"])
        made["connectors"] = connectors | {"replies": replies}
    return made


def _scripted(provider: object, folder: Path) -> object:
    if not isinstance(provider, dict) or not isinstance(provider.get("replies"), str):
        return provider
    path = folder / provider["replies"]
    return provider | {"replies": parsed(_read_bytes(path), path)}


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(CONFIG_BYTES_MAX + 1)
    except OSError as error:
        words = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(words, help="check --config", code="W901") from error
    if len(content) > CONFIG_BYTES_MAX:
        raise _bad_config(str(path), f"has more than {CONFIG_BYTES_MAX:,} bytes")
    return content


def parsed(content: bytes, path: Path) -> Table:
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _bad_config(str(path), "is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = _PLACE.search(message)
        place = f":{at['line']}:{at['column']}" if at and at["line"] else ""
        words = _PLACE.sub("", message)
        raise _bad_config(f"{path}{place}", words[:1].lower() + words[1:]) from error


def _read_replies(path: Path) -> object:
    """Replies by the names of actions, or a cassette, whose calls are replies by address."""
    import json

    try:
        replies = json.loads(path.read_text("utf-8"))
    except OSError as error:
        words = f"{path}: replies of [connectors] cannot be read: {error.strerror or error}"
        advice = "the path is relative to the folder of whorl.toml"
        raise UsageError(words, help=advice, code="W901") from error
    except ValueError as error:
        words = f"{path}: is not a JSON file of replies: {error}"
        advice = 'replies by action: {"Send_mail": [{"statusCode": 200, "body": {}}]}'
        raise UsageError(words, help=advice, code="W901") from error
    return replies["calls"] if isinstance(replies, dict) and "cassette" in replies else replies


def line_of(path: Path, message: str) -> str:
    named = [name for names in _NAMED.findall(message) for name in names if name]
    for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if any(re.match(rf"\s*(\[+.*\.)?{re.escape(name)}\b", text) for name in named):
            return f":{number}"
    return ""


def _bad_config(place: str, words: str) -> UsageError:
    advice = 'write texts in quotes: base_url = "https://..."'
    if "table declaration" in words:
        advice = "a section is a name in brackets on a line of its own, such as [allow]"
    return UsageError(f"{place}: {words}", help=advice, code="W901")
