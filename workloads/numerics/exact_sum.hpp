// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tutti {

/// A sum of doubles without any rounding, as long as none of its parts overflows: parts of which
/// none overlaps another, from the least to the greatest (Shewchuk 1997).
class ExactSum {
public:
    void clear() { parts_.clear(); }

    void add(double number) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            double less = parts_[i];
            if (std::fabs(number) < std::fabs(less)) std::swap(number, less);
            const double sum = number + less;
            const double lost = less - (sum - number);  // exact, as `number` is the larger one
            if (lost != 0) parts_[kept++] = lost;
            number = sum;
        }
        parts_.resize(kept);
        if (number != 0) parts_.push_back(number);
    }

    /// To a double; its distance from the exact sum is no more than its last place.
    double rounded() const {
        double sum = 0;
        for (const double part : parts_) sum += part;
        return sum;
    }

private:
    std::vector<double> parts_;
};

/// A sum to twice the precision of a double: `sum` + `rest`.
struct PreciseSum {
    double sum = 0;
    double rest = 0;
};

/// `exact` is of no use afterwards.
inline PreciseSum precise(ExactSum& exact) {
    const double sum = exact.rounded();
    exact.add(-sum);
    return {sum, exact.rounded()};
}

}  // namespace tutti
