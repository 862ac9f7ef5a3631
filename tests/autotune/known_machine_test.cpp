// SPDX-License-Identifier: Apache-2.0
// Limits and models in files: which are used, which are refused, and what the notes say.
#include "autotune/tuner/known_machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "autotune/choice/subject.hpp"
#include "autotune/model/model_json.hpp"
#include "autotune/table/table_json.hpp"
#include "base/error.hpp"
#include "tests/collectives/hosts_of_threads.hpp"
#include "tests/results/samples.hpp"
#include "workloads/limits/network_limits.hpp"

namespace tutti {
namespace {

class KnownMachine : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_ / "tutti");
        ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
        run_as_threads(1, 20, [&](World& world) { here_ = job_shape_of(world).topology; });
    }
    void TearDown() override {
        ::unsetenv("XDG_CACHE_HOME");
        std::filesystem::remove_all(folder_);
    }

    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }

    // Models differ in their dates.
    CostModel model(const std::string& of, const std::string& date) const {
        ModelParameters known;
        known.machine = {.fingerprint = of, .cores = 2};
        known.ranks = {2};
        known.date = date;
        return CostModel(known);
    }

    std::string table(const std::string& name, const std::string& text_of_model) const {
        keep_table({.written = "2026-01-31T12:00:00.000Z", .tool = "tutti", .model = text_of_model},
                   folder_ / name);
        return folder_ / name;
    }

    // Returns the date of the chosen model, "none", or the refusal. All ranks get the same.
    std::string chosen(const std::string& choice, const std::string& table_file = "") {
        std::string said;
        run_as_threads(2, 20, [&](World& world) {
            std::vector<std::string> notes;
            std::string mine;
            try {
                const auto found = choose_model(world, choice, table_file, notes);
                mine = found ? found->parameters().date : "none";
            } catch (const Error& error) {
                mine = error.what();
            }
            const auto all = gather_all_texts(world, mine);
            EXPECT_EQ(all[0], all[1]);
            if (!world.is_first()) return;
            said = mine;
            notes_ = notes;
        });
        return said;
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tutti-known-" + std::to_string(::getpid()));
    std::string here_;
    const std::string elsewhere_ = std::string(64, 'e');
    std::vector<std::string> notes_;
};

TEST_F(KnownMachine, HasTheModelOfItsTableOrElseTheStoredOne) {
    EXPECT_EQ(chosen("stored"), "none");
    keep_model(model(here_, "stored"), *model_path(here_));
    EXPECT_EQ(chosen("stored"), "stored");
    EXPECT_EQ(chosen("none"), "none");
    const std::string ours = table("ours", to_json(model(here_, "of the table"))),
                      other = table("other", to_json(model(elsewhere_, "of another machine")));
    EXPECT_EQ(chosen("stored", ours), "of the table");
    EXPECT_EQ(chosen("stored", other), "stored");
    EXPECT_EQ(chosen("stored", table("without", "")), "stored");
    ASSERT_EQ(notes_.size(), 1u);
    EXPECT_EQ(notes_[0].find("another machine"), std::string::npos);
}

TEST_F(KnownMachine, UsesNoStoredModelThatIsDamagedOrOfAnotherMachine) {
    keep_model(model(elsewhere_, "of another machine"), *model_path(here_));
    EXPECT_EQ(chosen("stored"), "none");
    EXPECT_THROW(stored_model(here_), Error);
    std::ofstream(*model_path(here_)) << "{";
    EXPECT_EQ(chosen("stored"), "none");
    EXPECT_EQ(stored_model(elsewhere_), std::nullopt);
}

TEST_F(KnownMachine, HasAModelOfAnotherMachineIfItsFileIsNamedAndSaysSo) {
    const std::string there = to_json(model(elsewhere_, "there"));
    for (const std::string& named : {file("model", there), table("table", there)}) {
        EXPECT_EQ(chosen(named), "there");
        ASSERT_EQ(notes_.size(), 1u);
        EXPECT_NE(notes_[0].find("another machine"), std::string::npos) << notes_[0];
    }
    EXPECT_EQ(chosen(file("ours", to_json(model(here_, "here")))), "here");
    EXPECT_EQ(notes_[0].find("another machine"), std::string::npos) << notes_[0];
}

TEST_F(KnownMachine, RefusesFilesWithoutAModel) {
    EXPECT_NE(chosen("absent").find("'absent' does not exist"), std::string::npos);
    for (const std::string& named : {file("text", "x"), table("table", "")})
        EXPECT_EQ(chosen(named).find(named), 0u) << named;
}

