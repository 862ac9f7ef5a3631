// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

// NCCL's side of its plugins: the published structures with the names that NCCL gives their
// members, apart from those that the plugin declares. The numbers are sizes and offsets that a
// compiler printed for NCCL's own headers on x86-64: 2.30.7, and 2.32 for version 7.
namespace nccl_host {

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* fmt,
                        ...);

/// ncclCollConfig_t of 2.31.2. Its functions read at least these members.
struct CollConfig {
    std::size_t size;
    unsigned int magic;
    unsigned int version;
    void* ext;
    int minCTAs;
    int maxCTAs;
    int nvlsCTAs;
    int cgaClusterSize;
    const char* algSelection;
    int forceAlgSelection;
    int CTAPolicy;
    std::uint64_t userProfilerTag;
};
static_assert(sizeof(CollConfig) == 64 && offsetof(CollConfig, ext) == 16 &&
              offsetof(CollConfig, algSelection) == 40 &&
              offsetof(CollConfig, userProfilerTag) == 56);

struct TunerV3 {
    const char* name;
    int (*init)(std::size_t nRanks, std::size_t nNodes, Logger logFunction, void** context);
    int (*getCollInfo)(void* context, int collType, std::size_t nBytes, int numPipeOps,
                       float** collCostTable, int numAlgo, int numProto, int* nChannels);
    int (*destroy)(void* context);
};
struct TunerV4 {
    const char* name;
    int (*init)(std::size_t nRanks, std::size_t nNodes, Logger logFunction, void** context);
    int (*getCollInfo)(void* context, int collType, std::size_t nBytes, int numPipeOps,
                       float** collCostTable, int numAlgo, int numProto, int regBuff,
                       int* nChannels);
    int (*destroy)(void* context);
};
struct NvlDomainInfo {
    int nNvlDomains, minRanksPerNvlDomain, maxRanksPerNvlDomain;
};
template <int compute_capabilities>
struct Constants {
    double baseLatencies[7][3];
    double hwLatencies[3][7][3];
    double llMaxBws[compute_capabilities][3];
    double perChMaxRingLL128Bws[compute_capabilities][3];
    double perChMaxTreeLL128Bws[compute_capabilities][3];
    double perChMaxTreeBws[compute_capabilities][3];
    double perChMaxNVLSTreeBws[compute_capabilities][3];
};
using ConstantsV5 = Constants<4>;
using ConstantsV7 = Constants<5>;
template <class ConstantsOfVersion>
struct TunerV5 {
    using ConstantsType = ConstantsOfVersion;
    const char* name;
    int (*init)(void** ctx, std::uint64_t commId, std::size_t nRanks, std::size_t nNodes,
                Logger logFunction, NvlDomainInfo* nvlDomainInfo, ConstantsOfVersion* constants);
    int (*getCollInfo)(void* context, int collType, std::size_t nBytes, int numPipeOps,
                       float** collCostTable, int numAlgo, int numProto, int regBuff,
                       int* nChannels);
    int (*finalize)(void* context);
};
template <class ConstantsOfVersion>
struct TunerV6 {
    using ConstantsType = ConstantsOfVersion;
    const char* name;
    int (*init)(void** ctx, std::uint64_t commId, std::size_t nRanks, std::size_t nNodes,
                Logger logFunction, NvlDomainInfo* nvlDomainInfo, ConstantsOfVersion* constants);
    int (*getCollInfo)(void* context, int collType, std::size_t nBytes, int numPipeOps,
                       float** collCostTable, int numAlgo, int numProto, int regBuff,
                       int* nChannels);
    int (*finalize)(void* context);
    int (*getChunkSize)(void* context, int collType, std::size_t nBytes, int algo, int proto,
                        int nChannels, std::size_t* chunkSize);
};
static_assert(sizeof(TunerV3) == 32 && sizeof(TunerV4) == 32);
static_assert(sizeof(TunerV5<ConstantsV5>) == 32 && sizeof(TunerV6<ConstantsV7>) == 40);
static_assert(offsetof(TunerV6<ConstantsV5>, finalize) == 24 &&
              offsetof(TunerV6<ConstantsV5>, getChunkSize) == 32);
static_assert(sizeof(ConstantsV5) == 1152 && sizeof(ConstantsV7) == 1272);
static_assert(sizeof(NvlDomainInfo) == 12);

// Descriptions of events. Version 4 has the first three members with a type of 8 bits.
template <class Type, class Coll>
struct EventDescr {
    Type type;
    void* parentObj;
    int rank;
    union {
        Coll coll;
        struct {
            std::uint8_t channelId;
            std::uint64_t pTimer;
        } kernelCh;
    };
};
struct CollV4 {
    std::uint64_t seqNumber;
    const char* func;
    const void* sendBuff;
    void* recvBuff;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t nChannels, nWarps;
    const char* algo;
    const char* proto;
};
struct CollV5 {
    std::uint64_t seqNumber;
    const char* func;
    const void* sendBuff;
    void* recvBuff;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t nChannels, nWarps;
    const char* algo;
    const char* proto;
    void* parentGroup;
};
struct CollV7 {
    std::uint64_t seqNumber;
    const char* func;
    const void* sendBuff;
    void* recvBuff;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t nChannels, nWarps;
    const char* algo;
    const char* proto;
    void* parentGroup;
    const char* kernelVariant;
    bool isSymColl;
    std::uint64_t userTag;
};
using EventV4 = EventDescr<std::uint8_t, CollV4>;
using EventV5 = EventDescr<std::uint64_t, CollV5>;
using EventV7 = EventDescr<std::uint64_t, CollV7>;
static_assert(sizeof(EventV4) == 104 && sizeof(EventV5) == 112 && sizeof(EventV7) == 136);
static_assert(offsetof(EventV4, coll.proto) == 96 && offsetof(EventV5, coll.proto) == 96);
static_assert(offsetof(EventV7, coll.proto) == 96 && offsetof(EventV7, coll.userTag) == 128);
static_assert(offsetof(EventV5, coll.count) == 56 && offsetof(EventV5, coll.nChannels) == 80);
static_assert(offsetof(EventV5, kernelCh.pTimer) == 32 && offsetof(EventV4, kernelCh) == 24);

union StateArgs {
    std::uint64_t pTimer;
    void* data;
};
template <class Event>
struct ProfilerV5 {
    using EventType = Event;
    const char* name;
    int (*init)(void** context, std::uint64_t commId, int* eActivationMask, const char* commName,
                int nNodes, int nranks, int rank, Logger logfn);
    int (*startEvent)(void* context, void** eHandle, Event* eDescr);
    int (*stopEvent)(void* eHandle);
    int (*recordEventState)(void* eHandle, int eState, StateArgs* eStateArgs);
    int (*finalize)(void* context);
};
struct ProfilerV4 {
    using EventType = EventV4;
    const char* name;
    int (*init)(void** context, int* eActivationMask, const char* commName, std::uint64_t commHash,
                int nNodes, int nranks, int rank, Logger logfn);
    int (*startEvent)(void* context, void** eHandle, EventV4* eDescr);
    int (*stopEvent)(void* eHandle);
    int (*recordEventState)(void* eHandle, int eState, StateArgs* eStateArgs);
    int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV4) == 48 && sizeof(ProfilerV5<EventV5>) == 48);

}  // namespace nccl_host
