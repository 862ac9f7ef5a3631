// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/batch.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace tutti {

// Between hosts a deadline takes some round trips to get around.
Starter::Starter(World& world, Start start, const GlobalClock* clock)
    : world_(&world),
      start_(start),
      clock_(clock),
      least_head_start_ns_(
          std::max<std::int64_t>(20'000, clock != nullptr ? 4 * clock->round_trip_ns() : 0)),
      head_start_ns_(least_head_start_ns_) {}

void Starter::learn(bool first_was_late) {
    const std::int64_t next = first_was_late ? head_start_ns_ * 2 : head_start_ns_ * 19 / 20;
    head_start_ns_ = std::clamp(next, least_head_start_ns_, 250 * least_head_start_ns_);
}

constexpr std::int64_t tolerance_ns = 1'000;  // what reading the clock and a cache miss take

namespace {

std::int64_t time_of(const std::function<void()>& work) {
    if (!work) return 0;
    const std::int64_t began = now_ns();
    work();
    return now_ns() - began;
}

}  // namespace

std::int64_t Starter::common_time() const { return clock_ != nullptr ? clock_->now() : now_ns(); }

void Starter::run(Operation& operation, const std::function<void()>& before_call,
                  std::int64_t distance_ns, std::vector<Stamp>& stamps, std::int64_t row) {
    if (start_ == Start::deadline) {
        // Before the deadline is set: it may take longer than the head start.
        std::int64_t before_ns = time_of(before_call);
        world_->barrier();
        std::int64_t first = from_rank0(*world_, common_time() + head_start_ns_);
        if (clock_ != nullptr) first = clock_->to_local(first);
        for (std::size_t i = 0; i < stamps.size(); ++i) {
            if (i > 0) before_ns = time_of(before_call);
            const std::int64_t deadline = first + static_cast<std::int64_t>(i) * distance_ns;
            std::int64_t begin = now_ns();
            const bool is_busy = begin > deadline;  // with the call before
            while (begin < deadline) begin = now_ns();
            // Or it was not running when the time came.
            const bool late = is_busy || begin - deadline > tolerance_ns + distance_ns / 16;
            operation.run();
            stamps[i] = {begin, now_ns(), late, before_ns};
            stamps[i].device_ns = operation.device_ns().value_or(0);
        }
    } else {
        for (Stamp& stamp : stamps) {
            stamp.before_ns = time_of(before_call);
            world_->barrier();
            stamp.begin_ns = now_ns();
            for (std::int64_t call = 0; call < row; ++call) operation.run();
            stamp.end_ns = now_ns();
            stamp.late = false;
            stamp.device_ns = operation.device_ns().value_or(0);
        }
    }
    if (clock_ == nullptr) return;
    for (Stamp& stamp : stamps) {
        stamp.begin_ns = clock_->from_local(stamp.begin_ns);
        stamp.end_ns = clock_->from_local(stamp.end_ns);
    }
}

std::int64_t nearly_most(std::vector<std::int64_t> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() * 9 / 10];
}

TimedBatch gather_batch(World& world, Start start, const std::vector<Starter::Stamp>& stamps,
                        std::int64_t row) {
    const std::size_t calls = stamps.size();
    const auto ranks = static_cast<std::size_t>(world.size());
    std::vector<Starter::Stamp> all(calls * ranks);
    world.all_gather(std::as_bytes(std::span(stamps)), std::as_writable_bytes(std::span(all)));

    TimedBatch batch;
    std::vector<std::int64_t> before;
    for (std::size_t call = 0; call < calls; ++call) {
        std::int64_t first_begin = INT64_MAX, last_begin = INT64_MIN, last_end = INT64_MIN,
                     longest = 0;
        std::size_t last = 0;
        bool late = false;
        std::int64_t longest_before = 0, longest_on_device = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const Starter::Stamp& stamp = all[rank * calls + call];
            first_begin = std::min(first_begin, stamp.begin_ns);
            last_begin = std::max(last_begin, stamp.begin_ns);
            longest = std::max(longest, stamp.end_ns - stamp.begin_ns);
            if (stamp.end_ns > last_end) last = rank;
            last_end = std::max(last_end, stamp.end_ns);
            late = late || stamp.late;
            longest_before = std::max(longest_before, stamp.before_ns);
            longest_on_device = std::max(longest_on_device, stamp.device_ns);
        }
        before.push_back(longest_before);
        if (call == 0) batch.first_was_late = late;
        if (late) {
            ++batch.n_invalid;
            continue;
        }
        const bool common_clock = start == Start::deadline;
        std::int64_t took = longest;
        if (common_clock) took = std::max<std::int64_t>(last_end - last_begin, 0);
        if (start == Start::back_to_back) took = (last_end - first_begin) / row;
        batch.samples_ns.push_back(took);
        if (longest_on_device > 0) batch.device_ns.push_back(longest_on_device);
        if (common_clock) batch.skews_ns.push_back(last_begin - first_begin);
        ++batch.stragglers[Rank{static_cast<int>(last)}];
    }
    if (!before.empty()) batch.before_ns = nearly_most(std::move(before));
    return batch;
}

}  // namespace tutti
