// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/race_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

const JobShape two_ranks{.ranks = 2, .ranks_per_host = 2, .topology = "abc"};
const RaceLog::Entry entry{
    .subject = {Collective::reduce, TypeClass::half, OpClass::average, BufferKind::unregistered},
    .size = {4096},
    .configuration =
        {.algorithm = "chain", .transport = "mpi", .segment = {8192}, .radix = 4, .channels = 2},
    .samples_ns = {1200, 1300.5, 1250}};

class RaceLogTest : public ::testing::Test {
protected:
    RaceLogTest() {
        char folder[] = "/tmp/tutti-race-log-XXXXXX";
        folder_ = mkdtemp(folder);
        path_ = folder_ / "races";
    }
    ~RaceLogTest() override { std::filesystem::remove_all(folder_); }

    std::vector<RaceLog::Entry> read(const JobShape& job_shape = two_ranks,
                                     const std::string& plan = "plan") const {
        return RaceLog(path_, job_shape, plan, true).earlier();
    }

    std::filesystem::path folder_, path_;
};

TEST_F(RaceLogTest, ReadsTheRacesThatWereWritten) {
    {
        RaceLog log(path_, two_ranks, "plan", false);
        log.append(entry);
        log.append(entry.subject, TuneCost{.samples = 3, .seconds = 0.5});
        log.append(entry);
    }
    const auto earlier = read();
    ASSERT_EQ(earlier.size(), 2u);
    EXPECT_EQ(earlier[1].subject, entry.subject);
    EXPECT_EQ(earlier[1].size, entry.size);
    EXPECT_EQ(earlier[1].configuration, entry.configuration);
    EXPECT_EQ(earlier[1].samples_ns, entry.samples_ns);
}

TEST_F(RaceLogTest, AWrongResultIsAnEntryWithoutSamples) {
    {
        RaceLog log(path_, two_ranks, "plan", false);
        log.append(entry);
        log.append({.subject = entry.subject, .configuration = entry.configuration});
    }
    for (const auto& races : {read(), races_in(path_)}) {
        ASSERT_EQ(races.size(), 2u);
        EXPECT_EQ(races[1].configuration, entry.configuration);
        EXPECT_TRUE(races[1].samples_ns.empty());
    }
}

TEST_F(RaceLogTest, ATornLineIsCutOffAndTheLogGoesOn) {
    { RaceLog(path_, two_ranks, "plan", false).append(entry); }
    std::ofstream(path_, std::ios::app) << R"({"kind":"race","coll)";
    { RaceLog(path_, two_ranks, "plan", true).append(entry); }
    EXPECT_EQ(read().size(), 2u);
}

TEST_F(RaceLogTest, OnlyTheSameSearchGoesOn) {
    { RaceLog(path_, two_ranks, "plan", false).append(entry); }
    EXPECT_THROW(read({.ranks = 4, .ranks_per_host = 4, .topology = "abc"}), Error);
    EXPECT_THROW(read(two_ranks, "another plan"), Error);
    EXPECT_EQ(read().size(), 1u);  // those left it as it was
    { RaceLog(path_, two_ranks, "plan", false); }
    EXPECT_TRUE(read().empty());  // started again
}

TEST_F(RaceLogTest, AnotherFileIsRefused) {
    std::ofstream(path_) << "# a table\n";
    EXPECT_TRUE(holds(refusal_by([&] { read(); }), ":1: "));
}

TEST_F(RaceLogTest, RefusesUnknownNamesWithTheirPlace) {
    { RaceLog(path_, two_ranks, "plan", false).append(entry); }
    std::stringstream whole;
    whole << std::ifstream(path_).rdbuf();
    for (const std::string known : {"unregistered", "reduce", "half", "average"}) {
        std::string text = whole.str();
        const auto place = text.find(fmt::format("\"{}\"", known));
        ASSERT_NE(place, text.npos) << known;
        std::ofstream(path_) << text.replace(place + 1, known.size(), "managed");
        EXPECT_TRUE(holds(refusal_by([&] { read(); }), {"races:2: '", "': unknown ", "'managed'"}))
            << known;
    }
}

}  // namespace
}  // namespace tutti
