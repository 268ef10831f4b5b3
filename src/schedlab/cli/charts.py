"""Charts of lines and points as SVG that stands in a page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_WIDTH, _HEIGHT = 640, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 8, 24
#: Colours of lines, on a bright page and on a dark one; a page has them as classes: `colour(0)` and so on.
_COLOURS: Final = (
    ("#2563a8", "#7fb3ff"),
    ("#b34c12", "#ffa366"),
    ("#2e7d4f", "#7fd6a0"),
    ("#8a3ea8", "#d99af2"),
    ("#806400", "#e3c35a"),
    ("#00707a", "#5fd0da"),
)
STYLE: Final = "".join(f".c{place}{{color:{bright}}}" for place, (bright, _) in enumerate(_COLOURS))
DARK_STYLE: Final = "".join(f".c{place}{{color:{dark}}}" for place, (_, dark) in enumerate(_COLOURS))
#: So many points of a line are drawn; of more, the first, lowest, highest and last of each piece.
_POINTS_MAX: Final = 800


@dataclass(frozen=True, slots=True)
class Line:
    """Values that hold from each time until the next."""

    name: str
    times: Sequence[float]
    values: Sequence[float]


def colour(place: int) -> str:
    """Return the class with the colour of a line."""
    return f"c{place % len(_COLOURS)}"


def step_chart(title: str, lines: Sequence[Line], unit: str = "") -> str:
    """Return a chart of step lines over time in seconds."""
    drawn = [line for line in lines if line.times]
    end = max((line.times[-1] for line in drawn), default=0.0) or 1.0
    top = max((max(line.values) for line in drawn), default=0.0) or 1.0
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        *_axes(end, top, unit),
    ]
    for number, line in enumerate(drawn):
        path = f'd="{_path(line, end, top)}" fill="none" stroke="currentColor" stroke-width="1.5"'
        parts.append(f'<path class="{colour(number)}" {path}/>')
    return "".join((*parts, "</svg>"))


def _axes(end: float, top: float, unit: str) -> list[str]:
    low, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    time, word = (end / 3600, "h") if end >= 7200 else (end / 60, "min") if end >= 120 else (end, "s")
    return [
        f'<path d="M{_LEFT} {_TOP}V{low}H{right}" fill="none" stroke="currentColor" opacity=".5"/>',
        f'<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{top:.3g}{escape(unit)}</text>',
        f'<text x="{_LEFT - 6}" y="{low}" text-anchor="end">0</text>',
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{time:.3g} {word}</text>',
    ]


def _path(line: Line, end: float, top: float) -> str:
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    points = thinned([*zip(line.times, line.values, strict=True)])
    text: list[str] = []
    for time, value in points:
        x, y = _LEFT + width * time / end, _TOP + height * (1 - value / top)
        text.append(f"H{x:.1f}V{y:.1f}" if text else f"M{x:.1f} {y:.1f}")
    return "".join((*text, f"H{_WIDTH - _RIGHT}"))


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave so many points that no peak is lost."""
    if len(points) <= _POINTS_MAX:
        return points
    size = 4 * len(points) // _POINTS_MAX
    found: list[tuple[float, float]] = []
    for start in range(0, len(points), size):
        piece = points[start : start + size]
        extremes = (piece[0], min(piece, key=lambda one: one[1]), max(piece, key=lambda one: one[1]), piece[-1])
        found += sorted(dict.fromkeys(extremes))
    return found


@dataclass(frozen=True, slots=True)
class Point:
    """A pair of values with what is told of it; marked ones are filled."""

    x: float
    y: float
    text: str
    is_marked: bool = False
    is_square: bool = False


def point_chart(title: str, points: Sequence[Point]) -> str:
    """Return a chart of points, its axes from the lowest to the highest values."""
    xs, ys = [one.x for one in points], [one.y for one in points]
    low_x, high_x = _range(xs)
    low_y, high_y = _range(ys)
    low, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>',
        f'<path d="M{_LEFT} {_TOP}V{low}H{right}" fill="none" stroke="currentColor" opacity=".5"/>',
        f'<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{high_y:.3g}</text>',
        f'<text x="{_LEFT - 6}" y="{low}" text-anchor="end">{low_y:.3g}</text>',
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{low_x:.3g}</text>',
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{high_x:.3g}</text>',
    ]
    for one in points:
        x = _LEFT + 6 + (right - _LEFT - 12) * (one.x - low_x) / (high_x - low_x)
        y = low - 6 - (low - _TOP - 12) * (one.y - low_y) / (high_y - low_y)
        fill = "currentColor" if one.is_marked else "none"
        look = f'class="{colour(int(one.is_square))}" fill="{fill}" stroke="currentColor"'
        shape = (
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {look}>'
            if one.is_square
            else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {look}>'
        )
        parts.append(f"{shape}<title>{escape(one.text)}</title></{'rect' if one.is_square else 'circle'}>")
    return "".join((*parts, "</svg>"))


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return two ends that differ."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return (low, high) if low < high else (low - 1, high + 1)
