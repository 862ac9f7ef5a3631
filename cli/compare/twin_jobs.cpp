// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "cli/compare/launches.hpp"
#include "cli/jobs/job.hpp"
#include "results/comparison/quad_loop.hpp"
#include "results/comparison/step_rounds.hpp"
#include "workloads/timing/connection.hpp"
#include "workloads/timing/turn_message.hpp"

namespace tutti {
namespace {

constexpr int quads_of_memory = 2;  // one of each order

std::string random_key() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

// Passes the key in the environment: all users of a machine can read command lines.
Command with_turns(Command command, const std::string& address, const std::string& key,
                   const TemporaryFolder& temporary) {
    if (command.is_of_this_host) command.environment.try_emplace("TMPDIR", temporary.path());
    command.words.insert(command.words.end(), {"--turns", address});
    command.environment["TUTTI_TURNS_KEY"] = key;
    return command;
}

// One of the two jobs, as seen by this process.
class TwinJob {
public:
    TwinJob(const char* name, const Command& command, const std::string& address)
        : name_(name),
          key_(random_key()),
          command_(with_turns(command, address, key_, temporary_)),
          child_(command_) {}

    const char* name() const { return name_; }
    const std::string& key() const { return key_; }
    bool has_started() const { return connection_.has_value(); }
    bool renews() const { return renews_; }
    bool may_use_barriers() const { return may_use_barriers_; }
    bool sends_midmeans() const { return sends_midmeans_; }
    void meet(Connection connection, const TurnMessage& started) {
        connection_.emplace(std::move(connection));
        renews_ = started.renews;
        may_use_barriers_ = started.may_use_barriers;
        sends_midmeans_ = started.sends_midmeans;
    }
    std::optional<int> exit_code() { return child_.wait(0); }  ///< nothing while it runs

    /// Gives the job a turn. Returns the message with which it waits again; nothing if it has ended
    /// successfully.
    std::optional<TurnMessage> let(Turn turn, double seconds, LaunchOfBoth& seen) {
        try {
            connection_->send(name_of(turn));
            while (const auto line = connection_->receive(seconds)) {
                const TurnMessage message = turn_message_of(*line);
                if (message.waits()) return message;
                if (message.news == TurnNews::skipped)
                    seen.missing[metric_of(message)] = fmt::format("{}: {}", name_, message.reason);
                else if (message.n_wrong > 0)
                    seen.wrong.push_back(
                        fmt::format("{}: {} wrong elements in {}", name_, message.n_wrong, now_));
            }
        } catch (const Error& error) {
            const auto code = child_.wait(1);
            fail(fmt::format("failed at {}: {}", now_.empty() ? "startup" : now_, error.what()),
                 code.value_or(static_cast<int>(error.code())));
        }
        end(seconds);
        return std::nullopt;
    }

    /// Sets what it measures now, for reports.
    void is_at(const std::string& metric) { now_ = metric; }

    static std::string metric_of(const TurnMessage& message) {
        return message.call + " " + message.candidate +
               (message.place.empty() ? "" : ", " + message.place);
    }

    [[noreturn]] void fail(const std::string& what, int code) const {
        throw Error(fmt::format("{} {}: {}", name_, what, child_.last_words()),
                    exit_of_child(code, Exit::not_comparable));
    }

private:
    void end(double seconds) {
        const auto code = child_.wait(seconds);
        if (!code) fail("does not end", 4);
        if (*code != 0) fail(fmt::format("ended with {}", *code), *code);
    }

    const char* name_;
    std::string key_;
    // Gives each job a TMPDIR of its own. Open MPI keeps one folder there for all jobs of a user,
    // which the last job removes: of jobs that start and end at the same time, one could lose its
    // files.
    TemporaryFolder temporary_;
    Command command_;
    Child child_;
    std::optional<Connection> connection_;
    bool renews_ = false, may_use_barriers_ = false, sends_midmeans_ = false;
    std::string now_;
};

class TwinLaunch {
public:
    TwinLaunch(const TwinJobs& jobs, const WantedMetrics& wanted, bool by_steps)
        : jobs_(jobs), wanted_(wanted), by_steps_(by_steps), listener_(jobs.listen) {
        // The job that starts first may get the better memory, so the order is random.
        const bool a_first = std::random_device()() % 2 == 0;
        const auto start = [&](std::unique_ptr<TwinJob>& job, const char* name,
                               const Command& command) {
            job = std::make_unique<TwinJob>(name, command, listener_.address());
            in_order_.push_back(job.get());
        };
        if (a_first) start(a_job_, "A", jobs.a);
        start(b_job_, "B", jobs.b);
        if (!a_first) start(a_job_, "A", jobs.a);
    }

