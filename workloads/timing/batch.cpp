// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/batch.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

constexpr std::int64_t tolerance_ns = 1'000;  // reading the clock and a cache miss

std::int64_t time_of(const std::function<void()>& work) {
    if (!work) return 0;
    const std::int64_t began = now_ns();
    work();
    return now_ns() - began;
}

// Returns the 90th percentile of at least one time.
std::int64_t ninth_decile(std::vector<std::int64_t> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() * 9 / 10];
}

}  // namespace

bool is_late(std::int64_t first_look_ns, std::int64_t begin_ns, std::int64_t deadline_ns,
             std::int64_t gap_ns) {
    return first_look_ns > deadline_ns || begin_ns - deadline_ns > tolerance_ns + gap_ns / 16;
}

// The broadcast of a deadline between hosts takes some round trips.
BatchRunner::BatchRunner(World& world, Start start, const GlobalClock* clock)
    : world_(&world),
      start_(start),
      clock_(clock),
      least_lead_ns_(
          std::max<std::int64_t>(20'000, clock != nullptr ? 4 * clock->round_trip_ns() : 0)),
      lead_ns_(least_lead_ns_) {}

void BatchRunner::learn(const TimedBatch& last) {
    const std::int64_t next = last.first_was_late ? lead_ns_ * 2 : lead_ns_ * 19 / 20;
    lead_ns_ = std::clamp(next, least_lead_ns_, 250 * least_lead_ns_);
}

std::int64_t BatchRunner::common_time() const {
    return clock_ != nullptr ? clock_->now() : now_ns();
}

std::vector<CallTimes> BatchRunner::run(Operation& operation, const Batch& batch) {
    std::vector<CallTimes> times(as_size(batch.samples));
    if (start_ == Start::deadline)
        run_at_deadlines(operation, batch, times);
    else
        run_after_barriers(operation, batch, times);
    if (clock_ == nullptr) return times;
    for (CallTimes& call : times) {
        call.begin_ns = clock_->from_local(call.begin_ns);
        call.end_ns = clock_->from_local(call.end_ns);
    }
    return times;
}

void BatchRunner::run_at_deadlines(Operation& operation, const Batch& batch,
                                   std::vector<CallTimes>& times) {
    // Runs before the deadline is set, because it may take longer than the lead.
    std::int64_t before_ns = time_of(batch.before_call);
    world_->barrier();
    std::int64_t deadline = from_rank0(*world_, common_time() + lead_ns_);
    if (clock_ != nullptr) deadline = clock_->to_local(deadline);
    for (CallTimes& call : times) {
        if (&call != &times.front()) before_ns = time_of(batch.before_call);
        std::int64_t begin = now_ns();
        const std::int64_t first_look = begin;
        while (begin < deadline) begin = now_ns();
        const bool late = is_late(first_look, begin, deadline, batch.gap_ns);
        operation.run();
        call = {begin, now_ns(), late, before_ns};
        call.device_ns = operation.device_ns().value_or(0);
        deadline += batch.gap_ns;
    }
}

void BatchRunner::run_after_barriers(Operation& operation, const Batch& batch,
                                     std::vector<CallTimes>& times) {
    for (CallTimes& call : times) {
        call.before_ns = time_of(batch.before_call);
        world_->barrier();
        call.begin_ns = now_ns();
        for (std::int64_t i = 0; i < batch.calls_of_sample; ++i) operation.run();
        call.end_ns = now_ns();
        call.late = false;
        call.device_ns = operation.device_ns().value_or(0);
    }
}

TimedBatch gather_batch(World& world, Start start, const std::vector<CallTimes>& mine,
                        std::int64_t calls_of_sample) {
    const std::size_t calls = mine.size();
    const std::size_t ranks = as_size(world.size());
    std::vector<CallTimes> all(calls * ranks);
    world.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));

    TimedBatch batch;
    std::vector<std::int64_t> before;
    for (std::size_t call = 0; call < calls; ++call) {
        std::int64_t first_begin = INT64_MAX, last_begin = INT64_MIN, last_end = INT64_MIN,
                     longest = 0;
        std::size_t last = 0;
        bool late = false;
        std::int64_t longest_before = 0, longest_on_device = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const CallTimes& times = all[rank * calls + call];
            first_begin = std::min(first_begin, times.begin_ns);
            last_begin = std::max(last_begin, times.begin_ns);
            longest = std::max(longest, times.end_ns - times.begin_ns);
            if (times.end_ns > last_end) last = rank;
            last_end = std::max(last_end, times.end_ns);
            late = late || times.late;
            longest_before = std::max(longest_before, times.before_ns);
            longest_on_device = std::max(longest_on_device, times.device_ns);
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
        if (start == Start::back_to_back) took = (last_end - first_begin) / calls_of_sample;
        batch.samples_ns.push_back(took);
        if (longest_on_device > 0) batch.device_ns.push_back(longest_on_device);
        if (common_clock) batch.skews_ns.push_back(last_begin - first_begin);
        ++batch.stragglers[Rank{static_cast<int>(last)}];
    }
    if (!before.empty()) batch.before_ns = ninth_decile(std::move(before));
    return batch;
}

void StartGap::learn(const TimedBatch& batch) {
    if (!batch.samples_ns.empty()) {
        const std::int64_t needed = ninth_decile(batch.samples_ns) + batch.before_ns;
        ns_ = std::max(needed + needed / 4 + margin_ns_, ns_ * 19 / 20);
    } else {
        // No call began on time
        ns_ = std::min(ns_ + ns_ / 2 + margin_ns_, std::max(ns_, most_ns_));
    }
    const std::int64_t calls = std::ssize(batch.samples_ns) + batch.n_invalid;
    if (batch.n_invalid * 5 > calls)
        margin_ns_ = std::min<std::int64_t>(margin_ns_ * 3 / 2, 1'000'000);
}

}  // namespace tutti
