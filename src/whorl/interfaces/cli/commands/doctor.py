"""`whorl doctor`: looks at everything that a run needs, and says what is wrong."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from whorl.errors import ProviderError, StoreError, UsageError, safe
from whorl.interfaces.cli.options import json_option, located_anyhow, print_json
from whorl.interfaces.cli.stage import perform
from whorl.interfaces.cli.view.paint import paint
from whorl.interfaces.figures import bytes_words, plural, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.settings import Settings
    from whorl.services.project import Project

SQLITE_MIN = (3, 51, 3)
PROVIDER_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    words: str


@click.command()
@json_option
@located_anyhow
def doctor(project: Project, *, as_json: bool) -> int:
    """Check the installation, the store, the configuration and each provider.

    \b
      whorl doctor
    """
    findings = perform_checks(project)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        cells = [("✓" if one.ok else "✗", one.what, safe(one.words)) for one in findings]
        for said, one in zip(table(cells), findings, strict=True):
            click.echo(paint(said[:1], "green" if one.ok else "red") + said[1:])
    return 0 if all(finding.ok for finding in findings) else 1


def perform_checks(project: Project) -> list[Finding]:
    """Everything that was found."""
    findings = [*_installation(), *_store(project)]
    place = str(project.config) if project.config else "no whorl.toml; only the environment"
    try:
        settings = project.settings()
    except UsageError as fault:
        return [*findings, Finding("configuration", False, f"{fault}; {fault.help}")]
    findings.append(Finding("configuration", True, place))
    findings.append(Finding("commands", True, _commands_words(settings)))
    if not settings.providers:
        return [*findings, _nobody(settings)]
    found: list[Finding] = []
    perform(_providers(settings, found))
    return [*findings, *found]


def _installation() -> Iterator[Finding]:
    import apsw

    from whorl import __version__

    yield Finding("whorl", True, f"{__version__} on Python {platform.python_version()}")
    version = apsw.sqlite_lib_version()
    is_new = tuple(int(part) for part in version.split(".")[:3]) >= SQLITE_MIN
    wanted = ".".join(map(str, SQLITE_MIN))
    advice = "" if is_new else f"; at least {wanted} is needed: update apsw"
    yield Finding("SQLite", is_new, f"{version}{advice}")
    yield Finding("Python", sys.version_info >= (3, 11), sys.executable)


def _store(project: Project) -> Iterator[Finding]:
    path = project.store
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        is_writable = os.access(folder, os.W_OK)
        words = "will be made by the first run" if is_writable else f"{folder} cannot be written"
        yield Finding("store", is_writable, f"{path} {words}")
        return
    try:
        store = project.open_store()
    except StoreError as fault:
        yield Finding("store", False, str(fault))
        return
    try:
        sizes, wrong = store.sizes(), store.check()
        is_writable = os.access(path, os.W_OK)
        words = f"{path}, {bytes_words(sizes.file_bytes)}, {plural(sizes.runs, 'run')}"
        if wrong:
            words = f"{path} is damaged: {wrong[0]}"
        elif not is_writable:
            words = f"{path} cannot be written"
        yield Finding("store", not wrong and is_writable, words)
    except StoreError as fault:
        yield Finding("store", False, str(fault))
    finally:
        store.close()


def _commands_words(settings: Settings) -> str:
    allowed = settings.allow.commands
    if allowed is True:
        return "allowed: workflow files may run any program"
    if allowed:
        return f"allowed: {', '.join(allowed)}"
    return "not allowed ([allow] commands)"


def _nobody(settings: Settings) -> Finding:
    from whorl.providers.registry import Providers
    from whorl.providers.task import Request

    advice = "set OPENAI_API_KEY or the like, or add [providers.NAME] to whorl.toml"
    try:
        Providers(settings).kind("ask").estimate(Request("", "", "ask", {"prompt": "-"}))
    except ProviderError:
        return Finding("providers", False, f"none: {advice}")
    return Finding("providers", True, f"none, so the embedded toy model answers; {advice}")


async def _providers(settings: Settings, found: list[Finding]) -> int:
    from whorl.providers.registry import Providers

    providers = Providers(settings)
    try:
        found += await asyncio.gather(
            *(_try_provider(providers, name, settings) for name in settings.providers)
        )
    finally:
        await providers.close()
    return 0


async def _try_provider(providers: object, name: str, settings: Settings) -> Finding:
    from whorl.providers.registry import Providers

    assert isinstance(providers, Providers)
    is_default = " (default)" if name == settings.default_provider else ""
    what = f"provider {name}{is_default}"
    try:
        async with asyncio.timeout(PROVIDER_TIMEOUT_S):
            check = await providers.check_provider(name)
    except TimeoutError:
        return Finding(what, False, f"no answer within {PROVIDER_TIMEOUT_S:g} s")
    except (ProviderError, UsageError) as fault:
        return Finding(what, False, str(fault))
    return Finding(what, check.ok, check.message)


COMMANDS = {"doctor": doctor}
