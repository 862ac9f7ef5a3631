// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "collectives/baselines/tutti_nccl.h"
#include "host.hpp"

namespace {

using nccl_host::logged;
using nlohmann::json;

constexpr int warning = 2, information = 3;
constexpr int most_algorithms = 7, protocols = 3;

// By NCCL's numbers.
constexpr std::array collectives{"broadcast", "reduce", "all_gather", "reduce_scatter",
                                 "all_reduce"};
constexpr std::array algorithm_names{"tree",      "ring", "collnet-direct", "collnet-chain", "nvls",
                                     "nvls-tree", "pat"};
constexpr std::array protocol_names{"ll", "ll128", "simple"};

struct Shape {
    int ranks, ranks_per_host;
    int hosts() const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
};
constexpr std::array shapes{Shape{2, 2}, Shape{4, 4}, Shape{8, 8}, Shape{8, 4}, Shape{7, 4}};

class RandomNumbers {
public:
    explicit RandomNumbers(unsigned seed) : random_(seed) {}
    int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
    bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }
    std::size_t size() {
        return (std::size_t{1} << below(34)) + static_cast<std::size_t>(below(1 << 12));
    }
    float cost() { return std::exponential_distribution<float>(1e-3F)(random_) + 1; }

private:
    std::mt19937 random_;
};

struct Named {
    int algorithm = -1, protocol = -1, channels = 0;
    std::string text() const {
        std::string name = algorithm_names.at(static_cast<std::size_t>(algorithm));
        if (protocol >= 0)
            name += std::string("-") + protocol_names.at(static_cast<std::size_t>(protocol));
        if (channels > 0) name += "-" + std::to_string(channels);
        return name;
    }
};

// The content of the table's JSON, so that the expected answer needs no parser.
struct RangeOfTest {
    std::int64_t from;
    std::optional<Named> choice;  // none: the library's default, or not an algorithm of NCCL
};
struct SectionOfTest {
    Shape shape;
    int collective;
    std::vector<RangeOfTest> ranges;
    std::optional<std::int64_t> least_seen;  // none: nothing was measured
    std::int64_t most_seen = 0;
};

struct TableOfTest {
    json text{{"format", "tutti-table"}, {"version", 1}, {"sections", json::array()}};
    std::vector<SectionOfTest> sections;
};

Named random_name(RandomNumbers& random) {
    return {random.below(most_algorithms), random.below(protocols + 1) - 1,
            random.chance(0.5) ? 1 + random.below(32) : 0};
}

json random_choice(RandomNumbers& random, std::optional<Named>& named) {
    switch (random.below(8)) {
        case 0:
            return {{"impl", "nccl"}};
        case 1:
            return {{"impl", "tutti"}, {"algorithm", "ring"}, {"transport", "cuda"}};
        case 2:
            return {{"impl", "nccl"}, {"algorithm", "an-algorithm-of-the-future"}};
        default:
            named = random_name(random);
            return {{"impl", "nccl"}, {"algorithm", named->text()}};
    }
}

json setting_of(const Shape& shape) {
    return {{"ranks", shape.ranks}, {"ranks_per_host", shape.ranks_per_host}, {"topology", "aabb"}};
}

void add_section(TableOfTest& table, RandomNumbers& random, const Shape& shape, int collective) {
    SectionOfTest section{shape, collective, {}};
    json ranges = json::array();
    std::int64_t from = 0;
    for (int i = 0, most = 1 + random.below(8); i < most; ++i) {
        RangeOfTest range{from, {}};
        json written{{"from", from}, {"origin", "measured"}};
        written["choice"] = random_choice(random, range.choice);
        const std::int64_t end = from + 1 + (std::int64_t{1} << random.below(30));
        for (int seen = 0; seen < random.below(3); ++seen) {
            const std::int64_t size = from + (end - from) * (seen + 1) / 4;
            const bool is_predicted = random.chance(0.2);
            written["evidence"].push_back(
                {{"size", size},
                 {"time", {{"p50", 2}, {"low", 1}, {"high", 3}, {"n", is_predicted ? 0 : 9}}}});
            if (is_predicted) continue;
            if (!section.least_seen) section.least_seen = size;
            section.most_seen = size;
        }
        ranges.push_back(written);
        section.ranges.push_back(range);
        from = end;
    }
    table.text["sections"].push_back(
        {{"setting", setting_of(shape)},
         {"subject",
          {{"collective", collectives.at(static_cast<std::size_t>(collective))},
           {"buffers", "device"}}},
         {"ranges", ranges}});
    table.sections.push_back(section);
}