    LaunchOfBoth run() {
        meet_both();
        std::optional<TurnMessage> from_a, from_b;
        const auto let_both = [&](Turn turn) {
            for (TwinJob* job : in_order_)
                (job == a_job_.get() ? from_a : from_b) =
                    job->let(turn, jobs_.silence_seconds, seen_);
        };
        let_both(Turn::go_on);
        start_seconds_ = seconds_since(began_ns_);
        while (from_a && from_b) {
            if (from_a->trial != from_b->trial) {  // only one of the jobs can run this
                const bool is_a = from_a->trial < from_b->trial;
                skip(is_a ? *a_job_ : *b_job_, is_a ? from_a : from_b);
                continue;
            }
            if (from_a->call != from_b->call)
                throw Error(fmt::format("A measures {} while B measures {}; use the same sizes and "
                                        "the same number of candidates for both",
                                        TwinJob::metric_of(*from_a), TwinJob::metric_of(*from_b)),
                            Exit::not_comparable);
            std::string metric = name_of_metric(*from_a, *from_b);
            if (const int same = ++named_[metric]; same > 1) metric += fmt::format(" ({})", same);
            const bool is_wanted = wanted_.contain(metric);
            if (is_wanted) measure(metric);
            let_both(is_wanted ? Turn::stop : Turn::skip);
        }
        while (from_a) skip(*a_job_, from_a);
        while (from_b) skip(*b_job_, from_b);
        return std::move(seen_);
    }

private:
    // Names a metric as metric_of(key) does, by both candidates or places if they differ on
    // purpose.
    static std::string name_of_metric(TurnMessage a, TurnMessage b) {
        if (a.place.empty()) a.place = b.place;
        if (b.place.empty()) b.place = a.place;
        if (a.place != b.place)
            return fmt::format("{} -> {}, {}", TwinJob::metric_of(a), b.candidate, b.place);
        if (a.candidate != b.candidate) a.candidate += " -> " + b.candidate;
        return TwinJob::metric_of(a);
    }

    void meet_both() {
        AwakeTime waited;
        while (!a_job_->has_started() || !b_job_->has_started()) {
            if (auto connection = listener_.accept(0.1)) admit(std::move(*connection));
            for (TwinJob* job : in_order_) {
                if (job->has_started()) continue;
                if (const auto code = job->exit_code())
                    job->fail("ended before the first measurement", *code);
                if (waited.look_seconds() > jobs_.start_seconds) job->fail("does not start", 4);
            }
        }
    }

    // Accepts only connections that send the key of a job.
    void admit(Connection connection) {
        try {
            const auto line = connection.receive(1);  // a job sends its first message at once
            if (!line) return;
            const TurnMessage message = turn_message_of(*line);
            for (TwinJob* job : in_order_)
                if (message.key == job->key() && !job->has_started())
                    return job->meet(std::move(connection), message);
        } catch (const Error&) {
        }
    }

    // Skips a metric that only one of the jobs can run.
    void skip(TwinJob& job, std::optional<TurnMessage>& at) {
        seen_.missing.emplace(TwinJob::metric_of(*at),
                              fmt::format("only {} can run it", job.name()));
        at = job.let(Turn::skip, jobs_.silence_seconds, seen_);
    }

