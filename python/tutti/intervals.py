# SPDX-License-Identifier: Apache-2.0
"""How well medians and their ratios are known: the one place for statistics of what is Python here and draws or tells.

A launch is the unit of repetition: candidates alternate within one, so a ratio is taken in each launch, and the launches'
ratios are what is combined. Nothing is compared across launches."""

import math
import statistics
from dataclasses import dataclass

Z95 = 1.96
# Student's t, 97.5 %, by degrees of freedom; from six launches on order statistics take over.
T975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
ORDER_STATISTICS_FROM = 6
LEAST_NS = 0.5  # no call takes no time: a clock may say so, a logarithm cannot


@dataclass(frozen=True)
class LogRatio:
    """What one launch says of a ratio: its natural logarithm, and how far the 95 % interval reaches to both sides."""

    value: float
    below: float
    above: float


@dataclass(frozen=True)
class Ratio:
    """A ratio with its 95 % interval."""

    value: float
    low: float
    high: float
    launches: int

    @property
    def is_significant(self):
        """Whether the interval excludes that the two are equal."""
        return self.low > 1 or self.high < 1

    @property
    def inverse(self):
        return Ratio(1 / self.value, 1 / self.high, 1 / self.low, self.launches)


def logs(median, low, high):
    """The logarithms of a median and its interval. Times are whole nanoseconds, so none is known better than to half of
    one."""
    return (math.log(max(median, LEAST_NS)), math.log(max(min(low, median - 0.5), LEAST_NS)), math.log(max(high, median + 0.5)))


def log_ratio(above, below):
    """Of two medians of one launch, each as logs() gives it.

    The interval of a difference of logarithms from the intervals of both (MOVER: Zou and Donner 2008, Stat. Med. 27):
    the distances to the ends that pull the same way, added as squares."""
    (a, a_low, a_high), (b, b_low, b_high) = above, below
    return LogRatio(a - b, math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low))


def mean_of(ratios):
    """The geometric mean of several ratios (of the sizes, say) of one launch."""
    count = len(ratios)
    return LogRatio(sum(one.value for one in ratios) / count, math.hypot(*(one.below for one in ratios)) / count,
                    math.hypot(*(one.above for one in ratios)) / count)


def over_launches(ratios):
    """One Ratio of what each launch says; None of none.

    One launch: its own interval, which knows nothing of other launches. Two to five: geometric mean and Student's t of the
    launches' logarithms, and no less than the calls alone would give. From six on: median and order statistics."""
    if not ratios:
        return None
    count, values = len(ratios), [one.value for one in ratios]
    if count == 1:
        one = ratios[0]
        middle, low, high = one.value, one.value - one.below, one.value + one.above
    elif count < ORDER_STATISTICS_FROM:
        middle = sum(values) / count
        between = T975[count - 1] * statistics.stdev(values) / math.sqrt(count)
        low = middle - max(between, math.hypot(*(one.below for one in ratios)) / count)
        high = middle + max(between, math.hypot(*(one.above for one in ratios)) / count)
    else:
        middle = statistics.median(values)
        low, high = median_interval(sorted(values))
    return Ratio(_exp(middle), _exp(low), _exp(high), count)


def median_interval(ascending):
    """95 % interval of the median over launches: order statistics; below six launches all there is."""
    count = len(ascending)
    if count < ORDER_STATISTICS_FROM:
        return ascending[0], ascending[-1]
    reach = Z95 * math.sqrt(count)
    low = max(1, math.floor((count - reach) / 2))
    high = min(count, math.ceil(1 + (count + reach) / 2))
    return ascending[low - 1], ascending[high - 1]


def _exp(logarithm):
    return math.exp(min(max(logarithm, -700.0), 700.0))
