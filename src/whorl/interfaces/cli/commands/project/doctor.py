"""`whorl doctor`: checks the installation, the store, and all that the configuration names."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import click

from whorl.errors import StoreError, UsageError, plural, safe
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.terminal import echo, paint, steer
from whorl.interfaces.formatting import age, bytes_words, table
from whorl.plugins import load_reference, wings
from whorl.services.doctor import Finding, configured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.providers.settings import Settings
    from whorl.services.project import Project


# What a wing looks at: what it is, whether it is good, and words.
Check: TypeAlias = "Callable[[Project], Iterable[tuple[str, bool, str]]]"
SQLITE_MIN = (3, 51, 3)
_CHECKED_QUIETLY = 20_000


@click.command()
@json_option
@partial(located, is_checked=False, drives=True)
def doctor(project: Project, *, as_json: bool) -> int:
    """Check the installation, the store, and all that the configuration names.

    \b
      whorl doctor

    Each provider is asked for its models, each MCP server is started and asked for its tools, each
    Python task is imported, and the programs of agents are looked for. No model is asked.
    """
    findings = _without_secrets(project, list(_findings(project)))
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        rows = [("✓" if item.ok else "✗", item.what, safe(item.words)) for item in findings]
        for text in table(rows):
            echo(paint(text[:1], "green" if text[:1] == "✓" else "red") + text[1:])
    return 0 if all(finding.ok for finding in findings) else 1


def _without_secrets(project: Project, findings: list[Finding]) -> list[Finding]:
    """What was found, without the keys that servers, programs and modules may have told."""
    from whorl.providers.redaction import redact

    try:
        secrets = project.settings().secrets()
    except UsageError:
        return findings
    return [Finding(one.what, one.ok, redact(one.words, secrets)) for one in findings]


def _findings(project: Project) -> Iterator[Finding]:
    import apsw

    from whorl import __version__
    from whorl.providers.tools.tool_cache import FILE_NAME

    yield Finding("whorl", True, f"{__version__} on Python {platform.python_version()}")
    version = apsw.sqlite_lib_version()
    is_new = tuple(int(part) for part in version.split(".")[:3]) >= SQLITE_MIN
    wanted = ".".join(map(str, SQLITE_MIN))
    advice = "" if is_new else f"; at least {wanted} is needed: update apsw"
    yield Finding("SQLite", is_new, f"{version}{advice}")
    yield Finding("Python", sys.version_info >= (3, 11), sys.executable)
    yield _store(project)
    try:
        settings = project.settings()
    except UsageError as fault:
        yield Finding("configuration", False, f"{fault}; {fault.help}")
        return
    place = str(project.config or project.foreign or "no whorl.toml; only the environment")
    yield Finding("configuration", True, place)
    if settings.untrusted is not None:
        # A provider of the environment is asked only by those who trust the folder they are in.
        words = f"{settings.untrusted}; nothing was sent; {settings.untrusted.help}"
        yield Finding("trust", False, words)
        return
    allowed = settings.allow.commands
    programs = "workflow files may run any program" if allowed is True else ", ".join(allowed or ())
    commands = f"allowed: {programs}" if allowed else "not allowed ([allow] commands)"
    yield Finding("commands", True, commands)
    yield Finding("retention", True, _retention(settings))
    if settings.runtime.kind == "temporal":
        from whorl.runtimes.runtime import cluster

        found = asyncio.run(cluster().findings(settings.runtime.temporal))
        yield from (Finding(*each) for each in found)
    for reference in (check for wing in wings() for check in wing.checks):
        check = cast("Check", load_reference(reference))
        yield from (Finding(*each) for each in check(project))
    yield from asyncio.run(configured(settings, project.store.with_name(FILE_NAME)))


def _store(project: Project) -> Finding:
    from whorl.runtimes.sqlite.faults import strange

    path = project.mirror if project.is_on_cluster else project.store
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        is_writable = os.access(folder, os.W_OK)
        words = "will be made by the first run" if is_writable else f"{folder} cannot be written"
        return Finding("store", is_writable, f"{path} {words}")
    try:
        lag = _lag(project) if project.is_on_cluster else ""
        with closing(project.open_store()) as store:
            sizes, wrong = store.sizes(), store.check(_checked)
            is_strange = store.is_strange
    except (StoreError, UsageError) as fault:
        return Finding("store", False, str(fault))
    if wrong:
        return Finding("store", False, f"{path} is damaged: {'; '.join(wrong)}")
    if not os.access(path, os.W_OK):
        return Finding("store", False, f"{path} cannot be written")
    words = f"{path}, {bytes_words(sizes.file_bytes)}, {plural(sizes.runs, 'run')}{lag}"
    if is_strange:
        why = strange(str(path))
        return Finding("store", False, f"{words}; {why}; {why.help}")
    return Finding("store", True, words)


def _lag(project: Project) -> str:
    """How far the mirror was behind before anybody looked."""
    from whorl.runtimes.runtime import cluster

    count, since = cluster().lag(
        project.settings(), project.mirror, project.registry_of(project.mirror)
    )
    if not count:
        return "; it had all that has ended on the cluster"
    ended = f"ended on the cluster, up to {age(max(0.0, time.time() - since))} ago"
    return f"; it was behind by {plural(count, 'run')} that {ended}"


def _checked(done: int, all_of_it: int) -> None:
    """A line at the terminal while a large store is read."""
    if sys.stderr.isatty() and all_of_it > _CHECKED_QUIETLY:
        words = f"checking the store: {done:,} of {all_of_it:,} entries"
        steer(f"\r\x1b[K{words if done < all_of_it else ''}")


def _retention(settings: Settings) -> str:
    keep = settings.retention
    limits = (
        keep.older_than_s is not None and f"that ended more than {age(keep.older_than_s)} ago",
        keep.max_runs is not None and f"beyond the newest {keep.max_runs:,}",
        keep.max_bytes is not None and f"while the store is over {bytes_words(keep.max_bytes)}",
    )
    words = ", ".join(words for words in limits if words)
    return f"a server deletes runs {words}" if words else "nothing is deleted by itself"
