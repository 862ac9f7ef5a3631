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
#include "collectives/baselines/nccl_forcing.hpp"
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

bool is_fp8(DataType type) { return name_of(type).starts_with("fp8"); }

// Returns null for a type that the library does not have.
const Named<ncclDataType_t>* type_of(DataType type, const NcclLibrary& library) {
    constexpr int first_with_fp8 = 22400;
    if (is_fp8(type) && library.number() < first_with_fp8) return nullptr;
    return find_in(nccl_types, name_of(type));
}

ncclRedOp_t op_of(Op op) {
    constexpr ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMin, ncclMax,
                                   ncclAvg};  // in the order of Op
    return at(ops, op);
}

// A function of NCCL and, from NCCL 2.31.2 on, its form with the settings of a call.
template <class Function>
struct NcclCall;
template <class... Arguments>
struct NcclCall<ncclResult_t(Arguments...)> {
    NcclCall(const NcclLibrary& library, const std::string& name)
        : plain(library.function<ncclResult_t(Arguments...)>(name)),
          configured(library.find_next_to<ncclResult_t(Arguments..., const nccl::CallConfig*)>(
              plain, name + "Config")) {}

    ncclResult_t operator()(const nccl::CallConfig* config, Arguments... arguments) const {
        return config == nullptr ? plain(arguments...) : configured(arguments..., config);
    }

    ncclResult_t (*plain)(Arguments...);
    ncclResult_t (*configured)(Arguments..., const nccl::CallConfig*);
};

struct CollectiveCalls {
    explicit CollectiveCalls(const NcclLibrary& library)
        : all_reduce(library, "ncclAllReduce"),
          reduce_scatter(library, "ncclReduceScatter"),
          all_gather(library, "ncclAllGather"),
          broadcast(library, "ncclBroadcast"),
          reduce(library, "ncclReduce"),
          send(library.function<decltype(ncclSend)>("ncclSend")),
          receive(library.function<decltype(ncclRecv)>("ncclRecv")),
          begin_group(library.function<decltype(ncclGroupStart)>("ncclGroupStart")),
          end_group(library.function<decltype(ncclGroupEnd)>("ncclGroupEnd")) {}

    NcclForcing forcing(const NcclLibrary& library) const {
        const NcclForcing of_version = forcing_of_nccl(library.number());
        const bool has_settings = all_reduce.configured && reduce_scatter.configured &&
                                  all_gather.configured && broadcast.configured &&
                                  reduce.configured;
        return of_version == NcclForcing::by_call && !has_settings ? NcclForcing::by_tuner
                                                                   : of_version;
    }

    NcclCall<decltype(ncclAllReduce)> all_reduce;
    NcclCall<decltype(ncclReduceScatter)> reduce_scatter;
    NcclCall<decltype(ncclAllGather)> all_gather;
    NcclCall<decltype(ncclBroadcast)> broadcast;
    NcclCall<decltype(ncclReduce)> reduce;
    decltype(&ncclSend) send;
    decltype(&ncclRecv) receive;
    decltype(&ncclGroupStart) begin_group;
    decltype(&ncclGroupEnd) end_group;
};

// An NCCL library whose algorithms may be forced.
struct ForcibleNccl {
    explicit ForcibleNccl(const NcclLibrary& in)
        : library(in), calls(in), forcing(calls.forcing(in)) {}

    // Returns the settings of the communicator for an algorithm.
    NcclSettings settings_for(const std::string& algorithm) const {
        if (algorithm.empty() || forcing != NcclForcing::by_environment) return {};
        const NcclChoice choice = parse_nccl_choice(algorithm);
        return {.environment = nccl_environment_of(choice), .most_channels = choice.channels};
    }

    const NcclLibrary& library;
    CollectiveCalls calls;
    NcclForcing forcing;
};

const ForcibleNccl& linked_nccl() {
    static const ForcibleNccl linked(NcclLibrary::linked());
    return linked;
}

// Only if there is one.
const ForcibleNccl& other_nccl() {
    static const ForcibleNccl other(*NcclLibrary::other());
    return other;
}

