"""Keys of calls, at a real server: the same while nobody knows what came of a call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from provider_server import completion, providers_for, send, serve, settings_for

from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.runs import ProviderWorkers

if TYPE_CHECKING:
    from pathlib import Path

    from provider_server import Seen


PAY = """
whorl: 1
steps:
  pay:
    http: {url: "URL/pay", method: POST, body: {amount: 5}}
    timeout: LIMIT
    retry: {times: 4, wait: 1ms, on: "*"}
"""


def sent(path: Path, *faults: str) -> tuple[list[str], dict[str, Any]]:
    """The keys that a run sends to a server with these faults, and what the run used.

    Where a busy machine makes more calls slow than are meant to be, also before they arrive, they
    get more time.
    """
    limits = (0.3, 5.0) if "slow" in faults else ()
    for limit_s in (*limits, 60.0):
        keys, usage = sent_within(limit_s, path, *faults)
        if len(keys) == len(faults) + 1 and usage.get("in_doubt", 0) <= len(faults):
            break
    return keys, usage


def sent_within(limit_s: float, path: Path, *faults: str) -> tuple[list[str], dict[str, Any]]:
    left = list(faults)

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        fault = left.pop(0) if left else "200"
        if fault == "slow":
            await asyncio.sleep(3600)
        elif fault == "reset":
            writer.transport.abort()
        else:
            send(writer, completion("hello"), status=int(fault))

    async def main() -> tuple[list[str], dict[str, Any]]:
        async with serve(answer) as server:
            allow = {"allow": {"private_network": True}}
            settings = settings_for(server.url, allow, stream=False)
            async with providers_for(settings) as providers, SqliteStore(path / "runs.db") as store:
                runtime = LocalRuntime(store, ProviderWorkers(providers))
                file = PAY.replace("URL", server.url).replace("LIMIT", f"{limit_s}s")
                workflow = read_workflow(file, "case.yaml").workflow
                run, _ = await runtime.start(workflow, Start())
                assert await asyncio.wait_for(runtime.drive(run), PATIENCE_S) == "succeeded"
                keys = [seen.headers["idempotency-key"] for seen in server.seen]
                final = [one.event for one in store.read(run) if one.event.kind == "run.finished"]
                usage: Any = final[0].body["usage"]
                return [key.removeprefix(f"{run}:") for key in keys], usage

    return asyncio.run(main())


def test_a_key_is_kept_until_the_next_answer(tmp_path: Path) -> None:
    keys, _ = sent(tmp_path, "slow", "503", "reset", "slow")

    assert keys == ["pay", "pay", "pay#3", "pay#3", "pay#3"]
