# SPDX-License-Identifier: Apache-2.0
"""Words for the reliability of a table; the summary has decided about it."""

RELIABLE, RANKING, NOTHING = "all", "ranking", "nothing"
DISTURBED = "†"  # other programs used the cores
TIED = "≈"
UNKNOWN = "?"    # too few calls for an interval
ONE_LAUNCH = "one launch"


def is_doubted(part):
    """Whether not even the ranking of a section or of steps is reliable: its intervals are grey."""
    return any(note.leaves_reliable == NOTHING for note in part.notes)


def is_within_one(part):
    """Whether its intervals cover one launch only: ratios of another launch may be elsewhere."""
    return any(note.mark == ONE_LAUNCH for note in part.notes)


def is_grey(part):
    return is_doubted(part) or is_within_one(part)


def reason(part):
    """Why its ratios are unreliable, in a few words; "" where they are not."""
    weights = [NOTHING, RANKING]
    found = [note.because for weight in weights for note in part.notes if note.leaves_reliable == weight and note.because]
    return found[0] if found else ""


def doubt_text(part):
    """The remark of a caption on its intervals."""
    return " Grey intervals are unreliable." if is_doubted(part) else ""


def merged(parts):
    """The notes of several parts, each mark once, the worst first."""
    found = {}
    for part in parts:
        for note in part.notes:
            known = found.get(note.mark)
            if not known or (NOTHING, RANKING, RELIABLE).index(note.leaves_reliable) < (NOTHING, RANKING, RELIABLE).index(known.leaves_reliable):
                found[note.mark] = note
    return sorted(found.values(), key=lambda note: (NOTHING, RANKING, RELIABLE).index(note.leaves_reliable))
