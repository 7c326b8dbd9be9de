#!/usr/bin/env python3
"""Draws laboratory.svg from the table of measurements in README.md: python3 lessons/08_overlapped_ring/laboratory.py"""

import pathlib
import re

FOLDER = pathlib.Path(__file__).parent
RINGS = ["blocking", "nonblocking, no progress", "nonblocking with progress"]
COLOURS = ["#5B6472", "#C56A00", "#0072B2"]
FULL = 215  # percent at the right end of every axis
LEFT, PANEL, GAP, TOP, ROW, HEIGHT = 246, 236, 24, 150, 34, 166
WIDTH = LEFT + 3 * PANEL + 2 * GAP + 28


def measurements(readme):
    """The table as {setting: {ring: [[(measured, model), ...] for each column]}}, and its columns' headings."""
    settings, columns, current = {}, [], None
    for line in readme.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "./course lab slow-network" in line and not columns:
            columns = cells[1:]
        elif cells[0].startswith("**work at "):
            current = settings.setdefault(cells[0].split("**")[1], {})
        elif cells[0] in RINGS and current is not None:
            current[cells[0]] = [
                [(float(a), float(b)) for a, b in re.findall(r"([\d.]+) \(([\d.]+)\)", cell)] for cell in cells[1:]
            ]
    return settings, columns


def text(x, y, words, size=13, fill="#222833", anchor="start", more=""):
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"{more}>{words}</text>'


def panel(x, y, rings):
    """Three bars, a dot for each run and a line where the model stands."""
    scale = PANEL / FULL
    lines = []
    for percent in (0, 50, 100, 150):
        at = x + percent * scale
        lines.append(f'<line x1="{at:.1f}" y1="{y - 6}" x2="{at:.1f}" y2="{y + 3 * ROW}" stroke="#E2DED5"/>')
        lines.append(text(round(at, 1), y + 3 * ROW + 16, f"{percent} %", 12, "#59616E", "middle"))
    for index, name in enumerate(RINGS):
        runs, top = rings[name], y + index * ROW + 4
        mean = sum(measured for measured, _ in runs) / len(runs)
        model = sum(predicted for _, predicted in runs) / len(runs)
        lines.append(
            f'<rect x="{x}" y="{top}" width="{mean * scale:.1f}" height="20" fill="{COLOURS[index]}" fill-opacity="0.35"/>'
        )
        for measured, _ in runs:
            lines.append(f'<circle cx="{x + measured * scale:.1f}" cy="{top + 10}" r="3.6" fill="{COLOURS[index]}"/>')
        at = x + model * scale
        lines.append(f'<line x1="{at:.1f}" y1="{top - 4}" x2="{at:.1f}" y2="{top + 24}" stroke="#222833" stroke-width="2"/>')
        words = f"{mean:.0f} %"
        lines.append(text(round(x + max(mean, model, *(m for m, _ in runs)) * scale + 10, 1), top + 15, words, 13))
    return lines


def picture(settings):
    height = TOP + 2 * HEIGHT - 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-labelledby="title description" font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">',
        '<title id="title">Exposed communication of three rings on slow links, measured and as the model says</title>',
        '<desc id="description">Bars in percent of the computation. Blocking and nonblocking without progress expose whole '
        "hops. With progress almost nothing is exposed when the work takes twice as long as the transfer, and about half as "
        "much as without when it takes half as long.</desc>",
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="14" fill="#FCFBF8" stroke="#D5D1C8" stroke-width="1.5"/>',
        text(28, 38, "With progress, only what the work is too short to cover is exposed", 20, more=' font-weight="bold"'),
        text(28, 62, "exposed communication, in percent of the computation · bar: mean of the runs · dot: one run · black line: the model", 14, "#59616E"),
    ]
    for column, heading in enumerate(["2 ranks, one host", "2 ranks, two hosts", "4 ranks, one host"]):
        x = LEFT + column * (PANEL + GAP)
        lines.append(text(x, TOP - 50, heading, 15, more=' font-weight="bold"'))
    for row, (setting, rings) in enumerate(settings.items()):
        y = TOP + row * HEIGHT
        lines.append(text(28, y - 16, setting, 14, more=' font-weight="bold"'))
        for index, name in enumerate(RINGS):
            lines.append(text(LEFT - 12, y + index * ROW + 19, name, 13, COLOURS[index], "end", ' font-weight="bold"'))
        for column in range(3):
            x = LEFT + column * (PANEL + GAP)
            lines += panel(x, y, {name: rings[name][column] for name in RINGS})
    return "\n".join(lines + ["</svg>", ""])


settings, _ = measurements((FOLDER / "README.md").read_text(encoding="utf-8"))
(FOLDER / "laboratory.svg").write_text(picture(settings), encoding="utf-8")
