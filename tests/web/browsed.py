"""A project that is really served, and the page of it in a real browser."""

from __future__ import annotations

import json
import os
import shlex
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

CONFIG = """
[defaults]
provider = "canned"
model = "scripted"

[allow]
commands = ["sh"]

[prices.scripted]
input = 50.0
output = 200.0

[providers.canned]
kind = "scripted"
replies = [
  {match = "^Plan", replies = ["First the parser, then its tests."]},
  {match = "^Repair", replies = ["def parse(s):\\n    return json.loads(s or 'null')"]},
  {match = "^Check", by = "iteration", replies = ["two warnings", "clean"]},
  {match = "^Report", replies = ["The parser reads what it is given."]},
  {match = "^Fail", replies = [{status = 400, text = "no such model"}]},
  {match = "^Draft", by = "iteration", replies = [
    "A first draft.", "A second, longer draft.", "A third draft, the longest of all."]},
  {match = "^You judge", by = "iteration", replies = [
    "NO, the tone does not fit.", "YES, the tone fits now."]},
  {match = "^Write code", by = "iteration", replies = [
    "def parse(s):\\n    return json.loads(s)\\n",
    "def parse(s):\\n    if not s:\\n        return None\\n    return json.loads(s)\\n",
    "def parse(s):\\n    return json.loads(s or 'null')\\n",
    "def parse(s):\\n    if not s:\\n        return None\\n    return json.loads(s.strip())\\n",
  ]},
  {match = "Review ", by = "iteration", replies = [
    {json = {score = 0.41, feedback = "No test, and an empty text fails."}},
    {json = {score = 0.63, feedback = "An empty text works; blanks around it do not."}},
    {json = {score = 0.58, feedback = "Clever, but harder to read than before."}},
    {json = {score = 0.82, feedback = "Good. <b>Keep</b> it."}},
  ]},
]
"""

# A loop with a score, a target, a best iteration that is not the last, and carried feedback.
REVIEW = """
whorl: 1
name: review
description: Writes code until the reviewer is content.
inputs: {task: string}
budget: 2.00
steps:
  plan: {ask: "Plan {{ task }}"}
  refine:
    repeat:
      until: {score: {from: "{{ review.score }}", at_least: 0.85}}
      at_most: 4
      return: best
      carry: {feedback: "{{ review.feedback }}"}
      steps:
        code: {ask: "Write code for {{ task }}. Mind: {{ feedback | default('nothing yet') }}"}
        review:
          ask: "Review {{ code }}"
          returns: {score: number, feedback: string}
  report: {ask: "Report on {{ refine.code }}"}
outputs:
  text: "{{ report }}"
  code: "{{ refine.code }}"
"""

NESTED = """
whorl: 1
name: nested
inputs: {task: string}
steps:
  draft:
    repeat:
      until: {score: {from: "{{ rate.score }}", at_least: 0.6}}
      at_most: 4
      steps:
        code: {ask: "Write code for {{ task }}"}
        fix:
          repeat:
            until: check == "clean"
            at_most: 3
            steps: {repair: {ask: "Repair {{ code }}"}, check: {ask: "Check {{ repair }}"}}
        rate: {ask: "Review {{ fix.repair }}", returns: {score: number, feedback: string}}
outputs: {code: "{{ draft.fix.repair }}"}
"""

GATED = """
whorl: 1
name: gated
description: A person says whether it is published.
steps:
  draft: {ask: "Draft it"}
  check: {approve: {message: "Publish it?", show: "{{ draft }}"}}
outputs: {ok: "{{ check.approved }}", words: "{{ check.feedback }}"}
"""

ASKING = """
whorl: 1
name: asking
description: A person is asked after each iteration.
budget: 1.00
steps:
  work:
    repeat:
      ask_person: each
      at_most: 5
      steps: {write: {ask: "Draft it. {{ person.feedback if person is defined else '' }}"}}
outputs: {text: "{{ work.write }}"}
"""

# A judge says no, and at the limit a person is asked.
JUDGED = """
whorl: 1
name: judged
description: A judge says whether the tone fits.
steps:
  work:
    repeat:
      until: {judge: "Does the tone fit?"}
      ask_person: at_limit
      at_most: 1
      steps: {write: {ask: "Draft it."}}
outputs: {text: "{{ work.write }}"}
"""

TONE = """
whorl: 1
name: tone
steps:
  tone:
    repeat: {until: {judge: "Does the tone fit?"}, at_most: 4, steps: {write: {ask: "Draft it"}}}
outputs: {text: "{{ tone.write }}"}
"""

# A quarter of an hour: it does not end while somebody looks at it, however slowly the page opens.
SLOW = """
whorl: 1
name: slow
steps:
  turns: {repeat: {at_most: 900, wait: 1s, steps: {write: {ask: "Draft {{ iteration }}"}}}}
outputs: {text: "{{ turns.write }}"}
"""

MANY = """
whorl: 1
name: many
inputs: {count: {type: number, default: 1000}}
steps:
  turns:
    repeat:
      until: {score: {from: "{{ share }}", at_least: 2}}
      at_most: 1000
      steps: {share: {value: "{{ iteration / 1000 }}"}}
outputs: {share: "{{ turns.share }}"}
"""

FAILING = """
whorl: 1
name: failing
steps:
  first: {ask: "Draft it"}
  second: {ask: "Fail please"}
"""

BIG = """
whorl: 1
name: big
steps:
  many: {value: "{{ 'abcdefghij' * 3000 }}"}
  show: {ask: "Draft {{ many }}"}
"""

SPEAKING = """
whorl: 1
name: speaking
steps:
  speak: {run: "sleep 1; echo one; sleep 1; echo two"}
"""

ORDER = """
whorl: 1
name: order
description: Inputs of every type.
inputs:
  topic: {type: string, description: "what it is about"}
  pages: {type: number, default: 3}
  strict: {type: boolean, default: true}
  tags: {type: list, default: [a, b]}
  note: {type: string, default: ""}
steps:
  draft: {ask: "Draft {{ pages }} pages on {{ topic }} {{ tags }} {{ strict }}{{ note }}"}
outputs: {text: "{{ draft }}"}
"""

# It ends by its limit of dollars.
SHORT = """
whorl: 1
name: short
steps:
  work:
    repeat:
      until: "false"
      at_most: {iterations: 9, cost: 0.01}
      steps: {write: {ask: "Draft {{ iteration }}", max_tokens: 20}}
outputs: {text: "{{ work.write }}"}
"""

BROKEN = "whorl: 1\nname: broken\nsteps:\n  a: {asq: hello}\n"

WORKFLOWS = {
    "review.yaml": REVIEW,
    "nested.yaml": NESTED,
    "gated.yaml": GATED,
    "asking.yaml": ASKING,
    "judged.yaml": JUDGED,
    "tone.yaml": TONE,
    "slow.yaml": SLOW,
    "many.yaml": MANY,
    "failing.yaml": FAILING,
    "big.yaml": BIG,
    "speaking.yaml": SPEAKING,
    "order.yaml": ORDER,
    "short.yaml": SHORT,
    "flows/broken.yaml": BROKEN,
}


def make_project(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Writes a project into a folder, with more files or other ones."""
    (folder / "flows").mkdir(parents=True)
    for name, text in ({"whorl.toml": CONFIG} | WORKFLOWS | (files or {})).items():
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
