# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them."""

from tutti.names import size_text


def size_words(count):
    """The same for running text, where a bare 512 could be anything."""
    return size_text(count) if count and count % 1024 == 0 else f"{count} B"


def counted(count, word, words=""):
    """1 rank, 2 ranks; 2 launches."""
    return f"{count} {word if count == 1 else words or word + 's'}"


def time_text(nanoseconds):
    """Three digits and the unit that suits: 850 ns, 12.3 µs, 4.56 ms."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def interval_text(low, high):
    return f"[{ratio_text(low)}, {ratio_text(high)}]"


def nearest_sizes(sizes, wanted, factor=4):
    """Of each wanted size the nearest that there is, if it is no further than this factor."""
    found = []
    for want in wanted:
        near = [size for size in sizes if size and want / factor <= size <= want * factor]
        if near:
            found.append(min(near, key=lambda size: (max(size / want, want / size), size)))
    return list(dict.fromkeys(found))
