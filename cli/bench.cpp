// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <numeric>
#include <span>

#include "autotune/tuner/calibration.hpp"
#include "base/clock.hpp"
#include "cli/choosers.hpp"
#include "cli/limits_choice.hpp"
#include "cli/model_choice.hpp"
#include "cli/options/bench_options.hpp"
#include "cli/prepare.hpp"
#include "cli/progress_bar.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/failures.hpp"
#include "cli/ranks/guardian.hpp"
#include "cli/ranks/watchdog.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "results/csv.hpp"
#include "results/store.hpp"
#include "results/text_table.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

// Rank 0's voice: table, records, progress. On other ranks everything is silent.
class Output {
public:
    Output(const BenchOptions& options, const Arguments& arguments, bool speaks)
        : options_(options),
          speaks_(speaks),
          session_(describe_session("bench", arguments, options.as_understood,
                                    options.sweep.protocol.seed)),
          began_ns_(now_ns()) {
        if (!speaks_) return;
        if (!options.json_file.empty()) store_ = std::make_unique<Store>(options.json_file);
        if (!options.csv_file.empty()) open_csv();
    }

    const std::string& session() const { return session_.id; }
    const std::unique_ptr<Store>& store() const { return store_; }

    void begin(const Launch& launch, std::vector<std::string> notes, std::size_t goal,
               bool predicts) {
        if (!speaks_) return;
        bar_ = std::make_unique<ProgressBar>(goal);
        if (store_) store_->append(session_);
        if (store_) announce_session(session_.id);
        if (store_) store_->append(launch);
        notes.insert(notes.begin() + 1,
                     fmt::format("{} {}", session_.argv[0],
                                 fmt::join(session_.argv.begin() + 1, session_.argv.end(), " ")));
        columns_ = {.wire = launch.hosts.size() > 1, .predicted = predicts};
        fmt::print("{}", table_header(notes, columns_));
        std::fflush(stdout);
    }

    void compare_with(Limits limits) {
        limits.session = session_.id;
        if (store_) store_->append(limits);
    }

    void now(const std::string& what) {
        if (speaks_) bar_->show(what);
    }

    // Points come candidate by candidate out of place, then again in place, kind by kind of
    // buffers.
    void add(std::vector<Point> points) {
        for (Point& point : points) {
            point.session = session_.id;
            if (!options_.keep_samples) point.measured.samples.clear();
            if (store_) store_->append(point);
            point.measured.samples.clear();  // the table needs them no more
        }
        any_wrong_ =
            any_wrong_ || std::any_of(points.begin(), points.end(), [](const Point& point) {
                return point.measured.check.state == CheckState::fail;
            });
        if (speaks_) {
            bar_->clear();
            print_rows(points);
            bar_->step();
        }
        all_.insert(all_.end(), points.begin(), points.end());
    }

    Exit end() {
        const bool nothing = std::all_of(
            all_.begin(), all_.end(), [](const Point& point) { return point.skipped.has_value(); });
        const Exit code = any_wrong_ ? Exit::wrong_result : nothing ? Exit::usage : Exit::ok;
        if (!speaks_) return code;
        bar_->clear();
        fmt::print("{}", table_footer(all_));
        std::fflush(stdout);
        if (store_) store_->append(End{session_.id, 1, !any_wrong_, now_ns() - began_ns_});
        if (csv_.is_open()) close_csv();
        if (nothing)
            fmt::print(stderr, "tutti: nothing was measured: the lines '# skipped' say why\n");
        return code;
    }

private:
    void open_csv() {
        csv_.open(options_.csv_file, std::ios::trunc);
        if (!csv_)
            throw Error("cannot write '" + options_.csv_file + "'; type another file behind --csv");
    }

    void close_csv() {
        write_csv(csv_, all_);
        csv_.close();
        if (!csv_)
            throw Error("'" + options_.csv_file +
                        "' could not be written to its end: is the disk full?");
    }

    void print_rows(const std::vector<Point>& points) const {
        const auto& kinds = options_.sweep.buffers;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (kinds.size() > 1) fmt::print("# {} buffers\n", name_of(kinds[i]));
            const std::size_t of_kind = points.size() / kinds.size();
            print_block(std::span(points).subspan(i * of_kind, of_kind));
        }
        if (kinds.empty()) print_block(points);
        std::fflush(stdout);
    }

    bool asks_for_segments() const {
        return options_.search_space.values_of(knobs.front()) !=
               SearchSpace{}.values_of(knobs.front());
    }

    // Of one kind of buffers.
    void print_block(std::span<const Point> points) const {
        const std::size_t placements = options_.sweep.in_place.size();
        const std::size_t candidates = points.size() / placements;
        for (std::size_t i = 0; i < candidates; ++i) {
            TableRow row;
            if (asks_for_segments()) row.segment = SegmentInName::shown;
            for (std::size_t placement = 0; placement < placements; ++placement) {
                const Point& point = points[placement * candidates + i];
                (point.key.inplace ? row.in_place : row.out_of_place) = &point;
            }
            fmt::print("{}", table_row(row, columns_));
        }
    }

    const BenchOptions& options_;
    bool speaks_;
    Session session_;
    std::int64_t began_ns_;
    std::unique_ptr<Store> store_;
    std::ofstream csv_;
    std::unique_ptr<ProgressBar> bar_;
    std::vector<Point> all_;
    bool any_wrong_ = false;
    TableColumns columns_;
};

