# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them."""

from tutti.names import size_text


def size_words(count):
    """The same for running text, where a bare 512 could be anything."""
    return size_text(count) if count and count % 1024 == 0 else f"{count} B"


def counted(count, word):
    """1 rank, 2 ranks."""
    return f"{count} {word}" + ("" if count == 1 else "s")


def time_text(nanoseconds):
    """Three digits and the unit that suits: 850 ns, 12.3 µs, 4.56 ms."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
