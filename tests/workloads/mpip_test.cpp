// SPDX-License-Identifier: Apache-2.0
// Reports of mpiP for stragglers.
#include <functional>

#include "tests/workloads/trace_folder.hpp"

namespace tutti {
namespace {

struct TimesInReport {
    double most_ms = 0, mean_ms = 0, least_ms = 0;
};

constexpr int calls_in_report = 200;

std::string section(const std::string& name, const std::string& columns) {
    const std::string line(75, '-');
    return fmt::format("{0}\n@--- {1} ---\n{0}\n{2}\n", line, name, columns);
}

std::string columns(std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) text += fmt::format("{:>9}", name);
    return text;
}

std::string report(int ranks, const std::function<TimesInReport(int rank)>& times) {
    std::string text = "@ mpiP\n@ Command : ./program\n@ Version : 3.5.0\n";
    for (int rank = 0; rank < ranks; ++rank)
        text += fmt::format("@ MPI Task Assignment      : {} node{}\n", rank, rank / 2);
    text += section("MPI Time (seconds)", columns({"Task", "AppTime", "MPITime", "MPI%"}));
    for (int rank = 0; rank < ranks; ++rank)
        text += fmt::format("{:4} {:10.3g} {:10.3g} {:8.2f}\n", rank, 8.6, 5.9, 68.84);
    text += "   *       25.8        6.2    24.02\n";
    text += section("Aggregate Time (milliseconds)",
                    columns({"Call", "Site", "Time", "App%", "MPI%", "COV"}));
    text += "Barrier                 4    2.3e+04   14.11   19.47    0.65\n";
    text += section(
        "Callsite Time statistics",
        columns({"Name", "Site", "Rank", "Count", "Max", "Mean", "Min", "App%", "MPI%"}).substr(5));
    // Sends differ between ranks, and only rank 0 does this barrier.
    text += "Send                 1    0     10      900      900      900   0.02   0.03\n";
    text += "Barrier              9    0      1      900      900      900   0.02   0.03\n\n";
    for (int rank = 0; rank < ranks; ++rank) {
        const TimesInReport one = times(rank);
        text += fmt::format("{:<17} {:4} {:4} {:6} {:8.3g} {:8.3g} {:8.3g} {:6.2f} {:6.2f}\n",
                            "Allreduce", 2, rank, calls_in_report, one.most_ms, one.mean_ms,
                            one.least_ms, 1.5, 2.5);
    }
    text += "Allreduce            2    *   1976    0.082   0.0107    0.003   0.01   0.02\n";
    text += section("Callsite Message Sent",
                    columns({"Name", "Site", "Rank", "Count", "Max", "Mean", "Min", "Sum"}));
    text += "Allreduce            2    0     247         8         8         8      1976\n";
    return text + section("End of Report", "");
}

class MpipReports : public TraceFolder {
protected:
    Stragglers found_in(int ranks, const std::function<TimesInReport(int rank)>& times) const {
        return stragglers_in(file("a.2.mpiP", report(ranks, times)));
    }
};

// The late rank is in its calls for 50 us, the others 20 us longer.
TEST_F(MpipReports, NameTheRankThatWaitsLeast) {
    for (const int ranks : {2, 4, 7})
        for (int late = 0; late < ranks; ++late) {
            const Stragglers found = found_in(ranks, [&](int rank) {
                return rank == late ? TimesInReport{0.052, 0.05, 0.049}
                                    : TimesInReport{0.072, 0.07, 0.068};
            });
            EXPECT_EQ(found.suspected_rank(), late);
            EXPECT_FALSE(found.is_by_chance(late));
            EXPECT_EQ(found.missing_rank(), std::nullopt);
            EXPECT_EQ(found.calls, calls_in_report);
            EXPECT_TRUE(found.is_summed);
            const RankArrivals& one = found.ranks.at(static_cast<std::size_t>(late));
            EXPECT_EQ(one.waited_least, calls_in_report);
            EXPECT_NEAR(one.caused_wait_ns, calls_in_report * 20e3, 1);
            EXPECT_NEAR(found.spent_ns, calls_in_report * 70e3, 1);
            EXPECT_EQ(one.name, fmt::format("node{}", late / 2));
        }
}

// Ranks 0 and 1 wait for each other equally long, and rank 2 waits for rank 3. The report does not
// tell that they are in two communicators, so rank 0 must not be called a straggler.
TEST_F(MpipReports, OfSeveralCommunicatorsOnlySuspectARank) {
    const Stragglers found = found_in(4, [](int rank) {
        const double ms = rank == 2 ? 0.1 : rank == 3 ? 0.06 : 0.05;
        return TimesInReport{ms, ms, ms};
    });
    EXPECT_EQ(found.slow_rank(), std::nullopt);
    EXPECT_EQ(found.suspected_rank(), 0);
}

// A mean that 200 calls of 0 or 1 ms (deviation at most 0.5 ms) have by chance: the sums of two
// ranks differ by at most 2 * 0.5 ms * sqrt(200) = 14 ms in one standard deviation.
TEST_F(MpipReports, SayIfItMayBeChance) {
    const auto mean_of_first = [&](double mean) {
        return found_in(2, [&](int rank) {
            return TimesInReport{1, rank == 0 ? mean : 1 - mean, 0};
        });
    };
    EXPECT_NEAR(mean_of_first(0.45).ranks.at(0).caused_wait_ns, 20e6, 1e3);
    EXPECT_EQ(mean_of_first(0.45).suspected_rank(), 0);
    EXPECT_TRUE(mean_of_first(0.45).is_by_chance(0));  // 20 ms
    EXPECT_FALSE(mean_of_first(0.3).is_by_chance(0));  // 80 ms of 4 * 13 ms
    const Stragglers alike = found_in(3, [](int) { return TimesInReport{2, 1, 0.5}; });
    EXPECT_EQ(alike.suspected_rank(), std::nullopt);
    for (const RankArrivals& one : alike.ranks) EXPECT_EQ(one.waited_least, 0);
    // One of 8 ranks is late by 1 ms in each of 200 calls: a rank is late 25 times in the mean,
    // with the deviation sqrt(200 / 8 * 7 / 8) = 4.68. Rank 5 is late 40 times (3.2 deviations),
    // or 48.
    for (const auto& [late, is_by_chance] : {std::pair{40, true}, {48, false}}) {
        const double others = (200 - late) / 7.0;
        const Stragglers found = found_in(8, [&](int rank) {
            return TimesInReport{1, 1 - (rank == 5 ? late : others) / 200, 0};
        });
        EXPECT_EQ(found.suspected_rank(), 5);
        EXPECT_EQ(found.is_by_chance(5), is_by_chance) << late;
    }
    // 1 % of the time.
    EXPECT_EQ(
        found_in(2,
                 [](int rank) {
                     return rank == 0 ? TimesInReport{0.99, 0.99, 0.99} : TimesInReport{1, 1, 1};
                 })
            .suspected_rank(),
        std::nullopt);
}

TEST_F(MpipReports, ThatCannotBeUsedSayWhy) {
    const auto alike = [](int) { return TimesInReport{1, 1, 1}; };
    const std::string one = file("a.mpiP", report(2, alike)),
                      other = file("b.mpiP", report(2, alike));
    EXPECT_NE(error_of([&] { stragglers_in(one + "," + other); }).find("second"),
              std::string::npos);
    EXPECT_NE(refused(one).find("--stragglers"), std::string::npos) << refused(one);
    std::string concise = report(2, alike);
    concise.erase(concise.find("@--- Callsite Time"));
    const std::string words = error_of([&] { stragglers_in(file("c.mpiP", concise)); });
    EXPECT_NE(words.find("without -c"), std::string::npos) << words;
    std::string archive(300, '\0');
    archive.replace(0, 10, "anchor.xml").replace(257, 5, "ustar");
    EXPECT_NE(error_of([&] { stragglers_in(file("profile.cubex", archive)); }).find("Score-P"),
              std::string::npos);
}

TEST_F(MpipReports, ThatAreDamagedAreReadOrRefusedInOneLine) {
    const std::string original = report(3, [](int rank) {
        return TimesInReport{0.1 * rank + 1, 1, 0.5};
    });
    for_each_damaged("a.mpiP", original, 5000, 8, expect_stragglers_or_one_line);
}

}  // namespace
}  // namespace tutti
