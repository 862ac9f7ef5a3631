// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/measure.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "results/statistics/statistics.hpp"
#include "workloads/timing/batch.hpp"
#include "workloads/timing/batch_counters.hpp"
#include "workloads/timing/done_by_all.hpp"
#include "workloads/timing/stopping_rule.hpp"
#include "workloads/timing/timeline.hpp"

namespace tutti {
namespace {

constexpr std::int64_t least_ns_of_call = 500;       // in a sample of several: limits their number
constexpr std::int64_t most_calls_of_warm_up = 200;  // unless more were asked for
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t settling_calls = 2;     // not timed, after another trial's batch
constexpr std::int64_t calls_after_sleep = 8;  // nor these, after another job's block

Start chosen_start(const World& world, const Trial& trial, const Protocol& protocol) {
    using Sync = Protocol::Sync;
    if (protocol.sync == Sync::deadline) return Start::deadline;
    const bool one_clock = world.one_host() || protocol.clock != nullptr;
    const bool may_repeat = one_clock && !trial.before_call;
    if (protocol.sync == Sync::back_to_back && may_repeat) return Start::back_to_back;
    if (protocol.sync != Sync::automatic) return Start::barrier;
    if (world.oversubscribed)
        return world.one_host() && may_repeat ? Start::back_to_back : Start::barrier;
    return one_clock ? Start::deadline : Start::barrier;
}

TimeFrom time_from(Start start) {
    switch (start) {
        case Start::deadline:
            return TimeFrom::last_arrival;
        case Start::back_to_back:
            return TimeFrom::first_arrival;
        default:
            return TimeFrom::max_local;
    }
}

// Runs one trial's calls at a point.
class TrialRunner {
public:
    TrialRunner(World& world, Trial& trial, const Protocol& protocol)
        : world_(world),
          trial_(trial),
          protocol_(protocol),
          batch_ns_(static_cast<std::int64_t>(protocol.batch_seconds * 1e9)),
          clock_(world.one_host() ? nullptr : protocol.clock),
          batches_(world, chosen_start(world, trial, protocol), clock_),
          network_bytes_(world),
          energy_(world, protocol.meters) {
        restart(batches_.start());
    }

    bool is_done() const { return is_done_; }
    Measured take() { return std::move(measured_); }

    // Checks the first call, then calls until times are stable, for a first estimate.
    void warm_up() {
        prepare(2 * protocol_.seed);
        world_.barrier();
        const std::int64_t began = now_ns();
        trial_.operation->run();
        call_ns_ = slowest(now_ns() - began);
        check(2 * protocol_.seed);
        std::int64_t spent_ns = 0;
        const auto wanted = [&] {
            if (measured_.n_warm < protocol_.warm_up_calls)
                return protocol_.warm_up_calls - measured_.n_warm;
            if (protocol_.warm_up_calls == 0 || measured_.n_warm >= most_calls_of_warm_up)
                return std::int64_t{0};
            return std::max<std::int64_t>((protocol_.warm_up_ns - spent_ns) / call_ns_, 0);
        };
        while (const std::int64_t left = wanted()) {
            // In pieces of at most a second, so that the ranks meet now and then. Without a gap,
            // because deadlines make no sense before a first guess.
            const std::int64_t calls = std::min(
                {left, std::max<std::int64_t>(second_ns / call_ns_, 1), std::int64_t{100}});
            const auto times = batches_.run(*trial_.operation,
                                            {.samples = calls, .before_call = trial_.before_call});
            measured_.n_warm += calls;
            call_ns_ = slowest((times.back().end_ns - times.front().begin_ns) / calls);
            spent_ns += call_ns_ * calls;
        }
        ++measured_.n_warm;
        sample_ns_ = call_ns_;
        gap_.guess(call_ns_);
        if (batches_.start() == Start::back_to_back) {
            measured_.calls_of_sample = chosen_calls_of_sample();
            sample_ns_ = call_ns_ * measured_.calls_of_sample;
            begin_rule();
        }
        rule_.add({}, 0, seconds_of(spent_ns));
    }

