#!/usr/bin/env python3
"""Plots what `tokenline validate operators … --csv FILE` wrote: measured against predicted times.

usage: tools/plot_errors.py [--title TITLE] FILE.csv PLOT.svg

One SVG, both axes logarithmic, a colour per operator, with the diagonal and lines 20 % off it. The
legend names each operator's rows and the median of |predicted - measured| / measured over all of
them; at most 3,000 points are drawn, those that fall on one pixel once. Readable on light and dark
backgrounds. Needs nothing but Python.
"""
import argparse
import csv
import math
import statistics
import sys
from html import escape

SIZE = 560  # Pixels of the square plot.
LEFT, TOP, LEGEND, BOTTOM = 64, 44, 290, 52
MOST_POINTS = 3000
# Of Okabe and Ito's palette for colour-blind readers, and three darker ones; black is left out.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#a6761d",
           "#66a61e", "#7f7f7f"]
STYLE = """text{font:13px sans-serif;fill:#333}.grid{stroke:#8885;fill:none}.line{stroke:#888;fill:none}
.points{fill:none;stroke-width:3;stroke-linecap:round;stroke-opacity:.55}
@media(prefers-color-scheme:dark){text{fill:#ddd}}"""


class BadInput(Exception):
    pass


def operator(group):
    """ "h100_sxm collectives all_reduce nccl" is of the collectives."""
    words = group.split(" ")
    return words[1] if len(words) > 1 else group


def read(path):
    """Points (measured, predicted) in microseconds by operator; refused rows are left out."""
    points = {}
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        missing = {"group", "unit", "measured", "predicted"} - set(rows.fieldnames or [])
        if missing:
            raise BadInput(f"{path}:1: the header lacks {', '.join(sorted(missing))}")
        for row in rows:
            if not row["predicted"]:
                continue
            try:
                point = float(row["measured"]), float(row["predicted"])
            except (TypeError, ValueError):
                raise BadInput(f"{path}:{rows.line_num}: a time is not a number") from None
            if row["unit"] != "us" or min(point) <= 0:
                raise BadInput(f"{path}:{rows.line_num}: not a positive time in microseconds")
            points.setdefault(operator(row["group"]), []).append(point)
    if not points:
        raise BadInput(f"{path}: no row was predicted")
    return points


class Axis:
    """Whole decades around all values, over SIZE pixels."""

    def __init__(self, values):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))

    def pixels(self, value):
        return SIZE * (math.log10(value) - self.low) / (self.high - self.low)

    def decades(self):
        return range(self.low, self.high + 1)


def time_label(decade):
    unit, shift = (("µs", 0), ("ms", 3), ("s", 6))[max(0, min(2, decade // 3))]
    return f"{10 ** (decade - shift):g} {unit}"


def thinned(points, axis, share):
    """Whole pixels, each once, at most `share` of MOST_POINTS, evenly over their order."""
    pixels = sorted({(round(axis.pixels(m)), round(SIZE - axis.pixels(p))) for m, p in points})
    most = max(1, int(MOST_POINTS * share))
    step = max(1.0, len(pixels) / most)
    return [pixels[int(i * step)] for i in range(int(len(pixels) / step))]


def frame(axis):
    lines, texts = [], []
    for decade in axis.decades():
        at = axis.pixels(10.0 ** decade)
        lines.append(f"M{at:.0f} 0v{SIZE}M0 {SIZE - at:.0f}h{SIZE}")
        texts.append(f'<text x="{at:.0f}" y="{SIZE + 18}" text-anchor="middle">'
                     f"{time_label(decade)}</text>")
        texts.append(f'<text x="-6" y="{SIZE - at + 4:.0f}" text-anchor="end">'
                     f"{time_label(decade)}</text>")
    off = SIZE * math.log10(1.2) / (axis.high - axis.low)
    texts.append(f'<text x="{SIZE / 2}" y="{SIZE + 42}" text-anchor="middle">measured</text>')
    texts.append(f'<text transform="translate(-50 {SIZE / 2}) rotate(-90)" '
                 'text-anchor="middle">predicted</text>')
    return (f'<path class="grid" d="{"".join(lines)}"/>'
            f'<path class="line" d="M0 {SIZE}L{SIZE} 0"/>'
            f'<path class="line" stroke-dasharray="4 4" d="M0 {SIZE - off:.1f}L{SIZE - off:.1f} 0'
            f'M{off:.1f} {SIZE}L{SIZE} {off:.1f}"/>' + "".join(texts))


def legend_entry(index, name, points):
    error = statistics.median(abs(p - m) / m for m, p in points)
    y = 16 + 24 * index
    return (f'<path class="points" style="stroke-opacity:1;stroke-width:9" d="M{SIZE + 24} {y}h0" '
            f'stroke="{COLOURS[index % len(COLOURS)]}"/><text x="{SIZE + 36}" y="{y + 4}">'
            f"{escape(name)}: {len(points)} rows, {100 * error:.1f} %</text>")


def svg(points, title):
    axis = Axis([value for pairs in points.values() for pair in pairs for value in pair])
    total = sum(math.sqrt(len(pairs)) for pairs in points.values())
    layers, legend = [], []
    for index, name in enumerate(sorted(points)):
        pixels = thinned(points[name], axis, math.sqrt(len(points[name])) / total)
        path = "".join(f"M{x} {y}h0" for x, y in pixels)
        layers.append(f'<path class="points" stroke="{COLOURS[index % len(COLOURS)]}" d="{path}"/>')
        legend.append(legend_entry(index, name, points[name]))
    width, height = LEFT + SIZE + LEGEND, TOP + SIZE + BOTTOM
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}"><style>{STYLE}</style>'
            f'<text x="{LEFT}" y="26" style="font-size:16px">{escape(title)}</text>'
            f'<g transform="translate({LEFT} {TOP})">{frame(axis)}{"".join(layers)}'
            f'{"".join(legend)}</g></svg>\n')


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--title", default="Kernel times, measured and predicted")
    parser.add_argument("rows", metavar="FILE.csv")
    parser.add_argument("plot", metavar="PLOT.svg")
    arguments = parser.parse_args(words)
    try:
        text = svg(read(arguments.rows), arguments.title)
        with open(arguments.plot, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except (BadInput, OSError, UnicodeDecodeError) as mistake:
        print(f"plot_errors: {mistake}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
