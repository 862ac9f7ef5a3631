# SPDX-License-Identifier: Apache-2.0
"""A schedule: ranks from left to right, steps downwards, an arrow for each transfer with the numbers of its chunks."""

from .palette import BLUE, RED
from .picture import LETTER, Picture
from .style import SOFT

COLUMN, LEFT, TOP, ARROW, BETWEEN_STEPS, LABEL = 90, 60, 84, 50, 14, 13
MOST_RUNS = 4  # a label names no more runs of chunks
COLOURS = {"reduce": RED, "copy": BLUE}
# Places of a label on its arrow, as shares of the length. Near the begin, arrows of an exchange do not cross.
PLACES = (0.22, 0.36, 0.12, 0.64, 0.78, 0.5, 0.29, 0.43, 0.57, 0.71, 0.85)


def draw(described):
    """The figure of what `tutti show ALGORITHM --json` prints, or of its schedule alone."""
    schedule = described.get("schedule", described)
    title = " ".join(filter(None, (described.get("collective"), described.get("algorithm")))) or "schedule"
    picture, ranks = Picture(), schedule["ranks"]
    picture.text(12, 22, f"{title}, {ranks} ranks", 14, bold=True)
    has_dots = any(one["from"] == one["to"] for transfers in schedule["steps"] for one in transfers)
    for x, words, colour in ((12, "numbers: chunks; steps go down;", SOFT), (205, "reduce", RED), (252, "copy", BLUE),
                             (288, "(dot: the rank's own chunks)" * has_dots, SOFT)):
        picture.text(x, 40, words, colour=colour)
    y = TOP
    for number, transfers in enumerate(schedule["steps"]):
        y = _draw_step(picture, number, _arrows(transfers), y)
    for rank in range(ranks):
        picture.text(_x(rank), TOP - 20, f"rank {rank}", 12, "center")
        picture.line((_x(rank), TOP - 10), (_x(rank), y), "#bbbbbb", zorder=1)
    return picture.figure(max(_x(ranks - 1) + 60, 460), y + 16)


def _x(rank):
    return LEFT + COLUMN * rank


def _arrows(transfers):
    """{(from, to, action): label}: the runs of chunks between two ranks share an arrow."""
    runs = {}
    for one in transfers:
        first, last = one["first_chunk"], one["first_chunk"] + one["chunks"] - 1
        if last >= first:
            runs.setdefault((one["from"], one["to"], one["action"]), []).append(f"{first}-{last}" if last > first else str(first))
    return {arrow: ", ".join(names[:MOST_RUNS]) + (f" +{len(names) - MOST_RUNS}" if len(names) > MOST_RUNS else "")
            for arrow, names in runs.items()}


def _draw_step(picture, number, arrows, y):
    """Returns where the next step begins: a step is as high as its labels need it."""
    for height in (ARROW, 1.5 * ARROW, 2.5 * ARROW, 4 * ARROW, 6 * ARROW):
        labels, overlaps = places(arrows, y, height)
        if not overlaps:
            break
    picture.text(8, y + height / 2 + 4, str(number), 12, colour=SOFT)
    for (begin, end, action), label in arrows.items():
        colour = COLOURS[action]
        if begin == end:
            picture.box(_x(begin) - 4, y - 4, 8, 8, colour, colour, zorder=3)
            continue
        picture.arrow((_x(begin), y), (_x(end), y + height), colour)
        x, middle = labels[begin, end, action]
        picture.text(x, middle + 4, label, 11, "center", colour, ground="white")
    return y + height + BETWEEN_STEPS


def places(arrows, y, height):
    """The places of the labels, and whether some overlap. They are in front of few other arrows."""
    placed, taken, overlaps = {}, [], False
    for arrow, label in sorted(arrows.items(), key=lambda item: abs(item[0][0] - item[0][1])):  # short ones have less choice
        if arrow[0] == arrow[1]:
            continue
        width = LETTER * len(label) + 6
        boxes = [(_x(arrow[0]) + share * (_x(arrow[1]) - _x(arrow[0])), y + share * height, width) for share in PLACES]
        free = [box for box in boxes if not any(_touch(box, other) for other in taken)]
        overlaps = overlaps or not free
        others = [other for other in arrows if other != arrow]
        taken.append(min(free or boxes, key=lambda box: sum(_covers(box, other, y, height) for other in others)))
        placed[arrow] = taken[-1][:2]
    return placed, overlaps


def _covers(box, arrow, y, height):
    """Whether the label in this box hides a part of the arrow."""
    x, middle, width = box
    begin, length = _x(arrow[0]), _x(arrow[1]) - _x(arrow[0])
    if not length:
        return abs(begin - x) < width / 2 + 4 and abs(y - middle) < LABEL / 2 + 4
    first, last = sorted(min(max((edge - begin) / length, 0), 1) for edge in (x - width / 2, x + width / 2))
    return last > first and y + first * height < middle + LABEL / 2 and y + last * height > middle - LABEL / 2


def _touch(one, other):
    return abs(one[0] - other[0]) < (one[2] + other[2]) / 2 and abs(one[1] - other[1]) < LABEL
