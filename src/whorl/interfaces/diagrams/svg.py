"""A workflow as SVG: the boxes and arrows of its layout, drawn.

The picture has no scripts and nothing from elsewhere, and is light or dark as the reader likes.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from whorl.errors import safe
from whorl.interfaces.diagrams.layout import PADDING, WORDS_MAX, Arrow, Box, lay_out, text_width
from whorl.interfaces.formatting import line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir import Workflow


_TITLE_HEIGHT = 58.0
_FOOT_HEIGHT = 30.0
_CORNER = 8.0
_MARKS = {"loop": "↻ ", "each": "⇉ ", "choice": "◇ ", "person": "☺ "}
# What XML cannot hold, even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE = """
.whorl { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.whorl .paper { fill: #ffffff; }
.whorl text { fill: #1d2433; font-size: 13px; }
.whorl .title { font-size: 17px; font-weight: 650; }
.whorl .name { font-weight: 600; }
.whorl .detail { fill: #5b6577; font-size: 11px; }
.whorl .box rect { fill: #f5f7fa; stroke: #b6bfcd; stroke-width: 1.2; }
.whorl .person > rect { fill: #fff6e0; stroke: #c99a2e; }
.whorl .loop > rect { fill: #f6f1fb; stroke: #7a4fa8; stroke-width: 1.6; }
.whorl .each > rect { fill: #eef7f6; stroke: #3c8d86; }
.whorl .choice > rect { fill: #eef4fd; stroke: #4d7fc4; }
.whorl .case > rect, .whorl .group > rect { fill: #ffffff; stroke-dasharray: 4 3; }
.whorl .called > rect { fill: #ffffff; }
.whorl .arrow { fill: none; stroke: #7b8698; stroke-width: 1.4; }
.whorl .back { stroke: #7a4fa8; stroke-dasharray: 5 4; }
.whorl .head { fill: #7b8698; }
.whorl .head-back { fill: #7a4fa8; }
@media (prefers-color-scheme: dark) {
.whorl .paper { fill: #12161f; }
.whorl text { fill: #e6eaf2; }
.whorl .detail { fill: #9aa5b8; }
.whorl .box rect { fill: #1c2330; stroke: #46536a; }
.whorl .person > rect { fill: #332a12; stroke: #c99a2e; }
.whorl .loop > rect { fill: #221a2e; stroke: #a67fd4; }
.whorl .each > rect { fill: #14272a; stroke: #56aca4; }
.whorl .choice > rect { fill: #172234; stroke: #6d9ce0; }
.whorl .case > rect, .whorl .group > rect, .whorl .called > rect { fill: #12161f; }
.whorl .arrow { stroke: #8b97ab; }
.whorl .back { stroke: #a67fd4; }
.whorl .head { fill: #8b97ab; }
.whorl .head-back { fill: #a67fd4; }
}
"""
_HEADS = "".join(
    f'<marker id="whorl-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    f'markerHeight="7" orient="auto"><path class="{name}" d="M0,0 L8,4 L0,8 Z"/></marker>'
    for name in ("head", "head-back")
)


def svg(workflow: Workflow) -> str:
    """The workflow as an SVG document; loops are boxes around their bodies."""
    area = lay_out(workflow)
    title = line(workflow.name, 80)
    inputs = _listed("inputs", [port.name for port in workflow.inputs])
    outputs = _listed("outputs", [name for name, _ in workflow.outputs])
    words = max(text_width(text, pixels=6.4) for text in (inputs, outputs))
    width = max(area.size.width, words, text_width(title, pixels=10.0)) + PADDING * 2
    foot = _TITLE_HEIGHT + area.size.height
    height = foot + (_FOOT_HEIGHT if outputs else 0.0) + PADDING
    left = PADDING + (width - PADDING * 2 - area.size.width) / 2
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="whorl" role="img" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{_text(title)}</title>",
            f"<desc>{_text(line(workflow.description, 400))}</desc>",
            f"<style>{_STYLE}</style>",
            f"<defs>{_HEADS}</defs>",
            '<rect class="paper" width="100%" height="100%"/>',
            _words(PADDING, 28, title, "title"),
            _words(PADDING, 46, inputs, "detail"),
            f'<g transform="translate({left:.1f},{_TITLE_HEIGHT:.1f})">',
            *_content(area.boxes, (arrow for arrow in area.arrows if not arrow.back)),
            "</g>",
            _words(PADDING, foot + 24, outputs, "detail"),
            "</svg>",
        ]
    )


def _listed(what: str, names: list[str]) -> str:
    return line(f"{what}: {', '.join(names)}", 160) if names else ""


def _content(boxes: tuple[Box, ...], arrows: Iterable[Arrow]) -> Iterator[str]:
    for box in boxes:
        left, top = box.corner
        yield f'<g class="box {box.look}" transform="translate({left:.1f},{top:.1f})">'
        whole = f"{box.name}: {box.detail}" if box.detail else box.name
        yield f"<title>{_text(safe(whole[:2_000]))}</title>"
        rounding = {"person": 23, "step": 7}.get(box.look, 14)
        yield f'<rect width="{box.size.width:.1f}" height="{box.size.height:.1f}" rx="{rounding}"/>'
        name = _MARKS.get(box.look, "") + line(box.name, WORDS_MAX)
        yield _words(PADDING, 20, name, "name")
        yield _words(PADDING, 36, line(box.detail, WORDS_MAX), "detail")
        yield from _content(box.inner, box.arrows)
        yield "</g>"
    for arrow in arrows:
        head = "head-back" if arrow.back else "head"
        look, path = ("arrow back", _back) if arrow.back else ("arrow", _curve)
        yield f'<path class="{look}" marker-end="url(#whorl-{head})" d="{path(arrow)}"/>'
        if arrow.label:
            (x, y), (to_x, to_y) = arrow.points[-2:]
            yield _words((x + to_x) / 2 + 6, (y + to_y) / 2 + 4, arrow.label, "detail")


def _curve(arrow: Arrow) -> str:
    """Straight through rows, bent between them."""
    (x, y), *others = arrow.points
    steps = [f"M{x:.1f},{y:.1f}"]
    for at, (to_x, to_y) in enumerate(others):
        if at % 2 == 0:
            steps.append(f"L{to_x:.1f},{to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            steps.append(f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}")
        x, y = to_x, to_y
    return " ".join(steps)


def _back(arrow: Arrow) -> str:
    """Out to the right, up, and in again."""
    (x, y), (right, _), (to_x, to_y) = arrow.points
    bend = right - _CORNER
    out = f"H{bend:.1f} Q{right:.1f},{y:.1f} {right:.1f},{y - _CORNER:.1f}"
    into = f"V{to_y + _CORNER:.1f} Q{right:.1f},{to_y:.1f} {bend:.1f},{to_y:.1f} H{to_x:.1f}"
    return f"M{x:.1f},{y:.1f} {out} {into}"


def _words(x: float, y: float, text: str, look: str) -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{_text(text)}</text>' if text else ""


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text), quote=True)
