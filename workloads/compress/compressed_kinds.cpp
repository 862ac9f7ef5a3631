// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "workloads/compress/codecs.hpp"
#include "workloads/compress/compressed_all_reduce.hpp"

namespace tutti {

namespace {

// Runs the same all-reduce with elements half as wide: half the bytes.
template <class Element>
class CastAllReduce final : public CompressedAllReduce {
public:
    CastAllReduce(CompressedEnvironment& environment, const Call& call,
                  const PooledBuffers& buffers, const Call& narrow)
        : CompressedAllReduce(environment, call, buffers),
          all_reduce_(inner(environment.first, narrow, true)) {
        set_collectives(
            {all_reduce_.operation.get()},
            2.0 * (ranks() - 1) / ranks() * sizeof(Element) * static_cast<double>(call.count));
    }

private:
    std::span<Element> elements() const {
        return {reinterpret_cast<Element*>(all_reduce_.buffers.call.output.data()),
                as_size(call_.count)};
    }
    void encode() override { tutti::encode(input(), elements()); }
    void after_collective(std::size_t) override {
        decode(std::span<const Element>(elements()), output());
    }

    Inner all_reduce_;
};

// Bytes cannot be added without overflow, and their scales differ. So each rank receives all ranks'
// parts of its share, adds them as floats, and sends the sum back in bytes: (P-1)/P of the bytes
// twice, as in an all-reduce. Each element is rounded twice.
class Int8AllReduce final : public CompressedAllReduce {
public:
    Int8AllReduce(CompressedEnvironment& environment, const Call& call,
                  const PooledBuffers& buffers)
        : CompressedAllReduce(environment, call, buffers),
          part_(divide_up(as_size(call.count), parts())),
          sum_(part_) {
        const auto calls = inner_calls({.kind = Compression::Kind::int8}, call, ranks());
        to_all_ = inner(environment.first, calls[0], false);
        gather_ = inner(environment.second, calls[1], true);
        set_collectives({to_all_.operation.get(), gather_.operation.get()},
                        2.0 * (ranks() - 1) * static_cast<double>(bytes_of_part()));
    }

private:
    std::size_t parts() const { return as_size(ranks()); }
    std::size_t bytes_of_part() const { return int8_bytes(part_); }
    // The last parts may be short or empty.
    std::size_t first_of(std::size_t part) const {
        return std::min(part * part_, as_size(call_.count));
    }
    std::size_t count_of(std::size_t part) const { return first_of(part + 1) - first_of(part); }
    template <class Bytes>
    Bytes of_part(Bytes all, std::size_t part) const {
        return all.subspan(part * bytes_of_part(), bytes_of_part());
    }

    void encode() override {
        for (std::size_t part = 0; part < parts(); ++part)
            encode_int8(input().subspan(first_of(part), count_of(part)),
                        of_part(to_all_.buffers.writable_input, part));
    }

    void after_collective(std::size_t collective) override {
        if (collective == 0)
            add_up();
        else
            for (std::size_t part = 0; part < parts(); ++part)
                decode_int8(of_part(std::span<const std::byte>(gather_.buffers.call.output), part),
                            output().subspan(first_of(part), count_of(part)));
    }

    void add_up() {
        const std::span<const std::byte> arrived = to_all_.buffers.call.output;
        const std::span sum(sum_.data(), count_of(mine_));
        decode_int8(of_part(arrived, 0), sum);
        for (std::size_t rank = 1; rank < parts(); ++rank) add_int8(of_part(arrived, rank), sum);
        if (call_.op == Op::avg)
            for (float& value : sum) value /= static_cast<float>(ranks());
        encode_int8(sum, gather_.buffers.writable_input);
    }

    std::size_t part_;  // elements
    std::size_t mine_ = as_size(rank().index);
    std::vector<float> sum_;
    Inner to_all_, gather_;
};

// Every rank sends its entries to all others and adds them up in the order of ranks: the simplest
// all-reduce of sparse vectors. A rank sends (P-1) k pairs, and k is the same share of the elements
// for any number of ranks, so the savings shrink with P. (SparCML, Renggli et al. 2019, merges them
// at each hop.)
class SparseAllReduce final : public CompressedAllReduce {
public:
    SparseAllReduce(CompressedEnvironment& environment, const Call& call,
                    const PooledBuffers& buffers, const Compression& compression)
        : CompressedAllReduce(environment, call, buffers),
          top_(as_size(call.count), compression.search) {
        const Call gather = inner_calls(compression, call, ranks()).front();
        gather_ = inner(environment.first, gather, true);
        set_collectives({gather_.operation.get()}, static_cast<double>(ranks() - 1) *
                                                       sizeof(SparseEntry) *
                                                       static_cast<double>(gather.count));
    }

private:
    static std::span<SparseEntry> entries_in(std::span<std::byte> bytes) {
        return {reinterpret_cast<SparseEntry*>(bytes.data()), bytes.size() / sizeof(SparseEntry)};
    }

    void encode() override { top_.take(input(), entries_in(gather_.buffers.writable_input)); }

    void after_collective(std::size_t) override {
        std::ranges::fill(output(), 0.F);
        const auto entries = entries_in(gather_.buffers.call.output);
        const std::size_t sent = add(entries, output());
        if (call_.op == Op::avg)
            for (float& value : output()) value /= static_cast<float>(ranks());
        tally().union_share = static_cast<double>(sent) / static_cast<double>(call_.count);
    }

    TopK top_;
    Inner gather_;
};

}  // namespace

std::unique_ptr<Operation> cast_all_reduce(CompressedEnvironment& environment, const Call& call,
                                           const PooledBuffers& buffers, DataType type) {
    Call narrow = call;
    narrow.type = type;
    if (type == DataType::half)
        return std::make_unique<CastAllReduce<Half>>(environment, call, buffers, narrow);
    return std::make_unique<CastAllReduce<BFloat16>>(environment, call, buffers, narrow);
}

std::unique_ptr<Operation> int8_all_reduce(CompressedEnvironment& environment, const Call& call,
                                           const PooledBuffers& buffers) {
    return std::make_unique<Int8AllReduce>(environment, call, buffers);
}

std::unique_ptr<Operation> sparse_all_reduce(CompressedEnvironment& environment, const Call& call,
                                             const PooledBuffers& buffers,
                                             const Compression& compression) {
    return std::make_unique<SparseAllReduce>(environment, call, buffers, compression);
}

}  // namespace tutti
