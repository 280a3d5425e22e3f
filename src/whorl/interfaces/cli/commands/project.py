"""What a project permits and keeps: trust, tools, the check of it all, memories, its store."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import click

from whorl import __version__
from whorl.errors import StoreError, UsageError, did_you_mean, plural, safe
from whorl.interfaces.cli import commands, options
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.terminal import echo, is_ours, paint, print_lines, say
from whorl.interfaces.formatting import age, bytes_words, line, table
from whorl.providers.redaction import redact
from whorl.providers.tools.tool_cache import FILE_NAME, KnownTools
from whorl.runtimes.sqlite.faults import strange
from whorl.runtimes.sqlite.listing import EXPERIMENT
from whorl.services.backup import Copied, back_up
from whorl.services.backup import adopt as adopt_store
from whorl.services.backup import restore as restore_backup
from whorl.services.configuration.foreign import find_foreign
from whorl.services.configuration.trust import CONFIG_NAME, Judged, forget, remember
from whorl.services.doctor import Finding, configured
from whorl.services.project import Catalogue, Project, find_project
from whorl.source.paths import check_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json
    from whorl.runtimes.sqlite import MemoryRow, Pruned, SqliteStore

FINISHED = ("succeeded", "failed", "cancelled")
_COLORS = {"+": "green", "-": "red"}


@click.command()
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--remove", "removes", is_flag=True, help="Stop trusting PATH.")
@click.option("--yes", "-y", is_flag=True, help="Trust it without asking.")
@options.json_option
def trust(*, path: str | None, removes: bool, yes: bool, as_json: bool) -> int:
    """Show what the whorl.toml of a folder permits, and trust it as it is.

    \b
      whorl project trust
      whorl project trust ../other --yes

    PATH is a folder or its whorl.toml; without it, the project that you are in. Nothing of a
    whorl.toml that is not trusted is run, sent or read from the environment.
    """
    if removes:
        file = _config(path or str(find_project(os.environ).root))
        is_removed = forget(os.environ, file)
        if as_json:
            options.print_json({"path": str(file), "removed": is_removed})
        else:
            say(safe(f"{file} is no longer trusted" if is_removed else f"{file} was not trusted"))
        return 0
    folder = None if path is None else _config(path).parent
    project = find_project(os.environ, folder=folder)
    is_meant = folder is None or project.root == folder
    judged = project.configuration().judged if is_meant else None
    if judged is None:
        words = f"there is no {CONFIG_NAME} in {str(folder or project.root)!r}"
        raise UsageError(words, help="a folder without one needs no trust")
    reads = Catalogue(project).reads()
    if not as_json:
        print_lines(options.judged_lines(judged))
        print_lines([f"its workflows read {safe(', '.join(reads))}"] if reads else ())
    is_trusted = _settle(judged, yes=yes, as_json=as_json)
    if as_json:
        rights = {"permits": judged.rights, "removed": judged.removed}
        rights["added"] = judged.added if judged.before else ()
        # One with other values is both added and removed.
        document = {name: [{"kind": right.kind, "text": right.text} for right in each]
                    for name, each in rights.items()}  # fmt: skip
        facts = {"path": str(judged.path), "sha256": judged.digest, "standing": judged.standing}
        options.print_json({**facts, **document, "reads": reads, "trusted": is_trusted})
    return 0 if is_trusted or as_json else 1


def _config(path: str) -> Path:
    """Returns the whorl.toml that a path means, as trust stores its path.

    A folder may have the configuration of another system instead.
    """
    given = Path(path).expanduser()
    folder = (given if given.is_dir() or given.name != CONFIG_NAME else given.parent).resolve()
    folder = folder.parent if folder.is_file() else folder
    own = folder / CONFIG_NAME
    return own if own.is_file() else find_foreign(folder) or own


def _settle(judged: Judged, *, yes: bool, as_json: bool) -> bool:
    """Asks for trust if needed; returns whether the file is trusted in the end."""
    if judged.standing == "foreign":
        raise judged.refusal() or AssertionError
    if not yes:
        if judged.is_trusted or as_json:
            return judged.is_trusted
        if not is_ours(sys.stdin, sys.stderr):
            raise UsageError("there is no terminal to ask at", help="read it, then add --yes")
        if not click.confirm("Trust it?", default=False, err=True):
            say("it is not trusted")
            return False
    remember(os.environ, judged)
    if not as_json:
        say(f"trusted: {safe(str(judged.path))}")
    return True


@click.group(cls=CommandGroup)
def tools() -> None:
    """Review and accept changed descriptions of MCP tools.

    \b
      whorl project tools ls
      whorl project tools accept notes/add
    """


@tools.command(name="ls")
@commands.with_json
def tools_ls(project: Project, *, as_json: bool) -> None:
    """List the tools that models were given, and changes to accept."""
    known = _known_tools(project)
    names, changes = known.names(), known.changes()
    changed = [{"name": change.name, "difference": change.difference} for change in changes]
    waiting = {change.name for change in changes}
    rows = [[safe(f"{name}{'  (to accept)' if name in waiting else ''}")] for name in names]
    document, empty = {"tools": names, "changed": changed}, "no run has used an MCP tool yet"
    commands.print_list(document, (), rows, as_json=as_json, empty=empty)
    if changes and not as_json:
        say(f"next: whorl project tools accept {safe(changes[0].name)}")


@tools.command(name="accept")
@click.argument("names", metavar="[SERVER/TOOL]...", nargs=-1)
@commands.yes_option
@options.located
def tools_accept(project: Project, *, names: tuple[str, ...], yes: bool) -> None:
    """Show new and changed descriptions of tools, and accept them.

    \b
      whorl project tools accept notes/add
    """
    known = _known_tools(project)
    for name in names:
        if name not in known.names():
            advice = did_you_mean(name, known.names()) or "`whorl project tools ls` lists them"
            raise UsageError(f"no tool {name!r} is known", help=advice)
    changes = [change for change in known.changes() if not names or change.name in names]
    for change in changes:
        echo(f"{safe(change.name)} says:")
        print_lines(paint(f"  {safe(t)}", _COLORS.get(t[:1])) for t in change.difference)
    if not changes:
        say("no tool is new, and no description has changed", "nothing was accepted")
        return
    if not yes and not sys.stdin.isatty():
        words = "there is no terminal to ask at"
        raise UsageError(words, help="check the difference, then add --yes")
    words = f"let models see these descriptions of {plural(len(changes), 'tool')}?"
    if not yes and not click.confirm(words, err=True):
        say("nothing was accepted")
        return
    again = known.accept(changes)
    say(f"accepted {', '.join(safe(change.name) for change in changes)}")
    say(*(f"{safe(name)} has changed again, which was not accepted" for name in again))


def _known_tools(project: Project) -> KnownTools:
    project.check_store()
    return KnownTools(project.store.with_name(FILE_NAME), project.secrets())


@click.command()
@partial(commands.with_json, is_checked=False, drives=True)
def doctor(project: Project, *, as_json: bool) -> int:
    """Check the installation, the store, and all that the configuration names.

    \b
      whorl project doctor

    Each provider is asked for its models, each MCP server is started and asked for its tools, each
    Python task is imported, and the programs of agents are looked for. No model is asked.
    """
    # Servers, programs and modules may tell the keys that they were given.
    secrets = project.secrets()
    found = [each._replace(words=redact(each.words, secrets)) for each in _findings(project)]
    if as_json:
        options.print_json([finding._asdict() for finding in found])
    else:
        wrong = [each for each in found if not each.ok]
        checks = plural(len(found), "check")
        echo(f"{len(wrong)} of {checks} failed" if wrong else f"ok: {checks}")
        rows = [("✓" if each.ok else "✗", each.what, safe(each.words)) for each in found]
        for text in table(rows):
            echo(paint(text[:1], "green" if text[:1] == "✓" else "red") + text[1:])
        if wrong and wrong[0].repair:
            say(f"next: {options.pasted(*wrong[0].repair.split())}")
    return 0 if all(finding.ok for finding in found) else 1


def _findings(project: Project) -> Iterator[Finding]:
    version = f"{__version__}, with SQLite {apsw.sqlite_lib_version()}"
    yield Finding("whorl", True, f"{version}, on Python {platform.python_version()}")
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
        yield Finding("trust", False, words, "project trust")
        return
    if settings.runtime.kind == "temporal":
        from whorl.runtimes.runtime import cluster

        found = asyncio.run(cluster().findings(settings.runtime.temporal))
        yield from (Finding(*each) for each in found)
    yield from asyncio.run(configured(settings, project.store.with_name(FILE_NAME)))


def _store(project: Project) -> Finding:
    path = project.mirror if project.is_on_cluster else project.store
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        is_writable = os.access(folder, os.W_OK)
        words = "will be made by the first run" if is_writable else f"{folder} cannot be written"
        return Finding("store", is_writable, f"{path} {words}")
    try:
        lag = _lag(project) if project.is_on_cluster else ""
        with closing(project.open_store()) as store:
            sizes, wrong = store.sizes(), store.check()
            is_strange = store.is_strange
    except (StoreError, UsageError) as fault:
        return Finding("store", False, str(fault))
    if wrong:
        words = f"{path} is damaged: {'; '.join(wrong)}"
        return Finding("store", False, words, "project restore FILE")
    if not os.access(path, os.W_OK):
        return Finding("store", False, f"{path} cannot be written")
    words = f"{path}, {bytes_words(sizes.file_bytes)}, {plural(sizes.runs, 'run')}{lag}"
    why = strange(str(path))
    if is_strange:
        return Finding("store", False, f"{words}; {why}; {why.help}", "project adopt")
    return Finding("store", True, words)


def _lag(project: Project) -> str:
    """Says how far the mirror was behind until this command updated it."""
    from whorl.runtimes.runtime import cluster

    count, since = cluster().lag(
        project.settings(), project.mirror, project.registry_of(project.mirror)
    )
    if not count:
        return "; it was up to date with the cluster"
    ended = f"ended on the cluster, up to {age(max(0.0, time.time() - since))} ago"
    return f"; it was behind by {plural(count, 'run')} that {ended}"


@click.group(cls=CommandGroup)
def memory() -> None:
    """List or delete what loops remember across runs.

    \b
      whorl project memory ls
    """


@memory.command(name="ls")
@commands.with_json
def memory_ls(project: Project, *, as_json: bool) -> None:
    """List the keys under which something is remembered."""
    has_runs, now = project.has_runs(), time.time()
    memories = _remembered(project) if has_runs else []
    rows = [(line(r.key, 60), str(r.records), bytes_words(r.bytes), age(now - r.updated_at))
            for r, _ in memories]  # fmt: skip
    documents = [asdict(row) | {"newest": newest} for row, newest in memories]
    empty, head = "no loop has saved records", ("KEY", "RECORDS", "SIZE", "AGE")
    empty = empty if has_runs else options.NO_RUNS
    commands.print_list(documents, head, rows, as_json=as_json, empty=empty, right={1, 2, 3})


@memory.command(name="rm")
@click.argument("key", metavar="KEY")
@commands.with_json
def memory_rm(project: Project, *, key: str, as_json: bool) -> None:
    """Delete everything that is remembered under KEY."""
    if project.is_on_cluster:
        from whorl.runtimes.runtime import cluster

        number = cluster().forget(project.settings().runtime.temporal, key)
    else:
        number = commands.change_store(project, lambda store: store.forget(key))
    if not number:
        words = f"there are no records under {key!r}"
        raise UsageError(words, help="`whorl project memory ls` lists the keys")
    if as_json:
        options.print_json({"key": key, "records": number})
    else:
        echo(f"deleted {plural(number, 'record')} of {key!r}")


def _remembered(project: Project) -> list[tuple[MemoryRow, list[Json]]]:
    """Returns each key of the memory with its newest record."""
    if project.is_on_cluster:
        from whorl.runtimes.runtime import cluster

        return cluster().memory(project.settings().runtime.temporal)
    with closing(project.open_store()) as store:
        return [(row, store.memory(row.key)[-1:]) for row in store.memories()]


@click.command()
@click.option("--older-than", type=commands.duration, metavar="TIME",
              help="How long ago a run must have ended, such as 12h or 2w. "
              "[default: older_than of [retention] in whorl.toml, or 30d]")  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice((*FINISHED, "interrupted")),
              help="Only runs in this state. May be repeated. [default: all ended]")  # fmt: skip
@click.option("--experiments", is_flag=True, help="Include runs of experiments.")
@commands.deleting
@commands.with_json
def prune(
    project: Project,
    *,
    older_than: float | None,
    statuses: tuple[str, ...],
    experiments: bool,
    **how: bool,
) -> None:
    """Delete runs that ended long ago, with everything that only they use.

    Runs of experiments stay, since their reports are made of them.

    \b
      whorl project prune --older-than 30d --dry-run
    """
    if older_than is None:
        configured_s = project.settings().retention.older_than_s
        older_than = commands.duration("30d") if configured_s is None else configured_s
    kept = () if experiments else (EXPERIMENT,)
    chosen = statuses or FINISHED

    async def delete(store: SqliteStore, *, dry_run: bool) -> Pruned:
        return await store.prune(older_than, chosen, dry_run=dry_run, without_key=kept)

    commands.delete_runs(project, delete, **how)


_file_argument = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))


@click.command()
@_file_argument
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@commands.with_json
def backup(project: Project, *, file: Path, force: bool, as_json: bool) -> None:
    """Copy the store to FILE while it is in use, and check the copy.

    \b
      whorl project backup ~/backups/whorl.db
    """
    check_inside(project.root, str(file))
    with closing(project.open_store()) as store:
        copied = back_up(store, file, project.registry_of(project.store), force=force)
    part = "you did not make the store: `whorl project restore` takes its runs as history only"
    _tell(copied, "checked", part, as_json=as_json)


@click.command()
@_file_argument
@click.option("--force", is_flag=True, help="Move the existing store aside.")
@commands.with_json
def restore(project: Project, *, file: Path, force: bool, as_json: bool) -> None:
    """Check the backup FILE, and put it in the place of the store.

    \b
      whorl project restore ~/backups/whorl.db

    Runs that were running when the backup was made, or waited for a person with a timeout, are
    paused. `whorl resume` repeats their calls that the backup does not have, with the same keys. If
    the file is not a backup that you made, only its runs are copied, as history.
    """
    if project.is_on_cluster:
        # It pauses runs in the copy, and those of a cluster are paused in no copy.
        words = "Temporal holds the runs of a cluster: a backup of their mirror cannot pause them"
        advice = f"end all servers, and copy the file to {project.mirror}"
        raise UsageError(words, help=advice, code="W920")
    project.check_store()
    copied = restore_backup(file, project.store, project.registry_of(project.store), force=force)
    _tell(copied, f"restored from {file}", as_json=as_json)
    print_lines(() if as_json or not copied.is_whole else copied.under_way)


@click.command()
@commands.with_json
def adopt(project: Project, *, as_json: bool) -> None:
    """Copy the runs of a store that you have not made into one of your own.

    \b
      whorl project adopt

    They come as history that has ended. Tokens, schedules, hooks, memories and runs that wait do
    not come along. The store that was there is kept beside the new one.
    """
    project.check_store()
    is_mirror = project.is_on_cluster
    path = project.mirror if is_mirror else project.store
    copied = adopt_store(path, project.registry_of(path), is_mirror=is_mirror)
    _tell(copied, "rebuilt from the cluster" if is_mirror else "now your own", as_json=as_json)


_PAUSED = (
    "paused: calls after the backup are unknown, and `whorl resume RUN` makes them again, with the "
    "same keys"
)
_HISTORY = (
    "its runs are history and cannot be resumed; tokens, schedules, hooks, memories and waiting "
    "runs were left out"
)


def _tell(copied: Copied, what: str, part: str = _HISTORY, *, as_json: bool) -> None:
    """Reports what was copied, what was paused, and what a copy of only a `part` means."""
    if as_json:
        options.print_json(asdict(copied))
        return
    entries = plural(copied.entries, "entry", "entries")
    content = f"{plural(copied.runs, 'run')}, {entries}, {bytes_words(copied.bytes)}"
    echo(f"{copied.file}: {content}, {what}")
    if copied.aside:
        say(f"the store that was there is {copied.aside}")
    if copied.under_way:
        say(f"{plural(len(copied.under_way), 'run')} {_PAUSED}")
    if not copied.is_whole:
        say(part)
