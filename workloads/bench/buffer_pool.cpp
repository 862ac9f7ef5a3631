// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/buffer_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "base/units.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/transport/gpu/device_memory.hpp"
#include "collectives/world/heap.hpp"
#include "collectives/world/host_memory.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) { return round_up(bytes, page); }

constexpr std::string_view smaller_sizes = "a smaller -e or --counts (of a workload: --scale)";

Error no_memory(std::size_t bytes, std::string_view instead) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    return Error("no memory for buffers of " +
                 describe(Bytes{static_cast<std::int64_t>(std::min(bytes, most))}) +
                 " on each rank; use " + std::string(instead));
}

// Writes the memory once, so that timed calls take no page faults.
std::byte* unregistered_memory(std::size_t bytes) {
    const std::size_t unit = bytes >= huge_page ? huge_page : page;
    const std::size_t size = std::max(unit, round_up(bytes, unit));
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(unit, size));
    if (memory == nullptr) throw no_memory(bytes, smaller_sizes);
    // The same as for registered memory
    if (unit == huge_page) madvise(memory, size, MADV_HUGEPAGE);
    std::fill_n(memory, size, std::byte{0});
    return memory;
}

// Returns such memory in the heap that peers map.
std::shared_ptr<std::byte> mapped_memory(std::size_t bytes) {
    const auto heap = Heap::load();
    if (!heap)
        throw Error(
            "no mapped buffers: libtutti_heap.so is not in the folder of this program; run "
            "scripts/build "
            "--target tutti_heap");
    auto memory = heap->allocate(std::max<std::size_t>(bytes, 1));
    if (memory == nullptr)
        throw Error("no mapped buffers: the heap is off or has no room; use " +
                    std::string(smaller_sizes) + ", or unset TUTTI_HEAP_THRESHOLD");
    std::fill_n(memory.get(), bytes, std::byte{0});
    return memory;
}

Accelerator* device_of(const ReachableMemory* memory) {
    return memory == nullptr ? nullptr : memory->device();
}

void fill(std::span<std::byte> buffer, Accelerator* device,
          const std::function<void(std::span<std::byte>)>& write) {
    if (device == nullptr) return write(buffer);
    std::vector<std::byte> copy(buffer.size());
    write(copy);
    device->copy_in(buffer.data(), copy);
}

// Returns ranks that together have all sizes of buffers: the root and others. With blocks of
// different lengths, each rank has its own.
std::vector<Rank> ranks_of_all_sizes(const Call& call, int ranks) {
    std::vector<Rank> all{{0}, call.root, {ranks - 1}};
    if (call.lengths == nullptr) return all;
    all.clear();
    for (int rank = 0; rank < ranks; ++rank) all.push_back({rank});
    return all;
}

// All ranks' outputs begin at the same offset, even on a rank without input, because plans need
// symmetric memory.
std::size_t most_input(const Call& call, int ranks) {
    std::size_t most = 0;
    for (const Rank rank : ranks_of_all_sizes(call, ranks))
        most = std::max(most, input_bytes(call, ranks, rank));
    return most;
}

}  // namespace

DeviceBuffers device_buffers(Planner& planner, const std::vector<std::string>& transports) {
    const auto on_devices = [](const std::string& name) {
        return name != "all" && name != "none" && find_transport(name).methods.are_of_devices();
    };
    const auto first = std::ranges::find_if(transports, on_devices);
    if (first == transports.end())
        return {
            .on_device =
                [&planner](std::size_t bytes) { return lone_gpu_memory(planner.world(), bytes); },
            .pinned =
                [&planner](std::size_t bytes) {
                    return lone_pinned_memory(planner.world(), bytes);
                }};
    return {
        .on_device = [&planner, transport = *first](
                         std::size_t bytes) { return planner.registered_memory(transport, bytes); },
        .pinned = [&planner, transport = *first](
                      std::size_t bytes) { return planner.pinned_memory(transport, bytes); }};
}

void refuse_more_than_memory(World& world, std::size_t bytes, std::string_view instead) {
    struct Demand {
        std::size_t bytes;
        double memory;
    };
    const double here =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const auto all = gather_all(world, Demand{bytes, here});
    for (const auto& host : world.hosts().nodes()) {
        double wanted = 0;
        std::size_t most = 0;
        for (const Rank rank : host) {
            const Demand& demand = at(all, rank);
            wanted += static_cast<double>(demand.bytes);
            most = std::max(most, demand.bytes);
        }
        if (wanted > at(all, host.front()).memory) throw no_memory(most, instead);
    }
}

void PooledBuffers::write_input(const std::function<void(std::span<std::byte>)>& write) const {
    fill(writable_input, device_of(registered), write);
}

