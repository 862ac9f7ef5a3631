// SPDX-License-Identifier: Apache-2.0
#include "kernels/sets.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/base/messages.hpp"

namespace tutti {

class KernelChoice : public testing::Test {
protected:
    KernelChoice() { unsetenv("TUTTI_KERNELS"); }
    ~KernelChoice() override { unsetenv("TUTTI_KERNELS"); }
    static void force(const std::string& name) { setenv("TUTTI_KERNELS", name.c_str(), 1); }
};

TEST_F(KernelChoice, EveryTypeHasAKernelWhicheverSetIsForced) {
    for (const KernelSet& set : kernel_sets()) {
        if (!set.runs_here()) continue;
        force(std::string(set.name));
        const FastestKernels kernels;
        for (DataType type : all_data_types()) {
            EXPECT_NE(kernels.divide(type), nullptr);
            for (Op op : all_ops())
                for (const Stores stores : {Stores::cached, Stores::streaming})
                    EXPECT_NE(kernels.reduce(type, op, stores), nullptr);
        }
    }
}

TEST_F(KernelChoice, IsTheFirstSetThatRunsHere) {
    for (const KernelSet& set : kernel_sets()) {
        if (!set.runs_here()) continue;
        EXPECT_EQ(find_reduce(DataType::float32, Op::sum),
                  set.find(DataType::float32, Op::sum, Stores::cached));
        EXPECT_EQ(find_divide(DataType::float32), set.find_divide(DataType::float32));
        break;
    }
}

TEST_F(KernelChoice, IsWhatTheEnvironmentNames) {
    for (const KernelSet& set : kernel_sets()) {
        force(std::string(set.name));
        if (set.runs_here())
            EXPECT_EQ(FastestKernels().reduce(DataType::int32, Op::max, Stores::cached),
                      set.find(DataType::int32, Op::max, Stores::cached));
        else
            EXPECT_THROW(FastestKernels(), Error);
    }
}

TEST_F(KernelChoice, OfAnAverageIsThatOfASum) {
    for (DataType type : all_data_types())
        EXPECT_EQ(find_reduce(type, Op::avg), find_reduce(type, Op::sum));
}

TEST_F(KernelChoice, AnUnknownSetIsAnsweredWithTheKnownOnes) {
    force("scaler");
    const std::string text = refusal_by([] { FastestKernels(); });
    EXPECT_NE(text.find("mean 'scalar'"), std::string::npos) << text;
    EXPECT_NE(text.find("simd128 scalar"), std::string::npos) << text;
}

}  // namespace tutti
