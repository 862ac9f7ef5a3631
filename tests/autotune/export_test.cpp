// SPDX-License-Identifier: Apache-2.0
#include "autotune/exports/export.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "autotune/table/table.hpp"
#include "base/source.hpp"
#include "table_samples.hpp"

namespace tutti {
namespace {

using json = nlohmann::ordered_json;  // MPICH tries siblings in their order
using test::ours;
using test::seen_at;
using test::subject_of;

const ExportFormat& format(std::string_view name) {
    return find_row(export_formats(), "format", name);
}

Configuration of_mpi(std::string algorithm, std::int64_t segment = 0) {
    return {.impl = "mpi", .algorithm = std::move(algorithm), .segment = {segment}};
}

Section section(Collective collective, int ranks, std::vector<Range> ranges,
                BufferKind buffers = BufferKind::unregistered) {
    return {
        {ranks, ranks, std::string(64, 'a')}, subject_of(collective, buffers), std::move(ranges)};
}

// Choices that change at 1 KiB and 64 KiB, measured from 8 B to 1 MiB.
std::vector<Range> three_ranges(Configuration small, Configuration medium, Configuration large) {
    return {{{0}, std::move(small), Origin::measured, {seen_at(8, 1e3), seen_at(512, 2e3)}},
            {{1024}, std::move(medium), Origin::measured, {seen_at(4096, 3e3)}},
            {{65536}, std::move(large), Origin::measured, {seen_at(1 << 20, 9e5)}}};
}

Export exported(const std::vector<Section>& sections, std::string_view to,
                const ExportSettings& settings = {}) {
    return export_of({.written = "2026-01-31T12:00:00.000Z", .sections = sections}, format(to),
                     settings);
}

std::string written(const std::vector<Section>& sections, std::string_view to,
                    const ExportSettings& settings = {}) {
    const Export one = exported(sections, to, settings);
    return one.format->write(one);
}

constexpr ExportSettings commutative{.is_commutative = true};

// Reads rules as Open MPI does: the last one whose number is not above the call's.
class OpenMpiRules {
public:
    explicit OpenMpiRules(const std::string& text) {
        std::string bare;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            bare += line.substr(0, line.find('#')) + " ";
        std::istringstream numbers(bare);
        const auto next = [&] {
            std::int64_t number = -1;
            numbers >> number;
            return number;
        };
        for (auto collectives = next(); collectives > 0; --collectives) {
            auto& by_ranks = rules_[next()];
            for (auto sizes = next(); sizes > 0; --sizes) {
                auto& by_bytes = by_ranks[next()];
                for (auto messages = next(); messages > 0; --messages) {
                    Rule& rule = by_bytes[next()];
                    for (std::int64_t* field : {&rule.algorithm, &rule.fan_out, &rule.segment})
                        *field = next();
                }
            }
        }
        std::string rest;
        EXPECT_FALSE(numbers >> rest) << rest;
    }

