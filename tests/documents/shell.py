"""A reader at a shell: pastes one command after the other, in one folder, with one environment."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from types import TracebackType

# Commands that stay until they are stopped, and what they print once they are ready.
_STAYS = re.compile(r"^(whorl serve|curl -N)\b")
_PORT = "7411"
# What a reader copies from what was printed, for the commands that follow.
_COPIED = {
    "TOKEN": re.compile(r"#token=(\S+)"),
    "RUN": re.compile(r'"run": ?"(\w+)"'),
    "secret": re.compile(r"(whsec_\S+)"),
}


class Shell:
    """Keeps folder and variables from command to command, as a terminal does."""

    def __init__(self, home: Path, model: str) -> None:
        self.folder = home / "project"
        self.folder.mkdir(parents=True)
        self._state, self._place = home / "variables", home / "place"
        self._place.write_text(str(self.folder))
        self._state.write_text("")
        (home / ".curlrc").write_text("fail\nsilent\nshow-error\n")
        self._port = _PORT
        self._staying: list[subprocess.Popen[str]] = []
        own = Path(sys.executable).parent
        self._environment = {
            "PATH": f"{own}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
            "PYTHONUNBUFFERED": "1",
            "CURL_HOME": str(home),
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": model,
        }

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The last one first: a server would wait for those who read its streams.
        for process in reversed(self._staying):
            process.terminate()
            process.communicate(timeout=PATIENCE_S)

    @property
    def place(self) -> Path:
        """The folder that the last command has left the shell in."""
        return Path(self._place.read_text().strip())

    def run(self, command: str) -> tuple[int, str]:
        """Its exit code, and what a terminal would have shown; of what stays, the beginning."""
        command = command.replace(f":{_PORT}", f":{self._port}")
        if _STAYS.match(command):
            return self._stay(command)
        done = self._start(command)
        output, _ = done.communicate(timeout=PATIENCE_S)
        self._copy(output)
        return done.returncode, output

    def _start(self, command: str) -> subprocess.Popen[str]:
        state, place = shlex.quote(str(self._state)), shlex.quote(str(self._place))
        # `set -a`: variables that one command sets are there for the next one.
        keep = f"code=$?; export -p > {state}; pwd > {place}; exit $code"
        script = f'. {state}; cd "$(cat {place})"; set -a\n{command}\n{keep}'
        return subprocess.Popen(
            ["bash", "-c", script],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _stay(self, command: str) -> tuple[int, str]:
        """Starts what stays, and goes on once it is ready; a server takes any port."""
        is_server = command.startswith("whorl serve")
        if is_server:
            command = command.replace("whorl serve", "whorl serve --port 0", 1)
        process = self._start(f"exec {command}")
        self._staying.append(process)
        assert process.stdout is not None
        ready = re.compile(r"http://[\w.]+:(\d+)" if is_server else r"^data: ()")
        output = ""
        for line in process.stdout:
            output += line
            if found := ready.search(line):
                self._port = found[1] or self._port
                self._copy(output)
                return 0, output
        return process.wait(), output

    def _copy(self, output: str) -> None:
        for name, pattern in _COPIED.items():
            if found := pattern.search(output):
                with self._state.open("a") as file:
                    file.write(f"export {name}={shlex.quote(found[1])}\n")
