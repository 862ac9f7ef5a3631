// SPDX-License-Identifier: Apache-2.0
// The profiler that NCCL loads (NCCL_PROFILER_PLUGIN): which algorithm, protocol and channels each
// collective used, and its time on the GPU.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "library/nccl/call_log.hpp"
#include "library/nccl/nccl_abi.hpp"

namespace tutti {
namespace {

// NCCL keeps an event's handle and passes it back, also after the call has left the log. So a
// handle is a number that cannot dangle: a call's id, and for the event of a channel also its
// number. None is 0.
constexpr unsigned handle_bits = 9;
constexpr std::uintptr_t is_channel = 1U << 8, channel_mask = is_channel - 1;

void* handle_of_call(std::uint64_t id) { return reinterpret_cast<void*>(id << handle_bits); }
std::uint64_t call_of(const void* handle) {
    return reinterpret_cast<std::uintptr_t>(handle) >> handle_bits;
}
void* handle_of_channel(std::uint64_t id, std::uint8_t channel) {
    return reinterpret_cast<void*>(id << handle_bits | is_channel | channel);
}

void open_file_of_calls(nccl::Logger logger) {
    const char* const file = std::getenv("TUTTI_NCCL_CALLS");
    if (file == nullptr || *file == '\0' || call_log().append_to(file) || logger == nullptr) return;
    logger(nccl::level_warning, nccl::subsystem_profile, "tutti", 0,
           "tutti: cannot write TUTTI_NCCL_CALLS '%s': %s; calls are only kept in memory", file,
           std::strerror(errno));
}

// Times need time stamps of kernels, which NCCL's proxy thread polls for.
bool measures_times() {
    const char* const text = std::getenv("TUTTI_NCCL_TIMES");
    return text == nullptr || std::strcmp(text, "no") != 0;
}

// NCCL runs without a profiler if this fails.
int open_profiler(void** context, std::uint64_t communicator, int* mask, const char* name,
                  int hosts, int ranks, int rank, nccl::Logger logger) noexcept {
    *context = nullptr;
    try {
        auto made = std::make_unique<ProfiledCommunicator>();
        *made = {communicator, name == nullptr ? "" : name, hosts, ranks, rank};
        open_file_of_calls(logger);
        call_log().add(*made);
        *mask = static_cast<int>(nccl::collective_event |
                                 (measures_times() ? nccl::kernel_channel_event : 0));
        *context = made.release();
        return nccl::success;
    } catch (const std::exception&) {
        constexpr int internal_error = 3;
        return internal_error;
    }
}

int open_profiler_v4(void** context, int* mask, const char* name, std::uint64_t communicator,
                     int hosts, int ranks, int rank, nccl::Logger logger) {
    return open_profiler(context, communicator, mask, name, hosts, ranks, rank, logger);
}

// NCCL also starts events that the mask does not have, such as those of its API. It passes their
// handles back unless they are null.
int start_event(void* context, void** handle, const nccl::Event& event,
                std::uint64_t kind) noexcept {
    *handle = nullptr;
    if (context == nullptr) return nccl::success;
    try {
        if (kind == nccl::collective_event) {
            const nccl::CollectiveEvent& call = event.collective;
            *handle = handle_of_call(
                call_log().begin(*static_cast<const ProfiledCommunicator*>(context),
                                 {call.sequence, call.count, call.function, call.type,
                                  call.algorithm, call.protocol, call.channels}));
        } else if (kind == nccl::kernel_channel_event && event.parent != nullptr) {
            const nccl::KernelChannelEvent& channel = event.kernel_channel;
            const std::uint64_t id = call_of(event.parent);
            call_log().channel_started(id, channel.channel, channel.gpu_time);
            *handle = handle_of_channel(id, channel.channel);
        }
    } catch (const std::exception&) {  // out of memory: the call goes on without an event
    }
    return nccl::success;
}

int start_event_v4(void* context, void** handle, const nccl::Event* event) {
    // NCCL leaves the bytes after this version's kind undefined.
    return start_event(context, handle, *event, event->kind & 0xff);
}

int start_event_v5(void* context, void** handle, const nccl::Event* event) {
    return start_event(context, handle, *event, event->kind);
}

// A collective's event stops when its kernel is launched, a channel's after its last state.
int stop_event(void*) { return nccl::success; }

int change_state(void* handle, int state, const nccl::StateValues* values) noexcept {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (state != nccl::kernel_channel_stopped || values == nullptr || (number & is_channel) == 0)
        return nccl::success;
    try {
        call_log().channel_ended(call_of(handle), static_cast<int>(number & channel_mask),
                                 values->gpu_time);
    } catch (const std::exception&) {  // out of memory: its line is missing in the file
    }
    return nccl::success;
}

int close_profiler(void* context) noexcept {
    delete static_cast<ProfiledCommunicator*>(context);
    return nccl::success;
}

constexpr nccl::ProfilerV5 profiler_v5{"tutti",    open_profiler, start_event_v5,
                                       stop_event, change_state,  close_profiler};

}  // namespace
}  // namespace tutti

#pragma GCC visibility push(default)
extern "C" {
extern const tutti::nccl::ProfilerV4 ncclProfiler_v4;
extern const tutti::nccl::ProfilerV5 ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7;
const tutti::nccl::ProfilerV4 ncclProfiler_v4{
    "tutti",           tutti::open_profiler_v4, tutti::start_event_v4,
    tutti::stop_event, tutti::change_state,     tutti::close_profiler};
const tutti::nccl::ProfilerV5 ncclProfiler_v5 = tutti::profiler_v5;
const tutti::nccl::ProfilerV5 ncclProfiler_v6 = tutti::profiler_v5;
const tutti::nccl::ProfilerV5 ncclProfiler_v7 = tutti::profiler_v5;
}
#pragma GCC visibility pop
