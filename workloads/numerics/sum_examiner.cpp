// SPDX-License-Identifier: Apache-2.0
#include "workloads/numerics/sum_examiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/hashes.hpp"
#include "base/rounding.hpp"
#include "workloads/check/check_data.hpp"
#include "workloads/numerics/drawn_numbers.hpp"

namespace tutti {
namespace {

// About a second of exact additions for any size and number of ranks.
constexpr std::int64_t most_elements = 1 << 20;
constexpr std::int64_t most_additions = 1 << 22;

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

bool are_alike(const std::vector<std::uint64_t>& hashes) {
    return std::ranges::adjacent_find(hashes, std::not_equal_to()) == hashes.end();
}

template <class Visit>
auto with_float_type(DataType type, Visit visit) {
    return with_type(type, [&]<class T>() -> decltype(visit.template operator()<float>()) {
        if constexpr (std::integral<T>)
            throw Error("integers add up exactly");
        else
            return visit.template operator()<T>();
    });
}

}  // namespace

std::optional<std::string> refuses_numerics(Collective collective, DataType type, Op op) {
    if (!reduces(collective) || is_prefix(collective))
        return fmt::format(
            "--numerics needs a reduction, not {}; use all_reduce, reduce_scatter or reduce",
            name_of(collective));
    if (op != Op::sum) return fmt::format("--numerics needs -o sum, not {}", name_of(op));
    const bool is_integer = with_type(type, []<class T>() { return std::integral<T>; });
    if (is_integer)
        return fmt::format(
            "--numerics needs a type that is rounded, not {}; use -d float, double, half, "
            "bfloat16, "
            "fp8_e4m3 or fp8_e5m2",
            name_of(type));
    return std::nullopt;
}

Numerics SumExaminer::examine(Operation& operation, const Call& call,
                              const PooledBuffers& buffers) {
    const std::int64_t elements = result_count(check_of(call, world_.size(), seed_), world_.rank());
    if (call != call_ || sums_.front().empty()) {
        call_ = call;
        add_up_exactly(elements);
    }
    Numerics found;
    const auto looked_at = static_cast<std::int64_t>(sums_.front().size());
    found.elements = std::ranges::max(gather_all(world_, looked_at));
    for (const auto& row : NamesOf<Draw>::rows)
        found.of.push_back(examine(operation, buffers, row.value));
    return found;
}

NumericsOfDraw SumExaminer::examine(Operation& operation, const PooledBuffers& buffers,
                                    Draw draw) const {
    double error = 0;
    const auto hashes_of_run = [&] {
        buffers.write_output([](std::span<std::byte> output) { poison(output); });
        buffers.write_input([&](std::span<std::byte> input) { fill(draw, input); });
        world_.barrier();
        operation.run();
        std::uint64_t hash = 0;
        buffers.count_in_output([&](std::span<const std::byte> output) {
            hash = fnv1a(output);
            error = std::max(error, largest_error(draw, output));
            return 0;
        });
        return gather_all(world_, hash);
    };
    const std::vector<std::uint64_t> first = hashes_of_run(), second = hashes_of_run();
    const double largest = std::ranges::max(gather_all(world_, error));

    NumericsOfDraw found{.draw = draw, .runs_agree = first == second};
    if (std::isfinite(largest)) found.max_ulp = largest;
    if (call_.collective == Collective::all_reduce) found.ranks_agree = are_alike(first);
    found.checksum = fmt::format("{:016x}", fnv1a(bytes_of(first)));
    return found;
}

void SumExaminer::fill(Draw draw, std::span<std::byte> input) const {
    with_float_type(call_.type, [&]<class T>() {
        const DrawnNumbers<T> numbers(seed_, draw, world_.rank(), world_.size());
        const auto count = static_cast<std::int64_t>(input.size() / sizeof(T));
        for (std::int64_t i = 0; i < count; ++i) check_data::store_word(input, i, numbers.at(i));
    });
}

double SumExaminer::largest_error(Draw draw, std::span<const std::byte> output) const {
    return with_float_type(call_.type, [&]<class T>() {
        double largest = 0;
        std::int64_t at = 0;
        for (const PreciseSum& sum : tutti::at(sums_, draw)) {
            const T result = check_data::load_word<T>(output, at);
            largest = std::max(largest, error_in_ulp(result, sum));
            at += stride_;
        }
        return largest;
    });
}

void SumExaminer::add_up_exactly(std::int64_t elements) {
    const std::int64_t most =
        std::clamp(most_additions / world_.size(), std::int64_t{1}, most_elements);
    stride_ = std::max(divide_up(elements, most), std::int64_t{1});
    const std::int64_t me = world_.rank().index;
    const std::int64_t first = call_.collective != Collective::reduce_scatter ? 0
                               : call_.lengths == nullptr                     ? me * call_.count
                                                          : call_.lengths->before(me);
    with_float_type(call_.type, [&]<class T>() {
        ExactSum exact;
        for (const auto& row : NamesOf<Draw>::rows) {
            std::vector<DrawnNumbers<T>> numbers;
            for (const Rank rank : all_ranks(world_.size()))
                numbers.emplace_back(seed_, row.value, rank, world_.size());
            std::vector<PreciseSum>& sums = tutti::at(sums_, row.value);
            sums.clear();
            for (std::int64_t i = 0; i < elements; i += stride_) {
                exact.clear();
                for (const auto& of_rank : numbers) exact.add(as_double(of_rank.at(first + i)));
                sums.push_back(precise(exact));
            }
        }
    });
}

}  // namespace tutti
