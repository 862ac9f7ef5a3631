// SPDX-License-Identifier: Apache-2.0
// Every set that runs here, compared with the scalar one, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ostream>

#include "base/index.hpp"
#include "kernels/sets.hpp"
#include "tests/kernels/test_data.hpp"

namespace tutti {

constexpr std::size_t counts[] = {0,  1,  2,  3,  7,  8,   15,   16,  17,
                                  31, 33, 63, 64, 65, 100, 1000, 1021};
constexpr std::size_t most_elements = 1021;
constexpr std::size_t most_sources = 9;
constexpr std::size_t most_outs = 5;
constexpr std::byte guard{0xa5};
constexpr std::size_t guard_bytes = 128;
constexpr std::size_t line = 64;

const KernelSet& scalar() { return kernel_sets().back(); }

/// Memory between guards, `skew` bytes after the start of a line.
class Guarded {
public:
    Guarded(const Memory& content, std::size_t skew)
        : memory_(line + skew + content.size() + 2 * guard_bytes, guard),
          start_(guard_bytes + bytes_to_line(memory_.data() + guard_bytes) + skew),
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
    static std::size_t bytes_to_line(const std::byte* address) {
        return -reinterpret_cast<std::uintptr_t>(address) % line;
    }
    Memory memory_;
    std::size_t start_, bytes_;
};

/// One call of a kernel: its size and the layout of its memory.
struct Call {
    std::size_t sources, count;
    std::vector<std::size_t> out_skews;                  // one for each out
    std::vector<std::optional<std::size_t>> out_source;  // the source that an out is, if any
};

void PrintTo(const Call& call, std::ostream* out) {
    *out << call.sources << " sources, " << call.count << " elements, outs:";
    for (std::size_t o = 0; o < call.out_skews.size(); ++o) {
        *out << " skew " << call.out_skews[o];
        if (call.out_source[o]) *out << " (source " << *call.out_source[o] << ")";
    }
}

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

    /// Every count and number of sources, with one out: separate, or the first or last source.
    static std::vector<Call> calls_to_one_out() {
        std::vector<Call> calls;
        for (std::size_t count : counts)
            for (std::size_t sources = 1; sources <= most_sources; ++sources)
                for (std::size_t skew : {std::size_t{0}, size_of(GetParam().type)})
                    for (std::optional<std::size_t> out :
                         {std::optional<std::size_t>{}, {std::size_t{0}}, {sources - 1}})
                        calls.push_back({sources, count, {skew}, {out}});
        return calls;
    }

    /// Every pair of numbers of sources and outs, and every position of an out in a line; all outs
    /// at the same, or each at any; some of them are sources.
    static std::vector<Call> calls_to_many_outs(std::mt19937_64& random) {
        std::vector<Call> calls;
        for (std::size_t i = 0; i < 5 * line; ++i) {  // 9, 5 and 64 have no common divisor
            Call call{.sources = 1 + i % most_sources,
                      .count = random() % 4 == 0 ? most_elements : random() % most_elements};
            std::vector<std::size_t> free_sources(call.sources);
            std::iota(free_sources.begin(), free_sources.end(), 0);
            std::shuffle(free_sources.begin(), free_sources.end(), random);
            const bool alike = random() % 2 == 0;
            for (std::size_t o = 0; o < 1 + i % most_outs; ++o) {
                call.out_skews.push_back(o == 0 || alike ? i % line : random() % line);
                call.out_source.emplace_back();
                if (free_sources.empty() || random() % 3 != 0) continue;
                call.out_source.back() = free_sources.back();
                free_sources.pop_back();
            }
            calls.push_back(call);
        }
        return calls;
    }

    static void expect_same_as_scalar(Op op, const std::vector<Memory>& sources,
                                      const std::vector<Call>& calls) {
        const auto [set, type] = GetParam();
        std::vector<Memory>
            expected;  // by the number of sources; a call is about the first elements
        for (std::size_t s = 1; s <= most_sources; ++s)
            expected.push_back(reduced_by_scalar(op, sources, s));
        for (Stores stores : {Stores::cached, Stores::streaming}) {
            const ReduceKernel kernel = set.find(type, op, stores);
            if (kernel == nullptr) continue;  // left to the next set
            for (const Call& call : calls)
                ASSERT_TRUE(gives(kernel, call, sources, expected[call.sources - 1]))
                    << name_of(op) << ", stores " << static_cast<int>(stores) << ": "
                    << testing::PrintToString(call);
        }
    }

private:
    static Memory reduced_by_scalar(Op op, const std::vector<Memory>& sources,
                                    std::size_t how_many) {
        std::vector<const std::byte*> starts;
        for (std::size_t s = 0; s < how_many; ++s) starts.push_back(sources[s].data());
        Memory result(sources[0].size());
        std::byte* const out = result.data();
        scalar().find(GetParam().type, op, Stores::cached)(&out, 1, starts.data(), how_many,
                                                           most_elements);
        return result;
    }

    /// Whether every out of the call holds the expected bits, and nothing else was touched.
    static bool gives(ReduceKernel kernel, const Call& call, const std::vector<Memory>& sources,
                      const Memory& expected) {
        const auto bytes = static_cast<std::ptrdiff_t>(call.count * size_of(GetParam().type));
        const auto beginning = [&](const Memory& all) {
            return Memory(all.begin(), all.begin() + bytes);
        };
        std::vector<Guarded> memory;  // the sources, and then as many outs
        std::vector<Memory> after;
        for (std::size_t s = 0; s < call.sources; ++s) {
            after.push_back(beginning(sources[s]));
            const auto out = std::ranges::find(call.out_source, std::optional(s));
            const auto o = as_size(out - call.out_source.begin());
            memory.emplace_back(after.back(),
                                o < call.out_skews.size() ? call.out_skews[o] : s * 8 % line);
        }
        std::vector<std::byte*> outs;
        for (std::size_t o = 0; o < call.out_skews.size(); ++o) {
            const std::size_t place = call.out_source[o].value_or(memory.size());
            if (place == memory.size()) {
                memory.emplace_back(Memory(after[0].size()), call.out_skews[o]);
                after.emplace_back();
            }
            after[place] = beginning(expected);
            outs.push_back(memory[place].data());
        }
        std::vector<const std::byte*> starts;
        for (std::size_t s = 0; s < call.sources; ++s) starts.push_back(memory[s].data());

        kernel(outs.data(), outs.size(), starts.data(), starts.size(), call.count);
        for (std::size_t m = 0; m < memory.size(); ++m)
            if (!memory[m].intact() || memory[m].content() != after[m]) return false;
        return true;
    }
};

TEST_P(EverySet, ReducesToTheSameBitsAsScalar) {
    std::mt19937_64 random(1);
    const auto sources =
        sources_of([&](auto zero) { return random_element<decltype(zero)>(random); });
    for (Op op : all_ops()) expect_same_as_scalar(op, sources, calls_to_one_out());
}

TEST_P(EverySet, StoresTheSameBitsToEveryOut) {
    std::mt19937_64 random(4);
    const auto sources =
        sources_of([&](auto zero) { return random_element<decltype(zero)>(random); });
    for (Op op : all_ops()) expect_same_as_scalar(op, sources, calls_to_many_outs(random));
}

TEST_P(EverySet, AgreesOnMinimaWithNans) {
    std::mt19937_64 random(2);
    const auto sources = sources_of([&](auto zero) {
        return element_of_bits<decltype(zero)>(random() % 3 == 0 ? ~std::uint64_t{0} : random());
    });
    for (Op op : {Op::min, Op::max}) expect_same_as_scalar(op, sources, calls_to_one_out());
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
