// SPDX-License-Identifier: Apache-2.0
// Every set that runs here, against the scalar one, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "kernels/sets.hpp"
#include "tests/kernels/test_data.hpp"

namespace tutti {

constexpr std::size_t counts[] = {0,  1,  2,  3,  7,  8,   15,   16,  17,
                                  31, 33, 63, 64, 65, 100, 1000, 1021};
constexpr std::size_t most_elements = 1021;
constexpr std::size_t most_sources = 9;
constexpr std::byte guard{0xa5};
constexpr std::size_t guard_bytes = 128;

const KernelSet& scalar() { return kernel_sets().back(); }

/// Memory between guards; `skew` bytes off where an allocator would put it.
class Guarded {
public:
    Guarded(const Memory& content, std::size_t skew)
        : memory_(skew + content.size() + 2 * guard_bytes, guard),
          start_(guard_bytes + skew),
          bytes_(content.size()) {
        std::copy(content.begin(), content.end(), data());
    }
    std::byte* data() { return memory_.data() + start_; }
    Memory content() { return Memory(data(), data() + bytes_); }
    bool intact() const {
        const auto is_guard = [](std::byte byte) { return byte == guard; };
        const auto inside = memory_.begin() + static_cast<std::ptrdiff_t>(start_);
        return std::all_of(memory_.begin(), inside, is_guard) &&
               std::all_of(inside + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), is_guard);
    }

private:
    Memory memory_;
    std::size_t start_, bytes_;
};

enum class Out { apart, is_first_source, is_last_source };

struct Case {
    KernelSet set;
    DataType type;
};

void PrintTo(const Case& each, std::ostream* out) {
    *out << each.set.name << "_" << name_of(each.type);
}

std::vector<Case> every_case() {
    std::vector<Case> cases;
    for (const KernelSet& set : kernel_sets())
        for (DataType type : all_data_types())
            if (set.runs_here()) cases.push_back({set, type});
    return cases;
}

class EverySet : public testing::TestWithParam<Case> {
protected:
    template <class Draw>
    static std::vector<Memory> sources_of(Draw draw) {
        std::vector<Memory> sources;
        for (std::size_t s = 0; s < most_sources; ++s)
            sources.push_back(filled_memory(GetParam().type, most_elements, draw));
        return sources;
    }

    /// Every count, number of sources, start and place of the result.
    static void expect_same_as_scalar(Op op, const std::vector<Memory>& sources) {
        const auto [set, type] = GetParam();
        const ReduceKernel kernel = set.find(type, op, Stores::cached);
        if (kernel == nullptr) return;  // left to the next set
        for (std::size_t count : counts)
            for (std::size_t how_many = 1; how_many <= most_sources; ++how_many) {
                const std::vector<Memory> used = first_of(sources, how_many, count * size_of(type));
                const Memory expected =
                    reduced(scalar().find(type, op, Stores::cached), used, 0, Out::apart, count);
                for (std::size_t skew : {std::size_t{0}, size_of(type)})
                    for (Out out : {Out::apart, Out::is_first_source, Out::is_last_source})
                        ASSERT_TRUE(reduced(kernel, used, skew, out, count) == expected)
                            << name_of(op) << " of " << how_many << " sources, " << count
                            << " elements, skew " << skew << ", out " << static_cast<int>(out);
            }
    }

private:
    static std::vector<Memory> first_of(const std::vector<Memory>& sources, std::size_t how_many,
                                        std::size_t bytes) {
        std::vector<Memory> used;
        for (std::size_t s = 0; s < how_many; ++s)
            used.emplace_back(sources[s].data(), sources[s].data() + bytes);
        return used;
    }

    /// What the kernel makes of copies of the sources; fails if it writes outside `out`.
    static Memory reduced(ReduceKernel kernel, const std::vector<Memory>& sources, std::size_t skew,
                          Out out, std::size_t count) {
        std::vector<Guarded> copies;
        for (const Memory& source : sources) copies.emplace_back(source, skew);
        Guarded apart(Memory(sources[0].size()), skew);
        std::vector<const std::byte*> starts;
        for (Guarded& copy : copies) starts.push_back(copy.data());

        Guarded& target = out == Out::apart             ? apart
                          : out == Out::is_first_source ? copies.front()
                                                        : copies.back();
        std::byte* const out_start = target.data();
        kernel(&out_start, 1, starts.data(), starts.size(), count);
        EXPECT_TRUE(target.intact()) << "wrote outside its memory";
        return target.content();
    }
};

TEST_P(EverySet, ReducesToTheSameBitsAsScalar) {
    std::mt19937_64 random(1);
    const auto sources =
        sources_of([&](auto zero) { return random_element<decltype(zero)>(random); });
    for (Op op : all_ops()) expect_same_as_scalar(op, sources);
}

TEST_P(EverySet, AgreesOnWhichNanAMinimumPassesOver) {
    std::mt19937_64 random(2);
    const auto sources = sources_of([&](auto zero) {
        return element_of_bits<decltype(zero)>(random() % 3 == 0 ? ~std::uint64_t{0} : random());
    });
    for (Op op : {Op::min, Op::max}) expect_same_as_scalar(op, sources);
}

TEST_P(EverySet, DividesToTheSameBitsAsScalar) {
    const auto [set, type] = GetParam();
    const DivideKernel kernel = set.find_divide(type);
    if (kernel == nullptr) return;  // left to the next set
    std::mt19937_64 random(3);
    const Memory data = filled_memory(
        type, most_elements, [&](auto zero) { return random_element<decltype(zero)>(random); });
    for (std::size_t count : counts)
        for (std::int64_t divisor : {1, 2, 3, 7, 1000})
            for (std::size_t skew : {std::size_t{0}, size_of(type)}) {
                Memory expected(data.begin(),
                                data.begin() + static_cast<std::ptrdiff_t>(count * size_of(type)));
                Guarded actual(expected, skew);
                scalar().find_divide(type)(expected.data(), count, divisor);
                kernel(actual.data(), count, divisor);
                EXPECT_TRUE(actual.intact());
                ASSERT_TRUE(actual.content() == expected) << count << " elements by " << divisor;
            }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EverySet, testing::ValuesIn(every_case()),
                         testing::PrintToStringParamName());

}  // namespace tutti
