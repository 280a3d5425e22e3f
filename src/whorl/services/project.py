"""The project of a command: its folder, its configuration, its store, its workflows."""

from __future__ import annotations

import os
import shlex
import stat
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from whorl.errors import (
    Diagnostic,
    InvalidWorkflow,
    ProviderError,
    SeveralWorkflows,
    StoreError,
    UsageError,
    safe,
)
from whorl.lazily import dataclass, regex
from whorl.services.configuration.foreign import find_foreign, is_marked, marks
from whorl.services.configuration.sources import Configuration, no_configuration, read_configuration
from whorl.services.configuration.trust import CONFIG_NAME, VARIABLE, is_foreign
from whorl.source.paths import find_link, open_file
from whorl.source.report import FIRST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whorl.dialects import ProjectFiles, Reading
    from whorl.dialects.files import FindNamed
    from whorl.ir import Workflow
    from whorl.providers.redaction import Secret
    from whorl.providers.settings import Settings
    from whorl.runtimes.journal.keys import Registry
    from whorl.runtimes.sqlite import SqliteStore


STORE_FOLDER = ".whorl"
STORE_NAME = "whorl.db"
MIRROR_SUFFIX = ".mirror.db"
# `module:name`, a workflow that is written in Python.
_CODE = regex(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Project:
    """The project of a command. `config` is the file with the settings, if there is one.

    `table` replaces such a file if a program passes one. `is_own_word`: the person named the
    configuration, or trusts it for this call. `trusts`: the folder's files may start runs by
    themselves. `foreign` is the configuration of another system in the folder. A store that the
    person named has to exist before it is read; the first run creates the project's own store.
    """

    root: Path
    config: Path | None
    store: Path
    environment: Mapping[str, str]
    is_store_named: bool = False
    is_own_word: bool = False
    table: Mapping[str, object] | None = None
    foreign: Path | None = None
    trusts: bool = False

    def settings(self) -> Settings:
        """Returns the settings; those of an untrusted file are without its rights."""
        from whorl.providers.settings.sections import settings_from

        configuration = self.configuration()
        judged = configuration.judged
        try:
            environment = {**self.environment, **configuration.variables}
            settings = settings_from(configuration.table, environment, project_root=str(self.root))
        except UsageError as fault:
            if self.config is None:
                raise
            raise UsageError(f"{self.config}: {fault}", help=fault.help, code="W901") from fault
        return replace(
            settings,
            untrusted=None if judged is None else judged.refusal(),
            allow=replace(settings.allow, closed=configuration.files),
            runtime=configuration.checked(settings.runtime),
        )

    def secrets(self) -> tuple[Secret, ...]:
        """Returns the operator's secrets, or () if the settings cannot be read."""
        with suppress(UsageError):
            return self.settings().secrets()
        return ()

    def configuration(self) -> Configuration:
        read = read_configuration(
            self.config,
            self.environment,
            given=self.table,
            is_own_word=self.is_own_word,
            foreign=self.foreign,
        )
        own = [] if self.config is None else [os.path.relpath(self.config, self.root).casefold()]
        return replace(read, files=read.files.union(own))

    def read(self, file: str, workflow: str = "") -> Reading:
        """Reads a workflow file; `workflow` names one of several in the file."""
        # Servers know it as if it were a file of the project.
        place = file.removeprefix(f"{self.root}/")
        if is_code(place) and not os.path.exists(file):
            return self._read_code(place)
        path = self.locate(file)
        return self.read_text(open_file(path), path, workflow)

    def _read_code(self, place: str) -> Reading:
        """Reads a workflow written in Python; imports it if the operator permits it."""
        from whorl.dialects import Reading
        from whorl.providers.functions import import_function
        from whorl.providers.settings import line_below, with_entry

        settings = self.settings()
        if settings.untrusted is not None:
            raise settings.untrusted
        if place not in settings.programs:
            line = f"python = {with_entry(settings.programs, place)}"
            advice = f"write {line_below('workflows', line)}; then `whorl project trust`"
            why = f"{place!r} is code, which this folder has no permission to import"
            raise UsageError(why, help=advice, code="W908")
        definition = import_function(place, settings)
        build = getattr(definition, "build", None)
        if build is None:
            advice = "name a function with @whorl.workflow"
            raise UsageError(f"{place!r} is not a workflow", help=advice)
        built = build(self)
        return Reading(built.ir, built.warnings, built.sources)

    def locate(self, file: str) -> str:
        """Returns the path of a workflow: of the file, or of the project's workflow of this name.

        Some systems name a workflow by the stem of its file, or by a name inside it. Raises
        UsageError if a name means several.
        """
        if os.path.isfile(file) or not file.strip() or not file.isprintable():
            return file
        from whorl.dialects import ProjectFiles
        from whorl.plugins import formats, load_reference

        current = Path.cwd()
        folders = self._folders(self.configuration().table)
        for base in dict.fromkeys((current, self.root)):
            files = ProjectFiles(str(base), folders if base == self.root else ())
            for reference in (each.find_named for each in formats() if each.find_named):
                find = cast("FindNamed", load_reference(reference))
                named = list(dict.fromkeys(find(file, files, f"{base}/-")))
                if len(named) > 1:
                    raise _several(f"{file!r} could be", named)
                if named:
                    return os.path.relpath(base / named[0], current)
        return file

    def find(self, name: str) -> str:
        """Returns the path of a workflow by `locate`, by its folder, file name or own name.

        A folder means its only workflow. Raises UsageError if several match.
        """
        file = self.locate(name)
        is_folder = os.path.isdir(file)
        if os.path.isfile(file) or not (is_folder or name.strip(".")) or is_code(file):
            return file
        if not is_folder and os.path.basename(name) != name:
            return file
        folder = Path(file).resolve() if is_folder else self.root
        listed = Catalogue(self, folder=folder).listed()
        paths = {os.path.relpath(self.root / each.file): each.workflow for each in listed}
        if is_folder:
            own = [path for path in paths if os.path.dirname(path) == os.path.normpath(file)]
            found = own or list(paths)
        else:
            found = [path for path in paths if name == Path(path).stem]
            named = [p for p, flow in paths.items() if flow and flow.name.lower() == name.lower()]
            found = found or named
        if len(found) > 1:
            words = f"{file!r} has {len(found)} workflows:" if is_folder else f"{name!r} could be"
            raise _several(words, found)
        if is_folder and not found:
            raise UsageError(f"there is no workflow in the folder {file!r}", code="W902")
        return found[0] if found else file

    def read_text(
        self, text: str, file: str, workflow: str = "", others: Mapping[str, str] | None = None
    ) -> Reading:
        """Reads a text as if it were in a file; `others` are unsaved texts of other files."""
        from whorl.dialects import SourceFiles, read_workflow
        from whorl.dialects.files import UnsavedFiles

        files: SourceFiles = self.files(file)
        files = UnsavedFiles(files, file, others) if others else files
        # The limits of loops that have none of their own.
        limits = self.settings().limits if "limits" in self.configuration().table else {}
        return read_workflow(text, file, files, limits=limits, workflow=workflow)

    def files(self, file: str) -> ProjectFiles:
        """Returns the files that a file may name: the project's, or those beside it if outside."""
        from whorl.dialects import ProjectFiles

        root = self.root
        with suppress(OSError, RuntimeError, ValueError):
            path = Path(file).resolve()
            root = root if path.is_relative_to(root) else path.parent
        read = self.configuration()
        return ProjectFiles(str(root), self._folders(read.table), read.files)

    def _folders(self, table: Mapping[str, object]) -> tuple[str, ...]:
        section = table.get("workflows")
        folders = section.get("folders", []) if isinstance(section, dict) else []
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            message = f"{self.config}: [workflows] folders must be a list of texts"
            raise UsageError(message, code="W901")
        return tuple(folders)

    def texts(self, diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
        texts: dict[str, str] = {}
        for name in {each.span.file for each in diagnostics if each.span is not None}:
            for path in (str(self.root / name), name):
                with suppress(InvalidWorkflow):
                    texts[name] = open_file(path)
        return texts

    def has_runs(self) -> bool:
        """Returns whether the store exists. Raises UsageError W902 if a named store does not."""
        self.check_store()
        if self.is_on_cluster:
            return True
        if self.is_store_named and not self.store.exists():
            raise self._no_store()
        return self.store.exists()

    def check_store(self, *names: str) -> None:
        """Refuses a project's own store that is or has a symlink, since writes would leave it.

        `names` are files inside it that will be written. Raises StoreError R908.
        """
        folder = self.root / STORE_FOLDER
        if self.is_store_named or self.store.parent != folder:
            return
        held: list[str] = []
        with suppress(OSError):
            held = sorted(os.listdir(folder))
        if link := find_link(self.root, (f"{STORE_FOLDER}/{name}" for name in ("", *held, *names))):
            words = f"{str(link)!r} is a symbolic link, and a store in a project must not have any"
            advice = f"delete it: rm {shlex.quote(str(link))}"
            raise StoreError(words, code="R908", help=advice)

    def _no_store(self) -> UsageError:
        words = f"there are no runs yet: {str(self.store)!r} does not exist"
        advice = "start one with `whorl run FILE`, or name another place with --store"
        return UsageError(words, help=advice, code="W902")

    def remove_workspaces(self, runs: Iterable[str]) -> None:
        """Deletes the folders of deleted runs; symlinks there are not touched."""
        import shutil

        from whorl.ir.values import workspace_of

        self.check_store()
        for run in runs:
            path = self.root / workspace_of(run)
            if path.parent.resolve() == path.parent and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)

    @property
    def is_on_cluster(self) -> bool:
        """Returns whether a cluster drives the runs, so that a mirror of them is read here."""
        from whorl.providers.settings.sections import chosen_kind

        # Runs can be looked at where the configuration cannot be read.
        with suppress(UsageError):
            return chosen_kind(self.configuration().table, self.environment) == "temporal"
        return False

    @property
    def home(self) -> str:
        """Identifies the project's runs in a store: its folder and its configuration, a line each.

        The folder is that of its whorl.toml, or "" in its own store, which moves with the folder.
        The configuration is named only if its file has another name.
        """
        config = "" if self.config is None else os.path.realpath(self.config)
        folder, name = os.path.split(config)
        if name != CONFIG_NAME:
            folder = str(self.root)
        own = os.path.realpath(os.path.join(folder, STORE_FOLDER, STORE_NAME))
        folder = "" if os.path.realpath(self.store) == own else folder
        return folder if name in ("", CONFIG_NAME) else f"{folder}\n{config}"

    @property
    def mirror(self) -> Path:
        """The file of the mirror of a cluster's runs."""
        return self.store.with_suffix(MIRROR_SUFFIX)

    def open_store(self, *, create: bool = False) -> SqliteStore:
        """Opens the store; without `create`, raises UsageError if it does not exist.

        A store that the user has not made can only be read: with `create`, raises UsageError W908.
        """
        from whorl.runtimes.sqlite import SqliteStore
        from whorl.runtimes.sqlite.faults import strange

        self.check_store()
        is_mirror = self.is_on_cluster
        path = self.mirror if is_mirror else self.store
        registry = self.registry_of(path)
        if is_mirror and not create:
            from whorl.runtimes.runtime import cluster

            cluster().refresh(self.settings(), path, registry)
        if not is_mirror and not create and not path.exists():
            raise self._no_store()
        # A file that is still empty is a store that another process is about to fill.
        home = "" if is_mirror else self.home
        seals = registry.seals
        store = SqliteStore(path, seals=seals, is_mirror=is_mirror, registry=registry, home=home)
        if store.is_strange and create:
            store.close()
            raise strange(store.path)
        return store

    def registry_of(self, path: Path) -> Registry:
        """Returns the registry of the stores that the user has made."""
        from whorl.runtimes.journal.keys import HOME, registry_from

        # A relative path names another store in each folder that one enters.
        home = os.path.expanduser(self.environment.get(HOME, ""))
        is_named = os.path.isabs(home) and not self.is_store_named
        return registry_from(self.environment, path, is_named=is_named)


def _several(words: str, files: Sequence[str]) -> UsageError:
    shown = ", ".join(map(safe, files[:NAMED_MAX]))
    more = f" and {len(files) - NAMED_MAX} more" if len(files) > NAMED_MAX else ""
    advice = "write the path of the one that you mean"
    return UsageError(f"{words} {shown}{more}", help=advice, code="W903")


def is_code(place: str) -> bool:
    """Returns whether a name looks like a Python workflow; a file may also have such a name."""
    return _CODE.fullmatch(place) is not None


def find_project(
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    config: str | None = None,
    store: str | None = None,
    is_checked: bool = True,
    trusts: bool = False,
) -> Project:
    """Returns the project around a folder; `is_checked`: its configuration must exist.

    `trusts`: the whorl.toml that is found there is trusted for this call.
    """
    current = (folder or Path.cwd()).resolve()
    around = (current, *current.parents)
    root = next((p for p in around if (p / CONFIG_NAME).is_file()), None)
    # Another system has a project there, but none in the home folder.
    places = (p for p in around if str(p) != environment.get("HOME"))
    root = root or next((p for p in places if any(is_marked(p, m) for m in marks())), current)
    chosen = root / CONFIG_NAME if (root / CONFIG_NAME).is_file() else None
    foreign = find_foreign(root)
    if config:
        chosen = current / Path(config).expanduser()
        if is_checked and not chosen.is_file():
            raise no_configuration(config, chosen)
        # One of another system is its folder's, too: its paths are seen from there.
        foreign = chosen if chosen.suffix in (".yaml", ".yml") else None
        chosen, root = (chosen, root) if foreign is None else (None, foreign.resolve().parent)
    home = environment.get("WHORL_HOME", "")
    place = (current / Path(home).expanduser() if home else root / STORE_FOLDER) / STORE_NAME
    if store:
        place = current / Path(store).expanduser()
        place = place if place.suffix == ".db" or place.is_file() else place / STORE_NAME
    if (store or home) and place.is_symlink():
        # Where the person has named it, a link is meant; a folder's own store is none.
        place = place.resolve()
    # Trust for a call is none in what another user has written.
    read = chosen or foreign
    is_own_word = bool(config) or (trusts and read is not None and not is_foreign(read))
    return Project(
        root,
        chosen,
        place,
        environment,
        is_store_named=bool(store),
        is_own_word=is_own_word,
        foreign=foreign,
        trusts=trusts or environment.get(VARIABLE) == "1",
    )


# The workflows of a project: the files below its folder that are some, and programs.

FILES_MAX = 500
NAMED_MAX = 20
FOLDERS_MAX = 2_000
BYTES_MAX = 200_000
DEPTH_MAX = 4
# A folder that is no project may hold anything; what is not read in this time is read next time.
READING_S = 5.0
SUFFIXES = (".yaml", ".yml", ".json")
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages", "dist", "build"})
Stamp: TypeAlias = tuple[int, int]
# A text that is not even YAML or JSON may be anything; it is listed where people keep workflows.
_SYNTAX = frozenset({"W001", "W002"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A workflow file and the files that it `included`; the number of mistakes, and the first."""

    file: str
    workflow: Workflow | None = None
    errors: int = 0
    trouble: str = ""
    # Which one, of a file that has several.
    named: str = ""
    included: tuple[str, ...] = ()


@dataclass(eq=False)
class Catalogue:
    """The workflow files in a project's folder, and its `programs`: workflows in Python."""

    project: Project
    programs: Sequence[str] = ()
    # Only those below it, instead of the project's folder.
    folder: Path | None = None
    _files: dict[str, tuple[Stamp, tuple[Listed, ...]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def listed(self) -> list[Listed]:
        files: dict[str, tuple[Stamp, tuple[Listed, ...]]] = {}
        # Of the processor: on a busy machine the same files are listed as on a free one.
        deadline = time.thread_time() + READING_S
        with self._lock:
            for path, stamp in sorted(candidates(str(self.folder or self.project.root))):
                before = self._files.get(path)
                if before is not None and before[0] == stamp:
                    files[path] = before
                elif time.thread_time() < deadline:
                    files[path] = (stamp, self._read(path))
            for path in (str(self.project.root / place) for place in self.programs):
                # Python imports a module once.
                files[path] = self._files.get(path) or ((0, 0), self._read(path))
            self._files = files
        return [listed for _, each in files.values() for listed in each]

    def named(self, name: str) -> Listed:
        """Returns the workflow of a name; raises UsageError W902 for none, W903 for several."""
        named = ((each, each.workflow) for each in self.listed())
        found = [each for each, flow in named if flow and flow.name.lower() == name.lower()]
        if not found:
            raise UsageError(f"there is no workflow {name[:80]!r}", code="W902")
        if len(found) > 1:
            raise _several(f"{name[:80]!r} could be", [each.file for each in found])
        return found[0]

    def reads(self) -> list[str]:
        """Returns the files that the workflows name, or words if a value decides the name."""
        from whorl.services.files.forecasting import effects_of

        settings, listed = self.project.settings(), self.listed()
        each = (effects_of(e.workflow, settings, (), e.included) for e in listed if e.workflow)
        return sorted({name for effects in each for name in effects.reads})

    def _read(self, path: str, named: str = "") -> tuple[Listed, ...]:
        name = os.path.relpath(path, self.project.root).replace(os.sep, "/")
        try:
            reading = self.project.read(path, named)
            return (Listed(name, reading.workflow, named=named, included=reading.included),)
        except SeveralWorkflows as fault:
            each = (self._read(path, other) for other in fault.names)
            return () if named else tuple(listed for part in each for listed in part)
        except InvalidWorkflow as fault:
            if is_other(fault, name):
                return ()
            first = safe(fault.diagnostics[0].message) if fault.diagnostics else ""
            return (Listed(name, None, max(1, len(fault.diagnostics)), first, named),)
        except (ProviderError, UsageError) as fault:
            return (Listed(name, None, 1, safe(str(fault)), named),)


def is_other(fault: InvalidWorkflow, name: str) -> bool:
    """Returns whether a file is probably not a workflow; W018: no dialect recognises it."""
    is_broken = all(d.code in _SYNTAX or d.label.startswith(FIRST) for d in fault.diagnostics)
    is_unknown = any(diagnostic.code == "W018" for diagnostic in fault.diagnostics)
    return is_unknown or (is_broken and name.count("/") > 1)


def candidates(root: str, suffixes: tuple[str, ...] = SUFFIXES) -> Iterator[tuple[str, Stamp]]:
    """Yields files that may be workflows, with a stamp that changes if they change."""
    files = folders = 0
    waiting = deque([(root, 0)])
    while waiting and files < FILES_MAX and folders < FOLDERS_MAX:
        folder, depth = waiting.popleft()
        folders += 1
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_MAX and entry.name not in _LEFT_OUT:
                    waiting.append((entry.path, depth + 1))
            elif entry.name.endswith(suffixes) and files < FILES_MAX:
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode) and about.st_size <= BYTES_MAX:
                        files += 1
                        yield entry.path, (about.st_mtime_ns, about.st_size)
