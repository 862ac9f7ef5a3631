// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "base/json_writer.hpp"
#include "results/stored/by_launch.hpp"
#include "results/summary/selection.hpp"
#include "results/summary/summary_json.hpp"
#include "results/summary/trust.hpp"
#include "tests/results/samples.hpp"

namespace tutti {
namespace {

Point timed(const std::string& algorithm, std::int64_t median, std::int64_t half = 1) {
    Point point = sample_point();
    point.key.placement.clear();
    point.key.inplace = false;
    point.key.nranks = point.key.ppn = 4;
    point.key.configuration = {.impl = "tutti", .algorithm = algorithm, .transport = "shm"};
    if (algorithm == "mpi") point.key.configuration = {.impl = "mpi"};
    point.limit_ns.reset();
    point.measured.n_invalid = 0;
    point.time = {.n = 100, .p50 = median, .ci95_lo = median - half, .ci95_hi = median + half};
    return point;
}

/// Launches of four ranks on four cores, one after the other, each of which measures some points.
struct Launches {
    Results results;

    Launch& add(std::vector<Point> points, End end = {}) {
        const std::string id = "s" + std::to_string(results.launches.size());
        results.sessions.push_back({.id = id});
        Launch& launch =
            results.launches.emplace_back(Launch{.session = id, .nranks = 4, .ppn = 4});
        launch.hosts = {{.name = "h", .cores = 4, .loadavg1 = 0.1}};
        for (Point& point : points) {
            point.session = id;
            point.launch = 1;
            results.points.push_back(point);
        }
        end.session = id;
        results.ends.push_back(end);
        return launch;
    }

