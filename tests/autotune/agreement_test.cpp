// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "autotune/tuner/hold_out.hpp"
#include "table_samples.hpp"

namespace tutti {
namespace {

// Launches are planted: what each raced, and what it would choose by itself.
class Agreement : public ::testing::Test {
protected:
    using Times = std::vector<std::pair<Configuration, std::vector<double>>>;

    Section chosen(const Configuration& choice, Bytes size = {64}) const {
        return {.job_shape = test::two_ranks,
                .subject = subject,
                .ranges = {{.from = {0}, .choice = choice, .evidence = {{.size = size}}}},
                .launches = {"session"}};
    }

    TunedLaunch launch(const Configuration& choice, const Times& times) const {
        TunedLaunch made{.table = {.sections = {chosen(choice)}}};
        for (const auto& [configuration, samples_ns] : times)
            made.races.push_back({subject, {64}, configuration, samples_ns});
        return made;
    }

    static const Range& only_range(const Table& table) {
        EXPECT_EQ(table.sections.size(), 1u);
        EXPECT_EQ(table.sections.at(0).ranges.size(), 1u);
        return table.sections.at(0).ranges.at(0);
    }

    const Subject subject = test::subject_of(Collective::all_reduce);
    const Configuration ring = test::ours("ring"), tree = test::ours("tree"),
                        chain = test::ours("chain");
};

TEST_F(Agreement, ALaunchIsOneSampleItsMedian) {
    const Table table = agreed(std::vector{launch(ring, {{ring, {90, 100, 900}}, {tree, {300}}}),
                                           launch(ring, {{ring, {120}}, {tree, {300}}}),
                                           launch(ring, {{ring, {110, 110}}, {tree, {300}}})},
                               0.03);
    const Range& range = only_range(table);
    EXPECT_EQ(range.choice, ring);
    EXPECT_EQ(range.evidence.at(0).time, (TimeInterval{110, 100, 120, 3}));
    EXPECT_EQ(range.evidence.at(0).runner_up, tree);
    EXPECT_TRUE(range.evidence.at(0).of_launches.empty()) << "they agree";
    EXPECT_EQ(table.sections[0].launches.size(), 3u);
}

TEST_F(Agreement, ChoosesTheMajoritysFavouriteAndTheEvidenceNamesTheOthers) {
    const Range range = only_range(agreed(std::vector{launch(ring, {{ring, {100}}, {tree, {110}}}),
                                                      launch(tree, {{ring, {150}}, {tree, {100}}}),
                                                      launch(ring, {{ring, {100}}, {tree, {110}}})},
                                          0.03));
    EXPECT_EQ(range.choice, ring);
    EXPECT_EQ(range.evidence.at(0).of_launches, (std::vector{ring, tree, ring}));
}

TEST_F(Agreement, ConfigurationsAreComparedWithinALaunchAsLaunchesDifferByMore) {
    // The plain medians are 105 for the ring and 180 for the tree, as two launches met a slow
    // machine; but there, and in two of the three where both raced, the tree was the fastest.
    const Range range = only_range(agreed(std::vector{launch(tree, {{ring, {100}}, {tree, {90}}}),
                                                      launch(tree, {{ring, {110}}, {tree, {99}}}),
                                                      launch(tree, {{tree, {180}}, {chain, {300}}}),
                                                      launch(tree, {{tree, {180}}, {chain, {300}}}),
                                                      launch(tree, {{ring, {105}}, {tree, {180}}})},
                                          0.03));
    EXPECT_EQ(range.choice, tree);
}

TEST_F(Agreement, CountsAVariantThatALaunchLeftOutAsLostThere) {
    // 100 in the one launch that raced it; the others had dropped it.
    const Range range =
        only_range(agreed(std::vector{launch(chain, {{chain, {100}}, {ring, {101}}}),
                                      launch(ring, {{ring, {120}}, {tree, {121}}}),
                                      launch(ring, {{ring, {120}}, {tree, {121}}})},
                          0));
    EXPECT_EQ(range.choice, ring);
}

TEST_F(Agreement, DropsAVariantThatWasWrongInOneLaunch) {
    const Range range = only_range(agreed(std::vector{launch(ring, {{ring, {100}}, {tree, {200}}}),
                                                      launch(tree, {{tree, {200}}, {ring, {}}}),
                                                      launch(ring, {{ring, {100}}, {tree, {200}}})},
                                          0.03));
    EXPECT_EQ(range.choice, tree);
}

TEST_F(Agreement, IsNotCompleteUnlessAllLaunchesAre) {
    std::vector launches(3, launch(ring, {{ring, {100}}}));
    EXPECT_TRUE(agreed(launches, 0).sections.at(0).is_complete);
    launches[1].table.sections[0].is_complete = false;
    EXPECT_FALSE(agreed(launches, 0).sections.at(0).is_complete);
    launches[1].table.sections.clear();  // not reached
    EXPECT_FALSE(agreed(launches, 0).sections.at(0).is_complete);
}

// The ring over the default in launches of their own.
class HeldOut : public Agreement {
protected:
    HeldOut() { before.sections[0].ranges[0].evidence[0].time = test::time_of(100); }

