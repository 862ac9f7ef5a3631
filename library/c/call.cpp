// SPDX-License-Identifier: Apache-2.0
#include "library/c/call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/types.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

DataType type_of(tutti_type type) {
    constexpr std::array types{DataType::int8,     DataType::int16,   DataType::int32,
                               DataType::int64,    DataType::uint8,   DataType::uint16,
                               DataType::uint32,   DataType::uint64,  DataType::half,
                               DataType::bfloat16, DataType::float32, DataType::float64};
    const auto number = static_cast<std::size_t>(type);
    if (number >= types.size())
        throw Error("there is no type " + std::to_string(number) + "; see tutti_type in tutti.h");
    return types[number];
}

Op op_of(tutti_op op) {
    constexpr std::array ops{Op::sum, Op::prod, Op::min, Op::max, Op::avg};
    const auto number = static_cast<std::size_t>(op);
    if (number >= ops.size())
        throw Error("there is no operation " + std::to_string(number) +
                    "; see tutti_op in tutti.h");
    return ops[number];
}

// The root of a gather or scatter may be in place where the others are not, and no rank knows that
// of another. So none is in place for the communicator: the root has its own block apart, in a
// copy. Not so in memory of tutti_allocate, of which all ranks give the same places.
Prepared rooted_in_place(const tutti_comm& comm, const Call& call, std::span<std::byte> buffer,
                         std::size_t block) {
    const bool gathers = call.collective == Collective::gather;
    const bool is_root = comm.ranks.rank() == call.root;
    if (!is_root) buffer = buffer.first(block);
    if (std::ranges::any_of(comm.allocated, [&](std::span<std::byte> one) {
            return buffer.data() >= one.data() && buffer.data() < one.data() + one.size();
        }))
        return {{call, {buffer, buffer, true}}};
    if (!is_root)
        return {gathers ? CallArguments{call, {buffer, {}, false}}
                        : CallArguments{call, {{}, buffer, false}}};
    std::vector<std::byte> own(block);
    if (gathers && block > 0)
        std::memcpy(own.data(), &buffer[static_cast<std::size_t>(call.root.index) * block], block);
    const CallArguments apart = gathers ? CallArguments{call, {own, buffer, false}}
                                        : CallArguments{call, {buffer, own, false}};
    return {apart, std::move(own)};
}

}  // namespace

Prepared prepared(const tutti_comm& comm, const Given& given) {
    const DataType type = type_of(given.type);
    const Call call{given.collective, type, op_of(given.op), Rank{given.root},
                    static_cast<std::int64_t>(given.count)};
    const auto blocks = static_cast<std::size_t>(comm.ranks.size());
    // One that was negative, say: what it takes would overflow.
    if (given.count > PTRDIFF_MAX / size_of(type) / blocks)
        throw Error("a count of " + std::to_string(given.count) + " is more than memory holds");
    const std::size_t block = given.count * size_of(type);
    const std::size_t all = block * blocks;
    const Collective collective = given.collective;
    const bool has_blocks_in = collective == Collective::reduce_scatter ||
                               collective == Collective::scatter ||
                               collective == Collective::all_to_all;
    const bool has_blocks_out = collective == Collective::all_gather ||
                                collective == Collective::gather ||
                                collective == Collective::all_to_all;
    const bool in_place = given.input == TUTTI_IN_PLACE || collective == Collective::broadcast;
    auto* const output = static_cast<std::byte*>(given.output);
    if (in_place) {
        if (block > 0) expect_place(output, "the buffer");
        const std::span<std::byte> data(output, has_blocks_in || has_blocks_out ? all : block);
        if (collective == Collective::gather || collective == Collective::scatter)
            return rooted_in_place(comm, call, data, block);
        return {{call, {data, data, true}}};
    }
    const auto* const input = static_cast<const std::byte*>(given.input);
    // The communicator says which ones must be there.
    const std::size_t input_bytes = input == nullptr ? 0 : has_blocks_in ? all : block;
    const std::size_t output_bytes = output == nullptr ? 0 : has_blocks_out ? all : block;
    return {{call, {{input, input_bytes}, {output, output_bytes}, false}}};
}

void expect_place(const void* place, const char* what) {
    if (place == nullptr) throw Error(std::string(what) + " is NULL");
}

}  // namespace tutti
