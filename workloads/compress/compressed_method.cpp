// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/compressed_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "workloads/compress/codecs.hpp"
#include "workloads/compress/compressed_all_reduce.hpp"

namespace tutti {

bool is_compressible(const Call& call) {
    return call.collective == Collective::all_reduce && call.type == DataType::float32 &&
           (call.op == Op::sum || call.op == Op::avg) && call.count > 0;
}

std::vector<Call> inner_calls(const Compression& compression, const Call& call, int ranks) {
    const auto bytes_of = [](Collective collective, std::size_t bytes) {
        return Call{.collective = collective,
                    .type = DataType::uint8,
                    .count = static_cast<std::int64_t>(bytes)};
    };
    Call narrow = call;
    switch (compression.kind) {
        case Compression::Kind::bf16:
            narrow.type = DataType::bfloat16;
            return {narrow};
        case Compression::Kind::fp16:
            narrow.type = DataType::half;
            return {narrow};
        case Compression::Kind::int8: {
            const std::size_t bytes = int8_bytes(as_size(divide_up(call.count, ranks)));
            return {bytes_of(Collective::all_to_all, bytes),
                    bytes_of(Collective::all_gather, bytes)};
        }
        case Compression::Kind::topk: {
            const double share = std::ceil(compression.share * static_cast<double>(call.count));
            return {{.collective = Collective::all_gather,
                     .type = DataType::int64,
                     .count = std::min(static_cast<std::int64_t>(share), call.count)}};
        }
        default:
            return {call};
    }
}

namespace {

class CompressedGroup final : public GroupMethod {
public:
    CompressedGroup(const Method& method, const Compression& compression, Planner& group,
                    const Environment& environment)
        : compression_(compression), method_(method.of_group(group, environment)) {
        environment_.first = {&group.world(), method_.get()};
        if (compression.kind != Compression::Kind::int8) return;
        second_world_ = group.world().split(0);
        second_planner_ = std::make_unique<Planner>(*second_world_);
        second_method_ = method.of_group(*second_planner_, environment);
        environment_.second = {second_world_.get(), second_method_.get()};
    }

    bool is_for(Collective collective) const override {
        if (collective != Collective::all_reduce) return method_->is_for(collective);
        const Call any{.count = 1};
        return std::ranges::any_of(inner_calls(compression_, any, 1), [&](const Call& inner) {
            return method_->is_for(inner.collective);
        });
    }

    bool blocks() const override { return method_->blocks(); }

    bool is_exact(const Call& call) const override { return !is_compressible(call); }

    std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) override {
        if (!is_compressible(call)) return method_->refuses(call, buffers);
        if (buffers.call.device != nullptr)
            return "compression runs on the host, not in device buffers; use --compress none";
        std::optional<std::string> reason;
        for (const Call& inner :
             inner_calls(compression_, call, environment_.first.world->size())) {
            PooledBuffers of_host;
            of_host.call.in_place = inner.collective != Collective::all_to_all;
            const auto refused = method_->refuses(inner, of_host);
            if (refused && !reason) reason = fmt::format("compressed: {}", *refused);
        }
        return reason;
    }

    std::unique_ptr<Operation> operation(const Call& call, const PooledBuffers& buffers) override {
        if (!is_compressible(call)) return method_->operation(call, buffers);
        switch (compression_.kind) {
            case Compression::Kind::bf16:
                return cast_all_reduce(environment_, call, buffers, DataType::bfloat16);
            case Compression::Kind::fp16:
                return cast_all_reduce(environment_, call, buffers, DataType::half);
            case Compression::Kind::int8:
                return int8_all_reduce(environment_, call, buffers);
            case Compression::Kind::topk:
                return sparse_all_reduce(environment_, call, buffers, compression_);
            default:
                return method_->operation(call, buffers);
        }
    }

    CompressionTally* tally() override { return &environment_.tally; }

private:
    Compression compression_;
    std::unique_ptr<GroupMethod> method_;
    // for the second collectives, with the same ranks
    std::unique_ptr<World> second_world_;
    std::unique_ptr<Planner> second_planner_;
    std::unique_ptr<GroupMethod> second_method_;
    CompressedEnvironment environment_;
};

}  // namespace

Method compressed(Method method, const Compression& compression) {
    if (compression.kind == Compression::Kind::none) return method;
    std::string name = fmt::format("{}+{}", method.name, name_of(compression));
    std::string transport = method.transport;
    return {.name = std::move(name),
            .of_group =
                [method = std::move(method), compression](Planner& group,
                                                          const Environment& environment) {
                    return std::make_unique<CompressedGroup>(method, compression, group,
                                                             environment);
                },
            .transport = std::move(transport)};
}

std::vector<Method> with_compressed(std::vector<Method> methods,
                                    std::span<const Compression> compressions) {
    std::vector<Method> all;
    for (Method& method : methods) {
        all.push_back(method);
        for (const Compression& one : compressions) all.push_back(compressed(method, one));
    }
    return all;
}

}  // namespace tutti
