# SPDX-License-Identifier: Apache-2.0
"""Whether to trust a report, in one line, by the gravest of its notes."""

from .trust import INFORMS, MOST_REASONS, NOTHING, ONE_LAUNCH
from .units import counted

ANSWERS = ("yes", "the ranking only", "no")
QUIET = "quiet machine, a core for each rank, several launches"
LEAVES = ("ranking and factors", "the ranking but not the factors", "neither")  # to be trusted, by the weight of what speaks against
WITHIN = "¹"  # marks an interval that is of one launch
DOUBTED = "‡"  # marks an interval of a section that is not to be trusted


def verdict_of(notes, parts):
    """Of a report with these notes on the whole, whose parts are sections and training steps."""
    if not parts:
        return "no, because nothing was measured with a right result"
    weights, in_parts = [weight_of(part.notes) for part in parts], {note.mark for part in parts for note in part.notes}
    said = [f"no for {note.because}" for note in notes if note.weight == NOTHING and note.mark not in in_parts]
    for weight in sorted(set(weights)):
        marks = {note.mark for part in parts if weight_of(part.notes) == weight for note in part.notes if note.weight == weight}
        why = "; ".join([note.because for note in notes if note.mark in marks and note.because][:MOST_REASONS]) or QUIET
        said.append(f"{ANSWERS[weight]}, because {why}" if len(set(weights)) == 1 else
                    f"in {counted(weights.count(weight), 'table')} of {len(parts)} ({why}) {LEAVES[weight]}")
    return "; ".join(said)


def weight_of(notes):
    return max((note.weight for note in notes), default=INFORMS)


def is_doubted(part):
    """Whether not even the ranking of a section or of steps is to be trusted: its intervals are grey and marked."""
    return weight_of(part.notes) == NOTHING


def sign_of(part):
    """What marks its intervals in tables."""
    return DOUBTED if is_doubted(part) else WITHIN if is_within_one(part) else ""


def is_within_one(part):
    """Whether its intervals are of one launch: another launch's factors may be elsewhere."""
    return any(note.mark == ONE_LAUNCH for note in part.notes)


def signs_text(parts):
    """What a caption says of these marks."""
    return " ".join([f"{WITHIN} interval only within this launch."] * any(not is_doubted(part) and is_within_one(part) for part in parts)
                    + [f"{DOUBTED} not to be trusted."] * any(map(is_doubted, parts)))


def doubt_text(part):
    """What a caption says of its intervals."""
    return f" Intervals are grey ({DOUBTED}): not to be trusted." if is_doubted(part) else ""