    // Measures a batch. The one after the rule has finished is checked, and is the last.
    void next_batch() { batch_of(rule_.finished(), settling_calls); }

    // Measures a block of a job that measures in turns. Returns zeros without samples.
    BlockTime block() {
        const TimedBatch batch = batch_of(false, calls_after_sleep);
        if (batch.samples_ns.empty()) return {};
        const std::int64_t calls = trial_.calls_of_run;
        return {.median_ns = median(batch.samples_ns) / calls,
                .midmean_ns = midmean(batch.samples_ns) / static_cast<double>(calls)};
    }

    // Measures when each step of a call ends, for such a job.
    std::vector<std::int64_t> step_ends() {
        constexpr std::int64_t most_calls = 100;  // each has its own barrier
        return step_ends_of(
            world_, *trial_.operation,
            {.timed = std::clamp<std::int64_t>(batch_ns_ / call_ns_, 1, most_calls)},
            trial_.before_call);
    }

    // Runs the last, checked call of a job that measures in turns.
    Measured end() {
        batch_of(true, settling_calls);
        measured_.samples.clear();
        return std::move(measured_);
    }

    // Returns whether most deadlines are missed because other programs use the cores.
    bool comes_too_late() const {
        return protocol_.sync == Protocol::Sync::automatic && has_deadlines() &&
               (rule_.attempts() >= 30 || is_done_) && rule_.invalid() * 2 > rule_.attempts();
    }

    bool has_deadlines() const { return batches_.start() == Start::deadline; }

    // Returns whether clocks of several hosts differ by more than a tenth of a sample.
    bool clocks_are_too_far_apart() const {
        return protocol_.sync != Protocol::Sync::deadline && compares_clocks() &&
               clock_->residual_ns() * 10 > sample_ns_;
    }

    // Returns whether times are differences between the clocks of several hosts.
    bool compares_clocks() const { return clock_ != nullptr && batches_.start() != Start::barrier; }

    // Changes how calls start; samples with another start are not comparable and dropped.
    void restart(Start start) {
        batches_ = BatchRunner(world_, start, clock_);
        const Measured former = std::exchange(measured_, {});
        measured_.start = start;
        measured_.from = time_from(start);
        measured_.n_warm = former.n_warm + rule_.attempts();
        measured_.check = former.check;
        is_done_ = false;
        begin_rule();
        skews_.clear();
        device_ns_.clear();
        network_bytes_.forget();
        energy_.forget();
    }

private:
    static double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

    void begin_rule() {
        rule_ = StoppingRule({.target_ci = protocol_.target_ci,
                              .max_seconds = protocol_.max_seconds,
                              .min_samples = protocol_.min_samples,
                              .max_samples = protocol_.max_samples,
                              .fixed_samples = protocol_.fixed_samples,
                              .reserved = last_call_counts() ? 1 : 0});
    }