TEST_F(KnownMachine, ExtendsTheKnownModelOfThisMachineOnly) {
    const auto ranks_after = [&](double taken, const std::optional<CostModel>& of_table) {
        Calibration calibration{.model = model(here_, "new"), .observations = {}, .taken = taken};
        const ModelledMachine machine = calibration.model.parameters().machine;
        keep_better_model(calibration, machine, of_table);
        return calibration.model.parameters().ranks;
    };
    const auto of_four = [&](const std::string& machine) {
        ModelParameters known = model(machine, "before").parameters();
        known.ranks = {4};
        return CostModel(known);
    };
    const std::vector<int> two{2}, both{2, 4};
    EXPECT_EQ(ranks_after(0.5, std::nullopt), two);
    EXPECT_EQ(stored_model(here_), std::nullopt) << "the machine was busy";
    EXPECT_EQ(ranks_after(0.5, of_four(here_)), both);
    EXPECT_EQ(ranks_after(0.5, of_four(elsewhere_)), two);
    keep_model(of_four(elsewhere_), *model_path(here_));
    EXPECT_EQ(ranks_after(0, std::nullopt), two);
    EXPECT_EQ(stored_model(here_)->parameters().date, "new") << "it replaces the foreign one";
    keep_model(of_four(here_), *model_path(here_));
    EXPECT_EQ(ranks_after(0, std::nullopt), both);
}

// All ranks get the same limits from a file, or the same refusal.
struct FoundLimits {
    std::optional<Limits> limits;
    std::string refusal;
    std::vector<std::string> notes;
};

FoundLimits limits_on(World& world, const std::string& file) {
    FoundLimits found;
    try {
        found.limits = choose_limits(world, file, found.notes, {});
    } catch (const Error& error) {
        found.refusal = error.what();
    }
    const auto all = gather_all_texts(world, found.refusal);
    for (const std::string& one : all) EXPECT_EQ(one, all[0]);
    return found;
}

std::string limits_of(const std::vector<std::string>& hosts) {
    Limits limits = sample_limits();
    limits.network->hosts = hosts;
    if (hosts.empty()) limits.network.reset();
    return to_json_line(limits) + "\n";
}

TEST_F(KnownMachine, HasTheLimitsOfANamedFileOnOneHost) {
    const std::string named = file("l.jsonl", to_json_line(sample_limits()) + "\n");
    run_as_threads(2, 20, [&](World& world) {
        const FoundLimits found = limits_on(world, named);
        ASSERT_TRUE(found.limits);
        EXPECT_EQ(*found.limits, sample_limits());
        EXPECT_NE(found.notes[0].find(named), std::string::npos);
        EXPECT_FALSE(limits_on(world, "none").limits);
        std::vector<std::string> notes;
        EXPECT_FALSE(limits_again(world, named, sample_limits(), notes, {})) << "it is a file";
    });
}

TEST_F(KnownMachine, RefusesFilesWithoutLimits) {
    const std::string text = file("text", "x\n"), empty = file("empty", "");
    run_as_threads(2, 20, [&](World& world) {
        EXPECT_NE(limits_on(world, "absent").refusal.find("'absent' does not exist"),
                  std::string::npos);
        for (const std::string& named : {text, empty})
            EXPECT_NE(limits_on(world, named).refusal.find(named), std::string::npos) << named;
    });
}

// The network of other hosts says nothing about these.
TEST_F(KnownMachine, ComparesWithLimitsOfTheSameHostsOnly) {
    const std::string without = file("without", limits_of({})),
                      others = file("others", limits_of({"x0", "x1"}));
    run_as_hosts(2, [&](World& world) {
        const auto names = names_of_hosts(world);
        if (world.is_first()) file("same", limits_of(names));
        EXPECT_TRUE(limits_on(world, folder_ / "same").limits);
        for (const auto& [named, key] : {std::pair(without, "no network"), {others, "x0 x1"}}) {
            const FoundLimits found = limits_on(world, named);
            EXPECT_FALSE(found.limits) << named;
            ASSERT_EQ(found.notes.size(), 1u);
            EXPECT_NE(found.notes[0].find(key), std::string::npos) << found.notes[0];
        }
    });
}

TEST_F(KnownMachine, StoresLimitsWithBetterOnesOfEarlierRuns) {
    Limits now = sample_limits();
    now.yield_ns = 2000;
    now.taken = 0.5;
    keep_for_later(now);
    EXPECT_FALSE(std::filesystem::exists(*limits_path("abc"))) << "the machine was busy";
    now.taken = 0;
    keep_for_later(now);
    now.yield_ns = 1500;
    now.wake_ns = 20'000;
    keep_for_later(now);
    const Limits kept = read_limits(*limits_path("abc"));
    EXPECT_EQ(kept.yield_ns, 1500);
    EXPECT_EQ(kept.wake_ns, 15'000);
    EXPECT_FALSE(kept.network) << "it depends on the hosts of a launch";
    std::ofstream(*limits_path("abc")) << "{";
    keep_for_later(now);
    EXPECT_EQ(read_limits(*limits_path("abc")).wake_ns, 20'000) << "a damaged file is replaced";
    std::filesystem::remove_all(folder_);
    std::ofstream(folder_.string()) << "no folder";
    EXPECT_THROW(keep_for_later(now), Error);
    std::filesystem::remove(folder_);
}

}  // namespace
}  // namespace tutti
