// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/compress/compressed_all_reduce.hpp"

namespace tutti {
namespace {

// Everyone's entries to everyone, and each rank adds them up in the order of ranks: the simplest
// all-reduce of sparse vectors. A rank sends (P-1) k pairs, and k stands for the same share of the
// elements however many ranks there are: what is saved falls with P. (SparCML, Renggli et al. 2019,
// merges on the way.)
class SparseAllReduce final : public CompressedAllReduce {
public:
    SparseAllReduce(CompressedEnvironment& environment, const Call& call,
                    const PooledBuffers& buffers, const Compression& compression)
        : CompressedAllReduce(environment, call, buffers),
          top_(static_cast<std::size_t>(call.count), compression.selection) {
        const Call gather = inner_calls(compression, call, ranks()).front();
        gather_ = inner(environment.first, gather, true);
        runs({gather_.operation.get()},
             static_cast<double>(ranks() - 1) * sizeof(Entry) * static_cast<double>(gather.count));
    }

private:
    static std::span<Entry> entries_in(std::span<std::byte> bytes) {
        return {reinterpret_cast<Entry*>(bytes.data()), bytes.size() / sizeof(Entry)};
    }

    void encode() override { top_.take(input(), entries_in(gather_.buffers.writable_input)); }

    void took(std::size_t) override {
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

std::unique_ptr<Operation> sparse_all_reduce(CompressedEnvironment& environment, const Call& call,
                                             const PooledBuffers& buffers,
                                             const Compression& compression) {
    return std::make_unique<SparseAllReduce>(environment, call, buffers, compression);
}

}  // namespace tutti