    TimedBatch batch_of(bool last, std::int64_t calls_to_settle) {
        std::int64_t calls_of_sample = measured_.calls_of_sample;
        std::int64_t samples = std::clamp<std::int64_t>(batch_ns_ / call_ns_ / calls_of_sample, 1,
                                                        protocol_.most_calls_of_batch);
        samples = std::min(samples, rule_.wanted());
        // In place, the second call has another input than the check expects.
        if (last && !trial_.keeps_input) samples = calls_of_sample = 1;
        const std::int64_t calls = samples * calls_of_sample;
        const std::uint64_t seed = 2 * protocol_.seed + 1;
        if (last) prepare(seed);
        if (trial_.disturbance != nullptr) trial_.disturbance->begin();
        const bool may_settle = trial_.keeps_input || !last;
        for (std::int64_t i = 0; may_settle && call_ns_ < batch_ns_ && i < calls_to_settle; ++i) {
            if (i == 0) world_.barrier();
            trial_.operation->run();
        }
        energy_.begin(calls * call_ns_);
        network_bytes_.begin();
        const std::int64_t began = now_ns();
        const auto times = batches_.run(*trial_.operation, {.samples = samples,
                                                            .calls_of_sample = calls_of_sample,
                                                            .gap_ns = gap_.ns(),
                                                            .before_call = trial_.before_call});
        const std::int64_t mine = now_ns() - began;
        network_bytes_.end(calls);
        energy_.end(calls * trial_.calls_of_run);
        if (trial_.disturbance != nullptr) trial_.disturbance->end();
        TimedBatch batch;
        if (!last || last_call_counts())
            batch = gather_batch(world_, batches_.start(), times, calls_of_sample);
        // Includes the wait for the start, which on an oversubscribed machine is longer than the
        // call.
        const std::int64_t took = slowest(mine);
        call_ns_ = std::max<std::int64_t>(took / calls, 1);
        if (!last || last_call_counts()) collect(batch, calls_of_sample);
        rule_.add(batch.samples_ns, batch.n_invalid, seconds_of(took));
        if (last) {
            check(seed);
            if (rule_.is_complete()) finish();
        }
        return batch;
    }

    // Estimates the time of a call from runs of several calls, because a single call includes the
    // wait for its start. Short runs still contain much of that wait, so the runs go on until their
    // time per call no longer falls. A disturbed run changes nothing.
    std::int64_t chosen_calls_of_sample() {
        constexpr int most_runs = 5;
        const std::int64_t most = protocol_.sample_ns / least_ns_of_call;
        std::int64_t calls = 0;
        for (int run = 0; run < most_runs && calls < most; ++run) {
            const std::int64_t before = call_ns_;
            calls = std::clamp<std::int64_t>(protocol_.sample_ns / before, 4, most);
            const auto times = batches_.run(*trial_.operation, {.calls_of_sample = calls});
            measured_.n_warm += calls;
            call_ns_ = std::min(before, slowest((times[0].end_ns - times[0].begin_ns) / calls));
            if (run > 0 && 2 * call_ns_ > before) break;
        }
        return std::clamp<std::int64_t>(protocol_.sample_ns / call_ns_, 1, most);
    }

    // In place, the checked call at the end is a single one, so it is no sample of several.
    bool last_call_counts() const { return trial_.keeps_input || measured_.calls_of_sample == 1; }

    std::int64_t slowest(std::int64_t mine_ns) {
        const auto all = gather_all(world_, mine_ns);
        return std::max<std::int64_t>(*std::max_element(all.begin(), all.end()), 1);
    }

    void prepare(std::uint64_t seed) {
        if (trial_.prepare) done_by_all(world_, [&] { trial_.prepare(seed); });
    }

    void check(std::uint64_t seed) {
        if (!trial_.count_wrong) return;
        std::int64_t mine = 0, wrong = 0;
        done_by_all(world_, [&] { mine = trial_.count_wrong(seed); });
        for (const auto of_rank : gather_all(world_, mine)) wrong += of_rank;
        measured_.check.n_wrong += wrong;
        measured_.check.state = measured_.check.n_wrong == 0 ? CheckState::ok : CheckState::fail;
    }

    void collect(const TimedBatch& batch, std::int64_t calls_of_sample) {
        gap_.learn(batch);
        batches_.learn(batch);
        if (!batch.samples_ns.empty()) sample_ns_ = median(batch.samples_ns) * calls_of_sample;
        if (compares_clocks())
            measured_.clock_residual_ns =
                std::max(measured_.clock_residual_ns, clock_->residual_ns());
        device_ns_.insert(device_ns_.end(), batch.device_ns.begin(), batch.device_ns.end());
        skews_.insert(skews_.end(), batch.skews_ns.begin(), batch.skews_ns.end());
        for (const auto& [rank, times] : batch.stragglers) measured_.stragglers[rank] += times;
    }

