"""A service that starts runs and streams their words and iterations to whoever asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from essay import essay
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

import whorl

session = whorl.Session()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with session:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/essays")
async def write(topic: str) -> StreamingResponse:
    run = await session.start(essay, {"topic": topic})

    async def lines() -> AsyncIterator[str]:
        async for event in run.stream(whorl.Token, whorl.IterationFinished, whorl.RunFinished):
            match event:
                case whorl.Token():
                    yield f"data: {event.text!r}\n\n"
                case whorl.IterationFinished():
                    yield f"event: iteration\ndata: {event.number} {event.score}\n\n"
                case whorl.RunFinished():
                    yield f"event: end\ndata: {event.status}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")
