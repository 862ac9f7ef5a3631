// SPDX-License-Identifier: Apache-2.0
// The NCCL functions that are used: their refusals, and how calls become groups.
#include <nccl.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/simulated_gpu/gpu.hpp"
#include "tests/simulated_gpu/nccl/call_configs.hpp"
#include "tests/simulated_gpu/nccl/communicator.hpp"
#include "tests/simulated_gpu/nccl/works.hpp"

using namespace tutti;
using namespace tutti::simulated;

namespace {

// Communicators that are neither destroyed nor aborted, by handle.
class Communicators {
public:
    ~Communicators() {
        if (!all_.empty())
            complain(ncclInvalidUsage, std::to_string(all_.size()) + " communicators are left");
    }
    std::shared_ptr<Communicator> at(ncclComm_t handle) {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(handle);
        if (found != all_.end()) return found->second;
        complain(ncclInvalidArgument, "a call with what is no communicator any more, or not yet");
        return nullptr;
    }
    ncclComm_t add(std::shared_ptr<Communicator> one) {
        const std::lock_guard lock(mutex_);
        const auto handle = reinterpret_cast<ncclComm_t>(one.get());
        all_[handle] = std::move(one);
        return handle;
    }
    void remove(ncclComm_t handle) {
        const std::lock_guard lock(mutex_);
        all_.erase(handle);
    }

private:
    std::mutex mutex_;
    std::map<ncclComm_t, std::shared_ptr<Communicator>> all_;
};
Communicators communicators;

// The calls of this thread's open group.
struct Asked {
    std::shared_ptr<Communicator> of;
    cudaStream_t stream;
    Work work;
};
thread_local int depth = 0;
thread_local std::vector<Asked> asked;
thread_local ncclResult_t refused = ncclSuccess;

// Makes one group for each communicator.
ncclResult_t end_of_group() {
    std::vector<Asked> all = std::exchange(asked, {});
    if (refused != ncclSuccess) return std::exchange(refused, ncclSuccess);
    ncclResult_t result = ncclSuccess;
    while (!all.empty()) {
        const auto of = all.front().of;
        const cudaStream_t stream = all.front().stream;
        Group group;
        for (Asked& one : all) {
            if (one.of != of) continue;
            if (one.stream != stream)
                return complain(ncclInvalidUsage, "several streams in a group");
            group.add(std::move(one.work));
        }
        std::erase_if(all, [&](const Asked& one) { return one.of == of; });
        const ncclResult_t started = of->start(std::move(group), stream);
        if (result == ncclSuccess || result == ncclInProgress)
            result = started == ncclSuccess ? result : started;
    }
    return result;
}

using Call = std::function<Work(Communicator&)>;  // throws std::invalid_argument

ncclResult_t ask(ncclComm_t handle, cudaStream_t stream, const Call& call) {
    const auto of = communicators.at(handle);
    ncclResult_t result = of == nullptr ? ncclInvalidArgument : of->ready();
    if (result == ncclSuccess) try {
            asked.push_back({of, stream, call(*of)});
        } catch (const std::invalid_argument& error) {
            complain(ncclInvalidArgument, error.what());
            result = ncclInvalidArgument;
        }
    if (depth > 0 && result != ncclSuccess) refused = result;
    return depth > 0 || result != ncclSuccess ? result : end_of_group();
}

void must(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

DataType known(ncclDataType_t name) {
    const auto type = type_of(name);
    must(type.has_value(), "a type that NCCL does not have");
    return *type;
}

Op known(ncclRedOp_t name, DataType type, const Communicator& of) {
    const auto op = op_of(name);
    must(op.has_value(), "an operation that NCCL does not have");
    must(!name_of(type).starts_with("fp8") || capability_of(of.gpu()) >= 9,
         "FP8 reduction support begins with sm90 capable devices.");
    return *op;
}

struct Sides {
    std::size_t inputs = 1, outputs = 1;                  // consecutive shares
    std::size_t in_place_input = 0, in_place_output = 0;  // the common share
};

Share share_of(const Communicator& of, const void* input, void* output, std::size_t count,
               ncclDataType_t type, std::uint64_t sort, const Sides& sides) {
    const Share share{static_cast<const std::byte*>(input),
                      static_cast<std::byte*>(output),
                      count,
                      known(type),
                      of.ranks(),
                      of.rank(),
                      sort * 16 + type};
    const std::size_t one = share.bytes();
    const auto is_there = [&](const std::byte* memory, std::size_t shares) {
        must(one * shares == 0 || gpu(of.gpu()).memory.has(memory, one * shares),
             "memory that is not of the communicator's GPU");
    };
    is_there(share.input, sides.inputs);
    is_there(share.output, sides.outputs);
    const bool is_apart = share.input + sides.inputs * one <= share.output ||
                          share.output + sides.outputs * one <= share.input;
    must(sides.inputs * sides.outputs * one == 0 || is_apart ||
             share.input + sides.in_place_input * one == share.output + sides.in_place_output * one,
         "input and output overlap");
    return share;
}

void must_be_rank(int rank, const Communicator& of) {
    must(rank >= 0 && rank < of.ranks(), "a rank that is none of the communicator's");
}

std::uint64_t sort_of(int collective, int op, int root) {
    return static_cast<std::uint64_t>((collective * 16 + op) * 64 + root);
}

// Describes a collective for plugins.
Work described(Work work, const Share& share, int function, const char* name, ncclDataType_t type) {
    constexpr const char* types[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                     "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                     "ncclFloat64", "ncclBfloat16"};
    const bool has_blocks = function == 2 || function == 3;
    const std::size_t blocks = has_blocks ? static_cast<std::size_t>(share.ranks) : 1;
    work.description = {function,
                        name,
                        blocks * share.bytes(),
                        share.count,
                        type < std::size(types) ? types[type] : "Unknown",
                        selection_of_call()};
    return work;
}

ncclResult_t message(Message::Direction direction, void* memory, std::size_t count,
                     ncclDataType_t name, int peer, ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, [&](Communicator& of) {
        must_be_rank(peer, of);
        const std::size_t bytes = count * size_of(known(name));
        must(bytes == 0 || gpu(of.gpu()).memory.has(memory, bytes),
             "memory that is not of the communicator's GPU");
        return Work{{{direction, peer, {static_cast<std::byte*>(memory), bytes}, name}}};
    });
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = SIMULATED_NCCL_VERSION;
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "no error";
        case ncclSystemError:
            return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case ncclInvalidArgument:
            return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case ncclInvalidUsage:
            return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case ncclRemoteError:
            return "remote process exited or there was a network error";
        case ncclInProgress:
            return "NCCL operation in progress";
        default:
            return "internal error - please report this issue to the NCCL developers";
    }
}

const char* ncclGetLastError(ncclComm_t comm) {
    const auto of = communicators.at(comm);
    return of == nullptr ? "" : of->last_error();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    return mishap().what != "id" && Mailbox::create(*id) ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    const ncclConfig_t defaults = NCCL_CONFIG_INITIALIZER;
    if (config->magic != defaults.magic || config->size != defaults.size || config->blocking != 0)
        return complain(ncclInvalidArgument, "a configuration that is not for non-blocking calls");
    if (ranks < 1 || ranks > Mailbox::most_ranks || rank < 0 || rank >= ranks)
        return complain(ncclInvalidArgument, "no such rank");
    try {
        *comm = communicators.add(std::make_shared<Communicator>(
            id, ranks, rank,
            config->maxCTAs == NCCL_CONFIG_UNDEF_INT ? most_channels : config->maxCTAs));
    } catch (const std::runtime_error& error) {
        return complain(ncclInvalidArgument, error.what());
    }
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
    const auto of = communicators.at(comm);
    if (of == nullptr) return ncclInvalidArgument;
    *state = of->state();
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    const auto of = communicators.at(comm);
    if (of == nullptr) return ncclInvalidArgument;
    const ncclResult_t ready = of->ready();
    return ready == ncclSuccess ? of->finalize() : ready;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    const auto of = communicators.at(comm);
    if (of == nullptr) return ncclInvalidArgument;
    if (!of->is_finalized() || of->state() != ncclSuccess)
        return complain(ncclInvalidUsage, "a communicator is destroyed that is not finalized");
    communicators.remove(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    const auto of = communicators.at(comm);
    if (of == nullptr) return ncclInvalidArgument;
    of->abort();
    communicators.remove(comm);
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    ++depth;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    if (depth == 0) return complain(ncclInvalidUsage, "the end of a group that has no begin");
    return --depth > 0 ? ncclSuccess : end_of_group();
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
    return message(Message::Direction::out, const_cast<void*>(from), count, type, peer, comm,
                   stream);
}
ncclResult_t ncclRecv(void* into, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    return message(Message::Direction::in, into, count, type, peer, comm, stream);
}

ncclResult_t ncclAllReduce(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, [&](Communicator& of) {
        const Share share = share_of(of, input, output, count, type, sort_of(1, op, 0), {});
        return described(all_reduce(share, known(op, share.type, of)), share, 4, "AllReduce", type);
    });
}

ncclResult_t ncclReduceScatter(const void* input, void* output, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
    return ask(comm, stream, [&](Communicator& of) {
        const Sides sides{.inputs = static_cast<std::size_t>(of.ranks()),
                          .in_place_input = static_cast<std::size_t>(of.rank())};
        const Share share = share_of(of, input, output, count, type, sort_of(2, op, 0), sides);
        return described(reduce_scatter(share, known(op, share.type, of)), share, 3,
                         "ReduceScatter", type);
    });
}

ncclResult_t ncclReduce(const void* input, void* output, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, [&](Communicator& of) {
        must_be_rank(root, of);
        const Sides sides{.outputs = of.rank() == root ? std::size_t{1} : 0};
        const Share share = share_of(of, input, output, count, type, sort_of(3, op, root), sides);
        return described(reduce(share, known(op, share.type, of), root), share, 1, "Reduce", type);
    });
}

ncclResult_t ncclAllGather(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, [&](Communicator& of) {
        const Sides sides{.outputs = static_cast<std::size_t>(of.ranks()),
                          .in_place_output = static_cast<std::size_t>(of.rank())};
        const Share share = share_of(of, input, output, count, type, sort_of(4, 0, 0), sides);
        return described(all_gather(share), share, 2, "AllGather", type);
    });
}

ncclResult_t ncclBroadcast(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, [&](Communicator& of) {
        must_be_rank(root, of);
        const Sides sides{.inputs = of.rank() == root ? std::size_t{1} : 0};
        const Share share = share_of(of, input, output, count, type, sort_of(5, 0, root), sides);
        return described(broadcast(share, root), share, 0, "Broadcast", type);
    });
}

}  // extern "C"
