// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the caller of a collective gives, as one call without types: sizes are counted here.
#include <cstdint>
#include <span>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "library/element.hpp"

namespace tutti {

/// Lengths are checked by the communicator: it knows how many ranks there are, and which is the
/// root. A buffer that plays no part on this rank (`output` of a reduce that goes to another) may
/// be empty.
struct CallArguments {
    Call call;
    CallBuffers buffers;
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

/// `count` as Call counts; `op` and `root` are left as they are where they say nothing.
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

/// `data` is input and output: the communicator knows which part is which.
template <MutableElements Data>
CallArguments in_place(Collective collective, Data& data, const Details& details) {
    return {{collective, data_type_of<element_of<Data>>(), details.op, details.root, details.count},
            {read(data), written(data), true}};
}

// One of these for each form of a call in Communicator, which says what they mean.

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

}  // namespace arguments
}  // namespace tutti