    // Measures blocks in turns, between the start and the end of a trial.
    void measure(const std::string& metric) {
        seen_.order.push_back(metric);
        for (TwinJob* job : in_order_) job->is_at(metric);
        warm_both(Turn::go_on);
        const bool is_a_first = in_order_.front() == a_job_.get();
        std::vector<Quad> quads;
        StepRounds rounds;
        QuadLoop loop(enough_quads(), is_a_first ? Side::a : Side::b);
        bool uses_barriers = !a_job_->may_use_barriers() || !b_job_->may_use_barriers();
        while (loop.goes_on()) {
            if (!uses_barriers && is_mostly_late(quads)) {
                fmt::print(stderr,
                           "tutti: most calls of {} came too late for their deadlines; in this "
                           "launch they start at a barrier\n",
                           metric);
                uses_barriers = true;
                warm_both(Turn::start_at_barriers);
                quads.clear();
            }
            const bool is_of_new_memory = loop.done() > 0 && loop.done() % quads_of_memory == 0;
            if (is_of_new_memory && a_job_->renews() && b_job_->renews()) warm_both(Turn::renew);
            if (by_steps_)
                rounds.add(loop.quad([&](Side side) { return step_block_of(job(side)); }));
            else
                quads.push_back(loop.quad([&](Side side) { return block_of(job(side)); }));
        }
        if (by_steps_) return keep_steps(metric, rounds);
        if (const auto summary = summary_of(quads))
            seen_.metrics[metric] = *summary;
        else
            seen_.missing[metric] = "no block has a call that started on time; use --sync barrier";
    }

    void warm_both(Turn turn) {
        for (TwinJob* job : in_order_)
            expect(*job, job->let(turn, jobs_.silence_seconds, seen_), TurnNews::warm);
    }

    // Returns whether most quads have a block without any call on time.
    static bool is_mostly_late(const std::vector<Quad>& quads) {
        constexpr std::size_t least = 4;
        const auto late =
            std::ranges::count_if(quads, [](const Quad& quad) { return !summary_of({quad}); });
        return quads.size() >= least && as_size(late) * 2 > quads.size();
    }

    EnoughQuads enough_quads() const {
        const bool has_share = wanted_.number > 0 && !by_steps_;
        return {.exactly = jobs_.quads,
                .seconds = has_share ? start_seconds_ / static_cast<double>(wanted_.number) : 0};
    }

    TwinJob& job(Side side) { return side == Side::a ? *a_job_ : *b_job_; }

    void keep_steps(const std::string& metric, const StepRounds& rounds) {
        if (auto times = rounds.times(); times && times->a_ns.size() > 1)
            seen_.steps[metric] = std::move(*times);
        else
            seen_.missing[metric] =
                times ? "its steps cannot be observed" : "A and B have different numbers of steps";
    }

    double block_of(TwinJob& job) {
        const auto message = job.let(Turn::go_on, jobs_.silence_seconds, seen_);
        expect(job, message, TurnNews::block);
        const bool have_midmeans = a_job_->sends_midmeans() && b_job_->sends_midmeans();
        return have_midmeans ? message->midmean_ns : static_cast<double>(message->ns);
    }

    std::vector<std::int64_t> step_block_of(TwinJob& job) {
        const auto message = job.let(Turn::go_on_by_steps, jobs_.silence_seconds, seen_);
        expect(job, message, TurnNews::steps);
        return message->ends_ns;
    }

    static void expect(TwinJob& job, const std::optional<TurnMessage>& message, TurnNews news) {
        if (!message || message->news != news)
            job.fail(fmt::format("did not send '{}'", name_of(news)), 3);
    }

    const TwinJobs& jobs_;
    const WantedMetrics& wanted_;
    bool by_steps_;
    std::int64_t began_ns_ = now_ns();
    Listener listener_;
    std::unique_ptr<TwinJob> a_job_, b_job_;
    std::vector<TwinJob*> in_order_;  ///< in order of their start
    LaunchOfBoth seen_;
    std::map<std::string, int> named_;
    double start_seconds_ = 0;  ///< until both were ready for the first metric
};

}  // namespace

std::map<std::string, std::string> environment_of_twins() {
    return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
            {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
            {"OMPI_MCA_hwloc_base_binding_policy", "none"},
            {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
            {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
}

LaunchOfBoth TwinJobs::operator()(const WantedMetrics& wanted) const {
    return TwinLaunch(*this, wanted, false).run();
}

LaunchOfBoth TwinJobs::by_steps(const WantedMetrics& wanted) const {
    return TwinLaunch(*this, wanted, true).run();
}

}  // namespace tutti
