// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

/// All samples of a search, made comparable. Times are stored as logarithms, because arms differ by
/// factors. The machine's speed changes between races but affects all arms of one race equally, so
/// a later race at the same size is shifted until the arms that it shares with earlier ones agree.
class SampleLog {
public:
    SampleLog(std::size_t sizes, std::size_t arms);

    /// Adds one race: samples_ns[i] are of arms[i].
    void add(std::size_t size, std::span<const int> arms,
             const std::vector<std::vector<double>>& samples_ns);

    std::size_t count(std::size_t size, int arm) const { return of(size, arm).raw_ns.size(); }
    const std::vector<double>& samples_ns(std::size_t size, int arm) const {
        return of(size, arm).raw_ns;
    }
    /// Returns the arms with samples, ascending.
    std::vector<int> raced(std::size_t size) const;
    std::size_t total() const { return total_; }   ///< samples
    double total_ns() const { return total_ns_; }  ///< sum of all samples

    /// Returns the logarithm of the typical time in ns; none if the arm has not raced.
    std::optional<double> level(std::size_t size, int arm) const;

    /// Returns the logarithm of the time of `slower` over that of `faster`, which both have raced:
    /// the median over all pairs of samples (Hodges & Lehmann 1963). With one-sided noise it needs
    /// less than half the samples of a difference of medians, and it is as robust to outliers.
    double gap(std::size_t size, int slower, int faster) const;
    /// Returns the standard error of `gap`.
    double gap_error(std::size_t size, int slower, int faster) const;

    /// Returns the fastest arm; -1 if nothing has raced.
    int leader(std::size_t size) const { return leaders_[size]; }
    int leader(std::size_t size, std::span<const int> among) const;

private:
    struct Entry {
        std::vector<double> raw_ns;
        std::vector<double> logs;  // shifted
        double level = 0;
    };

    const Entry& of(std::size_t size, int arm) const {
        return entries_[size * arms_ + static_cast<std::size_t>(arm)];
    }
    double shift_of_race(std::size_t size, std::span<const int> arms,
                         const std::vector<std::vector<double>>& samples_ns) const;
    double noise(std::size_t size) const;
    double step_below_median(std::size_t size, int arm) const;

    std::size_t arms_;
    std::size_t total_ = 0;
    double total_ns_ = 0;
    std::vector<Entry> entries_;
    std::vector<int> leaders_;                      // by size
    std::vector<std::vector<double>> differences_;  // per size, of successive samples of one arm
    std::vector<double> all_differences_;
};

}  // namespace tutti