// Collective, as transports are opened. What rank 0 found stands for all.
void tell_details(const SearchSpace& search_space, Planner& planner, Launch& launch,
                  std::vector<std::string>& notes) {
    for (const std::string& name : search_space.transports) {
        const std::string details = planner.details(name);
        if (details.empty()) continue;
        notes.push_back(fmt::format("transport {}: {}", name, details));
        if (name == "ucx")
            launch.ucx = Library{
                .vendor = "UCX", .version = ucx_version(), .settings = {{"found", details}}};
    }
}

// How the table is to be read.
std::vector<std::string> reading_notes(const BenchOptions& options, const World& world) {
    std::vector<std::string> notes;
    notes.push_back(std::string("time: median over calls of the slowest rank; ") +
                    (options.sweep.input == InputState::rewritten
                         ? "each rank rewrites its input before each call, outside of the time"
                         : "input is not rewritten between calls, so what fits the caches is read "
                           "from them (as in OSU and nccl-tests)"));
    if (options.sweep.protocol.sync == Protocol::Sync::automatic)
        notes.push_back(!world.oversubscribed
                            ? "calls start at a common deadline; rows that would miss most of "
                              "them, at a barrier"
                        : world.one_host() && options.sweep.input == InputState::untouched
                            ? "more ranks than cores: samples are means of rows of calls"
                            : "calls start at a barrier");
    if (!world.one_host())
        notes.push_back(
            "wire: bytes that the busiest host's interfaces sent or received for a call, the more "
            "of the two; headers included");
    if (world.kind() == "threads" && !options.ranks.threads)
        notes.push_back("one rank: start with mpirun -np N, or add --ranks N for N threads");
    if (options.fault) notes.push_back("injected fault: " + to_string(*options.fault));
    return notes;
}

void fit_to_ranks(Sweep& sweep, const BenchOptions& options, int ranks) {
    if (options.all_roots) {
        sweep.roots.clear();
        for (int root = 0; root < ranks; ++root) sweep.roots.push_back(Rank{root});
    }
    for (const Rank root : sweep.roots)
        if (has_root(sweep.collective) && root.index >= ranks)
            throw Error(fmt::format("root {} is not among {} ranks; type -r 0 .. {}", root.index,
                                    ranks, ranks - 1));
    for (const auto& end : {options.fault ? options.fault->from : std::nullopt,
                            options.fault ? options.fault->to : std::nullopt})
        if (end && end->index >= ranks)
            throw Error(
                fmt::format("the fault's rank {} is not among {} ranks", end->index, ranks));
}

Exit bench_on_rank(World& world, const BenchOptions& options, const Arguments& arguments) {
    Output output(options, arguments, world.is_first());
    return recording_failures(world, output.store(), output.session(), [&] {
        std::vector<std::string> limit_notes;
        const auto limits = choose_limits(world, options.limits, limit_notes);
        // From here on: limits are measured with all cores at hand.
        const int ranks_on_core = options.pin ? pin_ranks(world) : 0;
        Planner planner(world, options.fault);
        planner.tune(host_tuning(world, limits, options.stream_from));
        planner.repeat_on_devices(options.runs_on_devices);
        Launch launch = describe_launch(world, output.session());
        GlobalClock clock(world);
        if (!world.one_host()) launch.clock = clock.record();
        std::vector<std::string> notes = in_notes(launch, world);
        for (auto& note : reading_notes(options, world)) notes.push_back(std::move(note));
        if (ranks_on_core > 0) notes.push_back(in_words_of_pinning(ranks_on_core));
        for (auto& note : limit_notes) notes.push_back(std::move(note));
        Sweep sweep = options.sweep;
        sweep.limits = limits;
        SearchSpace search_space = options.search_space;
        expect_named_library(search_space, world);
        leave_out_unusable(search_space, planner, notes);
        tell_details(search_space, planner, launch, notes);
        sweep.candidates = candidates(sweep.collective, search_space);
        const Choosers choosers(world, options, notes);
        choosers.add_to(sweep.candidates);
        const auto model = choose_model(world, options.model, options.table_file, notes);
        const bool is_placed = sweep.ranks_per_node > 0 || sweep.ranks_per_island > 0;
        if (model && !is_placed) sweep.predict = predictor_of_candidates(*model, world.hosts());
        fit_to_ranks(sweep, options, world.size());
        sweep.environment = ground_of(world, search_space.orders, sweep.ranks_per_node,
                                      sweep.ranks_per_island, notes);
        sweep.protocol.clock = &clock;
        output.begin(launch, notes, points_of(sweep, world.size()), model.has_value());
        if (limits) output.compare_with(*limits);
        SweepEvents events;
        events.before_point = [&](const std::string& what) {
            say_activity(what);
            output.now(what);
        };
        events.after_point = [&](const std::vector<Point>& points) { output.add(points); };
        run_sweep(planner, sweep, events);
        choosers.end();
        return output.end();
    });
}

}  // namespace

Exit run_bench(const Arguments& arguments) {
    const auto options = parse_bench(arguments);
    if (!options) return Exit::ok;
    before_start(options->search_space);
    return run_ranks(options->ranks,
                     [&](World& world) { return bench_on_rank(world, *options, arguments); });
}

}  // namespace tutti