// Must not be used: its buffers are on the host.
void add_section_on_host(TableOfTest& table, const Shape& shape) {
    const json evidence = {{"size", 4096},
                           {"time", {{"p50", 2}, {"low", 1}, {"high", 3}, {"n", 9}}}};
    table.text["sections"].push_back(
        {{"setting", setting_of(shape)},
         {"subject", {{"collective", "all_reduce"}, {"buffers", "registered"}}},
         {"ranges", json::array({{{"from", 0},
                                  {"origin", "measured"},
                                  {"choice", {{"impl", "nccl"}, {"algorithm", "pat"}}},
                                  {"evidence", json::array({evidence})}}})}});
}

TableOfTest random_table(RandomNumbers& random) {
    TableOfTest table;
    for (const Shape& shape : shapes) {
        for (int collective = 0; collective < static_cast<int>(collectives.size()); ++collective)
            if (random.chance(0.8)) add_section(table, random, shape, collective);
        add_section_on_host(table, shape);
    }
    return table;
}

// A linear scan.
std::optional<Named> expected_choice(const TableOfTest& table, const Shape& shape, int collective,
                                     std::size_t bytes) {
    for (const SectionOfTest& section : table.sections) {
        if (section.shape.ranks != shape.ranks || section.shape.hosts() != shape.hosts() ||
            section.collective != collective || !section.least_seen)
            continue;
        const auto size = static_cast<std::int64_t>(bytes);
        if (size < *section.least_seen / 2 || size >= 2 * section.most_seen) return {};
        std::optional<Named> found;
        for (const RangeOfTest& range : section.ranges)
            if (range.from <= size) found = range.choice;
        return found;
    }
    return {};
}

struct Costs {
    std::array<float, most_algorithms * protocols> all{};
    int algorithms = most_algorithms;

    float& at(int algorithm, int protocol) {
        return all.at(static_cast<std::size_t>(algorithm * protocols + protocol));
    }
    // NCCL takes the least cost that is not negative, algorithm by algorithm.
    Named best() {
        Named found;
        float least = 3e38F;
        for (int a = 0; a < algorithms; ++a)
            for (int p = 0; p < protocols; ++p)
                if (at(a, p) >= 0 && at(a, p) < least) {
                    least = at(a, p);
                    found = {a, p};
                }
        return found;
    }
};

Costs random_costs(RandomNumbers& random, int algorithms) {
    Costs costs{.algorithms = algorithms};
    for (float& cost : costs.all) cost = random.chance(0.3) ? -1 : random.cost();
    return costs;
}

// NCCL does not let CollNet, and NVLS on several hosts, fall back to fewer channels.
bool may_set_channels(const Named& choice, const Shape& shape) {
    return choice.algorithm != 2 && choice.algorithm != 3 &&
           (choice.algorithm != 4 || shape.hosts() == 1);
}

// The choice as NCCL makes it if the plugin asks for `named`: by its own costs where that is
// impossible.
Named expected_call(Costs costs, const std::optional<Named>& named, const Shape& shape) {
    if (!named || named->algorithm >= costs.algorithms) return costs.best();
    Costs row{.algorithms = costs.algorithms};
    row.all.fill(-1);
    for (int p = 0; p < protocols; ++p)
        if (named->protocol < 0 || named->protocol == p)
            row.at(named->algorithm, p) = costs.at(named->algorithm, p);
    Named made = row.best();
    if (made.algorithm < 0) return costs.best();
    if (may_set_channels(*named, shape)) made.channels = named->channels;
    return made;
}

// One communicator of one rank, by one version of the interface.
class TunerOfTest {
public:
    virtual ~TunerOfTest() = default;
    virtual int ask(int collective, std::size_t bytes, Costs& costs, int& channels) = 0;
};

