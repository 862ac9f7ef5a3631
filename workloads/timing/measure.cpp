// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/measure.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/clock.hpp"
#include "results/statistics.hpp"
#include "workloads/timing/batch.hpp"
#include "workloads/timing/distance.hpp"
#include "workloads/timing/network_byte_counter.hpp"

namespace tutti {
namespace {

constexpr std::int64_t batch_ns = 1'000'000;  // a batch lasts about so long
constexpr std::int64_t row_ns = 500'000;      // so does a row of calls, see Start::back_to_back
constexpr std::int64_t most_calls_of_warm_up = 200;  // but for as many as were asked for
constexpr std::int64_t most_of_row = 100;            // calls
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t calls_to_get_going = 2;  // not timed, after another trial's batch

Start chosen_start(const World& world, const Trial& trial, const Protocol& protocol) {
    using Sync = Protocol::Sync;
    if (protocol.sync == Sync::deadline) return Start::deadline;
    const bool may_row = world.one_host() && !trial.before_call;
    if (protocol.sync == Sync::row && may_row) return Start::back_to_back;
    if (protocol.sync != Sync::automatic) return Start::barrier;
    if (world.oversubscribed) return may_row ? Start::back_to_back : Start::barrier;
    return world.one_host() || protocol.clock != nullptr ? Start::deadline : Start::barrier;
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

// Of at least one.
std::int64_t middle(std::vector<std::int64_t> times) {
    const auto half = times.begin() + static_cast<long>(times.size() / 2);
    std::nth_element(times.begin(), half, times.end());
    return *half;
}

// One trial's race through a point.
class Runner {
public:
    Runner(World& world, Trial& trial, const Protocol& protocol)
        : world_(world),
          entrant_(trial),
          protocol_(protocol),
          clock_(world.one_host() ? nullptr : protocol.clock),
          starter_(world, chosen_start(world, trial, protocol), clock_),
          wire_(world) {
        begin_with(starter_.start());
    }

    bool is_done() const { return !measured_.stop_reason.empty(); }
    Measured take() { return std::move(measured_); }

    // The first call is checked; then calls until times have settled, for a first guess of them.
    void warm_up() {
        prepare(2 * protocol_.seed);
        world_.barrier();
        const std::int64_t began = now_ns();
        entrant_.operation->run();
        call_ns_ = slowest(now_ns() - began);
        check(2 * protocol_.seed);
        // Back to back: deadlines make no sense before a first guess.
        const auto wanted = [&] {
            if (measured_.n_warm < protocol_.warm_up_calls)
                return protocol_.warm_up_calls - measured_.n_warm;
            if (protocol_.warm_up_calls == 0 || measured_.n_warm >= most_calls_of_warm_up)
                return std::int64_t{0};
            return std::max<std::int64_t>((protocol_.warm_up_ns - spent_ns_) / call_ns_, 0);
        };
        while (const std::int64_t left = wanted()) {
            // In pieces of a second at most, so that the ranks meet now and then.
            const std::int64_t calls = std::min(
                {left, std::max<std::int64_t>(second_ns / call_ns_, 1), std::int64_t{100}});
            std::vector<Starter::Stamp> stamps(static_cast<std::size_t>(calls));
            starter_.run(*entrant_.operation, entrant_.before_call, 0, stamps);
            measured_.n_warm += calls;
            const std::int64_t took = stamps.back().end_ns - stamps.front().begin_ns;
            call_ns_ = slowest(took / calls);
            spent_ns_ += call_ns_ * calls;
        }
        ++measured_.n_warm;
        default_ns_ = call_ns_;
        distance_.guess(call_ns_);
        if (starter_.start() == Start::back_to_back) measured_.calls_of_sample = row_length();
        decide();
    }

    // A batch, and the decision whether it was the last but one.
    void next_batch() {
        const bool last = decided_to_stop_;
        std::int64_t row = measured_.calls_of_sample;
        std::int64_t samples =
            std::clamp<std::int64_t>(batch_ns / call_ns_ / row, 1, protocol_.most_calls_of_batch);
        samples = std::min(samples, left());
        if (last && !entrant_.keeps_input) samples = row = 1;  // the second call has other input
        const std::int64_t calls = samples * row;
        const std::uint64_t seed = 2 * protocol_.seed + 1;
        if (last) prepare(seed);
        const bool may_get_going = entrant_.keeps_input || !last;
        for (std::int64_t i = 0; may_get_going && call_ns_ < batch_ns && i < calls_to_get_going;
             ++i) {
            if (i == 0) world_.barrier();
            entrant_.operation->run();
        }
        std::vector<Starter::Stamp> stamps(static_cast<std::size_t>(samples));
        wire_.begin();
        const std::int64_t began = now_ns();
        starter_.run(*entrant_.operation, entrant_.before_call, distance_.ns(), stamps, row);
        const std::int64_t mine = now_ns() - began;
        wire_.end(calls);
        if (!last || last_one_counts())
            collect(gather_batch(world_, starter_.start(), stamps, row));
        // With the way to the start, which on a oversubscribed machine takes longer than the call.
        const std::int64_t took = slowest(mine);
        spent_ns_ += took;
        call_ns_ = std::max<std::int64_t>(took / calls, 1);
        if (!last) return decide();
        check(seed);
        if (has_enough()) finish();
    }

    // Where other work takes cores away, most deadlines are missed.
    bool comes_too_late() const {
        return protocol_.sync == Protocol::Sync::automatic && starter_.start() == Start::deadline &&
               attempts_ >= 30 && measured_.n_invalid * 2 > attempts_;
    }

    bool has_deadlines() const { return starter_.start() == Start::deadline; }

    // A time that is wrong by a tenth is none.
    bool clocks_are_too_far_apart() const {
        return protocol_.sync == Protocol::Sync::automatic && has_deadlines() &&
               clock_ != nullptr && clock_->residual_ns() * 10 > default_ns_;
    }

    // From here on calls start so; what was measured otherwise is no longer comparable.
    void begin_with(Start start) {
        starter_ = Starter(world_, start, clock_);
        decided_to_stop_ = false;
        measured_.stop_reason.clear();
        measured_.start = start;
        measured_.from = time_from(start);
        measured_.calls_of_sample = 1;
        measured_.n_warm += attempts_;
        measured_.clock_residual_ns = 0;
        measured_.n_invalid = attempts_ = next_look_ = spent_ns_ = 0;
        measured_.samples.clear();
        measured_.stragglers.clear();
        skews_.clear();
        device_ns_.clear();
        wire_.forget();
    }

private:
    std::int64_t taken() const { return static_cast<std::int64_t>(measured_.samples.size()); }
    // Calls still wanted, but for one that is left for the checked batch at the end.
    std::int64_t left() const {
        const std::int64_t goal =
            protocol_.fixed_samples > 0 ? protocol_.fixed_samples : protocol_.max_samples;
        const bool leaves_one = !decided_to_stop_ && last_one_counts();
        return std::max<std::int64_t>(goal - taken() - (leaves_one ? 1 : 0), 1);
    }
    // Calls that came late do not count and are repeated, but not for ever.
    bool is_patience_over() const { return attempts_ > 4 * protocol_.fixed_samples + 100; }
    bool has_enough() const { return taken() >= protocol_.fixed_samples || is_patience_over(); }

    // By a row, as single calls take longer with the way to their start.
    std::int64_t row_length() {
        const std::int64_t calls = std::clamp<std::int64_t>(row_ns / call_ns_, 4, most_of_row);
        std::vector<Starter::Stamp> row(1);
        starter_.run(*entrant_.operation, {}, 0, row, calls);
        measured_.n_warm += calls;
        call_ns_ = slowest((row[0].end_ns - row[0].begin_ns) / calls);
        return std::clamp<std::int64_t>(row_ns / call_ns_, 1, most_of_row);
    }

    // In place the checked call at the end has no row before it, so it is no sample of one.
    bool last_one_counts() const { return entrant_.keeps_input || measured_.calls_of_sample == 1; }

    std::int64_t slowest(std::int64_t mine_ns) {
        const auto all = gather_all(world_, mine_ns);
        return std::max<std::int64_t>(*std::max_element(all.begin(), all.end()), 1);
    }

    void prepare(std::uint64_t seed) {
        if (entrant_.prepare) entrant_.prepare(seed);
    }

    void check(std::uint64_t seed) {
        if (!entrant_.count_wrong) return;
        std::int64_t wrong = 0;
        for (const auto of_rank : gather_all(world_, entrant_.count_wrong(seed))) wrong += of_rank;
        measured_.check.n_wrong += wrong;
        measured_.check.state = measured_.check.n_wrong == 0 ? CheckState::ok : CheckState::fail;
    }

    void collect(TimedBatch batch) {
        distance_.learn(batch);
        starter_.learn(batch.first_was_late);
        if (!batch.samples_ns.empty()) default_ns_ = middle(batch.samples_ns);
        measured_.samples.insert(measured_.samples.end(), batch.samples_ns.begin(),
                                 batch.samples_ns.end());
        measured_.n_invalid += batch.n_invalid;
        if (clock_ != nullptr && has_deadlines())
            measured_.clock_residual_ns =
                std::max(measured_.clock_residual_ns, clock_->residual_ns());
        device_ns_.insert(device_ns_.end(), batch.device_ns.begin(), batch.device_ns.end());
        skews_.insert(skews_.end(), batch.skews_ns.begin(), batch.skews_ns.end());
        for (const auto& [rank, times] : batch.stragglers) measured_.stragglers[rank] += times;
        attempts_ += static_cast<std::int64_t>(batch.samples_ns.size()) + batch.n_invalid;
    }

    // All ranks have the same samples and so come to the same decision.
    void decide() {
        if (protocol_.fixed_samples > 0) {
            if (taken() + (last_one_counts() ? 1 : 0) >= protocol_.fixed_samples ||
                is_patience_over())
                stop_because("fixed_n");
            return;
        }
        if (taken() >= protocol_.min_samples && taken() >= next_look_) {
            next_look_ = taken() + taken() / 4;
            if (half_width(summarise(measured_.samples)) <= protocol_.target_ci)
                return stop_because("target_ci");
        }
        if (taken() >= protocol_.max_samples) return stop_because("max_n");
        const double seconds = static_cast<double>(spent_ns_) * 1e-9;
        const bool overspent = seconds > protocol_.max_seconds ||
                               attempts_ > 4 * std::max(taken(), protocol_.min_samples) + 100;
        if (overspent) stop_because("max_time");
    }

    void stop_because(const char* reason) {
        decided_to_stop_ = true;
        reason_ = reason;
    }

    void finish() {
        auto& samples = measured_.samples;
        if (protocol_.fixed_samples > 0) {
            samples.resize(
                std::min(samples.size(), static_cast<std::size_t>(protocol_.fixed_samples)));
        } else {
            const auto cold = static_cast<std::int64_t>(warm_prefix(samples));
            samples.erase(samples.begin(), samples.begin() + cold);
            measured_.n_warm += cold;
        }
        if (!skews_.empty()) measured_.skew_p50_ns = middle(skews_);
        if (!device_ns_.empty()) measured_.device_p50_ns = middle(device_ns_);
        // Of a run they were so far.
        for (std::int64_t& sample : samples) sample /= entrant_.calls_of_run;
        measured_.calls_of_sample *= entrant_.calls_of_run;
        measured_.wire = wire_.busiest();
        measured_.stop_reason = reason_;
    }

    World& world_;
    Trial& entrant_;
    const Protocol& protocol_;
    GlobalClock* clock_;  // of several hosts
    Starter starter_;
    NetworkByteCounter wire_;
    Distance distance_;
    Measured measured_;
    std::vector<std::int64_t> skews_, device_ns_;
    std::int64_t call_ns_ = 1;     // with the way to its start; as first guessed
    std::int64_t default_ns_ = 1;  // a call alone, in the last batch that had some in time
    std::int64_t spent_ns_ = 0;
    std::int64_t attempts_ = 0;
    std::int64_t next_look_ = 0;
    bool decided_to_stop_ = false;
    std::string reason_;
};

}  // namespace

std::vector<Measured> measure(World& world, std::vector<Trial>& trials, const Protocol& protocol) {
    std::vector<Runner> runners;
    for (Trial& trial : trials) runners.emplace_back(world, trial, protocol);
    for (Runner& runner : runners) runner.warm_up();
    const auto start_all_at_a_barrier = [&] {  // one kind of start: times would not be comparable
        for (Runner& runner : runners) runner.begin_with(Start::barrier);
    };

    // Every second round runs backwards, so that each trial meets the drift of the machine from
    // both sides (A B | B A).
    std::mt19937_64 random(protocol.seed);  // the same on all ranks
    std::vector<std::size_t> order(runners.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto is_done = [](const Runner& runner) { return runner.is_done(); };
    for (long round = 0; !std::all_of(runners.begin(), runners.end(), is_done); ++round) {
        if (protocol.clock != nullptr && std::ranges::any_of(runners, &Runner::has_deadlines))
            protocol.clock->refresh();
        if (std::ranges::any_of(runners, &Runner::clocks_are_too_far_apart))
            start_all_at_a_barrier();
        if (round % 2 == 1)
            std::reverse(order.begin(), order.end());
        else if (protocol.shuffle)
            std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order)
            if (!runners[i].is_done()) runners[i].next_batch();
        if (std::ranges::any_of(runners, &Runner::comes_too_late)) start_all_at_a_barrier();
    }
    std::vector<Measured> all;
    for (Runner& runner : runners) all.push_back(runner.take());
    return all;
}

}  // namespace tutti
