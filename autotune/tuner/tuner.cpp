// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/tuner.hpp"

#include <algorithm>

#include "autotune/search/caching_evaluator.hpp"
#include "autotune/tuner/tasks.hpp"
#include "base/clock.hpp"
#include "base/index.hpp"
#include "workloads/bench/buffer_pool.hpp"

namespace tutti {
namespace {

// Writing a preliminary table takes milliseconds.
constexpr double seconds_between_preliminary = 1;

// Work of the other parts, relative to a search.
constexpr double evaluating = 10, holding_out = 0.5;

// Returns a bit for each level.
int known_levels(const Placement& placement) {
    int bits = 0;
    for (const PlacementLevel& known : placement.levels()) bits |= 1 << as_size(known.level);
    return bits;
}

// Tunes one subject.
class SubjectRun {
public:
    SubjectRun(Planner& planner, const BufferPool& pool, const TuneRequest& request,
               const TuneTask& task, const JobShape& job_shape, const std::string& session,
               const CallPredictor& predictor, const TuneEvents& events, double seconds)
        : planner_(planner),
          pool_(pool),
          request_(request),
          race_{task.subject, task.type, task.op, request.environment, request.protocol},
          session_(session),
          events_(events),
          seconds_(seconds),
          variants_(variants_of(distinct_candidates(task))),
          evaluator_(planner, pool, race_, variants_, prediction_by(predictor),
                     [this] { return is_over(); }) {
        section_.job_shape = job_shape;
        section_.subject = task.subject;
        section_.launches = {session};
    }

    void run(const std::vector<RaceLog::Entry>& earlier) {
        begin_part(1);
        report_progress(0, "");
        const auto cached = remembered(earlier);
        for (const CachedSamples& race : cached) raced_.add(race);
        CachingEvaluator evaluator(evaluator_, cached,
                                   [&](const CachedSamples& race) { keep(race); });
        const auto findings = find(evaluator);
        section_.is_complete = !evaluator.is_over();
        section_.ranges = ranges_by(findings);
        events_.section(section_);
        cost_.seconds = seconds_since(began_ns_);
        if (request_.repetitions_of_evaluation > 0) evaluate();
        report_wrong();
        if (request_.holds_out) hold_out_all();
        events_.cost(section_.subject, cost_);
    }

    double evaluation_seconds() const { return cost_.evaluation_seconds; }

private:
    // Tables name the levels of these ranks: a program that does not know them, because its ranks
    // are bound otherwise, refuses the choice instead of running another algorithm.
    std::vector<Candidate> distinct_candidates(const TuneTask& task) const {
        auto all = candidates(task.subject.collective, request_.search_space);
        for (Candidate& candidate : all)
            if (candidate.is_ours() &&
                candidate.row->takes(*std::ranges::find(knobs, "levels", &Knob::name)) &&
                candidate.configuration.levels == 0)
                candidate.configuration.levels = known_levels(request_.environment.hosts);
        // All segments differ at the largest size; the evaluator notices equal ones at smaller
        // sizes.
        const MeasuringEvaluator::Race race{
            .subject = task.subject, .type = task.type, .op = task.op};
        const Call largest = call_of(race, planner_.world().size(), request_.sizes.back());
        return distinct(all, largest, request_.environment);
    }

    MeasuringEvaluator::Prediction prediction_by(const CallPredictor& predictor) const {
        if (!predictor) return {};
        return [&predictor, buffers = race_.subject.buffers](const Configuration& configuration,
                                                             const Call& call) {
            return predictor(configuration, call, buffers);
        };
    }

    bool is_over() const { return !has_no_end_ && seconds_since(began_ns_) > seconds_; }

    const Configuration& configuration_of_arm(int arm) const {
        return at(variants_, arm).candidate.configuration;
    }

    // Keeps the order of the log, so that a resumed search reads samples as they were measured.
    std::vector<CachedSamples> remembered(const std::vector<RaceLog::Entry>& earlier) const {
        std::vector<CachedSamples> races;
        for (const RaceLog::Entry& entry : earlier) {
            if (entry.subject != section_.subject) continue;
            for (std::size_t arm = 0; arm < variants_.size(); ++arm)
                if (variants_[arm].candidate.configuration == entry.configuration)
                    races.push_back({entry.size, static_cast<int>(arm), entry.samples_ns});
        }
        return races;
    }

    void keep(const CachedSamples& race) {
        raced_.add(race);
        cost_.samples += static_cast<std::int64_t>(race.samples_ns.size());
        events_.raced(
            {section_.subject, race.size, configuration_of_arm(race.arm), race.samples_ns});
    }

    // Runs soon after the search, because other variants may win later on the same machine. Two
    // passes with separate plans, because the memory that a plan gets affects its speed.
    void evaluate() {
        const std::int64_t began = now_ns();
        CachingEvaluator evaluator(evaluator_, {}, [&](const CachedSamples& race) {
            cost_.evaluation_samples += static_cast<std::int64_t>(race.samples_ns.size());
            events_.raced({.subject = section_.subject,
                           .size = race.size,
                           .configuration = configuration_of_arm(race.arm),
                           .samples_ns = race.samples_ns,
                           .is_evaluation = true});
        });
        has_no_end_ = true;
        begin_part(evaluating);
        for (int pass = 0; pass < 2; ++pass)
            search_exhaustively(evaluator, sizes_, (request_.repetitions_of_evaluation + 1) / 2,
                                [&](const SearchProgress& now) {
                                    report_progress((pass + now.share) / 2,
                                                    "evaluated by every variant");
                                });
        has_no_end_ = false;
        cost_.evaluation_seconds = seconds_since(began);
    }