    std::vector<Note> notes() const {
        const auto launches = by_launch(results);
        std::vector<const Point*> points;
        for (const Results& launch : launches)
            for (const Point& point : launch.points) points.push_back(&point);
        const Ranking ranking{points};
        std::vector<const RankedCell*> cells;
        for (const RankedSize& size : ranking.sizes())
            for (const RankedCell& cell : size.cells) cells.push_back(&cell);
        return Trust{launches}.notes(points, cells);
    }
    std::set<std::string> marks() const {
        std::set<std::string> marks;
        for (const Note& note : notes()) marks.insert(note.mark);
        return marks;
    }
    Reliable reliability() const {
        const auto all = notes();
        return tutti::reliability(all);
    }
    Json summary() const {
        std::ostringstream out;
        write_summary(out, results, {{"s0", "a.jsonl"}});
        return Json::parse(out.str());
    }
};

using Marks = std::set<std::string>;

TEST(Trust, NamesWhatDisturbsALaunch) {
    const auto marks_of = [](Point point, auto change) {
        Launches launches;
        Launch& launch = launches.add({std::move(point)});
        change(launch, launches.results.points.back());
        Marks marks = launches.marks();
        EXPECT_EQ(marks.erase("one launch"), 1u);
        return marks;
    };
    const Point quiet = timed("ring", 1000);
    const auto nothing = [](Launch&, Point&) {};
    EXPECT_EQ(marks_of(quiet, nothing), Marks{});
    EXPECT_EQ(marks_of(quiet, [](Launch& launch, Point&) { launch.hosts[0].loadavg1 = 3.9; }),
              Marks{"load before start"});
    EXPECT_EQ(marks_of(quiet, [](Launch& launch, Point&) { launch.nranks = 8; }),
              Marks{"oversubscribed"});
    EXPECT_EQ(marks_of(quiet, [](Launch& launch, Point&) { launch.hosts[0].cgroup_cpus = 0.5; }),
              Marks{"oversubscribed"});
    EXPECT_EQ(marks_of(quiet, [](Launch&, Point& point) { point.measured.start = Start::barrier; }),
              Marks{"disturbed"});
    EXPECT_EQ(marks_of(quiet, [](Launch&, Point& point) { point.measured.n_invalid = 101; }),
              Marks{"disturbed"});
    EXPECT_EQ(marks_of(quiet, [](Launch&, Point& point) { point.key.placement = "virtual ranks"; }),
              Marks{"virtual ranks"});
    EXPECT_EQ(
        marks_of(quiet, [](Launch& launch, Point&) { launch.gpus = {{.model = "simulated GPU"}}; }),
        Marks{"simulated GPU"});
    EXPECT_EQ(marks_of(quiet, [](Launch&, Point& point) { point.limit_ns = 1780; }),
              Marks{"lower bound invalid"});
    EXPECT_EQ(marks_of(quiet, [](Launch&, Point& point) { point.time.n = 5; }),
              Marks{"too few calls"});
    EXPECT_EQ(marks_of(timed("ring", 1000, 300), nothing), Marks{"wide intervals"});
}

TEST(Trust, OfPointsWithFewCallsIsDisturbedWhereOthersHadNoneOnTime) {
    Point few = timed("ring", 1000), none = timed("tree", 1000);
    few.time.n = 2;
    none.skipped = "no call began on time on all ranks; use --sync barrier";
    Launches launches;
    launches.add({few, none});
    EXPECT_TRUE(launches.marks().contains("disturbed"));
}

TEST(Trust, SubtractsTheLoadOfOwnLaunchesJustBefore) {
    const auto is_said = [](double load, const std::string& began) {
        Launches launches;
        launches.add({timed("ring", 100)}, {.wall_ns = 10'000'000'000}).t =
            "2026-01-31T12:00:00.000Z";
        Launch& second = launches.add({timed("ring", 100)});
        second.t = began;
        second.hosts[0].loadavg1 = load;
        return launches.marks().contains("load before start");
    };
    EXPECT_FALSE(is_said(6.9, "2026-01-31T12:00:11.000Z"));  // 4 of it are its own
    EXPECT_TRUE(is_said(7.1, "2026-01-31T12:00:11.000Z"));
    EXPECT_TRUE(is_said(6.9, "2026-01-31T12:02:10.100Z"));  // that of long ago is gone
    EXPECT_TRUE(is_said(6.9, "2026-01-31T12:00:09.000Z"));  // the other one has not ended
    EXPECT_TRUE(is_said(6.9, "no time"));
}

TEST(Trust, NamesTheRangeOfAHostsTroubleOverTheLaunches) {
    Launches launches;
    for (const double percent : {95.7, 88.9, 3.8, 3.4}) {
        HostHealth health{"h", {}};
        health.add("cpu_stall_pct", percent);
        launches.add({timed("ring", 100)}, {.health = {health}});
    }
    const Note note = launches.notes().front();
    EXPECT_EQ(note.mark, "host problem");
    EXPECT_EQ(note.leaves, Reliable::nothing);
    for (const char* const part : {"89 to 96 %", "2 of 4 launches", "launches 3, 4"})
        EXPECT_TRUE(holds(note.text, part));
}

TEST(Trust, TakesALimitForInvalidOnlyIfAllLaunchesBeatIt) {
    const auto marks_of = [](double first, double second) {
        Launches launches;
        for (const double limit : {first, second}) {
            Point point = timed("ring", 150);
            point.limit_ns = limit;
            launches.add({point});
        }
        return launches.marks();
    };
    EXPECT_EQ(marks_of(171, 171), Marks{"lower bound invalid"});
    EXPECT_EQ(marks_of(171, 32), Marks{"lower bound varies"});
    EXPECT_EQ(marks_of(33, 32), Marks{});
}

TEST(Trust, LeavesReliableWhatItCan) {
    Launches launches;
    launches.add({timed("ring", 100)});
    EXPECT_EQ(launches.reliability(), Reliable::ranking);  // one launch
    launches.add({timed("ring", 100)});
    EXPECT_EQ(launches.reliability(), Reliable::all);
    EXPECT_TRUE(launches.summary()["verdict"].get<std::string>().starts_with("reliable ("));
    launches.results.launches[1].nranks = 8;
    EXPECT_EQ(launches.reliability(), Reliable::nothing);
    launches.results.points[1].measured.check.state = CheckState::fail;
    EXPECT_EQ(launches.summary()["notes"][0]["mark"], "WRONG RESULTS");
}

TEST(Summary, NeverMergesLaunchesOfDifferentSetups) {
    const auto tables_of = [](auto change) {
        Launches launches;
        launches.add({timed("ring", 100)});
        change(launches.add({timed("ring", 100)}));
        for (Launch& launch : launches.results.launches)
            if (!launch.mpi) launch.mpi = Library{.vendor = "Open MPI", .version = "4.1.4"};
        return launches.summary();
    };
    const Json same = tables_of([](Launch& launch) {
        launch.env["SLURM_JOB_ID"] = "7";
        launch.ucx = Library{.version = "1.13"};  // the other launch does not have it
    });
    EXPECT_EQ(same["tables"].size(), 1u);
    EXPECT_TRUE(same["setups"].empty());
    for (const Json& other :
         {tables_of(
              [](Launch& launch) { launch.mpi = Library{.vendor = "MPICH", .version = "4"}; }),
          tables_of([](Launch& launch) { launch.env["OMPI_MCA_btl"] = "tcp"; })}) {
        ASSERT_EQ(other["tables"].size(), 2u);
        EXPECT_EQ(other["tables"][1]["setup"].get<std::string>().substr(0, 8), "setup B:");
        EXPECT_EQ(other["setups"].size(), 1u);
    }
}

TEST(Summary, GivesAMachineOneLetterForAllNumbersOfRanks) {
    Launches launches;
    for (const int nranks : {2, 4})
        for (const std::string cpu : {"Xeon", "EPYC"}) {
            Point point = timed("ring", 100);
            point.key.nranks = nranks;
            Launch& launch = launches.add({point});
            launch.hosts[0].cpu_model = cpu;
            launch.env["OMPI_MCA_rmaps"] = cpu + std::to_string(nranks);
        }
    const Json summary = launches.summary();
    std::vector<std::string> setups;
    for (const Json& table : summary["tables"]) setups.push_back(table["setup"]);
    const std::vector<std::string> expected{"setup A: Xeon, 4 cores", "setup B: EPYC, 4 cores"};
    EXPECT_EQ(setups,
              (std::vector<std::string>{expected[0], expected[1], expected[0], expected[1]}));
    const Json& environment = summary["setups"][1];
    EXPECT_EQ(environment["fact"], "environment: OMPI_MCA_rmaps");
    EXPECT_EQ(environment["values"].dump(), R"([["A","Xeon2; Xeon4"],["B","EPYC2; EPYC4"]])");
}

TEST(Summary, CutsALongNameBetweenLetters) {
    Launches launches;
    for (const std::string cpu : {"Xeon", "x"}) {
        Launch& launch = launches.add({timed("ring", 100)});
        launch.hosts[0].cpu_model = cpu;
        for (int i = 0; cpu == "x" && i < 100; ++i) launch.hosts[0].cpu_model += "\u00e9";
    }
    const std::string name = launches.summary()["tables"][1]["setup"];
    EXPECT_TRUE(name.ends_with("\u00e9...")) << name;
    EXPECT_EQ(name.size(), 119U);
}

TEST(Summary, TakesAResumedRunForOneLaunch) {
    Launches launches;
    Point wrong = timed("tree", 100);
    wrong.measured.check.state = CheckState::fail;
    launches.add({timed("ring", 100), wrong});
    launches.add({timed("tree", 130), timed("mpi", 300)});
    launches.results.sessions[1].resume_of = "s0";
    const Json summary = launches.summary();
    EXPECT_EQ(summary["launches"].size(), 1u);
    EXPECT_EQ(summary["points"].size(), 3u);
    ASSERT_EQ(summary["tables"].size(), 1u);
    EXPECT_EQ(summary["tables"][0]["sizes"][0]["cells"].size(), 3u);
    const Json& ratio = summary["tables"][0]["sizes"][0]["cells"][0]["over_library"]["value"];
    EXPECT_NEAR(ratio.get<double>(), 3, 1e-9);
}

TEST(Summary, HasTheMedianTimeOfEachLevelOverTheLaunches) {
    Launches launches;
    for (const std::int64_t ns : {10, 40, 20}) {
        Point point = timed("levels", 100);
        point.levels = {{.within = Level::host, .bytes = 8, .messages = 2, .ns = ns}, {}};
        launches.add({point});
    }
    launches.add({timed("levels", 100)});  // an older version wrote it
    const Json cell = launches.summary()["tables"][0]["sizes"][0]["cells"][0];
    EXPECT_EQ(cell["levels"], Json::parse(R"([
        {"within": "host", "bytes": 8, "messages": 2, "ns": 20.0},
        {"bytes": 0, "messages": 0, "ns": null}])"));
}

TEST(Selection, TakesCandidatesAndSizes) {
    EXPECT_EQ(parse_size_range("4K..1M").last, Bytes{1 << 20});
    EXPECT_EQ(parse_size_range("..4K").first, Bytes{0});
    EXPECT_THROW(parse_size_range("4Q"), Error);
    const auto left = [](const Selection& selection) {
        Launches launches;
        launches.add({timed("ring", 100), timed("tree", 100), timed("mpi", 100)});
        select(launches.results, selection);
        return launches.results.points.size();
    };
    EXPECT_EQ(left({}), 3u);
    EXPECT_EQ(left({.candidates = {"ring/shm", "mpi"}, .sizes = {}}), 2u);
    EXPECT_EQ(left({.candidates = {"shm"}, .sizes = {{{1024}, {1024}}}}), 2u);
    EXPECT_THROW(left({.candidates = {}, .sizes = {{{8}, {512}}}}), Error);
}

}  // namespace
}  // namespace tutti
