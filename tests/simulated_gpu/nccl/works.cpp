// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/nccl/works.hpp"

#include "kernels/sets.hpp"

namespace tutti {

ReduceKernel scalar_reduce(DataType, Op, Stores);
DivideKernel scalar_divide(DataType);

}  // namespace tutti

namespace tutti::simulated {
namespace {

struct NamedType {
    ncclDataType_t name;
    DataType type;
};

constexpr NamedType types[] = {
    {ncclInt8, DataType::int8},           {ncclUint8, DataType::uint8},
    {ncclInt32, DataType::int32},         {ncclUint32, DataType::uint32},
    {ncclInt64, DataType::int64},         {ncclUint64, DataType::uint64},
    {ncclFloat16, DataType::half},        {ncclBfloat16, DataType::bfloat16},
    {ncclFloat32, DataType::float32},     {ncclFloat64, DataType::float64},
#if NCCL_VERSION_CODE >= 22400
    {ncclFloat8e4m3, DataType::fp8_e4m3}, {ncclFloat8e5m2, DataType::fp8_e5m2},
#endif
};

void send(Work& work, const Share& share, int peer, std::size_t block = 0) {
    auto* const from = const_cast<std::byte*>(share.input) + block * share.bytes();  // only read
    work.messages.push_back({Message::Direction::out, peer, {from, share.bytes()}, share.sort});
}
void receive(Work& work, const Share& share, int peer, std::byte* into) {
    work.messages.push_back({Message::Direction::in, peer, {into, share.bytes()}, share.sort});
}

// Receives from all and combines in rank order; the result is complete when all have arrived.
void receive_and_combine(Work& work, const Share& share, Op op) {
    const std::size_t bytes = share.bytes();
    work.inbox =
        std::make_shared<std::vector<std::byte>>(bytes * static_cast<std::size_t>(share.ranks));
    std::vector<const std::byte*> sources;
    for (int peer = 0; peer < share.ranks; ++peer) {
        std::byte* const there = work.inbox->data() + static_cast<std::size_t>(peer) * bytes;
        receive(work, share, peer, there);
        sources.push_back(there);
    }
    work.finish = [share, op, sources] {
        scalar_reduce(share.type, op, Stores::cached)(&share.output, 1, sources.data(),
                                                      sources.size(), share.count);
        if (op == Op::avg) scalar_divide(share.type)(share.output, share.count, share.ranks);
    };
}

}  // namespace

std::optional<DataType> type_of(ncclDataType_t name) {
    for (const NamedType& row : types)
        if (row.name == name) return row.type;
    return std::nullopt;
}

std::optional<Op> op_of(ncclRedOp_t op) {
    switch (op) {
        case ncclSum:
            return Op::sum;
        case ncclProd:
            return Op::prod;
        case ncclMax:
            return Op::max;
        case ncclMin:
            return Op::min;
        case ncclAvg:
            return Op::avg;
        default:
            return std::nullopt;
    }
}

Work all_reduce(const Share& share, Op op) {
    Work work;
    for (int peer = 0; peer < share.ranks; ++peer) send(work, share, peer);
    receive_and_combine(work, share, op);
    return work;
}

Work reduce_scatter(const Share& share, Op op) {
    Work work;
    for (int peer = 0; peer < share.ranks; ++peer)
        send(work, share, peer, static_cast<std::size_t>(peer));
    receive_and_combine(work, share, op);
    return work;
}

Work reduce(const Share& share, Op op, int root) {
    Work work;
    send(work, share, root);
    if (share.me == root) receive_and_combine(work, share, op);
    return work;
}

Work all_gather(const Share& share) {
    Work work;
    for (int peer = 0; peer < share.ranks; ++peer) {
        send(work, share, peer);
        receive(work, share, peer, share.output + static_cast<std::size_t>(peer) * share.bytes());
    }
    return work;
}

Work broadcast(const Share& share, int root) {
    Work work;
    for (int peer = 0; share.me == root && peer < share.ranks; ++peer) send(work, share, peer);
    receive(work, share, root, share.output);
    return work;
}

}  // namespace tutti::simulated