    void finish() {
        auto& samples = measured_.samples = rule_.samples();
        measured_.n_invalid = rule_.invalid();
        measured_.stop_reason = rule_.reason();
        if (protocol_.fixed_samples > 0) {
            samples.resize(std::min(samples.size(), as_size(protocol_.fixed_samples)));
        } else {
            const auto cold = static_cast<std::int64_t>(warm_prefix(samples));
            samples.erase(samples.begin(), samples.begin() + cold);
            measured_.n_warm += cold;
        }
        if (!skews_.empty()) measured_.skew_p50_ns = median(skews_);
        if (!device_ns_.empty()) measured_.device_p50_ns = median(device_ns_);
        // Until here, samples are times of a run of the operation.
        for (std::int64_t& sample : samples) sample /= trial_.calls_of_run;
        measured_.calls_of_sample *= trial_.calls_of_run;
        measured_.network_bytes = network_bytes_.busiest();
        energy_.put_into(measured_);
        is_done_ = true;
    }

    World& world_;
    Trial& trial_;
    const Protocol& protocol_;
    const std::int64_t batch_ns_;  // intended length of a batch
    GlobalClock* clock_;           // for several hosts
    BatchRunner batches_;
    NetworkByteCounter network_bytes_;
    EnergyCounter energy_;
    StartGap gap_;
    StoppingRule rule_;
    Measured measured_;
    std::vector<std::int64_t> skews_, device_ns_;
    std::int64_t call_ns_ = 1;    // with the wait for its start; a guess at first
    std::int64_t sample_ns_ = 1;  // median of the last batch with samples
    bool is_done_ = false;
};

}  // namespace

std::vector<Measured> measure(World& world, std::vector<Trial>& trials, const Protocol& protocol) {
    std::vector<TrialRunner> runners;
    for (Trial& trial : trials) runners.emplace_back(world, trial, protocol);
    for (TrialRunner& runner : runners) runner.warm_up();
    const auto start_all_at_a_barrier = [&] {  // times by different starts are not comparable
        for (TrialRunner& runner : runners) runner.restart(Start::barrier);
    };

    // Every second round runs backwards, so that each trial meets the drift of the machine from
    // both sides (A B | B A).
    std::mt19937_64 random(protocol.seed);  // the same on all ranks
    std::vector<std::size_t> order(runners.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto is_done = [](const TrialRunner& runner) { return runner.is_done(); };
    for (long round = 0; !std::all_of(runners.begin(), runners.end(), is_done); ++round) {
        if (std::ranges::any_of(runners, &TrialRunner::compares_clocks)) protocol.clock->refresh();
        if (std::ranges::any_of(runners, &TrialRunner::clocks_are_too_far_apart))
            start_all_at_a_barrier();
        if (round % 2 == 1)
            std::reverse(order.begin(), order.end());
        else if (protocol.shuffle)
            std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order)
            if (!runners[i].is_done()) runners[i].next_batch();
        if (std::ranges::any_of(runners, &TrialRunner::comes_too_late)) start_all_at_a_barrier();
    }
    std::vector<Measured> all;
    for (TrialRunner& runner : runners) all.push_back(runner.take());
    return all;
}

MeasuredInTurns measure_in_turns(World& world, Trial& trial, const Protocol& protocol,
                                 Turns& turns) {
    Protocol endless = protocol;  // the other side decides when it ends
    // The other side would not see that this one's clocks have come too far apart.
    if (protocol.sync == Protocol::Sync::back_to_back && !world.one_host()) endless.clock = nullptr;
    endless.target_ci = 0;
    endless.max_seconds = 1e9;
    endless.fixed_samples = 0;
    endless.max_samples = std::int64_t{1} << 40;
    TrialRunner runner(world, trial, endless);
    runner.warm_up();
    Turn turn = turns.warm();
    while (turn == Turn::go_on || turn == Turn::go_on_by_steps) {
        if (runner.compares_clocks()) protocol.clock->refresh();
        turn = turn == Turn::go_on ? turns.block(runner.block()) : turns.steps(runner.step_ends());
    }
    return {runner.end(), turn};
}

}  // namespace tutti
