// SPDX-License-Identifier: Apache-2.0
#include "results/stored/stored_runs.hpp"

#include <gtest/gtest.h>

#include "tests/results/samples.hpp"

namespace tutti {
namespace {

// A file of launches with one point each.
Results results_of(const std::vector<std::int64_t>& medians) {
    Results results;
    for (const std::int64_t median : medians) {
        const std::string id = "s" + std::to_string(results.sessions.size());
        Session session{.id = id, .t = "2026-01-31T12:00:00.000Z"};
        session.tool = {.version = "0.1.0", .git = "abc", .build_type = "Release"};
        session.plan = {{"sync", "auto"}, {"budget", id}};
        results.sessions.push_back(session);
        Launch launch{.session = id, .nranks = 4, .ppn = 4};
        launch.hosts = {{.name = "h", .cpu_model = "EPYC", .cores = 8}};
        launch.env = {{"UCX_TLS", "shm"}, {"SLURM_JOB_ID", id}};
        results.launches.push_back(launch);
        Point point = sample_point();
        point.session = id;
        point.launch = 1;
        point.time.p50 = median;
        results.points.push_back(point);
    }
    return results;
}

const std::string metric =
    "all_reduce 1K float sum host ring[512] (shm), 4 ranks on 2 hosts, scatter";

std::vector<std::string> names_of(const std::vector<FieldThatDiffers>& fields) {
    std::vector<std::string> names;
    for (const FieldThatDiffers& one : fields) names.push_back(one.field);
    return names;
}

TEST(StoredRuns, LaunchesAreTheSamples) {
    const StoredRuns runs = stored_runs(results_of({1000, 1300, 1100}));
    EXPECT_EQ(runs.launches, 3);
    ASSERT_EQ(runs.order, std::vector<std::string>{metric});
    EXPECT_EQ(runs.metrics.at(metric).ns, (std::vector<double>{1000, 1300, 1100}));
    EXPECT_EQ(runs.metrics.at(metric).median_ns(), 1100);
    EXPECT_EQ(in_words(runs), "3 launches of tutti 0.1.0 (abc), 2026-01-31T12:00:00.000Z");
}

TEST(StoredRuns, ARunThatWasResumedIsOneLaunch) {
    Results results = results_of({1000, 1300});
    results.points[1].key.bytes = {2048};
    results.sessions[1].resume_of = "s0";
    EXPECT_EQ(stored_runs(results).launches, 1);
}

TEST(StoredRuns, WrongResultsAndSkipsAreNamed) {
    Results results = results_of({1000, 1300});
    results.points[0].measured.check = {.state = CheckState::fail, .n_wrong = 3};
    results.points[1].skipped = "no";
    const StoredRuns runs = stored_runs(results);
    EXPECT_EQ(runs.wrong, std::vector<std::string>{"3 wrong elements in " + metric});
    EXPECT_EQ(runs.skipped.at(metric), "no");
    EXPECT_EQ(runs.launches, 1);
}

TEST(StoredRuns, AreComparedByWhatBothHave) {
    Results more = results_of({1500, 1500, 1500, 1500, 1500});
    Point other = more.points[0];
    other.key.bytes = {2048};
    more.points.push_back(other);
    const StoredComparison compared =
        compare_stored(stored_runs(results_of({1000, 1000, 1000, 1000, 1000, 1001})),
                       stored_runs(more), {}, {"cores: A has 4, B has 8"});
    ASSERT_EQ(compared.verdicts.size(), 1U);
    const VerdictRecord& verdict = compared.verdicts[0];
    EXPECT_EQ(verdict.verdict, Change::slower);
    EXPECT_EQ(verdict.method, Pairing::stored);
    EXPECT_EQ(verdict.nranks, 4);
    EXPECT_EQ(verdict.ignored.size(), 1U);
    EXPECT_NEAR(verdict.ratio, 1.5, 1e-12);
    EXPECT_EQ(compared.pairs.size(), 6U);
    EXPECT_EQ(compared.pairs[5].seen.b_ns, 0);
    const std::map<std::string, std::string> only_b{
        {"all_reduce 2K float sum host ring[512] (shm), 4 ranks on 2 hosts, scatter",
         "only B measured it"}};
    EXPECT_EQ(compared.missing, only_b);
}

TrainingStep step_in(const std::string& session, std::int64_t median) {
    TrainingStep step;
    step.session = session;
    step.key = {.workload = "ddp", .model = "mlp", .settings = "scale=0.1", .method = "ring/shm"};
    step.step.p50 = median;
    return step;
}

// Points that take twice as long in B, steps that take eight times as long.
TEST(StoredRuns, HaveStepsAndAMeanOfAll) {
    Results a = results_of({1000, 1010, 990, 1020, 980});
    Results b = results_of({2000, 2020, 1980, 2040, 1960});
    for (int launch = 0; launch < 5; ++launch) {
        a.steps.push_back(step_in("s" + std::to_string(launch), 500));
        b.steps.push_back(step_in("s" + std::to_string(launch), 4000));
    }
    const StoredComparison compared = compare_stored(stored_runs(a), stored_runs(b), {}, {});
    ASSERT_EQ(compared.verdicts.size(), 3U);
    EXPECT_EQ(compared.verdicts[1].metric, "ddp mlp scale=0.1 ring/shm, 1 rank");
    EXPECT_EQ(compared.verdicts[1].verdict, Change::slower);
    EXPECT_NEAR(compared.verdicts[1].ratio, 8, 1e-12);
    EXPECT_EQ(compared.verdicts[2].metric, "geometric mean");
    EXPECT_EQ(compared.verdicts[2].verdict, Change::slower);
    EXPECT_NEAR(compared.verdicts[2].ratio, 4, 1e-12);
    b.steps.pop_back();  // one launch has not measured all
    EXPECT_EQ(compare_stored(stored_runs(a), stored_runs(b), {}, {}).verdicts.size(), 2U);
}

// A training run goes on from what its first part had written last.
TEST(StoredRuns, AStepThatWasResumedIsOneSample) {
    Results results = results_of({1000, 1300, 1100});
    results.sessions[1].resume_of = "s0";
    for (const auto& [session, median] : {std::pair{"s0", 500}, {"s1", 510}, {"s2", 700}})
        results.steps.push_back(step_in(session, median));
    results.steps[0].is_partial = true;
    const StoredRuns runs = stored_runs(results);
    EXPECT_EQ(runs.launches, 2);
    EXPECT_EQ(runs.metrics.at("ddp mlp scale=0.1 ring/shm, 1 rank").ns,
              (std::vector<double>{510, 700}));
    EXPECT_EQ(runs.metrics.at(metric).ns, (std::vector<double>{1300, 1100}));
}

TEST(Fingerprints, OfLaunchesAlikeAreEqual) {
    const Fingerprint one = fingerprint_of(results_of({1000, 1300}));
    EXPECT_TRUE(differences(one, fingerprint_of(results_of({7}))).empty());
    EXPECT_EQ(one.at("nranks"), std::set<std::string>{"4"});
    EXPECT_FALSE(one.contains("SLURM_JOB_ID"));
}

TEST(Fingerprints, NameEachFieldThatDiffers) {
    Results other = results_of({1000});
    other.sessions[0].tool.version = "0.2.0";  // versions may differ
    other.sessions[0].tool.build_type = "Debug";
    other.sessions[0].plan["sync"] = "barrier";
    Launch& launch = other.launches[0];
    launch.nranks = 2;
    launch.hosts[0].cpu_model = "Xeon";
    launch.mpi = Library{.vendor = "Open MPI", .version = "5.0.0"};
    launch.env = {{"UCX_NET_DEVICES", "lo"}};
    const auto fields = differences(fingerprint_of(results_of({1000})), fingerprint_of(other));
    EXPECT_EQ(names_of(fields),
              (std::vector<std::string>{"UCX_NET_DEVICES", "UCX_TLS", "build_type", "cpu_model",
                                        "mpi", "nranks", "sync"}));
    EXPECT_EQ(fields[0].a, "-");
    EXPECT_EQ(fields[0].b, "lo");
    EXPECT_EQ(fields[3].a, "EPYC");
    EXPECT_EQ(fields[3].b, "Xeon");
}

// Though both files hold the same: a metric would be made of unlike launches.
TEST(Fingerprints, LaunchesOfAFileMustBeAlike) {
    Results results = results_of({1000, 1300});
    results.launches[1].nranks = 8;
    const Fingerprint both = fingerprint_of(results);
    const auto fields = differences(both, both);
    EXPECT_EQ(names_of(fields), std::vector<std::string>{"nranks"});
    EXPECT_EQ(fields[0].a, "4 and 8");
    results.points.pop_back();  // a launch that measured nothing does not count
    EXPECT_TRUE(differences(fingerprint_of(results), fingerprint_of(results)).empty());
}

}  // namespace
}  // namespace tutti
