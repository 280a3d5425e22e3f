"""A project that is really served, and the page of it in a real browser."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from trusted import TRUSTED
from waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

ROOT = Path(__file__).parent.parent.parent
WEB = ROOT / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RESTING = ("succeeded", "failed", "cancelled", "waiting", "paused")
# What a screenshot goes into; none are taken without it.
PICTURES = os.environ.get("WHORL_SCREENSHOTS", "")

# The project that is served. `review` has a score, a target, a best iteration that is not the
# last, and carried feedback; in `judged` a judge says no, and at the limit a person is asked;
# `slow` does not end while somebody looks at it, however slowly the page opens; `short` ends by its
# limit of dollars.
PROJECT = Path(__file__).parent / "project"
CONFIG = (PROJECT / "whorl.toml").read_text()


def make_project(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Writes the project into a folder, with more files or other ones."""
    shutil.copytree(PROJECT, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    return folder


def environment() -> dict[str, str]:
    """What the commands see: this package, and no configuration of the person who tests."""
    path = os.pathsep.join(filter(None, sys.path))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": path} | TRUSTED


class Site:
    """A project with a `whorl serve` process on it."""

    def __init__(self, project: Path, *options: str) -> None:
        self.project = project
        self._examples: dict[str, str] = {}
        self.visitors: set[BrowserContext] = set()
        self._process = subprocess.Popen(
            [*WHORL, "serve", "--no-open", "--port", "0", *options],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        assert self._process.stdout is not None
        self.link = self._process.stdout.readline().strip()
        assert "#token=" in self.link, f"the server did not start: {self.link!r}"
        self.address, _, self.token = self.link.partition("/#token=")
        headers = {"Authorization": f"Bearer {self.token}"}
        self.http = httpx2.Client(
            base_url=self.address, headers=headers, timeout=PATIENCE_S, trust_env=False
        )

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the server as Ctrl-C would."""
        self.http.close()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def get(self, path: str, **query: Any) -> Any:
        """The JSON of an answer of the API that must be 200; `path` without `/api`."""
        answer = self.http.get(f"/api{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON of an answer of the API that must be a success."""
        answer = self.http.post(f"/api{path}", json=body or {})
        assert answer.status_code < 300, answer.text
        return answer.json()

    def start(self, workflow: str, inputs: dict[str, Any] | None = None, **fields: Any) -> str:
        """Starts a run through the API, and does not wait for it; gives its id."""
        body = {"workflow": workflow, "inputs": inputs or {}, **fields}
        return str(self.post("/runs", body)["run"])

    def ran(self, workflow: str, inputs: dict[str, Any] | None = None, **fields: Any) -> str:
        """A run that was started through the API and has come to rest."""
        run = self.start(workflow, inputs, **fields)
        self.wait(run)
        return run

    def example(self, workflow: str, inputs: dict[str, Any] | None = None) -> str:
        """A run that tests only look at: all of them at the same one."""
        key = json.dumps([workflow, inputs])
        if key not in self._examples:
            self._examples[key] = self.ran(workflow, inputs)
        return self._examples[key]

    def wait(self, run: str, *statuses: str) -> Any:
        """The run once it has one of these statuses (by default: once it rests)."""
        found: dict[str, Any] = {}

        def is_there() -> bool:
            found.update(self.get(f"/runs/{run}"))
            return found["status"] in (statuses or RESTING)

        wait_until(is_there)
        return found

    def cli(self, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a `whorl` command in the project (or elsewhere) in a process of its own."""
        return subprocess.run(
            [*WHORL, *words],
            cwd=folder or self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment(),
            timeout=PATIENCE_S,
            check=False,
        )

    def cli_shell(self, line: str) -> subprocess.CompletedProcess[str]:
        """Runs a command line as the page shows it: a shell takes it apart."""
        return self.cli(*shlex.split(line)[1:])

    def cli_run(self, workflow: str, *words: str) -> str:
        """A run that `whorl run` made; gives its id."""
        done = self.cli("run", workflow, *words, "--json")
        return str(json.loads(done.stdout)["run"])

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        """Starts a `whorl` command in a process of its own; the caller ends it."""
        return subprocess.Popen(
            [*WHORL, *words],
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )

    def open(self, page: Page, path: str = "/") -> None:
        """Opens a screen of the page: `/`, `/runs/ID`, `/runs/ID/diff?one=1&other=2`."""
        if page.context not in self.visitors:
            page.goto(self.link)
            page.wait_for_selector(".header")
            self.visitors.add(page.context)
        if page.url.startswith(f"{self.address}/#"):
            page.evaluate("path => { location.hash = path }", path)
        else:
            page.goto(f"{self.address}/#{path}")
            page.wait_for_selector(".header")


WHORL = [sys.executable, "-m", "whorl.interfaces.cli"]


def ready(button: Locator) -> Locator:
    """A button once it takes presses: what has just appeared takes none for a moment."""
    button.and_(button.page.locator(":not([aria-disabled=true], [disabled])")).wait_for()
    return button


def findings(page: Page, *rules: str) -> list[str]:
    """What axe-core finds on the page as it is: rule and elements. No rules: all of them."""
    if not page.evaluate("() => 'axe' in window"):
        # Injected through the debugger, so that the policy of the page needs no exception for it.
        page.evaluate(AXE.read_text())
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:200]} {node.get('failureSummary', '')}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def picture(page: Page, name: str) -> None:
    """Saves what is seen, where WHORL_SCREENSHOTS names a folder."""
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(PICTURES) / f"{name}.png"))