void PooledBuffers::write_output(const std::function<void(std::span<std::byte>)>& write) const {
    fill(call.output, device_of(registered), write);
}

std::int64_t PooledBuffers::count_in_output(
    const std::function<std::int64_t(std::span<const std::byte>)>& count) const {
    Accelerator* device = device_of(registered);
    if (device == nullptr) return count(call.output);
    std::vector<std::byte> copy(call.output.size());
    device->copy_out(copy, call.output.data());
    return count(copy);
}

BufferPool::BufferPool(World& world, std::size_t bytes, std::span<const BufferKind> kinds,
                       const DeviceBuffers& of_devices, BufferOffsets offsets)
    : world_(world),
      kinds_(kinds.begin(), kinds.end()),
      offsets_(offsets),
      bytes_(bytes + whole_pages(offsets.both + offsets.output)) {
    bytes = bytes_;
    const std::size_t of_each = std::max<std::size_t>(kinds.size(), 1);
    const std::size_t most = std::numeric_limits<std::size_t>::max();
    refuse_more_than_memory(world, bytes > most / of_each ? most : bytes * of_each, smaller_sizes);
    const auto wants = [&](BufferKind kind) {
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    };
    try {
        if ((kinds.empty() && world.one_host()) || wants(BufferKind::registered))
            shared_ = host_memory(world, bytes);
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late
        if (!kinds.empty())
            throw Error("no registered buffers: " + std::string(error.what()) +
                        "; use --buffers unregistered");
    }
    for (const BufferKind kind : {BufferKind::device, BufferKind::pinned})
        if (wants(kind) &&
            !(kind == BufferKind::device ? bool(of_devices.on_device) : bool(of_devices.pinned)))
            throw Error("no " + std::string(name_of(kind)) +
                        " buffers here, because the host fills them; use --buffers "
                        "registered or unregistered");
    if (wants(BufferKind::device)) on_device_ = of_devices.on_device(bytes);
    if (wants(BufferKind::pinned)) {
        pinned_ = of_devices.pinned(bytes);
        std::fill_n(pinned_.get(), bytes, std::byte{0});
    }
    if (wants(BufferKind::mapped)) done_by_all(world, [&] { mapped_ = mapped_memory(bytes); });
    if (kinds.empty()) kinds_ = {shared_ ? BufferKind::registered : BufferKind::unregistered};
    if (wants(BufferKind::unregistered) || (kinds.empty() && !shared_))
        done_by_all(world, [&] { unregistered_.reset(unregistered_memory(bytes)); });
}

// Takes the largest rank's need: roots hold more than other ranks, and every rank may be root.
std::size_t BufferPool::bytes_for(const Call& call, int ranks, bool in_place) {
    const std::size_t inputs = whole_pages(most_input(call, ranks));
    std::size_t most = 0;
    for (const Rank rank : ranks_of_all_sizes(call, ranks)) {
        const std::size_t input = input_bytes(call, ranks, rank),
                          output = output_bytes(call, ranks, rank);
        const auto [input_at, output_at] = in_place_offsets(call, ranks, rank);
        most = std::max(
            most, in_place ? std::max(input_at + input, output_at + output) : inputs + output);
    }
    return whole_pages(most);
}

PooledBuffers BufferPool::buffers_for(const Call& call, bool in_place, BufferKind kind) const {
    const Rank me = world_.rank();
    const int ranks = world_.size();
    const std::size_t input = input_bytes(call, ranks, me), output = output_bytes(call, ranks, me);
    InPlace at = in_place_offsets(call, ranks, me);
    if (!in_place) at = {.input = 0, .output = whole_pages(most_input(call, ranks))};
    if (kind != BufferKind::device && kind != BufferKind::pinned) {
        at.input += offsets_.both;
        at.output += offsets_.both + (in_place ? 0 : offsets_.output);
    }
    const ReachableMemory* registered = kind == BufferKind::registered ? shared_.get()
                                        : kind == BufferKind::device   ? on_device_.get()
                                                                       : nullptr;
    std::byte* const own = kind == BufferKind::pinned   ? pinned_.get()
                           : kind == BufferKind::mapped ? mapped_.get()
                                                        : unregistered_.get();
    const std::span<std::byte> memory =
        registered != nullptr ? registered->mine() : std::span(own, bytes_);
    PooledBuffers buffers;
    buffers.writable_input = memory.subspan(at.input, input);
    buffers.call = {buffers.writable_input, memory.subspan(at.output, output), in_place};
    buffers.registered = registered;
    if (Accelerator* device = device_of(registered)) buffers.call.device = device->for_messages();
    return buffers;
}

}  // namespace tutti
