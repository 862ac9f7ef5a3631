// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/dataset.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "base/index.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

std::string complaint(std::string_view text) {
    return thrown_by([&] { parse_libsvm(text, "data.svm"); }).text;
}

std::vector<int> numbers(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

}  // namespace

// Counts of the test set as its authors give them (workloads/learn/training/data/README.md).
TEST(Digits, AreTheOnesPublished) {
    const Dataset data = digits();
    EXPECT_EQ(data.rows(), 1797);
    EXPECT_EQ(data.columns, 64);
    EXPECT_EQ(data.class_names, numbers(10));
    const int of_each[] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    for (int digit = 0; digit < 10; ++digit)
        EXPECT_EQ(std::count(data.labels.begin(), data.labels.end(), digit), of_each[digit]);
    EXPECT_EQ(*std::min_element(data.features.begin(), data.features.end()), 0);
    EXPECT_EQ(*std::max_element(data.features.begin(), data.features.end()), 1);
}

TEST(Split, TestsEveryFifthRowAndKeepsTheOthers) {
    const Dataset data = digits();
    const Split parts = split(data);
    EXPECT_EQ(parts.test.rows(), 1797 / 5);
    EXPECT_EQ(parts.train.rows() + parts.test.rows(), data.rows());
    const auto same = [](std::span<const float> a, std::span<const float> b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    EXPECT_TRUE(same(parts.test.row(1), data.row(9)));
    EXPECT_TRUE(same(parts.train.row(4), data.row(5)));
    EXPECT_EQ(parts.test.labels[1], data.labels[9]);
    EXPECT_EQ(parts.train.class_names, data.class_names);
}

TEST(Share, TakesEachRowOfABatchOnceWhateverTheRankCount) {
    for (const int rows : {0, 1, 5, 32, 33})
        for (int ranks = 1; ranks <= 40; ++ranks) {
            const auto batch = numbers(rows);
            std::vector<int> taken;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto share = share_of(batch, Rank{rank}, ranks);
                EXPECT_LE(share.size(), static_cast<std::size_t>((rows + ranks - 1) / ranks));
                taken.insert(taken.end(), share.begin(), share.end());
            }
            EXPECT_EQ(taken, batch) << rows << " rows, " << ranks << " ranks";
        }
}

TEST(BatchOrder, VisitsAllRowsInEachEpoch) {
    BatchOrder order(24, 8, 7);
    ASSERT_EQ(order.batches_per_epoch(), 3);
    std::vector<int> epochs[2];
    for (auto& epoch : epochs)
        for (int batch = 0; batch < 3; ++batch) {
            const auto rows = order.next();
            epoch.insert(epoch.end(), rows.begin(), rows.end());
        }
    EXPECT_NE(epochs[0], epochs[1]);
    for (auto& epoch : epochs) {
        std::sort(epoch.begin(), epoch.end());
        EXPECT_EQ(epoch, numbers(24));
    }
}

TEST(BatchOrder, IsTheSameForTheSameSeed) {
    BatchOrder one(100, 10, 3), same(100, 10, 3), other(100, 10, 4);
    bool differs = false;
    for (int batch = 0; batch < 25; ++batch) {
        const auto a = one.next(), b = same.next(), c = other.next();
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
        differs = differs || !std::equal(a.begin(), a.end(), c.begin(), c.end());
    }
    EXPECT_TRUE(differs);
    EXPECT_THROW(BatchOrder(10, 11, 0), Error);
    EXPECT_THROW(BatchOrder(10, 0, 0), Error);
}

TEST(Batch, HoldsTheRowsAskedFor) {
    const Dataset data = parse_libsvm("0 1:1 2:2\n1 1:3\n0 2:4\n", "x");
    Batch batch;
    batch.take(data, std::vector<int>{2, 1});
    EXPECT_EQ(batch.features, (std::vector<float>{0, 4, 3, 0}));
    EXPECT_EQ(batch.labels, (std::vector<int>{0, 1}));
}

