# SPDX-License-Identifier: Apache-2.0
"""How well medians and their ratios are known: the one place for statistics of what is Python here and draws or tells.

A launch is the unit of repetition: candidates alternate within one, so a ratio is taken in each launch, and the launches'
ratios are what is combined. Nothing is compared across launches."""

import math
import statistics
from dataclasses import dataclass

Z95 = 1.96
# Student's t, 97.5 %, by degrees of freedom; from six samples on order statistics take over.
T975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
ORDER_STATISTICS_FROM = 6
NEAR = 1.1
LEAST_NS = 0.5  # no call takes no time: a clock may say so, a logarithm cannot


@dataclass(frozen=True)
class Log:
    """What one launch says of a time or of a ratio: its natural logarithm, and how far the 95 % interval reaches to both
    sides; infinitely far where there is none."""

    value: float
    below: float
    above: float


@dataclass(frozen=True)
class Ratio:
    """A ratio of times, or a time (to one nanosecond), with its 95 % interval; low and high are None where that is unknown."""

    value: float
    low: float
    high: float
    launches: int

    @property
    def is_known(self):
        return self.low is not None

    @property
    def is_significant(self):
        """Whether the interval excludes that the two are equal."""
        return self.is_known and (self.low > 1 or self.high < 1)

    @property
    def half(self):
        """Half the interval over the value: 0.025 is +-2.5 %; None where that is unknown."""
        return (self.high - self.low) / 2 / self.value if self.is_known else None


def is_near(time, best):
    """Whether two times whose ratio has no interval may be as good: within the interval of the best's, or 10 % above it. Both are Ratios."""
    return time.value <= max(best.high or 0, NEAR * best.value)


def interval_of(record):
    """(low, high) of the median of a point or a training step, as its record has it; None of fewer than six samples.

    Not even the least and the largest of five enclose the median in 95 of 100 series."""
    if record["n"] < ORDER_STATISTICS_FROM:
        return None
    low, high = sorted(record["ci95_p50_ns"] if "ci95_p50_ns" in record else record["ci95_step_ns"])
    return low, high


def log_of(median, interval):
    """Of a time. Times are whole nanoseconds, so none is known better than to half of one."""
    value = math.log(max(median, LEAST_NS))
    if interval is None:
        return Log(value, math.inf, math.inf)
    low, high = min(interval[0], median - 0.5), max(interval[1], median + 0.5)
    return Log(value, value - math.log(max(low, LEAST_NS)), math.log(max(high, LEAST_NS)) - value)


def log_ratio(above, below):
    """Of two times of one launch.

    The interval of a difference of logarithms from the intervals of both (MOVER: Zou and Donner 2008, Stat. Med. 27):
    the distances to the ends that pull the same way, added as squares."""
    return Log(above.value - below.value, math.hypot(above.below, below.above), math.hypot(above.above, below.below))


def mean_of(ratios):
    """The geometric mean of several ratios (of the sizes, say) of one launch: unknown if one of them is."""
    count = len(ratios)
    return Log(sum(one.value for one in ratios) / count, math.hypot(*(one.below for one in ratios)) / count,
               math.hypot(*(one.above for one in ratios)) / count)


def over_launches(logs):
    """One Ratio of what each launch says; None of none.

    One launch: its own interval, which knows nothing of other launches. Two to five: geometric mean and Student's t of the
    launches' logarithms, and no less than the calls alone would give. From six on: median and order statistics."""
    if not logs:
        return None
    count, values = len(logs), [one.value for one in logs]
    if count == 1:
        middle, low, high = values[0], values[0] - logs[0].below, values[0] + logs[0].above
    elif count < ORDER_STATISTICS_FROM:
        middle = sum(values) / count
        between = T975[count - 1] * statistics.stdev(values) / math.sqrt(count)
        low = middle - max(between, _within([one.below for one in logs]))
        high = middle + max(between, _within([one.above for one in logs]))
    else:
        middle = statistics.median(values)
        low, high = median_interval(sorted(values))
    ends = (_exp(low), _exp(high)) if math.isfinite(low) and math.isfinite(high) else (None, None)
    return Ratio(_exp(middle), *ends, count)


def _within(distances):
    """How far the mean of launches may be off by what those with calls enough say of themselves."""
    known = [distance ** 2 for distance in distances if math.isfinite(distance)]
    return math.sqrt(statistics.fmean(known or [0.0]) / len(distances))


def median_interval(ascending):
    """95 % interval of the median over six launches or more: order statistics."""
    count = len(ascending)
    reach = Z95 * math.sqrt(count)
    low = max(1, math.floor((count - reach) / 2))
    high = min(count, math.ceil(1 + (count + reach) / 2))
    return ascending[low - 1], ascending[high - 1]


def _exp(logarithm):
    return math.exp(min(max(logarithm, -700.0), 700.0))
