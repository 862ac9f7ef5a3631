// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>

#include "base/index.hpp"
#include "base/name_table.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/nccl_plugin.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/device/memory_device.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"
#include "collectives/transport/gpu/nccl.hpp"

namespace tutti {
namespace {

constexpr Named<ncclDataType_t> nccl_types[] = {
    {ncclInt8, "int8"},           {ncclUint8, "uint8"},         {ncclInt32, "int32"},
    {ncclUint32, "uint32"},       {ncclInt64, "int64"},         {ncclUint64, "uint64"},
    {ncclFloat16, "half"},        {ncclBfloat16, "bfloat16"},   {ncclFloat32, "float"},
    {ncclFloat64, "double"},
#if NCCL_VERSION_CODE >= 22400
    {ncclFloat8e4m3, "fp8_e4m3"}, {ncclFloat8e5m2, "fp8_e5m2"},
#endif
};

// Returns null for a type that NCCL does not have.
const Named<ncclDataType_t>* type_of(DataType type) { return find_in(nccl_types, name_of(type)); }

ncclRedOp_t op_of(Op op) {
    constexpr ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMin, ncclMax,
                                   ncclAvg};  // in the order of Op
    return at(ops, op);
}

class NcclCollective final : public Operation {
public:
    NcclCollective(World& world, const LibraryCall& what, const CallBuffers& buffers)
        : world_(world),
          algorithm_(what.algorithm),
          ranks_(NcclRanks::of(world)),
          queue_(buffers.device->queue()),
          stream_(static_cast<cudaStream_t>(queue_->handle())) {
        bind(what.call, buffers);
    }

    void bind(const Call& call, const CallBuffers& buffers) override {
        call_ = call;
        op_ = op_of(call.op);
        buffers_ = buffers;
        const auto* type = type_of(call.type);
        type_ = type ? type->value : ncclUint8;
        count_ = static_cast<std::size_t>(call.count) * (type ? 1 : size_of(call.type));
        block_ = static_cast<std::size_t>(call.count) * size_of(call.type);
    }

    // The destructor also runs during stack unwinding.
    ~NcclCollective() override {
        if (std::uncaught_exceptions() > 0) ranks_.give_up();
    }

    // NCCL has asked the plugin by the time that ask() returns.
    void start() override {
        const NcclPlugin* const plugin =
            algorithm_.empty() ? NcclPlugin::in_use() : &NcclPlugin::loaded();
        const auto before = plugin == nullptr ? tutti_nccl_counts{} : plugin->counts();
        if (plugin != nullptr) plugin->force(algorithm_);
        ranks_.ask([this] { return describe(); },
                   [this](void* comm) { return begin(static_cast<ncclComm_t>(comm)); });
        end_ = queue_->mark();
        const auto after = plugin == nullptr ? tutti_nccl_counts{} : plugin->counts();
        // NCCL does not ask for all calls: not on one rank, nor for symmetric memory.
        is_as_forced_ =
            algorithm_.empty() || (after.refused == before.refused && after.chosen > before.chosen);
        if (!is_as_forced_ && must_be_as_forced_)
            throw Error(fmt::format(
                "NCCL used another algorithm than nccl/{} for {} of {} elements; remove it from "
                "--baseline, or use other sizes",
                algorithm_, describe(), call_.count));
    }

    /// Lets start() throw if NCCL uses another algorithm.
    void insist() { must_be_as_forced_ = true; }
    bool is_as_forced() const { return is_as_forced_; }

    bool test() override {
        if (!end_) return true;
        if (!queue_->is_past(*end_)) {
            ranks_.throw_if_failed([this] { return describe(); });
            return false;
        }
        end_.reset();
        return true;
    }

    void wait() override {
        if (ends_in_time(world_, *this)) return;
        ranks_.give_up();
        throw Error(hang_report(), Exit::time_out);
    }

