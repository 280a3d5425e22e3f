"""What routes are given: the desk, a run that exists, and a query without unknown names."""

from typing import Annotated

from fastapi import Depends, Path, Request

from whorl.interfaces.http.desk import Desk
from whorl.interfaces.http.faults import Refusal
from whorl.interfaces.http.schemas.shape import ErrorAnswer
from whorl.runtimes.journal import RunId

_PROBLEMS = {
    400: "the request does not have its shape",
    401: "the token is missing or wrong",
    403: "the request comes from another site",
    404: "there is no such thing",
    405: "the address has no such method",
    408: "the request did not arrive in time",
    409: "it does not fit the run as it is",
    413: "the body is too large",
    415: "the body is no JSON",
    421: "the Host is not this server",
    429: "too many wrong tokens, or too many streams",
    503: "the store cannot be used, or the answer takes too long",
}
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"model": ErrorAnswer, "description": words} for status, words in _PROBLEMS.items()
}


def _desk(request: Request) -> Desk:
    desk = request.app.state.desk
    assert isinstance(desk, Desk)
    return desk


AtDesk = Annotated[Desk, Depends(_desk)]


def _run(desk: AtDesk, run: Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,128}$")]) -> RunId:
    return desk.store.run(run).id


# The id of a run, whole: an unknown one is answered with 404.
TheRun = Annotated[RunId, Depends(_run)]


def no_query(request: Request) -> None:
    """Refuses a query where there is none to give."""
    if request.query_params:
        name = next(iter(request.query_params))
        raise Refusal(400, "W900", f"{name[:80]}: there is no such field")