    Table launch_with(double gain) const {
        static int number = 0;
        Table table = before;
        Section& section = table.sections[0];
        section.launches.push_back("hold-out " + std::to_string(++number));
        RangeEvidence& seen = section.ranges[0].evidence[0];
        seen.hold_out = HoldOut{.library = "mpi",
                                .choice = test::time_of(100),
                                .default_ = test::time_of(100 * gain),
                                .gain = gain,
                                .gain_low = gain - 0.001,
                                .gain_high = gain + 0.001,
                                .launch = section.launches.back()};
        if (gain > 1) return table;
        section.ranges[0].choice = {.impl = "mpi"};
        section.ranges[0].origin = Origin::kept;
        return table;
    }

    Range after(const std::vector<double>& gains) const {
        std::vector<Table> launches;
        for (const double gain : gains) launches.push_back(launch_with(gain));
        return only_range(held_out(before, launches));
    }

    Table before{.sections = {chosen(ring)}};
};

TEST_F(HeldOut, AChoiceStaysIfItIsFasterInEveryLaunch) {
    const Range range = after({1.2, 1.05, 1.1});
    EXPECT_EQ(range.choice, ring);
    const HoldOut& seen = range.evidence.at(0).hold_out.value();
    EXPECT_DOUBLE_EQ(seen.gain, 1.1);
    EXPECT_DOUBLE_EQ(seen.gain_low, 1.05);
    EXPECT_DOUBLE_EQ(seen.gain_high, 1.2);
    EXPECT_EQ(seen.default_.n, 3);
}

TEST_F(HeldOut, TheDefaultStaysIfLaunchesDisagree) {
    const Range range = after({1.2, 0.98, 1.1});
    EXPECT_EQ(range.choice, Configuration{.impl = "mpi"});
    EXPECT_EQ(range.origin, Origin::kept);
    EXPECT_EQ(range.evidence.at(0).runner_up, ring);
}

TEST_F(HeldOut, OneOfTwelveMayDisagree) {
    // The 95 % interval of 12 medians is from the second to the eleventh.
    std::vector<double> gains(12, 1.1);
    gains[5] = 0.9;
    EXPECT_EQ(after(gains).choice, ring);
}

TEST_F(HeldOut, AWrongResultInOneLaunchLetsTheDefaultStay) {
    std::vector<Table> launches{launch_with(1.2), launch_with(1.2), launch_with(1.2)};
    launches[1].sections[0].ranges[0] = {
        .from = {0}, .choice = {.impl = "mpi"}, .origin = Origin::kept};
    EXPECT_EQ(only_range(held_out(before, launches)).choice, Configuration{.impl = "mpi"});
}

TEST_F(HeldOut, LeavesUnmeasuredSizesAsBefore) {
    Table earlier = before;
    earlier.sections[0].ranges[0].evidence[0].hold_out = HoldOut{
        .library = "mpi", .gain = 2, .gain_low = 1.9, .gain_high = 2.1, .launch = "session"};
    EXPECT_EQ(held_out(earlier, std::vector(3, earlier)).sections, earlier.sections);
}

TEST_F(HeldOut, SoIsWhatTheModelAloneSays) {
    const RangeEvidence predicted{.size = {64}, .time = {.p50 = 100}};
    Table earlier = before;
    earlier.sections[0].ranges = {{{0}, ring, Origin::predicted, {predicted}},
                                  {{1000}, tree, Origin::predicted, {}},
                                  {{5000}, chain, Origin::predicted, {}}};
    EXPECT_EQ(held_out(earlier, std::vector(3, earlier)).sections, earlier.sections);
}

// The file has a ring for 64 B, a tree for 4 KiB and a chain for 1 MiB.
class ComparedSizes : public Agreement {
protected:
    ComparedSizes() {
        file.ranges = {{{0}, ring, Origin::measured, {test::seen_at(64, 1e3)}},
                       {{512}, tree, Origin::measured, {test::seen_at(4096, 2e3)}},
                       {{65536}, chain, Origin::measured, {test::seen_at(1 << 20, 9e5)}}};
        // An earlier comparison saw a gain.
        for (Range& range : file.ranges) range.evidence[0].hold_out = compared(0, 1.1, 1.2).seen;
    }

