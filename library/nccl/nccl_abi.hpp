// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

// The tables of functions that NCCL looks for in a plugin, and the structures that it passes.
// Declared from its published interfaces, as NCCL's headers need CUDA's. Numbers stand for its
// enumerations. Sizes and offsets are those of NCCL 2.22.3 (tuner v3), 2.24.3 (v4), 2.28.3 (v5),
// 2.30.3 (v6) and 2.32 (v7), and of 2.27.7 (profiler v4), 2.28.3 (v5), 2.29.7 (v6) and 2.31 (v7).
namespace tutti::nccl {

/// ncclResult_t. NCCL fails the user's call if a tuner does not return success.
inline constexpr int success = 0;

/// Levels and subsystem of NCCL's logger.
inline constexpr int level_warning = 2, level_info = 3;
inline constexpr unsigned long subsystem_tuning = 0x40, subsystem_profile = 0x4000;
using Logger = void (*)(int level, unsigned long subsystem, const char* file, int line,
                        const char* format, ...);

/// Versions 3 and 4 of a tuner differ in the arguments of choose(): v4 has `has_registered` before
/// `channels`.
struct TunerV3 {
    const char* name;
    int (*init)(std::size_t ranks, std::size_t hosts, Logger logger, void** context);
    int (*choose)(void* context, int function, std::size_t bytes, int operations, float** costs,
                  int algorithms, int protocols, int* channels);
    int (*destroy)(void* context);
};
struct TunerV4 {
    const char* name;
    int (*init)(std::size_t ranks, std::size_t hosts, Logger logger, void** context);
    int (*choose)(void* context, int function, std::size_t bytes, int operations, float** costs,
                  int algorithms, int protocols, int has_registered, int* channels);
    int (*destroy)(void* context);
};
/// `domains` and `constants` are structures of NCCL whose sizes depend on the version. The plugin
/// does not touch them.
struct TunerV5 {
    const char* name;
    int (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t hosts,
                Logger logger, void* domains, void* constants);
    int (*choose)(void* context, int function, std::size_t bytes, int operations, float** costs,
                  int algorithms, int protocols, int has_registered, int* channels);
    int (*finalize)(void* context);
};
/// Version 7 is the same, with larger `constants`.
struct TunerV6 {
    TunerV5 as_v5;
    /// Null: NCCL chooses the size of chunks.
    int (*choose_chunk)(void* context, int function, std::size_t bytes, int algorithm, int protocol,
                        int channels, std::size_t* bytes_of_chunk);
};
static_assert(sizeof(TunerV3) == 32 && offsetof(TunerV3, destroy) == 24);
static_assert(sizeof(TunerV4) == 32 && offsetof(TunerV4, choose) == 16);
static_assert(sizeof(TunerV5) == 32 && offsetof(TunerV5, finalize) == 24);
static_assert(sizeof(TunerV6) == 40 && offsetof(TunerV6, choose_chunk) == 32);

/// Kinds of events of a profiler (bits of its mask), and the only change of state that is used.
inline constexpr std::uint64_t collective_event = 1U << 1, kernel_channel_event = 1U << 6;
inline constexpr int kernel_channel_stopped = 22;

/// The beginning of a collective's description, which all versions from 4 to 7 share.
struct CollectiveEvent {
    std::uint64_t sequence;
    const char* function;
    const void* input;
    void* output;
    std::size_t count;
    int root;
    const char* type;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
};
struct KernelChannelEvent {
    std::uint8_t channel;
    std::uint64_t gpu_time;  ///< in ns, of the GPU's global timer
};
/// The beginning of an event's description. Version 4 has a kind of 8 bits; the 7 bytes after it
/// are undefined.
struct Event {
    std::uint64_t kind;
    void* parent;
    int rank;
    union {
        CollectiveEvent collective;
        KernelChannelEvent kernel_channel;
    };
};
static_assert(offsetof(Event, parent) == 8 && offsetof(Event, rank) == 16);
static_assert(offsetof(Event, collective) == 24 && offsetof(Event, kernel_channel) == 24);
static_assert(offsetof(CollectiveEvent, count) == 32 && offsetof(CollectiveEvent, type) == 48);
static_assert(offsetof(CollectiveEvent, channels) == 56 && offsetof(CollectiveEvent, warps) == 57);
static_assert(offsetof(CollectiveEvent, algorithm) == 64 &&
              offsetof(CollectiveEvent, protocol) == 72);
static_assert(offsetof(KernelChannelEvent, gpu_time) == 8);

/// The values that come with a change of state; for kernel_channel_stopped, the GPU's time.
union StateValues {
    std::uint64_t gpu_time;
    void* pointer;
};
static_assert(sizeof(StateValues) == 8);

struct ProfilerV4 {
    const char* name;
    int (*init)(void** context, int* mask, const char* communicator_name,
                std::uint64_t communicator, int hosts, int ranks, int rank, Logger logger);
    int (*start)(void* context, void** event, const Event* description);
    int (*stop)(void* event);
    int (*change_state)(void* event, int state, const StateValues* values);
    int (*finalize)(void* context);
};
/// Versions 6 and 7 have the same functions; only the ends of descriptions differ.
struct ProfilerV5 {
    const char* name;
    int (*init)(void** context, std::uint64_t communicator, int* mask,
                const char* communicator_name, int hosts, int ranks, int rank, Logger logger);
    int (*start)(void* context, void** event, const Event* description);
    int (*stop)(void* event);
    int (*change_state)(void* event, int state, const StateValues* values);
    int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV4) == 48 && offsetof(ProfilerV4, start) == 16);
static_assert(sizeof(ProfilerV5) == 48 && offsetof(ProfilerV5, finalize) == 40);

}  // namespace tutti::nccl
