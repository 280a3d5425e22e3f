"""Draws what was found of the peers: CPU as multiples of a loop by hand, on a logarithmic scale.

Each has its version; the day on which it was measured, and on what, stand below.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

_LEFT, _WIDTH, _ROW = 200, 370, 20
_STYLE = "font: 12px system-ui, sans-serif; fill: #24292f"


def picture(found: dict[str, Any], when: str) -> str:
    """The table as SVG."""
    parts: list[str] = []
    top = 24
    for program in found.values():
        parts.append(_text(8, top, f"{program['title']}: {program['size']:,}", "font-weight: 600"))
        hand = program["peers"]["by hand"]
        ratios = {
            peer: row["cpu_s"] / hand["cpu_s"]
            for peer, row in program["peers"].items()
            if "cpu_s" in row
        }
        most = max([10.0, *ratios.values()])
        for peer, row in program["peers"].items():
            top += _ROW
            words = f"{peer} {row['version']}" if "version" in row else peer
            parts.append(_text(_LEFT - 8, top, words, "text-anchor: end"))
            if peer not in ratios:
                parts.append(_text(_LEFT, top, row["missing"]))
                continue
            width = max(2.0, _WIDTH * math.log10(max(1.0, ratios[peer])) / math.log10(most))
            colour = "#0969da" if peer.startswith("Whorl") else "#8c959f"
            bar = f'x="{_LEFT}" y="{top - 12}" width="{width:.0f}" height="14" fill="{colour}"'
            parts.append(f"<rect {bar}/>")
            words = f"{ratios[peer]:.1f}x, {row['bytes'] / 1000:,.0f} kB"
            parts.append(_text(_LEFT + width + 6, top, words))
        top += 2 * _ROW
    parts.append(_text(8, top, when))
    top += _ROW
    size = f'width="720" height="{top}" viewBox="0 0 720 {top}"'
    title = "<title>CPU as multiples of a loop by hand, logarithmic, and what is stored</title>"
    body = "\n".join([title, '<rect width="100%" height="100%" fill="#fff"/>', *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{_STYLE}">\n{body}\n</svg>\n'


def _text(x: float, y: float, words: str, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{styled}>{escape(words)}</text>'