    // Merges sizes that are rounded up to the same call; the largest stays.
    std::vector<Bytes> own_sizes() const {
        std::vector<Bytes> sizes;
        for (const Bytes size : request_.sizes) {
            const int ranks = planner_.world().size();
            const Bytes real{total_bytes(call_of(race_, ranks, size), ranks)};
            if (sizes.empty() || sizes.back() < real) sizes.push_back(real);
        }
        return sizes;
    }

    std::vector<Finding> find(Evaluator& evaluator) {
        SearchOptions options = request_.search;
        options.progress = [&](const SearchProgress& now) {
            report_progress(now.share,
                            now.winner < 0 ? "" : to_string(configuration_of_arm(now.winner)));
            write_preliminary();
        };
        if (request_.repetitions_of_all > 0)
            return search_exhaustively(evaluator, sizes_, request_.repetitions_of_all,
                                       options.progress);
        return search(evaluator, sizes_, options);
    }

    // Begins a part of the work that takes about `work` times as long as the search.
    void begin_part(double work) {
        double all = 1;
        if (request_.repetitions_of_evaluation > 0) all += evaluating;
        if (request_.holds_out) all += holding_out;
        part_begin_ += part_;
        part_ = work / all;
    }

    void report_progress(double share, const std::string& now) const {
        events_.progress(section_.subject, part_begin_ + part_ * share, now);
    }

    // Puts what was measured for this subject into the table, even if the job ends early.
    void write_preliminary() {
        if (preliminary_ns_ && seconds_since(*preliminary_ns_) < seconds_between_preliminary)
            return;
        Section preliminary = section_;
        preliminary.ranges = ranges_by(raced_.findings(sizes_));
        preliminary.is_complete = false;
        events_.under_way(preliminary);
        preliminary_ns_ = now_ns();
    }

    void report_wrong() const {
        for (const int arm : evaluator_.wrong())
            events_.wrong(section_.subject, configuration_of_arm(arm));
    }

    std::vector<Range> ranges_by(const std::vector<Finding>& findings) const {
        return ranges_found(
            findings, [this](int arm) -> const Configuration& { return configuration_of_arm(arm); },
            request_.search.hysteresis);
    }

    // Uses the rest of the subject's share of the time, and half as much again.
    void hold_out_all() {
        const auto all = candidates(section_.subject.collective, request_.search_space);
        LibraryComparison comparison{
            .planner = planner_,
            .pool = pool_,
            .race = race_,
            .options = request_.hold_out,
            .sizes = sizes_,
            .first = sizes_.front(),
            .last = sizes_.back(),
            .session = session_,
            .library = library_in(all),
            .is_over =
                [this] {
                    return seconds_since(began_ns_) - cost_.evaluation_seconds > 1.5 * seconds_;
                },
            .wrong =
                [this](const Configuration& configuration) {
                    events_.wrong(section_.subject, configuration);
                },
            .progress = [this](double share) { report_progress(share, against_library); }};
        begin_part(holding_out);
        const std::int64_t began = now_ns();
        cost_.hold_out_samples = comparison.improve(section_, all);
        cost_.hold_out_seconds = seconds_since(began);
        events_.section(section_);
    }

    Planner& planner_;
    const BufferPool& pool_;
    const TuneRequest& request_;
    MeasuringEvaluator::Race race_;
    const std::string& session_;
    const TuneEvents& events_;
    double seconds_;
    std::int64_t began_ns_ = now_ns();
    std::vector<Variant> variants_;
    MeasuringEvaluator evaluator_;
    Section section_;
    std::vector<Bytes> sizes_ = own_sizes();
    RacedSamples raced_;
    std::optional<std::int64_t> preliminary_ns_;
    double part_begin_ = 0, part_ = 0;  // shares of the subject's work
    TuneCost cost_;
    bool has_no_end_ = false;
};

}  // namespace

std::vector<BufferKind> kinds_for(const TuneRequest& request, const World& world) {
    if (!request.buffers.empty()) return request.buffers;
    if (!world.one_host()) return {BufferKind::unregistered};
    return {BufferKind::registered, BufferKind::unregistered};
}

std::vector<Subject> subjects_of(const TuneRequest& request, const std::vector<BufferKind>& kinds) {
    std::vector<Subject> subjects;
    for (const TuneTask& task : tasks_of(request, kinds)) subjects.push_back(task.subject);
    return subjects;
}

void tune(Planner& planner, const TuneRequest& request, const JobShape& job_shape,
          const std::string& session, const CallPredictor& predictor,
          const std::vector<RaceLog::Entry>& earlier, const TuneEvents& events) {
    const std::int64_t began = now_ns();
    World& world = planner.world();
    const BufferPool pool(world, most_bytes(request, world.size()), kinds_for(request, world),
                          device_buffers(planner, request.search_space.transports));
    const auto tasks = shortest_first(tasks_of(request, pool.kinds()), request.search_space);
    double budget = request.budget_seconds;  // excludes evaluations
    double work_left = 0;
    for (const WeighedTask& each : tasks) work_left += each.work;
    for (const auto& [task, work] : tasks) {
        const double share = work / work_left;
        work_left -= work;
        if (from_rank0(world, events.is_done && events.is_done(task.subject))) continue;
        // The hold-out takes up to half as long as the search.
        const double all_seconds = share_of(world, began, budget, share);
        const double seconds = request.holds_out ? all_seconds / 1.5 : all_seconds;
        SubjectRun subject(planner, pool, request, task, job_shape, session, predictor, events,
                           seconds);
        subject.run(earlier);
        budget += subject.evaluation_seconds();
    }
}

}  // namespace tutti
