// SPDX-License-Identifier: Apache-2.0
#include "results/records/store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "results/records/reader.hpp"
#include "samples.hpp"
#include "tests/base/messages.hpp"
#include "tests/base/small_limit.hpp"

namespace tutti {
namespace {}  // namespace

TEST(Store, KeepsWhatIsAppendedAcrossRuns) {
    const TemporaryFolder folder;
    const auto path = folder / "new/folder/r.jsonl";
    Store(path).append(sample_point());
    {
        Store again(path);
        EXPECT_EQ(again.records(), 1u);
        again.append(End{});
        EXPECT_EQ(again.records(), 2u);
    }
    EXPECT_EQ(content_of(path), to_json_line(sample_point()) + '\n' + to_json_line(End{}) + '\n');
}

TEST(Store, MovesATornTailAsideWhereverItIsTorn) {
    const std::string line = to_json_line(End{});
    const std::string three = line + '\n' + line + '\n' + line + '\n';
    const std::size_t n = line.size();
    // In a line, and next to its ends.
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, n / 2, n - 1, n, n + 1, n + 2,
                                  2 * n, 2 * n + 1, 2 * n + 2, 2 * n + 3, 3 * n + 3}) {
        const TemporaryFolder folder;
        const auto path = folder / "r.jsonl";
        fill(path, three.substr(0, cut));
        const std::size_t whole = (cut + 1) / (line.size() + 1);  // may lack only its line end
        const std::string tail =
            three.substr(0, cut).substr(std::min(whole * (line.size() + 1), cut));
        {
            Store store(path);
            EXPECT_EQ(store.records(), whole);
            store.append(line);
        }
        EXPECT_EQ(read_results(path).ends.size(), whole + 1) << cut;
        EXPECT_EQ(content_of(folder / "r.jsonl.torn"), tail.empty() ? "" : tail + '\n') << cut;
    }
}

TEST(Store, AFullDiskCostsNoRecordThatWasThere) {
    const std::string line = to_json_line(sample_point());
    // The limit falls on every kind of place: before, in and at the end of the second line.
    for (const std::size_t room : {std::size_t{0}, std::size_t{1}, line.size() / 2, line.size()}) {
        const TemporaryFolder folder;
        const auto path = folder / "r.jsonl";
        Store store(path);
        store.append(line);
        {
            const SmallLimit disk(RLIMIT_FSIZE, line.size() + 1 + room);
            const std::string complaint = refusal_by([&] { store.append(line); });
            EXPECT_TRUE(holds(complaint, "1 records"));
        }
        EXPECT_EQ(content_of(path), line + '\n') << room;
        store.append(line);  // room again: the run goes on
        EXPECT_EQ(read_results(path).points.size(), 2u);
    }
}

TEST(Store, SaysThatTheDeviceIsFull) {
    Store store("/dev/full");
    const std::string complaint = refusal_by([&] { store.append(End{}); });
    EXPECT_TRUE(holds(complaint, "/dev/full"));
}

TEST(Store, WritesToWhatCannotBeTruncated) {
    Store store("/dev/null");
    store.append(End{});
    EXPECT_EQ(store.records(), 1u);
}

TEST(Store, RefusesASecondWriter) {
    const TemporaryFolder folder;
    const auto path = folder / "r.jsonl";
    {
        const Store first(path);
        const std::string complaint = refusal_by([&] { Store second(path); });
        EXPECT_TRUE(holds(complaint, "another tutti"));
    }
    EXPECT_NO_THROW(Store{path});
}

TEST(Store, RefusesAPathThatCannotBeWritten) {
    const TemporaryFolder folder;
    fill(folder / "file", "x");
    EXPECT_NE(refusal_by([&] { Store{folder / "file/r.jsonl"}; }).find("cannot write results"),
              std::string::npos);
    EXPECT_NE(refusal_by([&] { Store{folder / ""}; }).find("cannot write results"),
              std::string::npos);
}

