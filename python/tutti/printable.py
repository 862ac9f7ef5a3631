# SPDX-License-Identifier: Apache-2.0
"""Texts of others: names come from files and devices, and end in pages, in pictures and on terminals."""

import re

# Control characters but the line's end and the tab; halves of surrogate pairs; two that are no characters.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def in_page(text):
    """Replaces characters that XML and HTML cannot hold by '?', for whole pages and pictures."""
    return _NO_TEXT.sub("?", text)


def in_line(text):
    """Replaces control characters and line ends by '?'. A line must not look like a command to a CI system, either:
    GitHub's runner obeys "::word::" after leading blanks and "##[word]" anywhere, Azure's "##vso[" anywhere."""
    text = in_page(str(text)).replace("\n", "?").replace("\t", " ")
    return re.sub(r"#(?=#)", "#?", re.sub(r"^(\s*):(?=:)", r"\1?", text))
