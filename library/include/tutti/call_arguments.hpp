// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of a collective without C++ types, for Communicator::run() and start().
#include <cstdint>
#include <span>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "tutti/element.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// One call. `call` has collective, type, operation, root and count (elements per block, derived
/// from the lengths by the functions below). `buffers` are bytes; the communicator checks their
/// lengths. A buffer that this rank does not use may be empty (`output` of a reduce on other ranks
/// than the root).
struct CallArguments {
    Call call;
    CallBuffers buffers;
};

/// Elements of the blocks of a call whose blocks have different lengths, for one rank. The
/// communicator exchanges what ranks do not know of each other.
struct BlockCounts {
    /// One count per rank. all_gather, reduce_scatter: the lengths of all blocks, the same on all
    /// ranks. all_to_all: elements that this rank sends to each rank. gather, scatter: the lengths
    /// of all blocks on the root; empty on other ranks, whose block is as long as their buffer.
    std::span<const std::int64_t> blocks = {};
    /// all_to_all: elements that this rank receives from each rank. Empty in place, where they are
    /// those that it sends.
    std::span<const std::int64_t> received = {};
};

namespace arguments {

template <Elements R>
std::int64_t length(const R& elements) {
    return static_cast<std::int64_t>(std::ranges::size(elements));
}

template <Elements R>
std::span<const std::byte> read(const R& elements) {
    return std::as_bytes(std::span(std::ranges::data(elements), std::ranges::size(elements)));
}

template <MutableElements R>
std::span<std::byte> written(R& elements) {
    return std::as_writable_bytes(
        std::span(std::ranges::data(elements), std::ranges::size(elements)));
}

/// `count` is Call::count. `op` and `root` keep their defaults if the collective has none.
struct Details {
    std::int64_t count = 0;
    Op op = Op::sum;
    Rank root = {0};
};

template <Elements In, MutableElements Out>
requires std::same_as<element_of<In>, element_of<Out>> CallArguments apart(Collective collective,
                                                                           const In& input,
                                                                           Out& output,
                                                                           const Details& details) {
    return {{collective, data_type_of<element_of<In>>(), details.op, details.root, details.count},
            {read(input), written(output), false}};
}

/// `data` is input and output; the communicator finds this rank's parts in it.
template <MutableElements Data>
CallArguments in_place(Collective collective, Data& data, const Details& details) {
    return {{collective, data_type_of<element_of<Data>>(), details.op, details.root, details.count},
            {read(data), written(data), true}};
}

// The arguments of each call of Communicator. The parameters are the same.

template <class In, class Out>
CallArguments all_reduce(const In& input, Out& output, Op op) {
    return apart(Collective::all_reduce, input, output, {.count = length(input), .op = op});
}
template <class Data>
CallArguments all_reduce(Data& data, Op op) {
    return in_place(Collective::all_reduce, data, {.count = length(data), .op = op});
}
template <class In, class Out>
CallArguments reduce_scatter(const In& input, Out& output, Op op) {
    return apart(Collective::reduce_scatter, input, output, {.count = length(output), .op = op});
}
template <class Data>
CallArguments reduce_scatter(Data& data, Op op, int ranks) {
    return in_place(Collective::reduce_scatter, data, {.count = length(data) / ranks, .op = op});
}
template <class In, class Out>
CallArguments all_gather(const In& input, Out& output) {
    return apart(Collective::all_gather, input, output, {.count = length(input)});
}
template <class Data>
CallArguments all_gather(Data& data, int ranks) {
    return in_place(Collective::all_gather, data, {.count = length(data) / ranks});
}
template <class Data>
CallArguments broadcast(Data& data, Rank root) {
    return in_place(Collective::broadcast, data, {.count = length(data), .root = root});
}
template <class In, class Out>
CallArguments reduce(const In& input, Out& output, Op op, Rank root) {
    return apart(Collective::reduce, input, output,
                 {.count = length(input), .op = op, .root = root});
}
template <class Data>
CallArguments reduce(Data& data, Op op, Rank root) {
    return in_place(Collective::reduce, data, {.count = length(data), .op = op, .root = root});
}
template <class In, class Out>
CallArguments scatter(const In& input, Out& output, Rank root) {
    return apart(Collective::scatter, input, output, {.count = length(output), .root = root});
}
template <class In, class Out>
CallArguments gather(const In& input, Out& output, Rank root) {
    return apart(Collective::gather, input, output, {.count = length(input), .root = root});
}
template <class In, class Out>
CallArguments all_to_all(const In& input, Out& output, int ranks) {
    return apart(Collective::all_to_all, input, output, {.count = length(input) / ranks});
}
template <class Data>
CallArguments all_to_all(Data& data, int ranks) {
    return in_place(Collective::all_to_all, data, {.count = length(data) / ranks});
}

template <class In, class Out>
CallArguments scan(const In& input, Out& output, Op op) {
    return apart(Collective::scan, input, output, {.count = length(input), .op = op});
}
template <class Data>
CallArguments scan(Data& data, Op op) {
    return in_place(Collective::scan, data, {.count = length(data), .op = op});
}
template <class In, class Out>
CallArguments exscan(const In& input, Out& output, Op op) {
    return apart(Collective::exscan, input, output, {.count = length(input), .op = op});
}
template <class Data>
CallArguments exscan(Data& data, Op op) {
    return in_place(Collective::exscan, data, {.count = length(data), .op = op});
}
inline CallArguments barrier() { return {{.collective = Collective::barrier}, {}}; }

}  // namespace arguments
}  // namespace tutti
#pragma GCC visibility pop