TEST(Store, LeavesAForeignFileAlone) {
    const TemporaryFolder folder;
    fill(folder / "letter.txt", "Dear all");
    EXPECT_NE(refusal_by([&] { Store{folder / "letter.txt"}; }).find("results file"),
              std::string::npos);
    EXPECT_EQ(content_of(folder / "letter.txt"), "Dear all");
}

TEST(Store, AddsToFilesThatEditorsChanged) {
    const TemporaryFolder folder;
    const std::string line = to_json_line(End{}), mark = "\xef\xbb\xbf";
    for (const std::string& text : {mark + line + "\n", "\n \r\n" + line + "\n\n",
                                    mark + "\r\n" + line + "\r\n", mark + "\n" + line}) {
        fill(folder / "r.jsonl", text);
        {
            Store store(folder / "r.jsonl");
            EXPECT_EQ(store.records(), 1u) << text;
            store.append(line);
        }
        EXPECT_EQ(read_results(folder / "r.jsonl").ends.size(), 2u) << text;
    }
    EXPECT_EQ(content_of(folder / "r.jsonl.torn"), "");
    const std::string utf16("\xff\xfe{\0", 4);
    fill(folder / "w.jsonl", utf16);
    EXPECT_TRUE(holds(refusal_by([&] { Store{folder / "w.jsonl"}; }), "UTF-16"));
    EXPECT_EQ(content_of(folder / "w.jsonl"), utf16);
}

// Before, records went on into a file that no process could open any more.
TEST(Store, NoticesThatItsFileIsDeleted) {
    const TemporaryFolder folder;
    Store store(folder / "r.jsonl");
    store.append(R"({"v":1})");
    std::filesystem::remove(folder / "r.jsonl");
    EXPECT_NE(refusal_by([&] { store.append(R"({"v":1})"); }).find("was deleted"),
              std::string::npos);
}

// A rank whose file it is not records why it gives up, while rank 0 has the file open.
TEST(Store, AFailureIsAddedOnceToASessionThatIsBeingWritten) {
    const TemporaryFolder folder;
    const auto file = folder / "r.jsonl";
    Fail fail;
    fail.session = "one";
    fail.what = "timeout";
    fail.phase = "rank 1 waited";
    append_to_running_session(file, fail);
    EXPECT_FALSE(std::filesystem::exists(file));
    Store store(file);
    Session session;
    session.id = "one";
    store.append(session);
    append_to_running_session(file, fail);
    append_to_running_session(file, fail);
    Fail of_another = fail;
    of_another.session = "two";
    append_to_running_session(file, of_another);
    const Results results = read_results(file);
    ASSERT_EQ(results.fails.size(), 1u);
    EXPECT_EQ(results.fails[0], fail);
}

// A training run writes its steps again and again; the last record of each method counts.
TEST(Reader, LeavesOutPartialStepsThatALaterRecordReplaces) {
    const TemporaryFolder folder;
    Store store(folder / "r.jsonl");
    TrainingStep step;
    step.session = "one";
    step.is_partial = true;
    for (const std::int64_t rounds : {1, 3, 7}) {
        step.step.n = rounds;
        for (const char* method : {"ring/shm", "mpi"}) {
            step.key.method = method;
            if (rounds == 7 && step.key.method == "mpi") step.is_partial = false;
            store.append(step);
        }
    }
    const auto steps = read_results(folder / "r.jsonl").steps;
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_TRUE(steps[0].is_partial);
    EXPECT_FALSE(steps[1].is_partial);
    for (const TrainingStep& one : steps) EXPECT_EQ(one.step.n, 7);
}

TEST(Store, MayBeMovedWithItsFile) {
    const TemporaryFolder folder;
    Store first(folder / "r.jsonl");
    Store second = std::move(first);
    second.append(End{});
    EXPECT_EQ(read_results(folder / "r.jsonl").ends.size(), 1u);
}

}  // namespace tutti
