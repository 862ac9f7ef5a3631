// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/fingerprint.hpp"

#include <gtest/gtest.h>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"

namespace tutti {
namespace {

using Steps = std::vector<std::vector<Transfer>>;

Schedule schedule_of(const Steps& steps, int chunks = 4) {
    const Extent extent{.ranks = 4, .chunks = chunks, .steps = static_cast<int>(steps.size())};
    return Schedule(extent, [steps](int step, Step& out) {
        for (const Transfer& transfer : at(steps, step)) out.add(transfer);
    });
}

constexpr Transfer copy(int chunk, int from, int to) {
    return {.chunks = {chunk, 1}, .from = {from}, .to = {to}};
}

const auto reference = fingerprint(schedule_of({{copy(0, 0, 1)}, {copy(0, 1, 2), copy(1, 0, 3)}}));

TEST(Fingerprint, IsTheSameForDifferencesThatNoRankObserves) {
    EXPECT_EQ(fingerprint(schedule_of({{copy(0, 0, 1)}, {copy(1, 0, 3), copy(0, 1, 2)}})),
              reference);
    EXPECT_EQ(
        fingerprint(schedule_of({{}, {copy(0, 0, 1)}, {}, {copy(0, 1, 2), copy(1, 0, 3)}, {}})),
        reference);
    const Transfer run{.chunks = {1, 2}, .from = {0}, .to = {3}};
    EXPECT_EQ(fingerprint(schedule_of({{run}})),
              fingerprint(schedule_of({{copy(1, 0, 3), copy(2, 0, 3)}})));
}

TEST(Fingerprint, DiffersWithEveryPartOfATransfer) {
    const auto with = [](Transfer first) {
        return fingerprint(schedule_of({{first}, {copy(0, 1, 2), copy(1, 0, 3)}}));
    };
    EXPECT_EQ(with(copy(0, 0, 1)), reference);
    EXPECT_NE(with(copy(1, 0, 1)), reference);
    EXPECT_NE(with(copy(0, 2, 1)), reference);
    EXPECT_NE(with(copy(0, 0, 2)), reference);
    Transfer reducing = copy(0, 0, 1);
    reducing.action = Action::reduce;
    EXPECT_NE(with(reducing), reference);
}

TEST(Fingerprint, DiffersWithTheStepsThatTransfersAreIn) {
    EXPECT_NE(fingerprint(schedule_of({{copy(0, 0, 1), copy(0, 1, 2), copy(1, 0, 3)}})), reference);
    EXPECT_NE(fingerprint(schedule_of({{copy(0, 0, 1)}, {copy(0, 1, 2)}, {copy(1, 0, 3)}})),
              reference);
    EXPECT_NE(fingerprint(schedule_of({{copy(0, 1, 2), copy(1, 0, 3)}, {copy(0, 0, 1)}})),
              reference);
}

// The order of sends matters to the receivers, and the order of additions to the rounding.
TEST(Fingerprint, DiffersWithTheOrderInWhichARankSendsOrAdds) {
    EXPECT_NE(fingerprint(schedule_of({{copy(0, 0, 1), copy(0, 0, 2)}})),
              fingerprint(schedule_of({{copy(0, 0, 2), copy(0, 0, 1)}})));
    Transfer one = copy(0, 1, 0), other = copy(0, 2, 0);
    one.action = other.action = Action::reduce;
    EXPECT_NE(fingerprint(schedule_of({{one, other}})), fingerprint(schedule_of({{other, one}})));
}

TEST(Fingerprint, DiffersWithTheChunksThatTheMessageIsCutInto) {
    EXPECT_NE(fingerprint(schedule_of({{copy(0, 0, 1)}, {copy(0, 1, 2), copy(1, 0, 3)}}, 8)),
              reference);
}

TEST(Fingerprint, IsNotMadeOfMoreThanWhatIsAskedFor) {
    const Schedule three = schedule_of({{copy(0, 0, 1)}, {copy(0, 1, 2), copy(1, 0, 3)}});
    EXPECT_EQ(fingerprint(three, 3), reference);
    EXPECT_EQ(fingerprint(three, 2), std::nullopt);
}

std::optional<std::uint64_t> of(Collective collective, const char* algorithm, Job job) {
    job.collective = collective;
    return fingerprint(build_in_order(find_algorithm(collective, algorithm), job));
}

TEST(Fingerprint, KnowsAlgorithmsThatAreTheSameOnSomeRanks) {
    using enum Collective;
    for (const int ranks : {2, 3, 5, 7}) {
        const Rank root{ranks - 1};
        for (const auto collective : {broadcast, reduce, scatter, gather}) {
            EXPECT_EQ(of(collective, "tree",
                         {.ranks = ranks, .root = root, .configuration = {.radix = 7}}),
                      of(collective, "linear", {.ranks = ranks, .root = root}))
                << name_of(collective);
            EXPECT_EQ(of(collective, "tree", {.ranks = ranks, .root = root}) ==
                          of(collective, "linear", {.ranks = ranks, .root = root}),
                      ranks == 2);
        }
        EXPECT_EQ(of(broadcast, "two-level", {.ranks = ranks, .root = root, .segments = 1}),
                  of(broadcast, "tree", {.ranks = ranks, .root = root}));
    }
    EXPECT_EQ(of(all_gather, "ring", {.ranks = 2}), of(all_gather, "butterfly", {.ranks = 2}));
    EXPECT_EQ(of(all_gather, "ring", {.ranks = 2}), of(all_gather, "one-shot", {.ranks = 2}));
    EXPECT_NE(of(all_gather, "ring", {.ranks = 3}), of(all_gather, "one-shot", {.ranks = 3}));
    EXPECT_EQ(of(broadcast, "ring", {.ranks = 6}),
              of(broadcast, "chain", {.ranks = 6, .segments = 6}));
    // One step with both halves differs from two steps, although the same bytes move.
    EXPECT_NE(of(all_reduce, "ring", {.ranks = 2}), of(all_reduce, "butterfly", {.ranks = 2}));
}

}  // namespace
}  // namespace tutti
