# SPDX-License-Identifier: Apache-2.0
"""Hue, marker and kind of line of every algorithm, the same in every figure; how transports and variants show on them.

All hues have a contrast of 3:1 on white or more. Two algorithms are a colour difference (CIE 1976) of 15 or more apart for
all kinds of colour vision, or else differ in marker and in line: tests/scripts/test_palette.py."""

BLACK, BLUE, RED = "#000000", "#0072b2", "#b3470a"
OTHERS_GREY = "#c3c8ce"
LIMIT_GREY = "#6b7280"
DOUBTED_GREY = "#aab1b9"  # unreliable intervals

SOLID, DASHED, DOTTED, DASH_DOT = "-", (0, (5, 2)), (0, (1.2, 1.4)), (0, (6, 1.6, 1.2, 1.6))
LONG, DASH_DOT_DOT = (0, (9, 2)), (0, (5, 1.4, 1.2, 1.4, 1.2, 1.4))

KNOWN = {
    "ring": (BLUE, "o", SOLID), "tree": ("#005a2d", "s", DASHED), "double-tree": ("#a500ff", "D", DASH_DOT),
    "butterfly": ("#d55e00", "^", SOLID), "halving-doubling": ("#874b00", "v", DASHED), "one-shot": ("#d20f4b", "P", DASH_DOT),
    "two-shot": ("#b40096", "X", SOLID), "bruck": ("#874be1", "p", DASHED), "round-robin": ("#0f87e1", "h", DOTTED),
    "linear": ("#96873c", "*", DOTTED), "chain": ("#781e00", "<", LONG), "circulant": ("#4b9687", ">", DASH_DOT),
    "two-level": ("#00783c", "d", LONG), "two-level-butterfly": ("#5a960f", "8", DASH_DOT_DOT),
    "three-level": ("#d21e69", "H", DASH_DOT_DOT), "multi-rail": ("#c33cc3", (4, 1, 0), LONG),
}
# For names that only a newer tutti knows, in their order.
SPARE = (("#4253af", (5, 1, 0), DASH_DOT_DOT), ("#a6661d", (3, 1, 0), LONG), ("#5a6f7a", (6, 1, 0), DASHED),
         ("#6b7b00", (3, 1, 180), DASH_DOT), ("#ad1457", (5, 0, 180), DOTTED), ("#00717b", (8, 1, 0), DOTTED))
LIBRARIES = {"mpi": (BLACK, (4, 0, 45), DASHED), "nccl": ("#37474f", (4, 0, 0), SOLID)}

# A transport is how the marker is filled: shm and cuda, the quickest, all of it.
FILLS = {"mpi": "none", "ucx": "left", "hybrid": "right", "loopback": "bottom", "nccl": "top"}

EDGE, LARGER = 0.45, 1.3  # markers that are not filled have an edge of this width in points and are this much larger, so that the white is seen

# Thin signs for variants of the same algorithm over the same transport: other orders of ranks or knobs.
VARIANTS = ("1", "2", "3", "4", "+", "|", (6, 2, 0), (8, 2, 0))


def filled(fill, colour):
    """Keyword arguments for the face of a marker. Without a fill it is white, so that no line is seen through it."""
    return {"fillstyle": "full" if fill == "none" else fill, "markerfacecolor": "white" if fill == "none" else colour, "markerfacecoloralt": "white",
            **({} if fill == "full" else {"markeredgewidth": EDGE})}


class Palette:
    """The looks of the candidates of a report."""

    def __init__(self, candidates):
        own = sorted({candidate.algorithm for candidate in candidates if not candidate.is_baseline})
        unknown = [name for name in own if name not in KNOWN]
        self._looks = {name: KNOWN[name] for name in own if name in KNOWN}
        self._looks |= {name: SPARE[i % len(SPARE)] for i, name in enumerate(unknown)}
        kinds = {}
        for candidate in candidates:
            kinds.setdefault((candidate.algorithm, candidate.transport), set()).add(candidate.variant)
        self._variants = {kind: sorted(variants) for kind, variants in kinds.items()}

    def colour(self, candidate):
        return self._look(candidate)[0]

    def marker(self, candidate):
        """Variants of one algorithm over one transport have markers that no algorithm has."""
        variants = self._variants.get((candidate.algorithm, candidate.transport), [candidate.variant])
        number = variants.index(candidate.variant) if candidate.variant in variants else 0
        return VARIANTS[(number - 1) % len(VARIANTS)] if number else self.symbol(candidate)

    def symbol(self, candidate):
        """The marker of its algorithm, whatever the variant."""
        return self._look(candidate)[1]

    def line(self, candidate):
        """Keyword arguments for Axes.plot."""
        _, _, dashes = self._look(candidate)
        return {**self.sign(candidate), "linestyle": dashes, "marker": self.marker(candidate), "linewidth": 1.9 if candidate.is_baseline else 1.5}

    def sign(self, candidate):
        """The same of a marker alone, which has no line and shows no variant."""
        colour, symbol, _ = self._look(candidate)
        fill = FILLS.get(candidate.transport, "full")
        return {"color": colour, "markeredgecolor": colour, "linestyle": "none", "marker": symbol, **filled(fill, colour)}

    def _look(self, candidate):
        if candidate.is_baseline:
            return LIBRARIES.get(candidate.impl, (BLACK, "|", DOTTED))
        return self._looks.get(candidate.algorithm, SPARE[0])