    std::string hang_report() const override {
        return waited_in(world_, world_.rank(), describe());
    }

private:
    const std::byte* input() const { return buffers_.input.data(); }
    std::byte* output() const { return buffers_.output.data(); }
    int root() const { return call_.root.index; }
    bool is_root() const { return world_.rank() == call_.root; }

    // The late peer is known only if there is one other rank, or if this rank waits only for the
    // root.
    std::string describe() const {
        std::string words = fmt::format("NCCL's own {}", name_of(call_.collective));
        const bool meets_root_only =
            call_.collective == Collective::scatter || call_.collective == Collective::gather;
        if (meets_root_only && !is_root()) return words + fmt::format(" with rank {}", root());
        if (world_.size() == 2) words += fmt::format(" with rank {}", 1 - world_.rank().index);
        return words;
    }

    ncclResult_t begin(ncclComm_t comm) const {
        switch (call_.collective) {
            case Collective::all_reduce:
                return ncclAllReduce(input(), output(), count_, type_, op_, comm, stream_);
            case Collective::reduce_scatter:
                return ncclReduceScatter(input(), output(), count_, type_, op_, comm, stream_);
            case Collective::all_gather:
                return ncclAllGather(input(), output(), count_, type_, comm, stream_);
            case Collective::broadcast:
                return ncclBroadcast(input(), output(), count_, type_, root(), comm, stream_);
            case Collective::reduce:
                return ncclReduce(input(), output(), count_, type_, op_, root(), comm, stream_);
            case Collective::scatter:
            case Collective::gather:
            case Collective::all_to_all:
                return exchange(comm);
            default:
                return ncclInvalidArgument;
        }
    }

    // Posts one group. A root's own block is sent like the others, unless it is already in place.
    ncclResult_t exchange(ncclComm_t comm) const {
        const bool to_all = call_.collective == Collective::all_to_all;
        const bool gives = to_all || (call_.collective == Collective::scatter && is_root());
        const bool takes = to_all || (call_.collective == Collective::gather && is_root());
        ncclResult_t worst = ncclGroupStart();
        const auto keep = [&](ncclResult_t result) {
            if (result != ncclSuccess && result != ncclInProgress) worst = result;
        };
        const auto send = [&](const std::byte* from, int peer) {
            keep(ncclSend(from, count_, type_, peer, comm, stream_));
        };
        const auto receive = [&](std::byte* into, int peer) {
            keep(ncclRecv(into, count_, type_, peer, comm, stream_));
        };
        const int me = world_.rank().index;
        for (int peer = 0; peer < world_.size(); ++peer) {
            const std::size_t at = static_cast<std::size_t>(peer) * block_;
            if (gives && !(peer == me && input() + at == output())) send(input() + at, peer);
            if (takes && !(peer == me && output() + at == input())) receive(output() + at, peer);
        }
        const std::size_t mine = static_cast<std::size_t>(me) * block_;
        if (call_.collective == Collective::gather && !(is_root() && output() + mine == input()))
            send(input(), root());
        if (call_.collective == Collective::scatter && !(is_root() && input() + mine == output()))
            receive(output(), root());
        const ncclResult_t ended = ncclGroupEnd();
        return worst != ncclSuccess ? worst : ended;
    }