template <int version>
class OldTuner final : public TunerOfTest {
    using Symbol = std::conditional_t<version == 3, nccl_host::TunerV3, nccl_host::TunerV4>;

public:
    explicit OldTuner(const Shape& shape)
        : tuner_(nccl_host::symbol<const Symbol>(version == 3 ? "ncclTunerPlugin_v3"
                                                              : "ncclTunerPlugin_v4")) {
        EXPECT_EQ(tuner_->init(static_cast<std::size_t>(shape.ranks),
                               static_cast<std::size_t>(shape.hosts()), nccl_host::log, &context_),
                  0);
    }
    ~OldTuner() override { EXPECT_EQ(tuner_->destroy(context_), 0); }
    int ask(int collective, std::size_t bytes, Costs& costs, int& channels) override {
        const auto table = reinterpret_cast<float**>(costs.all.data());
        if constexpr (version == 3)
            return tuner_->getCollInfo(context_, collective, bytes, 1, table, costs.algorithms,
                                       protocols, &channels);
        else
            return tuner_->getCollInfo(context_, collective, bytes, 1, table, costs.algorithms,
                                       protocols, 0, &channels);
    }

private:
    const Symbol* tuner_;
    void* context_ = nullptr;
};

template <class Symbol>
class NewTuner final : public TunerOfTest {
public:
    NewTuner(const char* name, const Shape& shape) : tuner_(nccl_host::symbol<const Symbol>(name)) {
        nccl_host::NvlDomainInfo domains{1, shape.ranks, shape.ranks};
        typename Symbol::ConstantsType constants, before;
        std::memset(&constants, 0x5a, sizeof constants);
        std::memset(&before, 0x5a, sizeof before);
        EXPECT_EQ(tuner_->init(&context_, 0xabcd, static_cast<std::size_t>(shape.ranks),
                               static_cast<std::size_t>(shape.hosts()), nccl_host::log, &domains,
                               &constants),
                  0);
        EXPECT_EQ(std::memcmp(&constants, &before, sizeof before), 0);
    }
    ~NewTuner() override { EXPECT_EQ(tuner_->finalize(context_), 0); }
    int ask(int collective, std::size_t bytes, Costs& costs, int& channels) override {
        const auto table = reinterpret_cast<float**>(costs.all.data());
        return tuner_->getCollInfo(context_, collective, bytes, 1, table, costs.algorithms,
                                   protocols, 1, &channels);
    }

private:
    const Symbol* tuner_;
    void* context_ = nullptr;
};

std::unique_ptr<TunerOfTest> tuner(int version, const Shape& shape) {
    using nccl_host::ConstantsV5, nccl_host::ConstantsV7;
    switch (version) {
        case 3:
            return std::make_unique<OldTuner<3>>(shape);
        case 4:
            return std::make_unique<OldTuner<4>>(shape);
        case 5:
            return std::make_unique<NewTuner<nccl_host::TunerV5<ConstantsV5>>>("ncclTunerPlugin_v5",
                                                                               shape);
        case 6:
            return std::make_unique<NewTuner<nccl_host::TunerV6<ConstantsV5>>>("ncclTunerPlugin_v6",
                                                                               shape);
        default:
            return std::make_unique<NewTuner<nccl_host::TunerV6<ConstantsV7>>>("ncclTunerPlugin_v7",
                                                                               shape);
    }
}

class NcclTuner : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / "tutti-nccl-XXXXXX";
        std::string name = folder_.string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        logged.clear();
        unsetenv("TUTTI_NCCL_FORCE");
        unsetenv("TUTTI_NCCL_TOPOLOGY");
        unsetenv("TUTTI_NCCL_TABLE");
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void use_table(const std::string& text) {
        const auto file = folder_ / "table.json";
        std::ofstream(file) << text;
        setenv("TUTTI_NCCL_TABLE", file.c_str(), 1);
    }

    // Asks once; returns the choice that NCCL makes of the answer.
    static Named ask(TunerOfTest& tuner, int collective, std::size_t bytes, Costs costs) {
        const Costs before = costs;
        int channels = 0;
        EXPECT_EQ(tuner.ask(collective, bytes, costs, channels), 0);
        int changed = 0;
        for (std::size_t i = 0; i < costs.all.size(); ++i) {
            changed += before.all[i] != costs.all[i];
            EXPECT_TRUE(before.all[i] >= 0 || before.all[i] == costs.all[i]) << "forbidden entry";
        }
        EXPECT_LE(changed, 1);
        Named made = costs.best();
        made.channels = channels;
        return made;
    }

    std::filesystem::path folder_;
};