    static ComparedSize compared(std::int64_t size, double low, double high) {
        return {Collective::all_reduce,
                {size},
                {.library = "mpi",
                 .choice = {.n = fewest_pairs},
                 .default_ = {.n = fewest_pairs},
                 .gain = (low + high) / 2,
                 .gain_low = low,
                 .gain_high = high}};
    }

    std::vector<Configuration> choices_after(const std::vector<ComparedSize>& all, Needed needed,
                                             const JobShape& shape = test::two_ranks) const {
        const Table after = held_out({.sections = {file}}, shape, library.impl, all, needed);
        std::vector<Configuration> choices;
        for (const std::int64_t size : {64, 4096, 1 << 20})
            choices.push_back(range_at(after.sections.at(0), {size}).choice);
        return choices;
    }

    Section file = chosen(ring);
    const Configuration library{.impl = "mpi"};
    const std::vector<ComparedSize> all{compared(64, 1.02, 1.1), compared(4096, 0.98, 1.1),
                                        compared(1 << 20, 0.8, 0.99)};
};

TEST_F(ComparedSizes, StayInTheFileIfTheyAreFasterBeyondTheInterval) {
    EXPECT_EQ(choices_after(all, Needed::gain), (std::vector{ring, library, library}));
}

TEST_F(ComparedSizes, AreTakenOutIfTheirSecondGainIsSmallOrUncertain) {
    EXPECT_EQ(choices_after(all, Needed::gain_again), (std::vector{ring, library, library}));
    const std::vector small{compared(64, 1.1, 1.3), compared(4096, 1.01, 1.03)};
    EXPECT_EQ(choices_after(small, Needed::gain_again)[1], library);
}

TEST_F(ComparedSizes, ThatWereNotComparedStayOnlyInTheSecondComparison) {
    auto others = all;
    for (ComparedSize& one : others) one.collective = Collective::broadcast;
    EXPECT_EQ(choices_after(others, Needed::gain), std::vector(3, library));
    EXPECT_EQ(choices_after({all[0]}, Needed::gain_again), (std::vector{ring, tree, chain}));
}

TEST_F(ComparedSizes, ThatWereNeverComparedDoNotStay) {
    file.ranges[1].evidence[0].hold_out.reset();
    EXPECT_EQ(choices_after({all[0]}, Needed::gain_again), (std::vector{ring, library, chain}));
}

TEST_F(ComparedSizes, ThatWereNotComparedGetTheDefaultOfTheirLibrary) {
    const Configuration ucc{.impl = "ucc"};
    ComparedSize first = compared(64, 1.02, 1.1), last = compared(1 << 20, 0.9, 0.95);
    first.seen.library = last.seen.library = ucc.impl;
    const Table after = held_out({.sections = {file}}, test::two_ranks, ucc.impl,
                                 std::vector{first, last}, Needed::gain);
    EXPECT_EQ(range_at(after.sections.at(0), {64}).choice, ring);
    EXPECT_EQ(range_at(after.sections.at(0), {4096}).choice, ucc) << "not compared";
    EXPECT_EQ(range_at(after.sections.at(0), {1 << 20}).choice, ucc) << "slower";
}

TEST_F(ComparedSizes, ThatWereNotComparedKeepTheEvidenceOfTheSearch) {
    const Table after = held_out({.sections = {file}}, test::two_ranks, library.impl,
                                 std::vector{compared(64, 1.02, 1.1)}, Needed::gain);
    const Range& left = after.sections.at(0).ranges.at(1);
    EXPECT_EQ(left.choice, library);
    ASSERT_EQ(left.evidence.size(), 2u);
    EXPECT_EQ(left.evidence[0], test::seen_at(4096, 2e3));
}

TEST_F(ComparedSizes, BetweenThoseOfTheTableAreTakenOutAlone) {
    const Table after = held_out({.sections = {file}}, test::two_ranks, library.impl,
                                 std::vector{compared(4096, 1.1, 1.2), compared(16384, 0.8, 0.9)},
                                 Needed::gain_again);
    const Section& section = after.sections.at(0);
    EXPECT_EQ(range_at(section, {4096}).choice, tree);
    EXPECT_EQ(range_at(section, {16384}).choice, library);
    EXPECT_EQ(range_at(section, {1 << 20}).choice, chain);
}

TEST_F(ComparedSizes, AllLoseTheirChoicesIfRulesSlowTheDefaultDown) {
    file.ranges[0].choice = library;
    const auto with_default = [&](double low, double high) {
        return std::vector{compared(64, low, high), compared(4096, 1.1, 1.2),
                           compared(1 << 20, 1.1, 1.2)};
    };
    EXPECT_EQ(choices_after(with_default(0.94, 0.97), Needed::gain), std::vector(3, library));
    const std::vector<Configuration> kept{library, tree, chain};
    EXPECT_EQ(choices_after(with_default(0.94, 1.01), Needed::gain), kept) << "uncertain";
    EXPECT_EQ(choices_after(with_default(0.94, 0.99), Needed::gain), kept) << "perhaps small";
    EXPECT_EQ(choices_after(with_default(0.98, 0.99), Needed::gain), kept) << "small";
}

TEST_F(ComparedSizes, AllLoseTheirChoicesIfTheyGainNothingTogether) {
    file.ranges[0].choice = library;
    const auto both = [&](double of_default, double of_tree) {
        return std::vector{compared(64, of_default - 0.1, of_default + 0.1),
                           compared(4096, of_tree - 0.01, of_tree + 0.01)};
    };
    EXPECT_EQ(choices_after(both(0.98, 1.04), Needed::gain_again)[1], tree);
    EXPECT_EQ(choices_after(both(0.95, 1.04), Needed::gain_again)[1], library);
}

// Launches compared rings at three sizes. In each launch, one call of one size was disturbed.
class ComparedNeighbours : public ComparedSizes {
protected:
    using Gains = std::map<int, double>;

