"""Pictures of a sweep as SVG: grade by iteration, and cost against grade with the frontier."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from whorl.interfaces.formatting import dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.wings.experiments.what_if.sweep import Sweep

_WIDTH, _HEIGHT, _EDGE = 420, 260, 46
_COLORS = {"last": "#2563eb", "best by score": "#059669", "best that was made": "#9ca3af"}
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
    'font-family="sans-serif" font-size="11">'
    "<style>text{{fill:#374151}}@media (prefers-color-scheme:dark){{text{{fill:#d1d5db}}}}</style>"
    "<title>{title}</title>"
)


class _Plot:
    """One pair of axes, at an offset; values become places."""

    def __init__(
        self, left: int, across: tuple[float, float], up: tuple[float, float], title: str
    ) -> None:
        self._left, self._across, self._up = left, across, up
        self.parts = [f'<text x="{left + _EDGE}" y="16" font-weight="bold">{escape(title)}</text>']
        bottom, right = _HEIGHT - _EDGE, left + _WIDTH - 12
        start = left + _EDGE
        path = f"M{start} 24V{bottom}H{right}"
        self.parts.append(f'<path d="{path}" fill="none" stroke="#9ca3af"/>')

    def place(self, x: float, y: float) -> tuple[float, float]:
        (low, high), (bottom, top) = self._across, self._up
        wide, tall = _WIDTH - _EDGE - 24, _HEIGHT - _EDGE - 36
        at = self._left + _EDGE + wide * (x - low) / ((high - low) or 1)
        return round(at, 1), round(_HEIGHT - _EDGE - tall * (y - bottom) / ((top - bottom) or 1), 1)

    def ticks_across(self, values: Sequence[float], words: Sequence[str]) -> None:
        for value, word in zip(values, words, strict=True):
            x, _ = self.place(value, self._up[0])
            y = _HEIGHT - _EDGE + 16
            self.parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{escape(word)}</text>')

    def ticks_up(self, count: int = 4) -> None:
        low, high = self._up
        for step in range(count + 1):
            value = low + (high - low) * step / count
            x, y = self._left + _EDGE - 6, self.place(self._across[0], value)[1] + 4
            self.parts.append(f'<text x="{x}" y="{y}" text-anchor="end">{value:.2f}</text>')

    def line(self, points: Sequence[tuple[float, float]], color: str, dash: str = "") -> None:
        places = " ".join(f"{x},{y}" for x, y in (self.place(*point) for point in points))
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="2"{dashed}/>'
        )

    def band(self, limits: Sequence[tuple[float, float]], color: str) -> None:
        """The room between limits, from 1 on."""
        lows, highs = ([(n, each[at]) for n, each in enumerate(limits, 1)] for at in (0, 1))
        places = " ".join(f"{x},{y}" for x, y in (self.place(*p) for p in (*lows, *highs[::-1])))
        self.parts.append(f'<polygon points="{places}" fill="{color}" fill-opacity="0.12"/>')

    def dot(self, point: tuple[float, float], color: str, size: float, title: str) -> None:
        x, y = self.place(*point)
        words = f"<title>{escape(title)}</title>"
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="{size}" fill="{color}">{words}</circle>')

    def label(self, point: tuple[float, float], text: str, color: str) -> None:
        x, y = self.place(*point)
        self.parts.append(
            f'<text x="{x}" y="{y - 9}" text-anchor="middle" style="fill:{color}">'
            f"{escape(text)}</text>"
        )


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    slack = (high - low) * 0.08 or 0.05
    return low - slack, high + slack


def _grades(values: Sequence[float]) -> tuple[float, float]:
    """The range of grades, which are from 0 to 1."""
    low, high = _range(values)
    return max(0.0, low), min(1.0, high)


def sweep_svg(sweep: Sweep) -> str:
    """Both pictures of a sweep beside each other."""
    title = f"loop {sweep.loop}: what other rules would have done"
    head = _HEAD.format(width=2 * _WIDTH, height=_HEIGHT, title=escape(title))
    return f"{head}{''.join(_curve(sweep))}{''.join(_frontier(sweep))}</svg>\n"


def _curve(sweep: Sweep) -> list[str]:
    values = [value for row in sweep.curve.values() for value in row if isfinite(value)]
    values += [limit for row in sweep.bands.values() for limits in row for limit in limits]
    longest = max((len(row) for row in sweep.curve.values()), default=1)
    plot = _Plot(0, (1, max(2, longest)), _grades(values), "grade by iteration")
    plot.ticks_up()
    plot.ticks_across(range(1, longest + 1), [str(n) for n in range(1, longest + 1)])
    for index, (name, row) in enumerate(sweep.curve.items()):
        color = _COLORS.get(name, "#374151")
        if name in sweep.bands and "made" not in name:
            plot.band(sweep.bands[name], color)
        known = [(n, value) for n, value in enumerate(row, 1) if isfinite(value)]
        plot.line(known, color, "4 3" if "made" in name else "")
        y = _HEIGHT - _EDGE - 12 - 14 * index
        plot.parts.append(
            f'<text x="{_WIDTH - 20}" y="{y}" text-anchor="end" style="fill:{color}">{name}</text>'
        )
    return plot.parts


def _frontier(sweep: Sweep) -> list[str]:
    if sweep.rules and not sweep.frontier:
        return [f'<text x="{_WIDTH + _EDGE}" y="16">the cost is not known</text>']
    points = [(rule.cost_usd, rule.grade) for rule in sweep.rules]
    across = _range([cost for cost, _ in points])
    plot = _Plot(_WIDTH, across, _grades([grade for _, grade in points]), "grade against cost")
    plot.ticks_up()
    low, high = min((c for c, _ in points), default=0.0), max((c for c, _ in points), default=1.0)
    marks = [low + (high - low) * step / 3 for step in range(4)]
    plot.ticks_across(marks, [dollars(mark) for mark in marks])
    for rule, point in zip(sweep.rules, points, strict=True):
        plot.dot(point, "#d1d5db", 2, rule.words)
    plot.line([points[index] for index in sweep.frontier], "#2563eb")
    for index in sweep.frontier:
        plot.dot(points[index], "#2563eb", 3.5, sweep.rules[index].words)
    for chosen, word, color in (
        (sweep.own, "yours", "#dc2626"),
        (sweep.recommended, "★", "#059669"),
    ):
        if chosen is not None and chosen.grades:
            point = (chosen.cost_usd, chosen.grade)
            plot.dot(point, color, 5, f"{word}: {chosen.words}")
            plot.label(point, word, color)
    return plot.parts
