"""A service that starts runs and streams their words and iterations to whoever asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from essay import build
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncSqliteSaver.from_conn_string("service.db") as saver:
        app.state.graph = build(saver)
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/essays")
async def write(topic: str, request: Request) -> StreamingResponse:
    first = {"text": "", "feedback": "", "iteration": 0, "score": 0.0, "best": -1.0}
    first |= {"topic": topic, "best_text": "", "stale": 0, "cost": 0.0, "why": ""}
    config = {"configurable": {"thread_id": uuid4().hex}}

    async def lines() -> AsyncIterator[str]:
        number = 0
        modes = ["messages", "updates"]
        async for mode, event in request.app.state.graph.astream(first, config, stream_mode=modes):
            if mode == "messages":
                yield f"data: {event[0].content!r}\n\n"
            elif "write" in event:
                number = event["write"]["iteration"]
            elif "review" in event:
                yield f"event: iteration\ndata: {number} {event['review']['score']}\n\n"
            elif "end" in event:
                yield "event: end\ndata: succeeded\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")
