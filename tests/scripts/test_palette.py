# SPDX-License-Identifier: Apache-2.0
"""Whether readers can tell the lines of a figure apart, whatever their colour vision and on whatever printer."""

import itertools
import math
import unittest

from report_files import needs_matplotlib  # also finds plots
from plots.candidates import Candidate
from plots.palette import FILLS, KNOWN, LIBRARIES, LIMIT_GREY, SPARE, VARIANTS, Palette

# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6),
# table 1 at severity 1.0; applied to linear RGB.
DEFICIENCIES = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# IEC 61966-2-1 (sRGB, D65) and CIE 15 (L*a*b* of 1976).
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)
LEAST_DIFFERENCE, LEAST_CONTRAST = 15, 3
ALL = {**KNOWN, **LIBRARIES, **{f"spare {number}": look for number, look in enumerate(SPARE)}}


def linear(hue):
    parts = (int(hue[i:i + 2], 16) / 255 for i in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix, vector):
    return [sum(factor * value for factor, value in zip(row, vector)) for row in matrix]


def lab(rgb):
    def bent(value):
        return value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
    x, y, z = (bent(value / white) for value, white in zip(times(TO_XYZ, [min(max(part, 0), 1) for part in rgb]), WHITE))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(hue, deficiency):
    return lab(linear(hue) if deficiency is None else times(DEFICIENCIES[deficiency], linear(hue)))


def difference(one, other):
    """The least, over all kinds of colour vision."""
    return min(math.dist(seen(one, deficiency), seen(other, deficiency)) for deficiency in (None, *DEFICIENCIES))


def contrast(hue):
    """Against white, as WCAG 2.1 defines it."""
    return 1.05 / (times(TO_XYZ, linear(hue))[1] + 0.05)


class Looks(unittest.TestCase):
    def test_the_check_sees_what_is_known(self):
        self.assertAlmostEqual(contrast("#000000"), 21, places=2)
        self.assertAlmostEqual(math.dist(seen("#ffffff", None), seen("#000000", None)), 100, places=1)
        self.assertLess(difference("#00a000", "#b07000"), LEAST_DIFFERENCE)  # green and brown, to deutan eyes

    def test_any_two_algorithms_differ_in_hue_to_all_eyes_or_else_in_marker_and_line(self):
        for (one, (hue, marker, line)), (other, (hue_2, marker_2, line_2)) in itertools.combinations(ALL.items(), 2):
            if difference(hue, hue_2) < LEAST_DIFFERENCE:
                self.assertTrue(marker != marker_2 and line != line_2, f"{one} and {other}: {difference(hue, hue_2):.1f}")

    def test_the_most_common_differ_in_hue_alone(self):
        common = ("ring", "tree", "double-tree", "butterfly", "halving-doubling", "one-shot", "two-shot", "bruck")
        for one, other in itertools.combinations([*(KNOWN[name][0] for name in common), LIBRARIES["mpi"][0], LIMIT_GREY], 2):
            self.assertGreaterEqual(difference(one, other), LEAST_DIFFERENCE, f"{one} {other}")

    def test_markers_are_all_different_so_that_grey_is_enough(self):
        markers = [marker for _, marker, _ in ALL.values()]
        self.assertEqual(len(set(markers)), len(markers))
        self.assertFalse(set(markers) & set(VARIANTS))

    def test_every_hue_stands_out_on_white(self):
        for name, (hue, _, _) in ALL.items():
            self.assertGreaterEqual(contrast(hue), LEAST_CONTRAST, name)

    def test_an_algorithm_looks_the_same_in_every_report(self):
        few, many = (Palette([Candidate("tutti", name, "shm") for name in names]) for names in (("ring",), ("new", *KNOWN)))
        for palette in (few, many):
            self.assertEqual(palette.line(Candidate("tutti", "ring", "shm"))["color"], KNOWN["ring"][0])

    def test_variants_and_transports_of_an_algorithm_share_its_hue_and_differ_in_marker_or_fill(self):
        candidates = [Candidate("tutti", "tree", transport, knobs=(0, radix, 1, 0, 0)) for radix in (0, 3, 4, 8) for transport in ("shm", "mpi", "ucx")]
        lines = [Palette(candidates).line(candidate) for candidate in candidates]
        self.assertEqual(len({line["color"] for line in lines}), 1)
        self.assertEqual(len({(line["marker"], line["fillstyle"], line["markerfacecolor"]) for line in lines}), len(lines))

    @needs_matplotlib
    def test_transports_differ_in_markers_of_papers(self):
        import numpy
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from plots import style

        def picture(palette, candidate):
            canvas, figure = style.Canvas(palette, style.PAPER), Figure(figsize=(0.1, 0.1), dpi=style.PAPER.settings["figure.dpi"])
            axes = figure.add_axes((0, 0, 1, 1))
            axes.axis("off")
            axes.plot([0], [0], **canvas.line(candidate))
            drawn = FigureCanvasAgg(figure)
            drawn.draw()
            return numpy.asarray(drawn.buffer_rgba())[..., :3].astype(float).sum(axis=2) < 600
        for name in set(KNOWN) - {"multi-rail"}:  # its marker has no inside
            candidates = [Candidate("tutti", name, transport) for transport in ("shm", *FILLS)]
            palette = Palette(candidates)
            full, *others = (picture(palette, candidate) for candidate in candidates)
            for transport, other in zip(FILLS, others):
                least = (full & ~other).sum() / full.sum()  # share of the marker that is white instead
                self.assertGreater(least, 0.1, (name, transport))

    @needs_matplotlib
    def test_matplotlib_knows_every_marker_and_line(self):
        from matplotlib.lines import Line2D
        for _, marker, line in ALL.values():
            Line2D([], [], marker=marker, linestyle=line)
        for marker in VARIANTS:
            Line2D([], [], marker=marker)


if __name__ == "__main__":
    unittest.main()