    ComparedNeighbours() {
        file.ranges = {
            {{0},
             ring,
             Origin::measured,
             {test::seen_at(64, 1e3), test::seen_at(128, 1e3), test::seen_at(256, 1e3)}}};
        for (int i = 0; i < 3; ++i) gains[static_cast<std::size_t>(i)][1 + 2 * i] = 0.9;
    }

    // Returns the gains of launches with consecutive numbers.
    static Gains launches(const std::vector<double>& of_each, int first = 1) {
        Gains gains;
        for (const double gain : of_each) gains[first++] = gain;
        return gains;
    }
    static Gains eight_launches(double gain) { return launches(std::vector<double>(8, gain)); }

    // Returns the sizes that keep their choice.
    std::vector<std::int64_t> kept(Needed needed) const {
        std::vector<ComparedSize> all;
        for (std::size_t i = 0; i < gains.size(); ++i) {
            ComparedSize one = compared(sizes[i], 1, 1);
            one.gains = gains[i];
            const auto of_launches = std::views::values(gains[i]);
            set_gain(one.seen, std::vector(of_launches.begin(), of_launches.end()));
            all.push_back(one);
        }
        const Table after =
            held_out({.sections = {file}}, test::two_ranks, library.impl, all, needed);
        std::vector<std::int64_t> left;
        for (const std::int64_t size : sizes)
            if (range_at(after.sections.at(0), {size}).choice != library) left.push_back(size);
        return left;
    }

