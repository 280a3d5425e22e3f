"""Reads settings from the whorl.toml of a folder, the user's own file, a named file or a table.

The user's file overrides the folder's file. A file named on the command line, or a table, overrides
both. The folder's file has only the rights that the user has trusted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.services.configuration import trust
from whorl.source.paths import read_start, reason_of, user_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whorl.providers.settings import RuntimeSettings

CONFIG_BYTES_MAX = 1_000_000
_REPLIES_MAX = 100_000_000
_DEPTH_MAX = 64
Table: TypeAlias = "dict[str, object]"
# Sections that count as a whole; of others an entry does: no address of one file is given the key
# of another.
_WHOLE = frozenset({"notify", "connectors"})

_REFERENCE = "docs/reference/configuration.md has every section and its keys"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The merged configuration, and the trust in the folder's own file, if there is one.

    `variables` are those that a trusted configuration of another system sets, `notes` say which
    parts of it have no effect, and `files` are all its files.
    """

    table: Table
    judged: trust.Judged | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()

    def checked(self, runtime: RuntimeSettings) -> RuntimeSettings:
        """Returns `runtime`, with a refusal if only the folder's untrusted file names a cluster."""
        from whorl.providers.settings.sections import names_cluster

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
    """Returns the configuration of a project; `is_own_word`: the user named or trusts `file`.

    `foreign` is a configuration of another system: whorl.toml overrides it, and both are trusted
    together.
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
    judged = trust.judge(file, content, table, environment, grants=grants)
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
    """Merges both configurations of a folder; the hash covers all files of both."""
    from whorl.services.configuration.foreign import bring, brought, expand, read_foreign

    found = read_foreign(foreign)
    content = b"" if file is None else _read_bytes(file)
    table = {} if file is None else parsed(content, file)
    brings = found.sections.variables
    made = expand(found.sections.table, brings, environment)
    counting = bring(_merged(made.table, table), brings)
    path, content = file or foreign, content + found.content + made.decided
    judged = trust.judge(
        path,
        content,
        counting,
        environment,
        grants=own[1],
        shown=bring(_merged(made.shown, table), brings, is_shown=True),
        files=found.paths,
    )
    # What others have written is not meant by the name of a file that is the person's own.
    is_own_word = is_own_word and (judged.standing != "foreign" or trust.is_foreign(path))
    notes = found.sections.notes
    if not is_own_word and not judged.is_trusted:
        harmless = _merged(judged.harmless, own[0])
        return Configuration(harmless, judged, notes=notes, files=found.files)
    counting = _with_replies(counting, path.parent)
    whole = _merged(own[0], counting) if is_own_word else _merged(counting, own[0])
    judged_as = None if is_own_word else judged
    return Configuration(whole, judged_as, brought(brings), notes, found.files)


def _user_table(environment: Mapping[str, str]) -> tuple[Table, Table]:
    """Returns the user's own file without its grants, and the grants."""
    path = user_folder(environment) / trust.USER_CONFIG
    if not path.is_file():
        return {}, {}
    if environment.get(trust.VARIABLE) != "1" and trust.is_foreign(path):
        words = f"{str(path)!r} or its folder belongs to another user"
        advice = f"make them your own, or set XDG_CONFIG_HOME; {trust.VARIABLE}=1 allows it"
        raise UsageError(words, help=advice, code="W909")
    table = parsed(_read_bytes(path), path)
    grants = trust.check_grants(table.pop("trust", {}), str(path))
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
    """Returns a table with the replies from the files that it names."""
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
        content = read_start(path, CONFIG_BYTES_MAX + 1)
    except OSError as error:
        words = f"{path}: {reason_of(error)}"
        raise UsageError(words, help="check --config", code="W901") from error
    if len(content) > CONFIG_BYTES_MAX:
        words = f"{path}: has more than {CONFIG_BYTES_MAX:,} bytes"
        raise UsageError(words, help="leave out what it does not need", code="W901")
    return content


def parsed(content: bytes, path: Path) -> Table:
    import tomllib

    from whorl.providers.json_values import is_deeper

    table = None
    with suppress(RecursionError):
        try:
            table = tomllib.loads(content.decode("utf-8"))
        except tomllib.TOMLDecodeError as error:
            advice = 'write texts in quotes: model = "gpt-5", and sections in brackets, such as '
            advice += "[allow]"
            if "twice" in str(error):
                advice = "write each section once, with all of its lines below it"
            raise UsageError(f"{path}: {error}", help=advice, code="W901") from error
        except ValueError as error:
            raise UsageError(f"{path}: {error}", help=_REFERENCE, code="W901") from error
    if table is None or is_deeper(table, _DEPTH_MAX):
        words = f"{path}: is nested too deeply: more than {_DEPTH_MAX} tables and lists in each "
        raise UsageError(f"{words}other", help=_REFERENCE, code="W901")
    return table


def _read_replies(path: Path) -> object:
    """Returns replies by the names of actions, or a recording with replies by address."""
    import json

    try:
        replies = json.loads(read_start(path, _REPLIES_MAX).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = reason_of(error) if isinstance(error, OSError) else f"is not JSON: {error}"
        advice = 'replies by action: {"Send_mail": [{"statusCode": 200, "body": {}}]}'
        words = f"{path}, the replies of [connectors]: {why}"
        raise UsageError(words, help=advice, code="W901") from error
    return replies["calls"] if isinstance(replies, dict) and "recording" in replies else replies


def no_configuration(name: str, path: Path) -> UsageError:
    """Returns the error for a named configuration that does not exist or is not a regular file."""
    why = "is not a regular file" if path.exists() else "does not exist"
    advice = f"name a file such as {trust.CONFIG_NAME}"
    return UsageError(f"the configuration {name!r} {why}", help=advice, code="W901")
