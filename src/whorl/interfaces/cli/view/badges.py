"""The state of a run or a loop in a sign, a word and a colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.interfaces.progress import LoopProgress

_SIGNS = {
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "waiting": ("⏸", "yellow"),
    "paused": ("⏸", "yellow"),
    "interrupted": ("⏸", "yellow"),
    "cancelled": ("✗", "yellow"),
    "running": ("●", "yellow"),
}


def badge(status: str, mark: str = "") -> tuple[str, str]:
    """The words for a run and their colour; one that succeeded with a mark is no plain success."""
    if status == "succeeded" and mark:
        return f"! {mark}", "yellow"
    sign, color = _SIGNS.get(status, ("·", "white"))
    return f"{sign} {status}", color


def loop_sign(loop: LoopProgress) -> tuple[str, str]:
    """The sign of a loop and its colour."""
    if not loop.exit_reason:
        return "↻", "yellow"
    if loop.is_failed:
        return "✗", "red"
    if loop.mark:
        return "!", "yellow"
    return "✓", "green" if loop.exit_reason in ("condition_met", "accepted") else "yellow"