class NcclCollective final : public Operation {
public:
    NcclCollective(World& world, const ForcibleNccl& nccl, NcclRanks& ranks,
                   const LibraryCall& what, const CallBuffers& buffers)
        : world_(world),
          nccl_(nccl),
          algorithm_(what.algorithm),
          ranks_(ranks),
          queue_(buffers.device->queue()),
          stream_(static_cast<cudaStream_t>(queue_->handle())) {
        if (is_forced(NcclForcing::by_call)) {
            const NcclChoice choice = parse_nccl_choice(algorithm_);
            name_in_config_ = nccl::name_in_calls(choice);
            config_ = nccl::config_forcing(choice, name_in_config_);
        }
        bind(what.call, buffers);
    }

    void bind(const Call& call, const CallBuffers& buffers) override {
        choice_.reset();
        call_ = call;
        op_ = op_of(call.op);
        buffers_ = buffers;
        const auto* type = type_of(call.type, nccl_.library);
        type_ = type ? type->value : ncclUint8;
        count_ = static_cast<std::size_t>(call.count) * (type ? 1 : size_of(call.type));
        block_ = static_cast<std::size_t>(call.count) * size_of(call.type);
    }

    // The destructor also runs during stack unwinding.
    ~NcclCollective() override {
        if (std::uncaught_exceptions() > 0) ranks_.give_up();
    }

    // NCCL has asked the plugins by the time that ask() returns. What it runs is the same for all
    // calls of the same size, so the profiler is asked once.
    void start() override {
        const NcclProfiler* const profiler = choice_ ? nullptr : NcclProfiler::loaded();
        const std::uint64_t last_call = profiler == nullptr ? 0 : profiler->last_call();
        const bool by_tuner = is_forced(NcclForcing::by_tuner);
        const NcclPlugin* const plugin = by_tuner ? &NcclPlugin::loaded() : NcclPlugin::in_use();
        const auto before = plugin == nullptr ? tutti_nccl_counts{} : plugin->counts();
        if (plugin != nullptr) plugin->force(by_tuner ? algorithm_ : "");
        ranks_.ask([this] { return describe(); },
                   [this](void* comm) { return begin(static_cast<ncclComm_t>(comm)); });
        end_ = queue_->mark();
        if (profiler != nullptr)
            choice_ =
                profiler->choice_after(last_call, world_.rank().index, name_of(call_.collective));
        const auto after = plugin == nullptr ? tutti_nccl_counts{} : plugin->counts();
        // NCCL does not ask for all calls: not on one rank, nor for symmetric memory.
        is_as_forced_ =
            !by_tuner || (after.refused == before.refused && after.chosen > before.chosen);
        if (!is_as_forced_ && must_be_as_forced_)
            throw Error(fmt::format(
                "NCCL used another algorithm than nccl/{} for {} of {} elements; remove it from "
                "--baseline, or use other sizes",
                algorithm_, describe(), call_.count));
    }

    // Returns false if NCCL refuses the call.
    bool is_accepted() try {
        start();
        return true;
    } catch (const Error& error) {
        if (error.code() == Exit::usage || nccl_.forcing == NcclForcing::by_environment)
            return false;
        throw;
    }

    /// Lets start() throw if NCCL uses another algorithm.
    void insist() { must_be_as_forced_ = true; }
    bool is_as_forced() const { return is_as_forced_; }
    /// Returns what NCCL's profiler saw; empty if that is the forced algorithm, or unknown.
    std::string choice() const { return !choice_ || *choice_ == algorithm_ ? "" : *choice_; }

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
    bool is_forced(NcclForcing how) const { return !algorithm_.empty() && nccl_.forcing == how; }
    const std::byte* input() const { return buffers_.input.data(); }
    std::byte* output() const { return buffers_.output.data(); }
    int root() const { return call_.root.index; }
    bool is_root() const { return world_.rank() == call_.root; }

    // The late peer is known only if there is one other rank, or if this rank waits only for the
    // root.
    std::string describe() const {
        std::string words = fmt::format("NCCL's own {}{}{}", name_of(call_.collective),
                                        algorithm_.empty() ? "" : " by ", algorithm_);
        const bool meets_root_only =
            call_.collective == Collective::scatter || call_.collective == Collective::gather;
        if (meets_root_only && !is_root()) return words + fmt::format(" with rank {}", root());
        if (world_.size() == 2) words += fmt::format(" with rank {}", 1 - world_.rank().index);
        return words;
    }

