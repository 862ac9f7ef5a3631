// SPDX-License-Identifier: Apache-2.0
// Functions with the settings of a call, as NCCL 2.31.2 has them: what it checks, and which names
// it knows. Without SIMULATED_NCCL_VERSION of at least that, there are none.
#include "tests/simulated_gpu/nccl/call_configs.hpp"

#include <nccl.h>
#include <strings.h>

#include <climits>
#include <sstream>
#include <string>

#include "tests/simulated_gpu/nccl/communicator.hpp"

namespace tutti::simulated {

Selection& selection_of_call() {
    thread_local Selection selection;
    return selection;
}

#if SIMULATED_NCCL_VERSION >= 23102
namespace {

constexpr unsigned broadcast_bit = 1, reduce_bit = 2, gather_bit = 4, scatter_bit = 8,
                   all_reduce_bit = 16, every_collective = 31;

// An algorithm with a protocol, by NCCL's name, and the collectives that have it.
struct Selectable {
    const char* name;
    std::size_t algorithm, protocol;
    unsigned collectives;
};
constexpr Selectable all_selectable[] = {
    {"TREE_LL", 0, 0, all_reduce_bit},
    {"TREE_LL128", 0, 1, all_reduce_bit},
    {"TREE_SIMPLE", 0, 2, all_reduce_bit},
    {"RING_LL", 1, 0, every_collective},
    {"RING_LL128", 1, 1, every_collective},
    {"RING_SIMPLE", 1, 2, every_collective},
    {"COLLNET_DIRECT_SIMPLE", 2, 2, all_reduce_bit | gather_bit | scatter_bit},
    {"COLLNET_CHAIN_SIMPLE", 3, 2, all_reduce_bit},
    {"NVLS_SIMPLE", 4, 2, all_reduce_bit | gather_bit | scatter_bit},
    {"NVLSTREE_SIMPLE", 5, 2, all_reduce_bit},
    {"PAT_SIMPLE", 6, 2, gather_bit | scatter_bit},
};

// Returns why the settings are wrong; empty if they are right.
std::string fault_in(const nccl_host::CollConfig& config) {
    if (config.size < sizeof config) return "the size is too small";
    if (config.magic != 0xcafebeef) return "the magic number is wrong";
    if (config.version < 23102) return "the version had no such settings";
    if (config.ext != nullptr) return "an extension";
    if (config.forceAlgSelection != 0 && config.forceAlgSelection != 1)
        return "forceAlgSelection is neither 0 nor 1";
    if (config.minCTAs != INT_MIN || config.cgaClusterSize != INT_MIN ||
        config.CTAPolicy != INT_MIN || config.userProfilerTag != 0)
        return "a setting that tutti does not use";
    for (const int channels : {config.maxCTAs, config.nvlsCTAs})
        if (channels != INT_MIN && channels < 1) return "a number of channels below 1";
    return "";
}

// A name selects all algorithms whose names begin with it.
Selection selection_by(const nccl_host::CollConfig& config, int function, bool& is_known) {
    Selection selection;
    selection.is_forced = config.forceAlgSelection == 1;
    if (config.maxCTAs != INT_MIN) selection.channels = config.maxCTAs;
    is_known = true;
    if (config.algSelection == nullptr) return selection;
    for (auto& of_algorithm : selection.excluded) of_algorithm.fill(true);
    bool has_any = false;
    std::istringstream names(config.algSelection);
    for (std::string name; std::getline(names, name, ',');)
        for (const Selectable& one : all_selectable)
            if (strncasecmp(one.name, name.c_str(), name.size()) == 0 &&
                (one.collectives >> function & 1U) != 0)
                selection.excluded[one.algorithm][one.protocol] = false, has_any = true;
    is_known = has_any;
    return selection;
}

template <class Call>
ncclResult_t with(const nccl_host::CollConfig* config, int function, Call&& call) {
    bool is_known = true;
    if (config != nullptr) {
        if (const std::string fault = fault_in(*config); !fault.empty())
            return complain(ncclInvalidArgument, "settings of a call: " + fault);
        selection_of_call() = selection_by(*config, function, is_known);
    }
    const ncclResult_t result =
        is_known ? call()
                 : complain(ncclInvalidArgument,
                            std::string("no algorithm has the name ") + config->algSelection);
    selection_of_call() = {};
    return result;
}

}  // namespace
#endif

}  // namespace tutti::simulated

#if SIMULATED_NCCL_VERSION >= 23102
using nccl_host::CollConfig;
using tutti::simulated::with;

// Newer headers declare these functions with a type of their own.
extern "C" {
ncclResult_t all_reduce_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                           const CollConfig* config) __asm__("ncclAllReduceConfig");
ncclResult_t reduce_scatter_by(const void* input, void* output, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream,
                               const CollConfig* config) __asm__("ncclReduceScatterConfig");
ncclResult_t reduce_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                       const CollConfig* config) __asm__("ncclReduceConfig");
ncclResult_t all_gather_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream,
                           const CollConfig* config) __asm__("ncclAllGatherConfig");
ncclResult_t broadcast_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                          int root, ncclComm_t comm, cudaStream_t stream,
                          const CollConfig* config) __asm__("ncclBroadcastConfig");

ncclResult_t all_reduce_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                           const CollConfig* config) {
    return with(config, 4,
                [&] { return ncclAllReduce(input, output, count, type, op, comm, stream); });
}
ncclResult_t reduce_scatter_by(const void* input, void* output, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream, const CollConfig* config) {
    return with(config, 3,
                [&] { return ncclReduceScatter(input, output, count, type, op, comm, stream); });
}
ncclResult_t reduce_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                       const CollConfig* config) {
    return with(config, 1,
                [&] { return ncclReduce(input, output, count, type, op, root, comm, stream); });
}
ncclResult_t all_gather_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream, const CollConfig* config) {
    return with(config, 2, [&] { return ncclAllGather(input, output, count, type, comm, stream); });
}
ncclResult_t broadcast_by(const void* input, void* output, std::size_t count, ncclDataType_t type,
                          int root, ncclComm_t comm, cudaStream_t stream,
                          const CollConfig* config) {
    return with(config, 0,
                [&] { return ncclBroadcast(input, output, count, type, root, comm, stream); });
}
}
#endif
