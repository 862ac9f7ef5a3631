# SPDX-License-Identifier: Apache-2.0
"""A tuning table: for each collective a row of boxes on an axis of sizes. The colour is the algorithm, the shade the origin of the choice."""

from .palette import KNOWN, SPARE
from .picture import LETTER, Picture, fits
from .style import GRID, SOFT

GAP, LABELS, OCTAVE, ROW, BOX = 24, 210, 41, 46, 38
TICK = 2  # octaves; from 16 B, so 1K and 1M are among them
AXIS, LIBRARY = "#8a9099", "#5b626b"
# How strong the colour of a box is, and how its edge is drawn.
ORIGINS = {"measured": (0.5, "-"), "learnt": (0.35, "-"), "kept": (0.25, "-"), "interpolated": (0.16, "--"), "predicted": (0.06, ":")}


def draw(described):
    """The figure of what `tutti tune` hands out."""
    return _Page(described).draw()


class _Page:
    def __init__(self, described):
        self.shapes, self.sizes, self.picture, self.y = described["shapes"], described["sizes"], Picture(), 12
        self.letters = described["letters"]
        self.left, self.chart = GAP + LABELS, OCTAVE * (len(described["sizes"]) - 1)
        boxes = [box for shape in self.shapes for row in shape["rows"] for box in row["boxes"]]
        algorithms = sorted({box["algorithm"] for box in boxes} - {""})
        unknown = [name for name in algorithms if name not in KNOWN]
        self.colours = {name: KNOWN[name][0] if name in KNOWN else SPARE[unknown.index(name) % len(SPARE)][0] for name in algorithms}
        if any(not box["algorithm"] for box in boxes):
            self.colours[""] = LIBRARY
        self.too_long = []  # texts too long for their boxes, which show a number instead

    def draw(self):
        self._line(GAP, 22, "Which configuration for which size", size=18, bold=True)
        self.y += 6
        for shape in self.shapes:
            self._draw_shape(shape)
        self._draw_legend()
        return self.picture.figure(self.left + self.chart + GAP, self.y + GAP)

    def _line(self, x, height, words, **looks):
        self.y += height
        self.picture.text(x, self.y, words, **looks)

    def _draw_shape(self, shape):
        self._line(GAP, 30, shape["title"], size=13, bold=True)
        self.y += 10
        self._draw_axis(ROW * len(shape["rows"]))
        for row in shape["rows"]:
            self._draw_row(row)
            self.y += ROW
        self.y += 18
        for words in self.too_long:
            self._line(self.left, 15, words, colour=SOFT)
        self.too_long = []

    def _draw_axis(self, height):
        for octave in range(1, len(self.sizes), TICK):
            x = self.left + OCTAVE * octave
            self.picture.line((x, self.y), (x, self.y + height), GRID, zorder=1)
            self.picture.text(x, self.y + height + 14, self.sizes[octave], align="center", colour=SOFT)
        self.picture.line((self.left, self.y + height), (self.left + self.chart, self.y + height), AXIS)
        self.picture.text(self.left - 6, self.y + height + 14, "bytes", align="right", colour=SOFT)

    def _draw_row(self, row):
        for place, words, looks in ((16, row["collective"], {"bold": True}), (29, row["subject"], {"colour": SOFT}),
                                    (42, "" if row["complete"] else "incomplete", {"colour": SOFT})):
            self.picture.text(GAP, self.y + place, words, room=LABELS, **looks)
        for box in row["boxes"]:
            if box["end"] > box["begin"]:
                self._draw_box(box, self.left + OCTAVE * box["begin"] + 1, max(OCTAVE * (box["end"] - box["begin"]) - 2, 1))

    def _draw_box(self, box, x, width):
        colour = self.colours[box["algorithm"]]
        self._shade(x, self.y + 4, width, BOX, colour, box["origin"])
        room = width - 10
        gain = box["gain"] if fits(box["gain"], room) else box["short_gain"]
        if fits(box["choice"], room) and fits(gain, room):
            self.picture.text(x + 5, self.y + 20, box["choice"])
            self.picture.text(x + 5, self.y + 34, gain, size=10)
            return
        number = str(len(self.too_long) + 1)
        if fits(number, width):
            self.picture.text(x + width / 2, self.y + 27, number, align="center", bold=True)
        self.too_long.append(f"{number} ({box['sizes']}): {box['choice']}" + (f", {box['gain']}" if box["gain"] else ""))

    def _shade(self, x, y, width, height, colour, origin):
        alpha, dashes = ORIGINS.get(origin, (0.5, "-"))
        rounding = min(3, width / 2)
        self.picture.box(x, y, width, height, "white", "none", rounding, zorder=2)
        self.picture.box(x, y, width, height, colour, "none", rounding, alpha=alpha)
        self.picture.box(x, y, width, height, "none", colour, rounding, dashes=dashes)

    def _draw_legend(self):
        self.y += 30
        self._draw_entries([(name or "the library", colour, "measured") for name, colour in self.colours.items()])
        self.y += 24
        self._draw_entries([(origin, LIBRARY, origin) for origin in ORIGINS])
        self._line(GAP, 26, f"{self.letters}. Numbers in boxes: times as fast as the library's default [95 % interval];", colour=SOFT)
        self._line(GAP, 15, "where the default was kept: as fast as its best rival.", colour=SOFT)

    def _draw_entries(self, entries):
        x = GAP
        for name, colour, origin in entries:
            width = 28 + 1.1 * LETTER * len(name) + 16
            if x + width > self.left + self.chart:
                x, self.y = GAP, self.y + 22
            self._shade(x, self.y - 11, 22, 14, colour, origin)
            self.picture.text(x + 28, self.y, name)
            x += width