    struct Rule {
        std::int64_t algorithm = 0, fan_out = 0, segment = 0;
    };
    Rule rule_for(std::int64_t collective, std::int64_t ranks, std::int64_t bytes) const {
        const auto found = rules_.find(collective);
        if (found == rules_.end()) return {};
        return last_up_to(last_up_to(found->second, ranks), bytes);
    }

private:
    template <class Value>
    static const Value& last_up_to(const std::map<std::int64_t, Value>& map, std::int64_t number) {
        EXPECT_EQ(map.begin()->first, 0);
        return std::prev(map.upper_bound(number))->second;
    }
    std::map<std::int64_t, std::map<std::int64_t, std::map<std::int64_t, Rule>>> rules_;
};

constexpr std::pair<Collective, std::int64_t> id_in_open_mpi[] = {
    {Collective::all_gather, 0}, {Collective::all_reduce, 2}, {Collective::all_to_all, 3},
    {Collective::broadcast, 7},  {Collective::reduce, 11},    {Collective::reduce_scatter, 13}};

// Returns the numbers of all of Open MPI 4's algorithms for a collective, by their names.
std::map<std::string, std::int64_t> algorithms_in_open_mpi(Collective collective) {
    std::map<std::string, std::int64_t> ids;
    for (const ForeignAlgorithm& row : foreign_algorithms())
        if (row.library == ForeignLibrary::open_mpi && row.collective == collective &&
            row.since <= 4)
            ids[std::string(row.baseline)] = *decimal_number(row.id);
    return ids;
}

TEST(OpenMpiExport, CallsTheChosenAlgorithmInMeasuredCellsAndTheDefaultElsewhere) {
    std::size_t covered = 0, untouched = 0;
    for (const auto& [collective, id] : id_in_open_mpi) {
        const auto ids = algorithms_in_open_mpi(collective);
        const auto one = ids.begin(), two = std::next(one), three = std::next(two);
        const auto rules = OpenMpiRules(written(
            {section(collective, 2,
                     three_ranges(of_mpi(one->first), of_mpi(two->first), of_mpi(three->first))),
             section(collective, 3,
                     three_ranges(of_mpi(two->first), of_mpi(""), of_mpi(one->first, 8192))),
             section(collective, 6,
                     three_ranges(of_mpi(three->first), of_mpi("later"), of_mpi(two->first)))},
            "openmpi4", commutative));
        const std::map<int, std::array<std::int64_t, 3>> wanted{
            {2, {one->second, two->second, three->second}},
            {3, {two->second, 0, one->second}},
            {6, {three->second, 0, two->second}}};
        for (int ranks = 1; ranks <= 8; ++ranks)
            for (std::int64_t bytes = 1; bytes <= 16 << 20; bytes *= 2)
                for (const std::int64_t size : {bytes, bytes + bytes / 2}) {
                    const auto known = wanted.find(ranks);
                    std::int64_t expected = 0;
                    if (known != wanted.end() && size >= 4 && size < 2 << 20)
                        expected = known->second[size < 1024 ? 0 : size < 65536 ? 1 : 2];
                    const auto rule = rules.rule_for(id, ranks, size);
                    EXPECT_EQ(rule.algorithm, expected) << ranks << " ranks, " << size << " bytes";
                    EXPECT_EQ(rule.segment,
                              ranks == 3 && expected == one->second && size >= 65536 ? 8192 : 0);
                    ++(expected == 0 ? untouched : covered);
                }
    }
    EXPECT_GE(covered, 200U);
    EXPECT_GE(untouched, 200U);
}

TEST(OpenMpiExport, HasOneRuleForAllSizesWhereRanksSeeOtherSizes) {
    for (const Collective collective : {Collective::scatter, Collective::gather}) {
        const std::int64_t id = collective == Collective::scatter ? 15 : 9;
        const auto same = of_mpi("binomial");
        const auto rules = OpenMpiRules(
            written({section(collective, 4, three_ranges(same, same, same))}, "openmpi4"));
        for (const std::int64_t size : {0, 1, 1000, 1 << 30})
            EXPECT_EQ(rules.rule_for(id, 4, size).algorithm, 2);
        EXPECT_EQ(rules.rule_for(id, 5, 1000).algorithm, 0);
        const Export differing = exported(
            {section(collective, 4, three_ranges(same, of_mpi("basic-linear"), same))}, "openmpi4");
        EXPECT_EQ(differing.format->write(differing), "0  # collectives\n");
    }
}

TEST(OpenMpiExport, LeavesOutWhatIsWrongForOperationsThatDoNotCommute) {
    const auto sections = std::vector{
        section(Collective::all_reduce, 2,
                three_ranges(of_mpi("recursive-doubling"), of_mpi("ring"), of_mpi("ring")))};
    const OpenMpiRules safe(written(sections, "openmpi4"));
    const OpenMpiRules all(written(sections, "openmpi4", commutative));
    EXPECT_EQ(safe.rule_for(2, 2, 8).algorithm, 3);
    EXPECT_EQ(safe.rule_for(2, 2, 4096).algorithm, 0);
    EXPECT_EQ(all.rule_for(2, 2, 4096).algorithm, 4);
}

TEST(OpenMpiExport, NamesTheFanOutOfAChain) {
    const auto chain = of_mpi("chain"), binomial = of_mpi("binomial", 4096);
    auto narrow = chain;
    narrow.radix = 2;
    const OpenMpiRules rules(written(
        {section(Collective::broadcast, 6, three_ranges(chain, narrow, binomial))}, "openmpi4"));
    EXPECT_EQ(rules.rule_for(7, 6, 8).fan_out, 4) << "that of a forced chain";
    EXPECT_EQ(rules.rule_for(7, 6, 4096).fan_out, 2);
    EXPECT_EQ(rules.rule_for(7, 6, 1 << 20).fan_out, 0);
    EXPECT_EQ(rules.rule_for(7, 6, 1 << 20).segment, 4096);
}

TEST(OpenMpiExport, ExpressesWhatItWrites) {
    const auto expresses = [](const char* algorithm, const ExportSettings& settings) {
        return can_express(format("openmpi4"), Collective::all_reduce, of_mpi(algorithm), 2,
                           settings);
    };
    EXPECT_TRUE(expresses("", {}));
    EXPECT_TRUE(expresses("rabenseifner", {}));
    EXPECT_FALSE(expresses("ring", {}));
    EXPECT_TRUE(expresses("ring", commutative));
    EXPECT_FALSE(expresses("other", commutative));
}

TEST(Export, KnowsTheVariablesOfTheLineForTheJobScript) {
    const auto variables = environment_of(format("openmpi5"), "/a folder/rules");
    EXPECT_EQ(variables.size(), 3U);
    EXPECT_EQ(variables.at("OMPI_MCA_coll_tuned_dynamic_rules_filename"), "/a folder/rules");
    EXPECT_EQ(variables.at("OMPI_MCA_coll_han_priority"), "0");
}

TEST(OpenMpiExport, KnowsNewAlgorithmsOnlyInVersion5) {
    const auto sections =
        std::vector{section(Collective::all_gather, 2,
                            three_ranges(of_mpi("sparbit"), of_mpi("sparbit"), of_mpi("sparbit")))};
    EXPECT_EQ(OpenMpiRules(written(sections, "openmpi4")).rule_for(0, 2, 64).algorithm, 0);
    EXPECT_EQ(OpenMpiRules(written(sections, "openmpi5")).rule_for(0, 2, 64).algorithm, 7);
}

TEST(OpenMpiExport, HasRangesInTheJsonOfVersion6) {
    const std::vector sections{
        section(Collective::reduce_scatter, 4,
                three_ranges(of_mpi("butterfly"), of_mpi(""), of_mpi("recursive-halving"))),
        section(Collective::broadcast, 2,
                three_ranges(of_mpi("chain"), of_mpi("later"), of_mpi("binomial", 4096))),
        section(Collective::broadcast, 6,
                three_ranges(of_mpi(""), of_mpi(""), of_mpi("pipeline")))};
    EXPECT_EQ(json::parse(written(sections, "openmpi6")), json::parse(R"({
        "rule_file_version": 3, "module": "tuned", "collectives": {
        "reduce_scatter_block": [{"comm_size_min": 4, "comm_size_max": 4, "rules": [
            {"msg_size_min": 4, "msg_size_max": 1023, "alg": 4},
            {"msg_size_min": 65536, "msg_size_max": 2097151, "alg": 3}]}],
        "bcast": [{"comm_size_min": 2, "comm_size_max": 2, "rules": [
            {"msg_size_min": 4, "msg_size_max": 1023, "alg": 2, "faninout": 4},
            {"msg_size_min": 65536, "msg_size_max": 2097151, "alg": 6, "seg_size": 4096}]},
          {"comm_size_min": 6, "comm_size_max": 6, "rules": [
            {"msg_size_min": 65536, "msg_size_max": 2097151, "alg": 3}]}]}})"));
    const auto same = of_mpi("binomial");
    const json rules = json::parse(
        written({section(Collective::gather, 4, three_ranges(same, same, same))}, "openmpi6"));
    EXPECT_EQ(rules["collectives"]["gather"][0]["rules"],
              json::parse(R"([{"msg_size_min": 0, "msg_size_max": "inf", "alg": 2}])"));
}

// Reads rules as HAN does: at the level of all ranks, the last one whose numbers are not above the
// call's. Returns nothing for a collective without rules.
std::string rule_of_han(const std::string& text, const std::string& collective, int ranks,
                        std::int64_t bytes) {
    std::string bare, found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) bare += line.substr(0, line.find('#')) + " ";
    std::istringstream words(bare);
    const auto number = [&] {
        std::int64_t value = -1;
        words >> value;
        return value;
    };
    for (auto collectives = number(); collectives > 0; --collectives) {
        std::string name, component, algorithm;
        words >> name;
        EXPECT_EQ(number(), 1) << "level";
        EXPECT_EQ(number(), 2) << "of all ranks";
        const auto sizes = number();
        for (std::int64_t i = 0; i < sizes; ++i) {
            const std::int64_t from_ranks = number(), messages = number();
            EXPECT_EQ(from_ranks == 1, i == 0);
            for (std::int64_t j = 0; j < messages; ++j) {
                const std::int64_t from_bytes = number();
                EXPECT_EQ(from_bytes == 0, j == 0);
                words >> component >> std::ws;
                if (words.peek() == '@') {
                    words >> algorithm;
                    component += " " + algorithm;
                }
                if (name == collective && from_ranks <= ranks && from_bytes <= bytes)
                    found = component;
            }
        }
    }
    std::string rest;
    EXPECT_FALSE(words >> rest) << rest;
    return found;
}

// With a fan-out of 0, Open MPI 6 does not return from this all_gather.
TEST(OpenMpiExport, NamesTheFanOutOfBruckInVersion6) {
    auto wide = of_mpi("bruck-k-fanout");
    wide.radix = 3;
    const std::vector sections{
        section(Collective::all_gather, 6,
                three_ranges(ours("bruck", "shm"), of_mpi("bruck-k-fanout"), wide)),
        section(Collective::reduce, 6,
                three_ranges(of_mpi("knomial"), of_mpi("linear"), of_mpi("knomial")))};
    const json collectives = json::parse(written(sections, "openmpi6", commutative))["collectives"];
    std::vector<std::pair<int, int>> found;
    for (const json& rule : collectives["allgather"][0]["rules"])
        found.emplace_back(rule["alg"], rule["faninout"]);
    EXPECT_EQ(found, (std::vector<std::pair<int, int>>{{2, 2}, {2, 4}, {2, 3}}));
    EXPECT_EQ(collectives["reduce"][0]["rules"][0]["faninout"], 4);
    EXPECT_FALSE(collectives["reduce"][0]["rules"][1].contains("faninout"));
    EXPECT_EQ(OpenMpiRules(written(sections, "openmpi5")).rule_for(0, 6, 8).fan_out, 0);
}

TEST(HanExport, NamesTheChosenComponentAndAlgorithmForOneBlock) {
    const std::vector sections{
        section(Collective::broadcast, 4,
                three_ranges(of_mpi("han-simple"), of_mpi("tuned"), of_mpi("han-intra"))),
        section(Collective::all_gather, 4,
                three_ranges(of_mpi("tuned"), of_mpi("ring"), of_mpi("tuned")))};
    const std::string rules = written(sections, "han");
    for (const auto& [bytes, choice] : std::map<std::int64_t, std::string>{{0, "han"},
                                                                           {4, "han @simple"},
                                                                           {1023, "han @simple"},
                                                                           {1024, "tuned"},
                                                                           {65536, "han @intra"},
                                                                           {2 << 20, "han"}})
        EXPECT_EQ(rule_of_han(rules, "bcast", 4, bytes), choice) << bytes;
    for (const int ranks : {2, 3, 5, 100})
        EXPECT_EQ(rule_of_han(rules, "bcast", ranks, 65536), "han");
    for (const auto& [bytes, choice] : std::map<std::int64_t, std::string>{
             {0, "han"}, {1, "tuned"}, {255, "tuned"}, {256, "han"}, {16384, "tuned"}})
        EXPECT_EQ(rule_of_han(rules, "allgather", 4, bytes), choice) << bytes;
    EXPECT_EQ(rule_of_han(rules, "allreduce", 4, 8), "");
}

TEST(Export, TakesTheNamesakesOfTuttisAlgorithms) {
    const OpenMpiRules rules(written(
        {section(Collective::broadcast, 4,
                 three_ranges(ours("tree", "shm"), ours("two-level", "shm"), ours("chain", "shm"))),
         section(Collective::all_reduce, 4,
                 three_ranges(ours("butterfly", "shm"), ours("halving-doubling", "mpi"),
                              ours("one-shot", "shm")))},
        "openmpi4"));
    EXPECT_EQ(rules.rule_for(7, 4, 8).algorithm, 6);
    EXPECT_EQ(rules.rule_for(7, 4, 1024).algorithm, 0);
    EXPECT_EQ(rules.rule_for(7, 4, 65536).algorithm, 3);
    EXPECT_EQ(rules.rule_for(7, 4, 65536).segment, 131072);
    EXPECT_EQ(rules.rule_for(2, 4, 8).algorithm, 3);
    EXPECT_EQ(rules.rule_for(2, 4, 1024).algorithm, 6);
    EXPECT_EQ(rules.rule_for(2, 4, 65536).algorithm, 0);
    Configuration wide = ours("tree", "shm");
    wide.radix = 8;
    EXPECT_EQ(foreign_algorithm(ForeignLibrary::open_mpi, Collective::broadcast, wide), nullptr);
    EXPECT_EQ(foreign_algorithm(ForeignLibrary::ucc, Collective::broadcast, wide)->id, "knomial");
    wide.channels = 2;
    EXPECT_EQ(foreign_algorithm(ForeignLibrary::ucc, Collective::broadcast, wide), nullptr);
}

TEST(Export, NamesEachAlgorithmOnce) {
    std::set<std::tuple<ForeignLibrary, Collective, std::string_view>> ids, baselines, namesakes;
    for (const ForeignAlgorithm& row : foreign_algorithms()) {
        // An algorithm that has another name from version 6 on has two rows.
        EXPECT_TRUE(row.baseline == "bruck-k-fanout" ||
                    ids.emplace(row.library, row.collective, row.id).second)
            << row.id;
        const bool is_new_baseline =
            baselines.emplace(row.library, row.collective, row.baseline).second;
        EXPECT_TRUE(row.baseline.empty() || is_new_baseline) << row.baseline;
        const bool is_new_namesake =
            namesakes.emplace(row.library, row.collective, row.ours).second;
        EXPECT_TRUE(row.ours.empty() || is_new_namesake) << row.ours;
    }
}

TEST(Export, WritesTheVariablesOfUccOneCclAndIntelMpi) {
    const auto all_reduce = three_ranges(ours("butterfly", "shm"), of_mpi(""), ours("ring", "shm"));
    EXPECT_EQ(written({section(Collective::all_reduce, 2, all_reduce)}, "ucc"),
              "export UCC_TL_UCP_TUNE='allreduce:4-1023:[2]:@knomial:inf#"
              "allreduce:65536-2097151:[2]:@ring:inf'\n");
    EXPECT_EQ(written({section(Collective::reduce_scatter, 4, all_reduce)}, "ucc"),
              "export UCC_TL_UCP_TUNE='reduce_scatter:1-255:[4]:@knomial:inf#"
              "reduce_scatter:16384-524287:[4]:@ring:inf'\n");
    EXPECT_EQ(written({section(Collective::all_reduce, 2, all_reduce)}, "oneccl"),
              "export CCL_ALLREDUCE='recursive_doubling:4-1023;ring:65536-2097151'\n");
    EXPECT_EQ(written({section(Collective::all_reduce, 2, all_reduce),
                       section(Collective::all_reduce, 4, all_reduce)},
                      "intelmpi"),
              "export I_MPI_ADJUST_ALLREDUCE='1:4-1023@2-2;8:65536-2097151@2-2;"
              "1:4-1023@4-4;8:65536-2097151@4-4'\n");
    const std::vector both{section(Collective::all_reduce, 2, all_reduce),
                           section(Collective::all_reduce, 4, all_reduce)};
    EXPECT_THROW(written(both, "oneccl"), Error);
    EXPECT_NO_THROW(written(both, "oneccl", {.ranks = 4}));
}

TEST(UccExport, NamesTheAlgorithmThatTheBaselineForces) {
    const Configuration own{.impl = "ucc", .algorithm = "sra-knomial"};
    const std::vector both{section(Collective::all_reduce, 4,
                                   three_ranges(own, {.impl = "ucc"}, of_mpi("rabenseifner")))};
    EXPECT_EQ(written(both, "ucc"),
              "export UCC_TL_UCP_TUNE='allreduce:4-1023:[4]:@sra_knomial:inf'\n");
}

// UCC gives the ends of a range with score 0 to its neighbours.
TEST(UccExport, SwitchesRulesOffWithoutTheirNeighbours) {
    const auto ranges =
        three_ranges(ours("butterfly", "shm"), ours("ring", "shm"), ours("ring", "shm"));
    const Export all = exported({section(Collective::all_reduce, 2, ranges)}, "ucc");
    EXPECT_EQ(
        write_ucc(all.cells, [](const ExportedCell&,
                                const ExportedRule& rule) { return rule.from.count == 4; }),
        "export UCC_TL_UCP_TUNE='allreduce:3-1024:[2]:0#allreduce:1024-2097151:[2]:@ring:inf'\n");
    EXPECT_EQ(
        write_ucc(all.cells, [](const ExportedCell&,
                                const ExportedRule& rule) { return rule.from.count == 1024; }),
        "export "
        "UCC_TL_UCP_TUNE='allreduce:4-1023:[2]:@knomial:inf#allreduce:1023-2097152:[2]:0'\n");
}

TEST(UccExport, TellsTheVariablesOfTheWrittenFile) {
    const std::string file = testing::TempDir() + "rules_of_ucc";
    std::ofstream(file) << "# notes\nexport UCC_TL_UCP_TUNE='a:@b:inf#c:@d:inf'\n";
    EXPECT_EQ(environment_of(format("ucc"), file),
              (std::map<std::string, std::string>{{"UCC_TL_UCP_TUNE", "a:@b:inf#c:@d:inf"}}));
    EXPECT_TRUE(environment_of(format("ucc"), "/nowhere/rules").empty());
}

TEST(Export, WritesFilesForGpuLibrariesFromDeviceMemoryOnly) {
    const auto ranges =
        three_ranges(ours("one-shot", "cuda"), ours("two-shot", "cuda"), ours("ring", "nccl"));
    const std::vector host{section(Collective::all_reduce, 8, ranges)};
    const std::vector device{section(Collective::all_reduce, 8, ranges, BufferKind::device)};
    EXPECT_THROW(written(host, "nccl-csv", {.channels = 16}), Error);
    EXPECT_THROW(written(device, "nccl-csv"), Error);
    EXPECT_EQ(written(device, "nccl-csv", {.channels = 16}),
              "allreduce,1048576,2097151,ring,simple,16,1,8,-1,-1\n");
    const auto of_nccl = [](std::string algorithm) {
        return Configuration{.impl = "nccl", .algorithm = std::move(algorithm)};
    };
    EXPECT_EQ(written({section(Collective::all_reduce, 8,
                               three_ranges(of_nccl("tree-ll"), of_nccl("nvls-tree-simple-16"),
                                            of_nccl("ring")),
                               BufferKind::device)},
                      "nccl-csv", {.channels = 4}),
              "allreduce,4,1023,tree,ll,4,1,8,-1,-1\n"
              "allreduce,1024,65535,nvls_tree,simple,16,1,8,-1,-1\n");
    const auto own = of_nccl("ring-simple-16");
    EXPECT_EQ(written({section(Collective::all_reduce, 8,
                               three_ranges(own, ours("ring", "nccl"), own), BufferKind::device)},
                      "nccl-csv"),
              "allreduce,4,1023,ring,simple,16,1,8,-1,-1\n"
              "allreduce,65536,2097151,ring,simple,16,1,8,-1,-1\n")
        << "between them, NCCL chooses";
    const json profile = json::parse(written(device, "mscclpp-cutoffs", {.gpu = "H200"}));
    const json& choices = profile["profiles"][0]["collectives"]["allreduce"];
    EXPECT_EQ(profile["profiles"][0]["scale"], 8);
    EXPECT_EQ(choices[0]["algorithm"], "default_allreduce_allpair_packet");
    EXPECT_EQ(choices[1]["message_size"], 1024);
    const json cutoffs = json::parse(written(device, "engine-cutoffs"))["collectives"];
    EXPECT_EQ(cutoffs["all_reduce"]["8"][0],
              json::parse(R"({"from": 4, "below": 1024, "use": "one_shot"})"));
    EXPECT_EQ(cutoffs["all_reduce"]["8"][2]["use"], "library");
}

// Reads rules as NCCLX's tuner does: "[a,b)" in a column is an interval with optional ends,
// brackets include an end, and the first rule wins that has the call's bytes divided by its ranks.
class NcclxRules {
public:
    explicit NcclxRules(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            if (!line.empty() && line[0] != '#') rules_.push_back(columns_of(line));
    }

