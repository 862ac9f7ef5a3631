// SPDX-License-Identifier: Apache-2.0
// Matrices of recorded counts: the forms of a file, and the faults that it may have.
#include "workloads/traces/count_matrices.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using Matrices = std::vector<std::vector<std::int64_t>>;

std::string refusal(std::string_view text) {
    return refusal_by([&] { parse_count_matrices(text, "routing"); });
}

}  // namespace

TEST(CountMatrices, AreTheSameInEachForm) {
    for (const char* text :
         {"1 2 3\n4 0 6\n\n7 8 9\n10 11 12\n", "1,2,3\r\n4, 0,6\r\n\r\n\r\n7,8,9,\r\n10,11,12",
          "# tokens\n1 2 3  # of rank 0\n# between rows\n4 0 6\n  \n7 8 9\n10\t11\t12\n\n",
          "[[[1, 2, 3], [4, 0, 6]], [[7, 8, 9], [10, 11, 12]]]",
          " \n{\"step\": 7, \"counts\": [[[1,2,3],[4,0,6]],[[7,8,9],[10,11,12]]]}"}) {
        const CountMatrices read = parse_count_matrices(text, "routing");
        EXPECT_EQ(read.rows, 2) << text;
        EXPECT_EQ(read.columns, 3) << text;
        EXPECT_EQ(read.matrices, (Matrices{{1, 2, 3, 4, 0, 6}, {7, 8, 9, 10, 11, 12}})) << text;
    }
}

TEST(CountMatrices, MayBeOneMatrixOrOneRow) {
    for (const char* text : {"1 2\n3 4", "[[1, 2], [3, 4]]", "{\"counts\": [[1, 2], [3, 4]]}"})
        EXPECT_EQ(parse_count_matrices(text, "").matrices, (Matrices{{1, 2, 3, 4}})) << text;
    for (const char* text : {"5 6 7", "[5, 6, 7]", "{\"counts\": [5, 6, 7]}"}) {
        const CountMatrices read = parse_count_matrices(text, "");
        EXPECT_EQ(read.rows, 1) << text;
        EXPECT_EQ(read.matrices, (Matrices{{5, 6, 7}})) << text;
    }
}

TEST(CountMatrices, NameRowAndColumnOfAFault) {
    EXPECT_TRUE(holds(refusal("1 2\n\n3 -4\n"), {"routing:3: matrix 2, row 1, column 2", "'-4'"}));
    EXPECT_TRUE(holds(refusal("1 2\n1.5 2\n"), {"routing:2:", "row 2, column 1", "'1.5'"}));
    EXPECT_TRUE(holds(refusal("rank0 rank1\n1 2\n"), {"routing:1:", "'rank0'"}));
    EXPECT_TRUE(holds(refusal("1,,2\n"), {"routing:1:", "column 2", "''"}));
    EXPECT_TRUE(holds(refusal("1 1099511627777\n"), {"column 2", "0 to 1099511627776"}));
    EXPECT_TRUE(holds(refusal("1 99999999999999999999\n"), {"column 2", "0 to 1099511627776"}));
    EXPECT_TRUE(holds(refusal("1 2\n3 4 5\n"), {"routing:2:", "row 2", "3 numbers", "has 2"}));
    EXPECT_TRUE(holds(refusal("1 2\n\n3 4\n5 6\n"), {"routing:4:", "2 rows", "has 1", "shape"}));
    EXPECT_TRUE(holds(refusal("1 2\n3 4\n\n5 6\n"), {"routing:4:", "1 row", "has 2"}));
    EXPECT_TRUE(holds(refusal("1 2\n\n3 4 5\n"), {"routing:3:", "matrix 2", "3 numbers"}));
    std::string large;
    for (int i = 0; i < 17; ++i) large += "1099511627776 ";
    EXPECT_TRUE(holds(refusal(large), {"column 17", "in total"}));
    for (const char* empty : {"", "\n \n", "# nothing\n"})
        EXPECT_TRUE(holds(refusal(empty), {"routing:1:", "no counts"})) << empty;
}

TEST(CountMatrices, NameTheFaultInJson) {
    EXPECT_TRUE(holds(refusal("{\"counts\": [[1, 2],\n[3, -4]]}"), {"routing:2:", "counts[1][1]"}));
    EXPECT_TRUE(holds(refusal("[[1, 2], [3, 1.5]]"), {"'[1][1]'", "whole number"}));
    EXPECT_TRUE(holds(refusal("[[1, 2],\n[3]]"), {"routing:2:", "row 2", "1 number", "has 2"}));
    EXPECT_TRUE(holds(refusal("[[1, 2], 3]"), {"'[1]'", "not a list"}));
    EXPECT_TRUE(holds(refusal("[[[[1]]]]"), {"not a matrix"}));
    EXPECT_TRUE(holds(refusal("{\"counts\": 3}"), {"'counts'", "not a matrix"}));
    EXPECT_TRUE(holds(refusal("{\"tokens\": [[1]]}"), {"'counts'"}));
    for (const char* empty : {"[]", "[[]]", "[[[1]], []]", "[[1], []]", "{\"counts\": []}"})
        EXPECT_TRUE(holds(refusal(empty), {"is empty"})) << empty;
    EXPECT_NE(refusal("[[1, 2], [3"), "");
}

TEST(CountMatrices, AreSquareIfThereIsARowAndAColumnForEachRank) {
    const CountMatrices two = parse_count_matrices("1 2\n3 4\n", "routing");
    EXPECT_NO_THROW(two.require_square(2));
    EXPECT_TRUE(
        holds(refusal_by([&] { two.require_square(4); }), {"routing", "2 rows", "4 ranks"}));
    const CountMatrices uneven = parse_count_matrices("1 2 3\n4 5 6\n", "routing");
    EXPECT_TRUE(holds(refusal_by([&] { uneven.require_square(2); }), {"3 columns", "2 ranks"}));
}

TEST(CountMatrices, ExchangeRowsAndColumns) {
    EXPECT_EQ(transposed({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3),
              (std::vector<std::int64_t>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
}

TEST(CountMatrices, AreReadFromAFile) {
    const std::string path = testing::TempDir() + "tutti_count_matrices";
    std::ofstream(path) << "1 2\n3 4\n";
    EXPECT_EQ(read_count_matrices(path, "--routing").matrices, (Matrices{{1, 2, 3, 4}}));
    std::remove(path.c_str());
    for (const std::string& absent : {path, testing::TempDir()})
        EXPECT_TRUE(holds(refusal_by([&] { read_count_matrices(absent, "--routing"); }),
                          {"cannot be read", "--routing"}));
}

}  // namespace tutti
