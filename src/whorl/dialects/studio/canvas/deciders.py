"""The router that decides when a loop stops: exactly one, with the branches done and continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.studio.canvas.feedback import CONTINUE, DONE, is_evaluated
from whorl.dialects.studio.canvas.reading import branches_of

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import Canvas, CanvasNode
    from whorl.dialects.studio.canvas.regions import Region, Regions
    from whorl.dialects.studio.draft import Draft

_WORDS = frozenset({DONE, CONTINUE})


def find_deciders(draft: Draft, canvas: Canvas, regions: Regions) -> dict[str, str]:
    """The deciding router of each loop that has one, by the loop."""
    found: dict[str, str] = {}
    for region in regions.by_start.values():
        loop = canvas.nodes[region.start]
        if is_evaluated(loop):
            router = _decider(draft, canvas, regions, region)
            if router is not None:
                found[loop.id] = router.id
    return found


def _decider(draft: Draft, canvas: Canvas, regions: Regions, region: Region) -> CanvasNode | None:
    loop = canvas.nodes[region.start]
    routers = [node for node in canvas.of_type("router") if regions.around(node.id) is region]
    deciding = [node for node in routers if _WORDS & set(branches_of(node))]
    if len(deciding) > 1:
        listed = " and ".join(repr(node.id) for node in deciding)
        draft.report(
            "W010",
            f"routers {listed} both decide when loop {loop.id!r} stops",
            deciding[1].span,
            label="a second one",
            help="one router has the branches done and continue; rename those of the others",
        )
        return None
    if not deciding:
        names = ", ".join(f"{node.id!r} ({', '.join(branches_of(node))})" for node in routers)
        draft.report(
            "W010",
            f"loop {loop.id!r} stops by an evaluator, but no router in it decides"
            + (f"; there is {names}" if names else ""),
            loop.span,
            label="no router",
            help="add a router with the branches 'done' and 'continue' to its body",
        )
        return None
    return deciding[0] if _check(draft, loop, deciding[0]) else None


def _check(draft: Draft, loop: CanvasNode, router: CanvasNode) -> bool:
    names = branches_of(router)
    odd = [name for name in names if name not in _WORDS]
    lacking = sorted(_WORDS - set(names))
    if odd:
        draft.report(
            "W010",
            f"router {router.id!r} decides loop {loop.id!r} and has the branch {odd[0][:60]!r}, "
            "which is neither 'done' nor 'continue'",
            router.span,
            label="another branch",
            help="give it only the branches 'done' and 'continue'",
        )
    elif lacking:
        draft.report(
            "W010",
            f"router {router.id!r} decides loop {loop.id!r} and lacks the branch {lacking[0]!r}",
            router.span,
            label="a branch is missing",
            help=f"add {lacking[0]!r} to its branches",
        )
    return not odd and not lacking
