"""How long runs are kept where a command does not say it: `[retention]` of the configuration."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.services.project import Project

R = TypeVar("R")
USUAL = "30d"


def kept_as_configured(command: Callable[..., R]) -> Callable[..., R]:
    """Gives a command the operator's `older_than` where its caller gave none."""

    @wraps(command)
    def with_age(project: Project, *, older_than: str | None, **options: Any) -> R:
        if older_than is None:
            older_than = project.settings().retention.get("older_than", USUAL)
        return command(project, older_than=older_than, **options)

    return with_age
