// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <vector>

namespace tutti {

/// A list that only grows, and keeps neighbours at equal distances as one run: a million elements
/// of a few runs take a few bytes. An element T has `steps_to(T)` and `after(steps)`, its inverse.
template <class T>
class SteppedList {
public:
    std::size_t size() const { return size_; }

    void push_back(const T& next) {
        if (!continues(next)) runs_.push_back({next, size_});
        ++size_;
    }

    /// Takes time in proportion to the logarithm of the number of runs.
    T operator[](std::size_t place) const {
        assert(place < size_);
        const Run& run = *std::prev(std::ranges::upper_bound(runs_, place, {}, &Run::begin));
        return run.first.after(static_cast<int>(place - run.begin) * run.step);
    }

private:
    struct Run {
        T first;
        std::size_t begin;
        int step = 0;  // once it has a second element
    };

    bool continues(const T& next) {
        if (runs_.empty()) return false;
        Run& run = runs_.back();
        const int in_run = static_cast<int>(size_ - run.begin);
        const T last = run.first.after((in_run - 1) * run.step);
        const int step = last.steps_to(next);
        if ((in_run > 1 && step != run.step) || last.after(step) != next) return false;
        run.step = step;
        return true;
    }

    std::vector<Run> runs_;
    std::size_t size_ = 0;
};

}  // namespace tutti
