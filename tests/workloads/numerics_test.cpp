// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "../collectives/checked_plan.hpp"
#include "workloads/numerics/drawn_numbers.hpp"
#include "workloads/numerics/sum_examiner.hpp"

namespace tutti {
namespace {

TEST(ExactSum, LosesNothingWhereDoublesWould) {
    ExactSum sum;
    for (const double part : {1.0, 0x1p-60, 0x1p500, 0x1p-1074, -0x1p500, -1.0}) sum.add(part);
    const PreciseSum precise_sum = precise(sum);
    EXPECT_EQ(precise_sum.sum, 0x1p-60);
    EXPECT_EQ(precise_sum.rest, 0x1p-1074);
}

// 1 + 1/2 + 1/4 + ... + 2^-n is 2 - 2^-n.
TEST(ExactSum, OfPowersOfTwoHasItsClosedForm) {
    ExactSum sum;
    for (int n = 0; n <= 90; ++n) sum.add(std::ldexp(1.0, -n));
    const PreciseSum precise_sum = precise(sum);
    EXPECT_EQ(precise_sum.sum, 2.0);
    EXPECT_EQ(precise_sum.rest, -0x1p-90);
    sum.clear();
    EXPECT_EQ(precise(sum).sum, 0);
}

TEST(Ulp, IsTheDistanceOfNeighbours) {
    EXPECT_EQ(ulp_at<float>(1), std::numeric_limits<float>::epsilon());
    EXPECT_EQ(ulp_at<float>(-1.5), 0x1p-23);
    EXPECT_EQ(ulp_at<float>(2), 0x1p-22);
    EXPECT_EQ(ulp_at<float>(0), std::numeric_limits<float>::denorm_min());
    EXPECT_EQ(ulp_at<float>(0x1p-140), std::numeric_limits<float>::denorm_min());
    EXPECT_EQ(ulp_at<double>(1), std::numeric_limits<double>::epsilon());
    EXPECT_EQ(ulp_at<double>(0), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(ulp_at<Half>(1), 0x1p-10);
    EXPECT_EQ(ulp_at<Half>(0), 0x1p-24);
    EXPECT_EQ(ulp_at<BFloat16>(1), 0x1p-7);
    EXPECT_EQ(ulp_at<Fp8E4M3>(1), 0x1p-3);
    EXPECT_EQ(ulp_at<Fp8E4M3>(0), 0x1p-9);
    EXPECT_EQ(ulp_at<Fp8E5M2>(1), 0x1p-2);
    EXPECT_EQ(ulp_at<Fp8E5M2>(0), 0x1p-16);
}

TEST(Ulp, TheErrorOfOneRoundingIsAtMostAHalf) {
    const PreciseSum third{1.0 / 3, 0};
    EXPECT_LE(error_in_ulp(1.0F / 3, third), 0.5);
    EXPECT_LE(error_in_ulp(Half(1.0F / 3), third), 0.5);
    EXPECT_EQ(error_in_ulp(1.0F, {1, 0}), 0);
    EXPECT_EQ(error_in_ulp(1.0F + 0x1p-22F, {1, 0}), 2);
    EXPECT_EQ(error_in_ulp(1.0, {1, 0x1p-54}), 0.25);
    EXPECT_EQ(error_in_ulp(-1.0, {-1, -0x1p-54}), 0.25);
    EXPECT_TRUE(std::isinf(error_in_ulp(INFINITY, {1, 0})));
    EXPECT_TRUE(std::isinf(error_in_ulp(static_cast<float>(NAN), {1, 0})));
}

template <class T>
void expect_numbers_in_range(double largest_sum) {
    const int ranks = 16;
    for (const auto& [draw, name] : NamesOf<Draw>::rows) {
        double least = INFINITY, most = -INFINITY, smallest = INFINITY;
        const DrawnNumbers<T> numbers(1, draw, Rank{3}, ranks);
        for (int i = 0; i < 4096; ++i) {
            const double number = as_double(numbers.at(i));
            least = std::min(least, number);
            most = std::max(most, number);
            smallest = std::min(smallest, std::fabs(number));
        }
        if (draw != Draw::wide) {
            const double lowest = draw == Draw::uniform ? 0 : -1;
            EXPECT_TRUE(least >= lowest && least < lowest + 0.05 && most > 0.9 && most <= 1)
                << name;
        } else {
            const double narrow = std::ldexp(1.0, -DrawnNumbers<T>::widest_exponent(ranks));
            EXPECT_LT(ranks * std::max(-least, most), largest_sum);
            EXPECT_GE(smallest, narrow);
            EXPECT_LE(smallest, 2 * narrow);
        }
    }
}

TEST(DrawnNumbers, AreInTheirRangesAndNoSumOverflows) {
    expect_numbers_in_range<float>(std::numeric_limits<float>::max());
    expect_numbers_in_range<double>(std::numeric_limits<double>::max());
    expect_numbers_in_range<Half>(65504);
    expect_numbers_in_range<BFloat16>(std::numeric_limits<float>::max());
    expect_numbers_in_range<Fp8E4M3>(448);
    expect_numbers_in_range<Fp8E5M2>(57344);
}

// Gives every rank the same wrong thing, as bad libraries might: see `fault`.
class Adds final : public Operation {
public:
    enum class Fault { none, differs_on_rank_1, differs_in_each_run, is_infinite };
    Adds(World& world, const PooledBuffers& buffers, Fault fault)
        : world_(world), buffers_(buffers), fault_(fault) {}

    void run() override {
        const auto input = std::as_bytes(buffers_.call.input);
        std::vector<std::byte> all(input.size() * as_size(world_.size()));
        world_.all_gather(input, all);
        ++runs_;
        buffers_.write_output([&](std::span<std::byte> output) {
            for (std::size_t at = 0; at < output.size(); at += sizeof(double)) {
                ExactSum exact;
                for (std::size_t from = at; from < all.size(); from += input.size())
                    exact.add(number_at(all, from));
                double sum = precise(exact).sum;
                if (at == 0) sum = spoilt(sum);
                std::memcpy(&output[at], &sum, sizeof sum);
            }
        });
    }

private:
    static double number_at(std::span<const std::byte> memory, std::size_t at) {
        double number;
        std::memcpy(&number, &memory[at], sizeof number);
        return number;
    }
    double spoilt(double sum) const {
        const bool is_off = (fault_ == Fault::differs_on_rank_1 && !world_.is_first()) ||
                            (fault_ == Fault::differs_in_each_run && runs_ % 2 == 0);
        if (is_off) return sum + 8 * ulp_at<double>(sum);
        return fault_ == Fault::is_infinite ? INFINITY : sum;
    }

    World& world_;
    const PooledBuffers& buffers_;
    Fault fault_;
    int runs_ = 0;
};

Numerics numerics_of(Adds::Fault fault, std::uint64_t seed = 1) {
    Numerics found;
    run_as_threads(2, 20, [&](World& world) {
        const Call call{.type = DataType::float64, .count = 50};
        const BufferKind kind = BufferKind::unregistered;
        const BufferPool pool(world, BufferPool::bytes_for(call, 2, false), std::span(&kind, 1));
        const PooledBuffers buffers = pool.buffers_for(call, false, kind);
        Adds adds(world, buffers, fault);
        const Numerics mine = SumExaminer(world, seed).examine(adds, call, buffers);
        if (world.is_first()) found = mine;
    });
    return found;
}

TEST(SumExaminer, FindsNothingWrongWithSumsRoundedOnce) {
    const Numerics found = numerics_of(Adds::Fault::none);
    EXPECT_EQ(found.elements, 50);
    ASSERT_EQ(found.of.size(), 3U);
    for (const NumericsOfDraw& one : found.of) {
        EXPECT_LE(one.max_ulp, 0.5);
        EXPECT_GT(one.max_ulp, 0.2);  // some of 50 sums lie far between two numbers
        EXPECT_EQ(one.ranks_agree, true);
        EXPECT_TRUE(one.runs_agree);
        EXPECT_EQ(one.checksum.size(), 16U);
    }
    EXPECT_EQ(found, numerics_of(Adds::Fault::none));
    EXPECT_NE(found.of[0].checksum, numerics_of(Adds::Fault::none, 2).of[0].checksum);
}

TEST(SumExaminer, SeesRanksRunsAndNumbersThatAreOff) {
    for (const NumericsOfDraw& one : numerics_of(Adds::Fault::differs_on_rank_1).of) {
        EXPECT_EQ(one.ranks_agree, false);
        EXPECT_TRUE(one.runs_agree);
        EXPECT_GE(one.max_ulp, 7.5);
        EXPECT_LE(one.max_ulp, 8.5);
    }
    for (const NumericsOfDraw& one : numerics_of(Adds::Fault::differs_in_each_run).of) {
        EXPECT_EQ(one.ranks_agree, true);
        EXPECT_FALSE(one.runs_agree);
    }
    for (const NumericsOfDraw& one : numerics_of(Adds::Fault::is_infinite).of)
        EXPECT_EQ(one.max_ulp, std::nullopt);
}

TEST(SumExaminer, RefusesWhatIsExactOrNoSum) {
    EXPECT_EQ(refuses_numerics(Collective::all_reduce, DataType::half, Op::sum), std::nullopt);
    EXPECT_TRUE(refuses_numerics(Collective::all_gather, DataType::half, Op::sum));
    EXPECT_TRUE(refuses_numerics(Collective::reduce, DataType::half, Op::max));
    EXPECT_TRUE(refuses_numerics(Collective::reduce, DataType::uint8, Op::sum));
}

}  // namespace
}  // namespace tutti