void expect_same(const Named& made, const Named& expected, const std::string& what) {
    EXPECT_EQ(made.algorithm, expected.algorithm) << what;
    EXPECT_EQ(made.protocol, expected.protocol) << what;
    EXPECT_EQ(made.channels, expected.channels) << what;
}

TEST_P(NcclTuner, ChoosesWhatTheTableSaysInTenThousandQueries) {
    RandomNumbers random(static_cast<unsigned>(GetParam()));
    int by_table = 0, queries = 0;
    for (int i = 0; i < 10; ++i) {
        const TableOfTest table = random_table(random);
        use_table(table.text.dump());
        for (const Shape& shape : shapes) {
            const auto here = tuner(GetParam(), shape), on_another_rank = tuner(GetParam(), shape);
            for (int query = 0; query < 200; ++query, ++queries) {
                const int collective = random.below(5);
                const std::size_t bytes = random.size();
                // NCCL 2.22 has no PAT.
                const Costs costs = random_costs(random, GetParam() == 3 ? 6 : most_algorithms);
                const auto named = expected_choice(table, shape, collective, bytes);
                const Named made = ask(*here, collective, bytes, costs);
                expect_same(made, expected_call(costs, named, shape),
                            std::to_string(bytes) + " bytes, " + (named ? named->text() : "none"));
                expect_same(ask(*on_another_rank, collective, bytes, costs), made, "another rank");
                by_table += named.has_value();
            }
        }
    }
    EXPECT_EQ(queries, 10000);
    EXPECT_GT(by_table, 1000);
}

TEST_P(NcclTuner, LeavesCallsThatAreNoCollectivesOfTheTableToNccl) {
    RandomNumbers random(99);
    const TableOfTest table = random_table(random);
    use_table(table.text.dump());
    const auto one = tuner(GetParam(), shapes[2]);
    for (int function : {-1, 5, 6, 7, 8, 14, 1000}) {
        const Costs costs = random_costs(random, most_algorithms);
        expect_same(ask(*one, function, 4096, costs), Costs(costs).best(), "not a collective");
    }
}

TEST_P(NcclTuner, SaysWhyATableIsNotUsedInOneLine) {
    const std::string empty = R"({"format": "tutti-table", "version": 1, "sections": []})";
    RandomNumbers random(7);
    TableOfTest of_two_ranks;
    add_section(of_two_ranks, random, shapes[0], 4);
    while (!of_two_ranks.sections.back().least_seen) {
        of_two_ranks = {};
        add_section(of_two_ranks, random, shapes[0], 4);
    }
    TableOfTest of_two_topologies = of_two_ranks;
    for (json section : of_two_ranks.text["sections"]) {
        section["setting"]["topology"] = "ccdd";
        of_two_topologies.text["sections"].push_back(section);
    }
    struct Case {
        const char* key;
        Shape shape;
        std::string text;
    };
    const Case cases[] = {{"not a tuning table", shapes[0], "{}"},
                          {"table.json", shapes[0], "{\"format\": \"tutti-ta"},
                          {"no entries", shapes[0], empty},
                          {"8 ranks on 1 hosts", shapes[2], of_two_ranks.text.dump()},
                          {"topology", shapes[0], of_two_topologies.text.dump()}};
    for (const auto& [key, shape, text] : cases) {
        logged.clear();
        use_table(text);
        const auto one = tuner(GetParam(), shape);
        ASSERT_EQ(logged.size(), 1U) << key;
        EXPECT_EQ(logged[0].level, warning);
        EXPECT_EQ(logged[0].flags, 0x40UL);
        EXPECT_NE(logged[0].text.find(key), std::string::npos) << logged[0].text;
        EXPECT_EQ(logged[0].text.find('\n'), std::string::npos) << logged[0].text;
        const Costs costs = random_costs(random, most_algorithms);
        expect_same(ask(*one, 4, 4096, costs), Costs(costs).best(), key);
    }
    logged.clear();
    setenv("TUTTI_NCCL_TOPOLOGY", "cc", 1);
    tuner(GetParam(), shapes[0]);
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_EQ(logged[0].level, information);
    setenv("TUTTI_NCCL_TABLE", "/nowhere/table.json", 1);
    tuner(GetParam(), shapes[0]);
    EXPECT_EQ(logged.back().level, warning);
    unsetenv("TUTTI_NCCL_TABLE");
    tuner(GetParam(), shapes[0]);
    EXPECT_EQ(logged.back().level, information);
}

