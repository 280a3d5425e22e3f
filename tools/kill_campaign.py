"""Kills commands with SIGKILL, again and again (`tools/kill_campaign.py --kills 100 --seed 1`).

Loops run under a budget, with a model server that keeps to no `max_tokens` and writes down every
request. Nothing may hang; all calls are made, none too many; what was sent twice is in doubt; no
key has two bodies; the costs that are told are not below the witness's.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LOOP = "{repeat: {until: %s, at_most: %d, steps: {w: {ask: '%s {{ iteration }}', max_tokens: 50}}}}"
JUDGE, TWICE = '{judge: "It is good"}', '"iteration >= 2"'
FLOW = f"""whorl: 1
name: NAME
budget: 0.3
steps:
  all: {{each: [1, 2, 3, 4, 5], at_once: 5, steps: {{l: {LOOP % (TWICE, 4, "e{{ item }}")}}}}}
  tog: {{together: {{x: {LOOP % (JUDGE, 2, "x")}, y: {{ask: y, max_tokens: 50}}}}}}
  GATE
  post: {{ask: "post {{{{ tog.y }}}}", max_tokens: 50}}
"""
TRIAL = f"""{{whorl: 1, name: trial, inputs: {{n: integer}}, outputs: {{text: "{{{{ l.w }}}}"}},
steps: {{l: {LOOP % (JUDGE, 3, "n{{ n }}")}}}}}
"""
EXPERIMENT = """{experiment: 1, name: trial, workflow: trial.yaml, trial_budget: 0.3, at_once: 3,
cases: [{n: 1}, {n: 2}], grade: {g: {judge: "Is it?", of: "{{ outputs.text }}", votes: 2}}}
"""
CONFIG = """defaults = {provider = "w", model = "m"}
prices.m = {input = 1.0, output = 10.0}
providers.w = {kind = "openai", base_url = "http://127.0.0.1:PORT/v1"}
"""
USAGE, CALL_USD = {"prompt_tokens": 20, "completion_tokens": 5}, 20 / 1e6 + 50 / 1e6
_WORDS = """plain|approve|pause|stop --at all[2]/l|continue --at all[2]/l --iterations 2|
accept --at all[3]/l --iteration 1|fork --at all[3]/l[2]"""
STEERING = {name: more for name, *more in map(str.split, _WORDS.split("|"))}


class Witness(BaseHTTPRequestHandler):
    log = ""

    def do_POST(self) -> None:
        body = self.rfile.read(length := int(self.headers["content-length"]))
        if len(body) < length:
            return  # the command was killed while it was sending
        mark = hashlib.sha256(body).hexdigest()[:12]
        with open(self.log, "a", encoding="utf-8") as lines:
            lines.write(f"{self.headers.get('idempotency-key', '')}\t{mark}\n")
        time.sleep(0.05 + int(mark[:2], 16) / 1500)
        text = "NO" if b"Answer with YES" in body else "fine"
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        reply = json.dumps({"choices": [choice], "usage": USAGE, "model": "m"}).encode()
        self.wfile.write(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + reply)


class Campaign:
    def __init__(self, options: Any) -> None:
        self.chance, self.patience_s = random.Random(options.seed), options.patience
        self.kills, self.faults, self.tally = 0, list[str](), Counter[str]()
        self.continued = 1
        os.chdir(folder := Path(tempfile.mkdtemp(prefix="kill-campaign-")))
        self.log, port = folder / "witness.tsv", 20_000 + options.seed % 20_000
        self.log.touch()
        Path("whorl.toml").write_text(CONFIG.replace("PORT", str(port)))
        Path("trial.yaml").write_text(TRIAL)
        Path("trial.experiment.yaml").write_text(EXPERIMENT)
        for name, gate in (("flow", ""), ("gated", "gate: {approve: {message: ok?}}")):
            Path(f"{name}.yaml").write_text(FLOW.replace("GATE", gate).replace("NAME", name))
        os.environ["WHORL_TRUST"] = "1"
        self.witness = os.fork()
        if not self.witness:
            os.dup2(os.open("witness.err", os.O_CREAT | os.O_WRONLY), 2)
            Witness.log = str(self.log)
            ThreadingHTTPServer(("127.0.0.1", port), Witness).serve_forever()

    def command(self, *words: str, kill: bool = False) -> tuple[int, Any]:
        """Gives its code and JSON; most are killed while calls are under way, a few before."""
        child = os.fork()
        if not child:
            for file, number in ((os.devnull, 0), ("out", 1), ("err", 2)):
                os.dup2(os.open(file, os.O_CREAT | os.O_TRUNC | os.O_RDWR), number)
            code = 99
            try:
                from whorl.interfaces.cli import main

                sys.argv = ["whorl", *words, "--json"]
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            finally:
                sys.stdout.flush()
                os._exit(code)
        written, late, early = self.log.stat().st_size, *map(self.chance.uniform, (0, 0), (2, 15))
        end_at = time.monotonic() + (early if kill and early < 3 else self.patience_s)
        while time.monotonic() < end_at:
            if kill and self.log.stat().st_size > written:
                end_at = min(end_at, time.monotonic() + late)
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                text = Path("out").read_text()
                told = json.loads(text) if text.startswith(("{", "[")) else {}
                return os.waitstatus_to_exitcode(status), told
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.kills += kill
        self.faults += [] if kill else [f"HANG: {' '.join(words)}"]
        return -9, {}

    def finish(self, run: str) -> dict[str, Any]:
        for _ in range(8):
            _, shown = self.command("show", run)
            if shown.get("status") in ("succeeded", "failed", "cancelled"):
                return dict(shown)
            more = ["--budget", "+0.3"] if shown.get("paused_by") == "budget" else []
            verb = "approve" if shown.get("status") == "waiting" else "resume"
            self.command(verb, run, *more)
        self.faults.append(f"STRANDED: {run} is {shown.get('status')}")
        return dict(shown)

    def play(self, name: str, key: str, kills: int) -> dict[str, Any]:
        start = ("run", "gated.yaml" if name == "approve" else "flow.yaml", "--key", key)
        for _ in range(kills):
            self.command(*start, kill=True)
            if name in ("pause", "stop"):
                self.command(name, key, *STEERING[name])
        self.command(*start)
        result = self.finish(key)
        for number in range(kills + 1) if name in ("continue", "accept", "fork") else ():
            code, told = self.command(name, result["run"], *STEERING[name], kill=number < kills)
            if name != "fork" or code == 0:
                result = self.finish(told["run"] if name == "fork" else key)
            if code == 0:
                break
        return result

    def check(self, name: str, result: dict[str, Any], calls: int | None) -> int:
        run, usage = result.get("run", "?"), result.get("usage") or Counter()
        sent = [line for line in self.log.open() if line.startswith(f"{run}:")]
        keys, doubts = {line.partition("\t")[0] for line in sent}, int(usage["in_doubt"])
        again = len(sent) - len(keys)
        is_cut = any(loop.get("exit_reason") == "budget" for loop in result.get("loops", ()))
        is_exact = calls and not is_cut and name in ("plain", "approve", "pause", "continue")
        # A `continue` that was killed may be in the journal: given again, it adds as many calls.
        more = max(calls or 0, len(keys)) + 1 if name != "continue" else self.continued
        wrong = {
            f"{again} sent again, {doubts} in doubt": again > doubts,
            "two bodies under a key": len(set(sent)) > len(keys),
            "told cost is too low": usage["cost_usd"] < len(sent) * CALL_USD - 1e-9,
            f"{len(keys)} calls, not {calls}": is_exact and (len(keys) - (calls or 0)) % more,
            f"it ended as {result.get('status')}": result.get("status") != "succeeded",
        }
        self.faults += [f"{name} {run}: {words}" for words, is_wrong in wrong.items() if is_wrong]
        self.tally.update(runs=1, sends=len(sent), again=again, in_doubt=doubts, cut=is_cut)
        return len(keys)

    def experiment(self, store: str, kills: int) -> list[Any]:
        words = ("experiment", "run", "trial.experiment.yaml", "--store", store)
        for _ in range(kills):
            self.command(*words, kill=True)
        code, told = self.command(*words)
        self.faults += [f"experiment in {store}: exit code {code}"] if code else []
        self.tally.update(experiments=1)
        return [
            [row[n] for n in ("status", "iterations", "grades")] for row in told.get("rows", ())
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("kills", 100), ("seed", 1), ("patience", 90), ("seconds", 3600)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    campaign, end = Campaign(options), time.monotonic() + options.seconds
    import whorl.runtimes.local  # noqa: F401 - so that children need not load it

    try:
        calls = {n: campaign.check(n, campaign.play(n, f"whole-{n}", 0), None) for n in STEERING}
        campaign.continued = calls["continue"] - calls["plain"]
        graded = campaign.experiment("whole", 0)
        while campaign.kills < options.kills and time.monotonic() < end:
            name, kills = campaign.chance.choice([*STEERING, "x"]), campaign.chance.randint(1, 3)
            key = f"{name}-{campaign.kills}-{campaign.tally['runs']}"
            if name != "x":
                campaign.check(name, campaign.play(name, key, kills), calls[name])
            elif (found := campaign.experiment(key, kills)) != graded:
                campaign.faults.append(f"{key}: {found}, not {graded}")
            print(key, campaign.kills, campaign.faults, flush=True)
    finally:
        os.kill(campaign.witness, signal.SIGKILL)
        print(campaign.kills, campaign.tally, campaign.faults, f"files: {os.getcwd()}", sep="\n")
    return bool(campaign.faults)


if __name__ == "__main__":
    sys.exit(main())