    // Returns algorithm, protocol and channels; empty: NCCL chooses.
    std::string choice(const std::string& collective, std::int64_t bytes, int hosts,
                       int on_each) const {
        for (const auto& rule : rules_)
            if (rule.at(0) == collective && has(rule.at(1), bytes / (hosts * on_each)) &&
                has(rule.at(5), hosts) && has(rule.at(6), on_each))
                return rule.at(2) + " " + rule.at(3) + " " + rule.at(4);
        return "";
    }

private:
    static std::vector<std::string> columns_of(const std::string& line) {
        std::vector<std::string> columns(1);
        int depth = 0;
        for (const char letter : line) {
            if (letter == '[' || letter == '(') ++depth;
            if (letter == ']' || letter == ')') --depth;
            if (letter == ',' && depth == 0)
                columns.emplace_back();
            else
                columns.back() += letter;
        }
        return columns;
    }
    static bool has(const std::string& interval, std::int64_t number) {
        if (interval == "*") return true;
        if (interval[0] != '[' && interval[0] != '(') return std::stoll(interval) == number;
        const auto comma = interval.find(',');
        const std::string from = interval.substr(1, comma - 1),
                          to = interval.substr(comma + 1, interval.size() - comma - 2);
        const bool begins = from.empty() || number > std::stoll(from) ||
                            (interval[0] == '[' && number == std::stoll(from));
        const bool ends = to.empty() || number < std::stoll(to) ||
                          (interval.back() == ']' && number == std::stoll(to));
        return begins && ends;
    }