TEST(Libsvm, IsReadAsItsFormatSays) {
    const Dataset data = parse_libsvm(
        "# a comment\n"
        "+1 2:0.5 4:-2e1  # another\r\n"
        "\n"
        "-1\t1:+3\n"
        "1.000\n",
        "x");
    EXPECT_EQ(data.columns, 4);
    EXPECT_EQ(data.class_names, (std::vector<int>{-1, 1}));
    EXPECT_EQ(data.labels, (std::vector<int>{1, 0, 1}));
    EXPECT_EQ(data.features, (std::vector<float>{0, 0.5, 0, -20, 3, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(with_unit_range(data).features[3], -1);
}

// Writes text that parse_libsvm reads back as the same values (`columns` only where the last is
// used).
void write_libsvm(const Dataset& data, std::ostream& out) {
    for (int index = 0; index < data.rows(); ++index) {
        const int label = at(data.labels, index);
        out << at(data.class_names, label);
        const auto row = data.row(index);
        for (std::size_t column = 0; column < row.size(); ++column)
            if (row[column] != 0) out << fmt::format(" {}:{}", column + 1, row[column]);
        out << '\n';
    }
}

TEST(Libsvm, WrittenAndReadIsTheSame) {
    const Dataset data = digits();
    std::ostringstream text;
    write_libsvm(data, text);
    EXPECT_EQ(parse_libsvm(text.str(), "x"), data);
    const Dataset odd =
        parse_libsvm("-7 1:0.1 3:1e-38\n5 2:16777217\n5 1:3.4028235e38 3:-0.3333333\n", "x");
    std::ostringstream again;
    write_libsvm(odd, again);
    EXPECT_EQ(parse_libsvm(again.str(), "x"), odd);
}

TEST(Libsvm, ThatIsDamagedIsRefusedWithFileLineAndText) {
    const std::pair<const char*, const char*> damaged[] = {
        {"0 1:1\nseven 1:1\n", "data.svm:2: 'seven'"},
        {"0.5 1:1\n", "data.svm:1: '0.5'"},
        {"nan 1:1\n", "data.svm:1: 'nan'"},
        {"1e300 1:1\n", "data.svm:1: '1e300'"},
        {"1:1 2:1\n", "data.svm:1: '1:1'"},
        {"0 1:1\n\n1 3:1 2:1\n", "data.svm:3: index 2 after 3"},
        {"0 3:1 3:1\n", "data.svm:1: index 3 after 3"},
        {"0 0:1\n", "data.svm:1: '0:1'"},
        {"0 -1:1\n", "data.svm:1: '-1:1'"},
        {"0 x:1\n", "data.svm:1: 'x:1'"},
        {"0 65537:1\n", "data.svm:1: '65537:1'"},
        {"0 99999999999:1\n", "data.svm:1: '99999999999:1'"},
        {"0 1:one\n", "data.svm:1: '1:one'"},
        {"0 1:2x\n", "data.svm:1: '1:2x'"},
        {"0 1:nan\n", "data.svm:1: '1:nan'"},
        {"0 1:inf\n", "data.svm:1: '1:inf'"},
        {"0 1:1e99\n", "data.svm:1: '1:1e99'"},
        {"0 1\n", "data.svm:1: '1'"},
        {"0 1:\n", "data.svm:1: '1:'"},
        {"0 1:1\n1 1:0", "data.svm:2: "},
        {"", "data.svm: "},
        {"0\n1\n", "data.svm: "},
        {"4 1:1\n4 1:2\n", "data.svm: 1 "},
    };
    for (const auto& [text, start] : damaged)
        EXPECT_TRUE(complaint(text).starts_with(start)) << complaint(text);
}

TEST(Libsvm, CutOffAnywhereInALineIsRefused) {
    const std::string whole = "0 1:0.5 12:3\n1 2:0.25\n";
    for (std::size_t length = 1; length < whole.size(); ++length)
        if (whole[length - 1] != '\n') {
            EXPECT_NE(complaint(whole.substr(0, length)), "") << length;
        }
    EXPECT_EQ(complaint(whole), "");
}

TEST(Libsvm, ThatIsNotThereIsRefusedByName) {
    EXPECT_TRUE(holds(refusal_by([] { read_libsvm("/nowhere/at.all"); }), "'/nowhere/at.all'"));
}

}  // namespace tutti