    using Sizes = std::vector<std::int64_t>;
    const Sizes sizes{64, 128, 256};
    std::vector<Gains> gains{3, eight_launches(1.2)};
};

TEST_F(ComparedNeighbours, StayTogetherAlthoughEachIsUncertain) {
    EXPECT_EQ(kept(Needed::gain), sizes);
    EXPECT_EQ(kept(Needed::gain_again), sizes);
}

TEST_F(ComparedNeighbours, AreDroppedWithoutSupport) {
    file.ranges = {{{0}, ring, Origin::measured, {test::seen_at(64, 1e3)}},
                   {{100}, library, Origin::measured, {test::seen_at(256, 1e3)}}};
    EXPECT_EQ(kept(Needed::gain), Sizes{});
}

TEST_F(ComparedNeighbours, DoNotSupportOtherChoices) {
    file.ranges = {{{0}, ring, Origin::measured, {test::seen_at(64, 1e3)}},
                   {{100}, tree, Origin::measured, {test::seen_at(128, 1e3)}},
                   {{200}, ring, Origin::measured, {test::seen_at(256, 1e3)}}};
    EXPECT_EQ(kept(Needed::gain), Sizes{});
    EXPECT_EQ(kept(Needed::gain_again), Sizes{});
}

TEST_F(ComparedNeighbours, DoNotHelpASizeWhoseMedianHasNoGain) {
    for (auto& of_size : gains) of_size = eight_launches(1.5);
    gains[1] = eight_launches(0.999);
    EXPECT_EQ(kept(Needed::gain), (Sizes{64, 256}));
}

TEST_F(ComparedNeighbours, DoNotHelpASizeWhoseSecondGainIsSmall) {
    for (auto& of_size : gains) of_size = eight_launches(1.5);
    gains[1] = eight_launches(1.025);
    gains[1][3] = 0.95;
    EXPECT_EQ(kept(Needed::gain), sizes);
    EXPECT_EQ(kept(Needed::gain_again), (Sizes{64, 256}));
}

TEST_F(ComparedNeighbours, DoNotHelpIfAWholeLaunchWasSlower) {
    for (auto& of_size : gains) of_size = launches({0.9, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5});
    EXPECT_EQ(kept(Needed::gain), Sizes{});
}

TEST_F(ComparedNeighbours, HelpInTheLaunchesThatHaveThem) {
    gains[1].erase(8);
    EXPECT_EQ(kept(Needed::gain), sizes);
}

TEST_F(ComparedNeighbours, AreJoinedByTheNumberOfTheLaunch) {
    // Launch 3 was slower at all sizes. It is the third, second and first one that has the size.
    gains = {launches({1.2, 1.2, 0.9, 1.2, 1.2, 1.2, 1.2, 1.2}),
             launches({1.2, 0.9, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2}, 2),
             launches({0.9, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2}, 3)};
    EXPECT_EQ(kept(Needed::gain), Sizes{});
}

TEST_F(ComparedNeighbours, DoNotHelpInALaunchThatLacksThem) {
    gains = {launches(std::vector<double>(8, 1.2), 2), eight_launches(1.2),
             launches(std::vector<double>(8, 1.2), 2)};
    gains[1][1] = 0.9;
    EXPECT_EQ(kept(Needed::gain), (Sizes{64, 256}));
}

TEST_F(ComparedNeighbours, DropRulesOnlyIfPooledSizesAreSlower) {
    file.ranges[0].choice = library;
    file.ranges.push_back({{200}, tree, Origin::measured, {test::seen_at(256, 1e3)}});
    gains = {eight_launches(1.1), eight_launches(0.95), eight_launches(1.2)};
    EXPECT_EQ(kept(Needed::gain), (Sizes{256}));
    gains[0] = eight_launches(0.96);
    EXPECT_EQ(kept(Needed::gain), Sizes{});
}

// A first comparison refused the tree at 4 KiB.
class RefusedSize : public ComparedSizes {
protected:
    Table with_neighbours(double gain_of_ring, double gain_of_chain) const {
        const std::vector seen{compared(64, gain_of_ring, gain_of_ring), compared(4096, 0.98, 1.1),
                               compared(1 << 20, gain_of_chain, gain_of_chain)};
        const Table first =
            held_out({.sections = {file}}, test::two_ranks, library.impl, seen, Needed::gain);
        return with_choices_of_neighbours(first);
    }
    static Range at_4096(const Table& table) { return range_at(table.sections.at(0), {4096}); }
};

TEST_F(RefusedSize, TriesTheChoiceOfTheNeighbourWithTheLargerGain) {
    EXPECT_EQ(at_4096(with_neighbours(1.2, 1.1)).choice, ring);
    EXPECT_EQ(at_4096(with_neighbours(1.2, 1.3)).choice, chain);
    EXPECT_EQ(at_4096(with_neighbours(0.9, 1.3)).choice, chain);
    EXPECT_EQ(at_4096(with_neighbours(0.9, 0.9)).choice, library);
}

TEST_F(RefusedSize, DoesNotTryTheDefaultOfItsNeighbour) {
    file.ranges[0].choice = library;
    const Range range = at_4096(with_neighbours(1.3, 0.9));
    EXPECT_EQ(range.choice, library);
    EXPECT_EQ(range.origin, Origin::kept);
    EXPECT_EQ(at_4096(with_neighbours(1.3, 1.1)).choice, chain);
}

TEST_F(RefusedSize, DoesNotTryItsOwnChoiceAgain) {
    file.ranges[0].choice = tree;
    EXPECT_EQ(at_4096(with_neighbours(1.2, 0.9)).choice, library);
}

TEST_F(RefusedSize, KeepsTheNewChoiceOnlyAfterAnotherComparison) {
    const auto after = [&](const std::vector<ComparedSize>& seen) {
        return at_4096(held_out(with_neighbours(1.2, 1.1), test::two_ranks, library.impl, seen,
                                Needed::gain_again));
    };
    ComparedSize proof = compared(4096, 1.1, 1.2);
    proof.seen.choice.p50 = 700;
    const Range proved = after({proof});
    EXPECT_EQ(proved.choice, ring);
    EXPECT_EQ(proved.evidence.back().time.p50, 700);
    EXPECT_EQ(after({compared(4096, 0.98, 1.1)}).choice, library);
    EXPECT_EQ(after({}).choice, library) << "not compared";
}

TEST_F(ComparedSizes, OfOtherRanksStay) {
    EXPECT_EQ(choices_after(all, Needed::gain, {.ranks = 4}), (std::vector{ring, tree, chain}));
}

// A second run of `tune --library` found trees. The first one found rings for the same calls, for
// another type, another collective and other ranks.
TEST_F(Agreement, ANewerSectionOfALibraryReplacesThoseOfItsCollective) {
    Section half = chosen(ring), broadcast = chosen(ring), four_ranks = chosen(ring);
    half.subject.types = TypeClass::half;
    broadcast.subject.collective = Collective::broadcast;
    four_ranks.job_shape.ranks = 4;
    Section newer = chosen(tree);
    newer.is_complete = false;
    const Table table = replaced_in({.sections = {chosen(ring), half, broadcast, four_ranks}},
                                    {.sections = {newer}});
    ASSERT_EQ(table.sections.size(), 3u);
    const auto choice_of = [&](const Section& section) {
        const Section* found = find_section(table, section.job_shape, section.subject);
        return found == nullptr ? Configuration{} : found->ranges.at(0).choice;
    };
    EXPECT_EQ(choice_of(newer), tree);
    EXPECT_EQ(choice_of(broadcast), ring);
    EXPECT_EQ(choice_of(four_ranks), ring);
}

}  // namespace
}  // namespace tutti