    std::vector<std::vector<std::string>> rules_;
};

TEST(Export, WritesRulesForNcclxThatHoldWhereTheChoicesWereMeasured) {
    const auto of_nccl = [](std::string algorithm) {
        return Configuration{.impl = "nccl", .algorithm = std::move(algorithm)};
    };
    const auto ranges =
        three_ranges(of_nccl("tree-ll"), of_nccl("nvls-tree-simple-16"), of_nccl("ring-ll128"));
    Section two_hosts = section(Collective::all_reduce, 6, ranges, BufferKind::device);
    two_hosts.job_shape.ranks_per_host = 3;
    const std::string text = written(
        {section(Collective::all_reduce, 8, ranges, BufferKind::device), two_hosts}, "ncclx");
    EXPECT_EQ(text.substr(0, text.find('\n')), "allreduce,[1,170),tree,ll,-1,2,3");
    const NcclxRules rules(text);
    for (const auto& [hosts, on_each] : {std::pair{1, 8}, {2, 3}}) {
        const std::int64_t ranks = hosts * on_each;
        for (std::int64_t bytes = 0; bytes < std::int64_t{1} << 22;
             bytes += bytes < 8192 ? 1 : 997) {
            // Sizes next to a border, whose quotients others share, may be left to NCCL.
            const auto near = [&](std::int64_t border) {
                return bytes / ranks == border / ranks && border % ranks != 0;
            };
            const std::string choice = rules.choice("allreduce", bytes, hosts, on_each);
            const std::string measured = bytes < 4         ? ""
                                         : bytes < 1024    ? "tree ll -1"
                                         : bytes < 65536   ? "nvls_tree simple 16"
                                         : bytes < 2 << 20 ? "ring ll128 -1"
                                                           : "";
            if (near(4) || near(1024) || near(65536) || near(2 << 20))
                EXPECT_TRUE(choice.empty() || choice == measured) << bytes;
            else
                EXPECT_EQ(choice, measured) << bytes << " on " << ranks;
        }
    }
    EXPECT_EQ(rules.choice("allreduce", 4096, 2, 8), "");
    EXPECT_EQ(rules.choice("allgather", 4096, 1, 8), "");
    const Export one =
        exported({section(Collective::all_reduce, 8, ranges, BufferKind::device)}, "ncclx");
    EXPECT_THROW(text_of(one, "rules.json"), Error);
    EXPECT_NO_THROW(text_of(one, "rules.csv"));
}

TEST(Export, RefusesTablesWithoutMeasurementsOrWithSeveralTopologies) {
    const auto choice = of_mpi("recursive-doubling");
    Section predicted = section(Collective::all_reduce, 2, {{{0}, choice, Origin::predicted, {}}});
    EXPECT_THROW(exported({predicted}, "openmpi4"), Error);
    Section here = section(Collective::all_reduce, 2, three_ranges(choice, choice, choice));
    Section there = here;
    there.job_shape.topology = std::string(64, 'b');
    EXPECT_THROW(exported({here, there}, "openmpi4"), Error);
    EXPECT_EQ(exported({here, there}, "openmpi4", {.part = {.topology = "bb"}}).cells.size(), 1U);
    EXPECT_THROW(exported({here}, "openmpi4", {.ranks = 3}), Error);
}

TEST(Export, PrefersMemoryOfOrdinaryProgramsAndPlainOperations) {
    const auto of = [](const std::string& name) {
        return three_ranges(of_mpi(name), of_mpi(name), of_mpi(name));
    };
    Section average = section(Collective::all_reduce, 2, of("basic-linear"));
    average.subject.ops = OpClass::average;
    const OpenMpiRules rules(written(
        {average, section(Collective::all_reduce, 2, of("nonoverlapping"), BufferKind::registered),
         section(Collective::all_reduce, 2, of("recursive-doubling"))},
        "openmpi4"));
    EXPECT_EQ(rules.rule_for(2, 2, 8).algorithm, 3);
}

// Evaluates MPICH's tree as the library does. Returns the leaf.
std::string leaf_for(const json& tree, const std::map<std::string, std::int64_t>& facts) {
    for (const auto& [condition, subtree] : tree.items()) {
        if (condition.starts_with("algorithm=")) return condition.substr(10);
        const auto at = condition.find_first_of("<=");
        const bool includes = condition.substr(at, 2) == "<=";
        const std::string what = condition.substr(0, at);
        const std::string value = condition.substr(at + (includes ? 2 : 1));
        const std::int64_t fact = facts.at(what);
        const auto number = decimal_number(value);
        const bool holds = value == "any" || value == "intra" ||
                           (value == "pow2" && fact < facts.at("pow2")) ||
                           (value == "yes" && fact != 0) || (value == "no" && fact == 0) ||
                           (number && (fact < *number || (includes && fact == *number)));
        if (holds) return leaf_for(subtree, facts);
    }
    return "nothing";
}

TEST(MpichExport, AddsRulesToTheLibrarysOwnSelection) {
    const std::string base = R"({"collective=allreduce": {"comm_type=intra":
        {"comm_size<3": {"count<=8": {"algorithm=few": {}}, "count=any": {"algorithm=many": {}}},
         "comm_size=any": {"algorithm=others": {}}},
        "comm_type=inter": {"algorithm=inter": {}}}})";
    const ExportSettings settings{.base = base};
    const auto ranges =
        three_ranges(of_mpi("recursive-doubling"), of_mpi(""), of_mpi("reduce-scatter-allgather"));
    const std::string text = written(
        {section(Collective::all_reduce, 2, ranges), section(Collective::all_reduce, 4, ranges)},
        "mpich", settings);
    const json tree = json::parse(text)["collective=allreduce"];
    const auto leaf = [&](int ranks, std::int64_t bytes, bool is_built_in = true) {
        return leaf_for(tree, {{"comm_type", 0},
                               {"comm_size", ranks},
                               {"avg_msg_size", bytes},
                               {"count", bytes / 4},
                               {"pow2", ranks},
                               {"is_op_built_in", is_built_in ? 1 : 0}});
    };
    const std::string doubling = "MPIR_Allreduce_intra_recursive_doubling";
    const std::string halving = "MPIR_Allreduce_intra_reduce_scatter_allgather";
    for (const int ranks : {2, 4}) {
        EXPECT_EQ(leaf(ranks, 4), doubling);
        EXPECT_EQ(leaf(ranks, 1023), doubling);
        EXPECT_EQ(leaf(ranks, 65536), halving);
        EXPECT_NE(leaf(ranks, 65536, /*is_built_in=*/false), halving);
    }
    EXPECT_EQ(leaf(2, 0), "few");
    EXPECT_EQ(leaf(2, 4096), "many");
    EXPECT_EQ(leaf(2, 4 << 20), "many");
    for (const int ranks : {3, 5, 8}) EXPECT_EQ(leaf(ranks, 8), "others");
    EXPECT_EQ(leaf(4, 4096), "others");
}

TEST(MpichExport, FindsTheSelectionInALibrary) {
    const std::string device = R"({"collective=bcast":{}})";
    const std::string whole = R"({"collective=allgather":{},"collective=bcast":{}})";
    const std::string library = std::string("ELF\0", 4) + device + '\0' + whole + '\0' + "more";
    EXPECT_EQ(mpich_selection_in(library, "libmpich.so"), whole);
    EXPECT_EQ(mpich_selection_in(whole + "\n", "generic.json"), whole + "\n");
    EXPECT_THROW(mpich_selection_in("ELF", "libmpi.so"), Error);
    EXPECT_THROW(
        written({section(Collective::all_reduce, 2,
                         three_ranges(of_mpi("recursive-doubling"), of_mpi(""), of_mpi("")))},
                "mpich"),
        Error);
}

}  // namespace
}  // namespace tutti