TEST_P(NcclTuner, ForcesEveryCombinationBetweenCalls) {
    auto* const force = nccl_host::symbol<tutti_nccl_force_function>("tutti_nccl_force");
    auto* const count = nccl_host::symbol<tutti_nccl_count_function>("tutti_nccl_count");
    RandomNumbers random(3);
    for (const Shape& shape : {shapes[1], shapes[3]}) {
        const auto one = tuner(GetParam(), shape);
        for (int algorithm = 0; algorithm < most_algorithms; ++algorithm)
            for (int protocol = -1; protocol < protocols; ++protocol)
                for (const int channels : {0, 1, 64}) {
                    const Named named{algorithm, protocol, channels};
                    ASSERT_EQ(force(named.text().c_str()), 0) << named.text();
                    Costs costs = random_costs(random, most_algorithms);
                    const Named expected = expected_call(costs, named, shape);
                    tutti_nccl_counts before{}, after{};
                    count(&before);
                    expect_same(ask(*one, random.below(5), random.size(), costs), expected,
                                named.text());
                    count(&after);
                    const bool can = std::ranges::any_of(std::array{0, 1, 2}, [&](int p) {
                        return (protocol < 0 || p == protocol) && costs.at(algorithm, p) >= 0;
                    });
                    EXPECT_EQ(after.chosen - before.chosen, can ? 1U : 0U);
                    EXPECT_EQ(after.refused - before.refused, can ? 0U : 1U);
                }
        for (const char* wrong : {"trees", "tree-", "tree-ll256", "ring-ll-0", "ring-ll-65",
                                  "tree/ll", "ring-ll-4-4", "nvls-tree-simple-x", "-"})
            EXPECT_EQ(force(wrong), -1) << wrong;
        const Costs costs = random_costs(random, most_algorithms);
        for (const char* end : {static_cast<const char*>(nullptr), ""}) {
            ASSERT_EQ(force("ring"), 0);
            ASSERT_EQ(force(end), 0);
            expect_same(ask(*one, 4, 4096, costs), Costs(costs).best(), "nothing is forced");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Version, NcclTuner, testing::Values(3, 4, 5, 6, 7),
                         [](const auto& version) { return "V" + std::to_string(version.param); });

TEST(NcclPlugin, LeavesTheSizeOfChunksToNccl) {
    using nccl_host::ConstantsV5, nccl_host::ConstantsV7;
    EXPECT_EQ(
        nccl_host::symbol<nccl_host::TunerV6<ConstantsV5>>("ncclTunerPlugin_v6")->getChunkSize,
        nullptr);
    EXPECT_EQ(
        nccl_host::symbol<nccl_host::TunerV6<ConstantsV7>>("ncclTunerPlugin_v7")->getChunkSize,
        nullptr);
}

TEST(NcclPlugin, LoadsNeitherMpiNorCuda) {
    nccl_host::plugin();
    std::ifstream maps("/proc/self/maps");
    bool is_loaded = false;
    for (std::string line; std::getline(maps, line);) {
        is_loaded |= line.find("libtutti_nccl") != std::string::npos;
        for (const char* other : {"libmpi", "libcuda", "libnccl", "libucp", "libhwloc"})
            EXPECT_EQ(line.find(other), std::string::npos) << line;
    }
    EXPECT_TRUE(is_loaded);
}

// In a process of its own, because a choice of tutti_nccl_force() wins from then on.
TEST(NcclPluginDeathTest, ForcesTheChoiceOfTheEnvironment) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            setenv("TUTTI_NCCL_FORCE", "nvls-tree-simple-8", 1);
            const auto one = tuner(5, shapes[2]);
            Costs costs;
            costs.all.fill(1);
            int channels = 0;
            one->ask(4, 4096, costs, channels);
            const Named made = costs.best();
            std::exit(made.algorithm == 5 && made.protocol == 2 && channels == 8 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            setenv("TUTTI_NCCL_FORCE", "rings", 1);
            logged.clear();
            const auto one = tuner(5, shapes[2]);
            std::exit(logged.at(0).level == warning &&
                              logged[0].text.find("'ring'") != std::string::npos
                          ? 0
                          : 1);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
