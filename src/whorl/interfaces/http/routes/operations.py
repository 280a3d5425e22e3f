"""For operators: numbers in the format of Prometheus, and whether requests can be answered."""

import asyncio

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, Response

from whorl import __version__
from whorl.errors import StoreError
from whorl.interfaces.http.problems import refused
from whorl.interfaces.http.state import STOPPING, ServerState, State, no_query
from whorl.services.serving.metrics import CONTENT_TYPE, Family, text_of_families

_PATIENCE_S = 5.0

router = APIRouter(tags=["operations"], dependencies=[Depends(no_query)])


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(state: State) -> Response:
    """Numbers about runs, calls, money and this server, in the text format of Prometheus.

    Counters begin when the server starts; each server counts the runs that it drives.
    """
    is_ready = not state.driving.is_closing and await store_fault(state) is None
    gauges = await asyncio.to_thread(_gauges, state, is_ready=is_ready)
    text = text_of_families([*state.watcher.metrics.families(), *gauges])
    return Response(text.encode("utf-8", "replace"), headers={"content-type": CONTENT_TYPE})


def _gauges(state: ServerState, *, is_ready: bool) -> list[Family]:
    runs = Family("whorl_runs", "gauge", "Runs that have not ended.", ("workflow", "status"))
    bounded = state.watcher.metrics.bounded
    queue = Family("whorl_queue_length", "gauge", "Runs that wait for their turn.", ("workflow",))
    for name, status, count in state.store.open_runs():
        runs.add(count, bounded("workflow", name), status)
        if status == "queued":
            queue.add(count, bounded("workflow", name))
    values = {
        "whorl_runs_driven": ("Runs that this server drives.", float(state.driving.count)),
        "whorl_store_bytes": ("Size of the store.", float(state.store.used_bytes())),
        "whorl_event_loop_lag_seconds": (
            "For how long the event loop was held up at most within the last minute.",
            state.heartbeat.stall_ms / 1000,
        ),
        "whorl_ready": ("Whether the server takes new work.", float(is_ready)),
    }
    about = Family("whorl_info", "gauge", "The version.", ("version",), values={(__version__,): 1})
    single = [Family(n, "gauge", words, (), (), {(): v}) for n, (words, v) in values.items()]
    return [runs, queue, *single, about]


@router.get("/readyz", include_in_schema=False)
async def readyz(state: State) -> Response:
    """Whether new work is taken: the store can be written, and the server is not being stopped."""
    if state.driving.is_closing:
        return refused(503, "W900", STOPPING)
    fault = await store_fault(state)
    if fault is not None:
        return refused(503, fault.code, str(fault), fault.help)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await state.store.change(lambda connection: None)
    except StoreError as error:
        return refused(503, error.code, str(error), error.help)
    except TimeoutError:
        return refused(503, "R900", f"the store was not free to be written for {_PATIENCE_S:g} s")
    return JSONResponse({"status": "ready"})


async def store_fault(state: ServerState) -> StoreError | None:
    """Why the store cannot be written; None: as far as anybody knows, it can."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await state.store.probe()
    except StoreError as fault:
        return fault
    except TimeoutError:
        # Whoever writes for long holds others up, and restarting this server would not help.
        return state.store.watch.refusal
    return None