    World& world_;
    std::string algorithm_;  // empty: NCCL's own choice
    bool is_as_forced_ = true, must_be_as_forced_ = false;
    NcclRanks& ranks_;
    std::unique_ptr<DeviceQueue> queue_;
    cudaStream_t stream_;
    Call call_;
    ncclRedOp_t op_ = ncclSum;
    CallBuffers buffers_;
    ncclDataType_t type_ = ncclUint8;
    std::size_t count_ = 0;  // elements of the vector or a block
    std::size_t block_ = 0;  // bytes
    std::optional<DeviceQueue::Mark> end_;
};

// The oldest GPU of all ranks decides: NCCL reduces fp8 from compute capability 9.0 on. Collective
// for these types.
bool is_too_old_for(DataType type, World& world) {
    if (!name_of(type).starts_with("fp8")) return false;
    const auto mine = static_cast<std::size_t>(gpu_number(world));
    return !true_on_all_ranks(world, gpus().at(mine).capability >= 90);
}

// Calls of one element by forced algorithms: whether NCCL can use these.
struct NcclTrials {
    std::map<std::tuple<Collective, DataType, Op, std::string>, bool> can_use;
};

// Collective. NCCL rules algorithms out by the ranks, the type and the operation.
std::optional<std::string> cannot_use(World& world, const LibraryCall& what) {
    const auto try_it = [&] {
        LibraryCall trial = what;
        trial.call.count = 1;
        const auto memory = gpu_memory(gpu_number(world));
        const std::size_t input = input_bytes(trial.call, world.size(), world.rank());
        const std::size_t output = output_bytes(trial.call, world.size(), world.rank());
        const auto bytes = memory->allocate(input + output);
        NcclCollective call(world, trial,
                            {.input = {bytes.get(), input},
                             .output = {bytes.get() + input, output},
                             .device = memory.get()});
        call.start();
        call.wait();
        return true_on_all_ranks(world, call.is_as_forced());
    };
    auto& trials = world.attribute<NcclTrials>([] { return std::make_shared<NcclTrials>(); });
    const std::tuple key{what.call.collective, what.call.type, what.call.op, what.algorithm};
    auto known = trials.can_use.find(key);
    if (known == trials.can_use.end()) known = trials.can_use.emplace(key, try_it()).first;
    if (known->second) return std::nullopt;
    return fmt::format("NCCL cannot use {} for {} of {} on these GPUs", what.algorithm,
                       name_of(what.call.collective), name_of(what.call.type));
}

// Collective.
std::optional<std::string> cannot_force(World& world, const LibraryCall& what) {
    if (auto missing = missing_on_any(world, NcclPlugin::loaded().missing())) return missing;
    if (world.one_process() && world.size() > 1)
        return "NCCL's algorithms are forced for a whole process; start one process for each rank";
    const auto names = nccl_algorithm_names(what.call.collective);
    if (std::ranges::find(names, what.algorithm) == names.end())
        return fmt::format("NCCL has no algorithm {} for {}", what.algorithm,
                           name_of(what.call.collective));
    return cannot_use(world, what);
}

}  // namespace

std::optional<std::string> nccl_baseline_refuses(World& world, const LibraryCall& what) {
    const Call& call = what.call;
    if (what.buffers && *what.buffers != BufferKind::device) {
        const auto missing = nccl_missing();
        return missing ? missing : "needs --buffers device";
    }
    if (auto refusal = nccl_refuses(world)) return refusal;
    if (call.lengths != nullptr) return "tutti calls NCCL with blocks of equal lengths only";
    if (reduces(call.collective) && !type_of(call.type))
        return fmt::format("NCCL has no type {}", name_of(call.type));
    if (reduces(call.collective) && is_too_old_for(call.type, world))
        return fmt::format("NCCL reduces {} on GPUs of compute capability 9.0 and later only",
                           name_of(call.type));
    if (call.collective > Collective::all_to_all)
        return fmt::format("NCCL has no {}", name_of(call.collective));
    if (call.collective == Collective::all_to_all && what.in_place)
        return "NCCL has no all_to_all in place: it would send data that it has overwritten";
    if (!what.algorithm.empty()) return cannot_force(world, what);
    return std::nullopt;
}

std::unique_ptr<Operation> nccl_baseline(World& world, const LibraryCall& what,
                                         const CallBuffers& buffers) {
    if (buffers.device == nullptr) throw Error("NCCL needs buffers of a GPU: --buffers device");
    auto call = std::make_unique<NcclCollective>(world, what, buffers);
    call->insist();
    return call;
}

}  // namespace tutti
