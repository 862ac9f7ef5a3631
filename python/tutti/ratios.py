# SPDX-License-Identifier: Apache-2.0
"""Ratios of times that are known with an error: their intervals, and whether they are beyond a limit more than by chance.

Times are compared by their logarithms, so that percents count. Errors add up as variances; of how few launches they are known
is kept as degrees of freedom (Welch 1947, Biometrika 34)."""

import functools
import math
import statistics
from dataclasses import dataclass

NORMAL = statistics.NormalDist()
UNKNOWN = 1e6  # the variance of an unknown value
AS_GOOD_AS_NORMAL = 1e5  # degrees of freedom
HALF_OF_95 = NORMAL.inv_cdf(0.975)


@dataclass(frozen=True)
class Estimate:
    """The logarithm of a time or of a ratio, and the variance of its error."""

    log: float
    variance: float
    freedom: float = math.inf

    @property
    def value(self):
        return math.exp(self.log)

    def interval(self, confidence):
        """(least, most) of what it may be in truth."""
        # Rounded down to tenths, degrees of freedom are few, and an interval is not too narrow.
        freedom = math.floor(10 * self.freedom) / 10 if self.freedom < AS_GOOD_AS_NORMAL else math.inf
        half = math.sqrt(self.variance) * student_quantile((1 + confidence) / 2, freedom)
        return tuple(_exp(self.log + side * half) for side in (-1, 1))

    def chance_within(self, limit):
        """How likely so large an estimate is (twice, as an interval has two sides) if the truth is not above the limit."""
        above = self.log - math.log(limit)
        if above <= 0:
            return 1.0
        return two_tails(above / math.sqrt(self.variance), self.freedom) if self.variance else 0.0


def of_median(median, interval):
    """A median with its 95 % interval (None: unknown), both in whole units: what was rounded is not known, either."""
    if interval is None:
        return Estimate(math.log(median), UNKNOWN)
    low, high = max(interval[0] - 0.5, median / 1e3), interval[1] + 0.5
    return Estimate(math.log(median), ((math.log(high) - math.log(low)) / 2 / HALF_OF_95) ** 2)


def over_launches(estimates):
    """One number of several launches: the mean. They differ by more than each of them knows, and not by less."""
    count = len(estimates)
    if count == 1:
        return estimates[0]
    logs = [one.log for one in estimates]
    known = statistics.fmean([one.variance for one in estimates if one.variance < UNKNOWN] or [0.0])
    return Estimate(statistics.fmean(logs), max(statistics.variance(logs), known) / count, count - 1)


def total(parts):
    """The sum of [(how many times, estimate)]."""
    whole = math.fsum(times * part.value for times, part in parts)
    return Estimate(math.log(whole), *_error((times * part.value / whole, part) for times, part in parts))


def ratio(above, below):
    return Estimate(above.log - below.log, *_error([(1, above), (1, below)]))


def _error(shares):
    """(variance, degrees of freedom) of what depends on these estimates by these shares; Welch and Satterthwaite."""
    variances = [(share ** 2 * part.variance, part.freedom) for share, part in shares]
    whole = math.fsum(variance for variance, _ in variances)
    unsure = math.fsum(variance ** 2 / freedom for variance, freedom in variances)
    return whole, whole ** 2 / unsure if unsure else math.inf


def two_tails(t, freedom):
    """How likely Student's t is at least so far from zero."""
    if freedom > AS_GOOD_AS_NORMAL:
        return math.erfc(abs(t) / math.sqrt(2))
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


@functools.lru_cache(maxsize=None)
def student_quantile(share, freedom):
    """The t below which is this share, of more than a half."""
    if freedom > AS_GOOD_AS_NORMAL:
        return NORMAL.inv_cdf(share)
    low, high = 0.0, 1.0
    while two_tails(high, freedom) > 2 * (1 - share) and high < 1e12:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if two_tails(middle, freedom) > 2 * (1 - share) else (low, middle)
    return high


def _incomplete_beta(x, a, b):
    """The regularised incomplete beta function, by its continued fraction (NIST Handbook 8.17.22)."""
    if x in (0, 1):
        return float(x)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    fraction = 1.0  # from the last term on backwards
    for m in range(20 + int(3 * math.sqrt(max(a, b))), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        fraction = 1 + odd / (1 + even / fraction)
    return front / fraction


def adjusted_by_holm(chances):
    """P-values that may each be held against the level meant for all of them together (Holm 1979); in the same order."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    adjusted, highest = [0.0] * len(chances), 0.0
    for place, number in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - place) * chances[number]))
        adjusted[number] = highest
    return adjusted


def _exp(log):
    return math.exp(log) if log < 700 else math.inf
