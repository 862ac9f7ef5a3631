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
    """Three digits and the unit that suits: 850 ns, 12.0 µs, 4.56 ms."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= 0.9995 * factor:  # three digits would round to it
            return f"{nanoseconds / factor:#.3g}".rstrip(".") + f" {unit}"
    return f"{nanoseconds:.0f} ns"


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}" if ratio < 1e6 else f"{ratio:.0e}"


def interval_text(known):
    """The interval of a ratio; a question mark if it is unknown."""
    return "[?]" if known.low is None else f"[{ratio_text(known.low)}, {ratio_text(known.high)}]"


def known_text(ratio, over=""):
    """1.02 [0.97, 1.07] over [mpi], tied"""
    is_tied = ratio.is_known and not ratio.significant
    return f"{ratio_text(ratio.value)} {interval_text(ratio)}{over}" + (", tied" if is_tied else "")


def others_text(count):
    """statistically tied with 3 others"""
    return f"statistically tied with {counted(count, 'other')}"


def half_text(half):
    """Half an interval in %."""
    return "?" if half is None else f"{100 * half:.1f}" if half < 1 else ">100"


def nearest_sizes(sizes, wanted, factor=4):
    """Finds the nearest size to each wanted one, within this factor."""
    found = []
    for want in wanted:
        near = [size for size in sizes if size and want / factor <= size <= want * factor]
        if near:
            found.append(min(near, key=lambda size: (max(size / want, want / size), size)))
    return list(dict.fromkeys(found))
