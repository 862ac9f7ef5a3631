// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/model_json.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/autotune/model_call.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

CostModel some_model() {
    ModelParameters known;
    known.machine = {.fingerprint = "0123abc", .cores = 2};
    known.machine.tuning.stage_piece = Bytes{32 << 10};
    known.ranks = {2, 4};
    known.date = "2026-01-31T12:00:00.000Z";
    LogGpParameters tariff = LogGpParameters::uniform(0.1, 1.0 / 3, 1e-7, 12345.678);
    tariff.ns[LogGpParameters::link] = 2;  // written as a whole number
    known.within["shm-direct/unregistered oversubscribed"] = tariff;
    known.across["mpi/registered"] = LogGpParameters{};
    return CostModel(known);
}

std::string refusal_of(const std::string& text) {
    return thrown_by([&] { model_from_json(text, "model.json"); }).text;
}

std::string with(std::string text, const std::string& old, const std::string& other) {
    const auto at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), other);
}

TEST(ModelJson, IsReadAndWritten) {
    const CostModel model = some_model();
    EXPECT_EQ(model_from_json(to_json(model), "text").parameters(), model.parameters());
}

// No two values are the same: a round trip would survive a swap, as writer and reader share it.
TEST(ModelJson, HasEachValueUnderItsName) {
    ModelParameters known = some_model().parameters();
    known.machine.tuning = {.stream_from = {101},
                            .adapts_stores = false,
                            .ll_up_to = {102},
                            .ll_up_to_unregistered = {103},
                            .fetch_from = {104},
                            .fetch_all_reduce_from = {105},
                            .stage_piece = {106}};
    LogGpParameters costs;
    std::iota(costs.ns.begin(), costs.ns.end(), 1.);
    known.within = {{"shm-direct/registered", costs}};
    known.across = {{"mpi/registered", costs}};
    using nlohmann::json;
    const json model = json::parse(to_json(CostModel(known)));
    EXPECT_EQ(model.at("cores"), 2);
    EXPECT_EQ(model.at("ranks"), json({2, 4}));
    EXPECT_EQ(model.at("tuning"), json::parse(R"({"stream_from":101,"adapts_stores":false,
        "lines_up_to":102,"lines_up_to_ordinary":103,"fetch_from":104,"fetch_all_reduce_from":105,
        "stage_piece":106})"));
    EXPECT_EQ(model.at("within"), json::parse(R"({"shm-direct/registered":{"call":1.0,"step":2.0,
        "turn":3.0,"link":4.0,"message":[5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0,13.0],
        "send":[14.0,15.0,16.0,17.0,18.0],"copy":[19.0,20.0,21.0,22.0,23.0],
        "reduce":[24.0,25.0,26.0,27.0,28.0],"add":[29.0,30.0,31.0,32.0,33.0],
        "write":[34.0,35.0,36.0,37.0,38.0],"own":[39.0,40.0,41.0,42.0,43.0],
        "pack":[44.0,45.0,46.0,47.0,48.0]}})"));
    EXPECT_TRUE(model.at("across").contains("mpi/registered"));
}

TEST(ModelJson, ReadsFilesThatStillHaveOldNames) {
    const CostModel model = some_model();
    const std::string old = with(to_json(model), "shm-direct/unregistered oversubscribed",
                                 "shm-direct/ordinary crowded");
    EXPECT_EQ(model_from_json(old, "text").parameters(), model.parameters());
}

TEST(ModelJson, KnowsTheHostThatSeveralAreLike) {
    ModelParameters known = some_model().parameters();
    known.machine.host = "fed";
    EXPECT_EQ(model_from_json(to_json(CostModel(known)), "text").parameters(), known);
}

TEST(ModelJson, RefusesDamagedTextWithItsLine) {
    const std::string good = to_json(some_model());
    ASSERT_EQ(refusal_of(good), "");
    const struct {
        std::string text, reason;
    } cases[] = {
        {"", "model.json:1: "},
        {"[]", "not an object"},
        {with(good, "\"v\": 1", "\"v\": 2"), "model.json:2: "},
        {with(good, "cost_model", "limits"), "cost model"},
        {with(good, "\"cores\": 2", "\"cores\": 0"), "model.json:6: 'cores'"},
        {with(good, "\"cores\": 2", "\"cores\": \"2\""), "'cores'"},
        {with(good, "\"cores\": 2", R"("cores": 2, "links": 0)"), "'links'"},
        {with(good, "\"date\"", "\"data\""), "field 'date'"},
        {with(good, "\"step\": 0.1", "\"step\": -0.1"), ".step' is not a number"},
        {with(good, "\"step\": 0.1", "\"step\": \"0.1\""), ".step' is not a number"},
        {with(good, "16777216", "16777217"), "curves"},
        {with(good, "\"call\"", "\"fall\""), "field 'call'"},
        {with(good, "\"stage_piece\": 32768", "\"stage_piece\": 0"), "pieces of 0 bytes"},
    };
    for (const auto& [text, reason] : cases) {
        const std::string refusal = refusal_of(text);
        EXPECT_TRUE(holds(refusal, reason));
        EXPECT_EQ(refusal.find('\n'), refusal.npos) << refusal;
    }
}

TEST(ModelJson, RefusesWhateverIsCutOff) {
    const std::string good = to_json(some_model());
    for (std::size_t length = 0; length + 1 < good.size(); length += 7)
        EXPECT_EQ(refusal_of(good.substr(0, length)).find("model.json:"), 0u) << length;
}

class ModelFile : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tutti-model-" + std::to_string(::getpid()));
};

TEST_F(ModelFile, IsStoredAsAWhole) {
    const auto path = folder_ / "new" / "model.json";
    keep_model(some_model(), path);
    EXPECT_EQ(read_model(path).parameters(), some_model().parameters());
    const auto files = std::distance(std::filesystem::directory_iterator(path.parent_path()), {});
    EXPECT_EQ(files, 1);  // no temporary file is left
}

TEST_F(ModelFile, SaysWhatIsWrong) {
    EXPECT_THROW(read_model(folder_ / "absent.json"), Error);
    EXPECT_THROW(read_model(folder_), Error);
    std::ofstream(folder_ / "file") << "x";
    EXPECT_THROW(read_model(folder_ / "file"), Error);
    EXPECT_THROW(keep_model(some_model(), folder_ / "file" / "model.json"), Error);
}

TEST_F(ModelFile, HasAPlaceForEachMachine) {
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
    EXPECT_EQ(model_path("abc"), folder_ / "tutti" / "model-abc.json");
}

TEST(ModelFileMerge, AddsWhatOtherRanksHaveShown) {
    ModelParameters two = some_model().parameters(), four = two;
    two.ranks = {2};
    two.within = {{"mpi/unregistered", LogGpParameters::uniform(1, 1, 1, 1)},
                  {"mpi/registered", LogGpParameters::uniform(2, 2, 2, 2)}};
    four.ranks = {4};
    four.within = {{"mpi/registered", LogGpParameters::uniform(3, 3, 3, 3)}};
    const ModelParameters all = merged(CostModel(two), CostModel(four)).parameters();
    EXPECT_EQ(all.ranks, (std::vector<int>{2, 4}));
    EXPECT_EQ(all.within.at("mpi/unregistered"), LogGpParameters::uniform(1, 1, 1, 1));
    EXPECT_EQ(all.within.at("mpi/registered"), LogGpParameters::uniform(3, 3, 3, 3));

    two.machine.cores = 64;
    EXPECT_EQ(merged(CostModel(two), CostModel(four)).parameters(), four);
}

}  // namespace
}  // namespace tutti