    ncclResult_t begin(ncclComm_t comm) const {
        const CollectiveCalls& of = nccl_.calls;
        const auto* const config = is_forced(NcclForcing::by_call) ? &config_ : nullptr;
        switch (call_.collective) {
            case Collective::all_reduce:
                return of.all_reduce(config, input(), output(), count_, type_, op_, comm, stream_);
            case Collective::reduce_scatter:
                return of.reduce_scatter(config, input(), output(), count_, type_, op_, comm,
                                         stream_);
            case Collective::all_gather:
                return of.all_gather(config, input(), output(), count_, type_, comm, stream_);
            case Collective::broadcast:
                return of.broadcast(config, input(), output(), count_, type_, root(), comm,
                                    stream_);
            case Collective::reduce:
                return of.reduce(config, input(), output(), count_, type_, op_, root(), comm,
                                 stream_);
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
        ncclResult_t worst = nccl_.calls.begin_group();
        const auto keep = [&](ncclResult_t result) {
            if (result != ncclSuccess && result != ncclInProgress) worst = result;
        };
        const auto send = [&](const std::byte* from, int peer) {
            keep(nccl_.calls.send(from, count_, type_, peer, comm, stream_));
        };
        const auto receive = [&](std::byte* into, int peer) {
            keep(nccl_.calls.receive(into, count_, type_, peer, comm, stream_));
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
        const ncclResult_t ended = nccl_.calls.end_group();
        return worst != ncclSuccess ? worst : ended;
    }

    World& world_;
    const ForcibleNccl& nccl_;
    std::string algorithm_;  // empty: NCCL's own choice
    std::string name_in_config_;
    nccl::CallConfig config_;
    std::optional<std::string> choice_;  // none: not asked yet
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
    if (!is_fp8(type)) return false;
    const auto mine = static_cast<std::size_t>(gpu_number(world));
    return !true_on_all_ranks(world, gpus().at(mine).capability >= 90);
}

// Calls of one element by forced algorithms: whether NCCL can use these.
struct NcclTrials {
    std::map<std::tuple<const ForcibleNccl*, Collective, DataType, Op, std::string>, bool> can_use;
    // A communicator whose calls may fail, after which it is made again.
    std::map<const ForcibleNccl*, std::unique_ptr<NcclRanks>> ranks;
};

// Collective. NCCL rules algorithms out by the ranks, the type and the operation.
std::optional<std::string> cannot_use(World& world, const ForcibleNccl& nccl,
                                      const LibraryCall& what) {
    auto& trials = world.attribute<NcclTrials>([] { return std::make_shared<NcclTrials>(); });
    const NcclSettings settings = nccl.settings_for(what.algorithm);
    const auto ranks_for_trial = [&]() -> NcclRanks& {
        if (nccl.forcing != NcclForcing::by_call)
            return NcclRanks::of(world, nccl.library, settings);
        auto& ranks = trials.ranks[&nccl];
        if (ranks == nullptr) ranks = NcclRanks::make(world, nccl.library);
        return *ranks;
    };
    const auto try_it = [&] {
        if (nccl_refuses(world, nccl.library, settings)) return false;
        LibraryCall trial = what;
        trial.call.count = 1;
        const auto memory = gpu_memory(gpu_number(world));
        const std::size_t input = input_bytes(trial.call, world.size(), world.rank());
        const std::size_t output = output_bytes(trial.call, world.size(), world.rank());
        const auto bytes = memory->allocate(input + output);
        NcclRanks& ranks = ranks_for_trial();
        NcclCollective call(world, nccl, ranks, trial,
                            {.input = {bytes.get(), input},
                             .output = {bytes.get() + input, output},
                             .device = memory.get()});
        if (!true_on_all_ranks(world, call.is_accepted())) {
            ranks.give_up();
            return false;
        }
        call.wait();
        return true_on_all_ranks(world, call.is_as_forced());
    };
    const std::tuple key{&nccl, what.call.collective, what.call.type, what.call.op, what.algorithm};
    auto known = trials.can_use.find(key);
    if (known == trials.can_use.end()) {
        known = trials.can_use.emplace(key, try_it()).first;
        if (!known->second) trials.ranks.erase(&nccl);
    }
    if (known->second) return std::nullopt;
    return fmt::format("NCCL cannot use {} for {} of {} on these GPUs", what.algorithm,
                       name_of(what.call.collective), name_of(what.call.type));
}

// Collective.
std::optional<std::string> cannot_force(World& world, const ForcibleNccl& nccl,
                                        const LibraryCall& what) {
    const bool by_tuner = nccl.forcing == NcclForcing::by_tuner;
    if (auto missing = missing_on_any(
            world, by_tuner ? NcclPlugin::loaded().missing() : std::optional<std::string>{}))
        return missing;
    if (nccl.forcing != NcclForcing::by_call && world.one_process() && world.size() > 1)
        return "NCCL's algorithms are forced for a whole process; start one process for each rank";
    const auto names = nccl_algorithm_names(what.call.collective);
    if (std::ranges::find(names, what.algorithm) == names.end())
        return fmt::format("NCCL has no algorithm {} for {}", what.algorithm,
                           name_of(what.call.collective));
    return cannot_use(world, nccl, what);
}

std::optional<std::string> refuses(World& world, const LibraryCall& what,
                                   const ForcibleNccl& nccl) {
    const Call& call = what.call;
    if (what.buffers && *what.buffers != BufferKind::device) {
        const auto missing = nccl_missing();
        return missing ? missing : "needs --buffers device";
    }
    if (auto refusal = nccl_refuses(world, nccl.library)) return refusal;
    if (call.lengths != nullptr) return "tutti calls NCCL with blocks of equal lengths only";
    if (reduces(call.collective) && !type_of(call.type, nccl.library))
        return fmt::format("NCCL has no type {}", name_of(call.type));
    if (reduces(call.collective) && is_too_old_for(call.type, world))
        return fmt::format("NCCL reduces {} on GPUs of compute capability 9.0 and later only",
                           name_of(call.type));
    if (call.collective > Collective::all_to_all)
        return fmt::format("NCCL has no {}", name_of(call.collective));
    if (call.collective == Collective::all_to_all && what.in_place)
        return "NCCL has no all_to_all in place: it would send data that it has overwritten";
    if (!what.algorithm.empty()) return cannot_force(world, nccl, what);
    return std::nullopt;
}

std::unique_ptr<Operation> baseline_of(World& world, const LibraryCall& what,
                                       const CallBuffers& buffers, const ForcibleNccl& nccl) {
    if (buffers.device == nullptr) throw Error("NCCL needs buffers of a GPU: --buffers device");
    NcclRanks& ranks = NcclRanks::of(world, nccl.library, nccl.settings_for(what.algorithm));
    auto call = std::make_unique<NcclCollective>(world, nccl, ranks, what, buffers);
    call->insist();
    return call;
}

void allow_forced_algorithms(const ForcibleNccl& nccl) {
    if (nccl.forcing == NcclForcing::by_tuner) NcclPlugin::let_nccl_load();
}

}  // namespace

void let_nccl_tell_choices() { NcclProfiler::let_nccl_load(); }

std::string nccl_choice_of(const Operation& operation) {
    return dynamic_cast<const NcclCollective&>(operation).choice();
}

void allow_forced_nccl_algorithms() { allow_forced_algorithms(linked_nccl()); }

std::optional<std::string> nccl_baseline_refuses(World& world, const LibraryCall& what) {
    return refuses(world, what, linked_nccl());
}

std::unique_ptr<Operation> nccl_baseline(World& world, const LibraryCall& what,
                                         const CallBuffers& buffers) {
    return baseline_of(world, what, buffers, linked_nccl());
}

std::optional<std::string> other_nccl_missing() {
    if (NcclLibrary::other() != nullptr) return nccl_missing();
    return "needs --other-nccl FILE of 'tutti bench'";
}

void allow_forced_other_nccl_algorithms() {
    if (NcclLibrary::other() != nullptr) allow_forced_algorithms(other_nccl());
}

std::optional<std::string> other_nccl_refuses(World& world, const LibraryCall& what) {
    return refuses(world, what, other_nccl());
}

std::unique_ptr<Operation> other_nccl_baseline(World& world, const LibraryCall& what,
                                               const CallBuffers& buffers) {
    return baseline_of(world, what, buffers, other_nccl());
}

}  // namespace tutti
