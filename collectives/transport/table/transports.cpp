// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/table/transports.hpp"

#include "base/name_table.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/device_transport.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/transport/messages/hybrid.hpp"
#include "collectives/transport/messages/loopback.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/heap.hpp"
#include "collectives/world/peer_memory.hpp"

namespace tutti {
namespace {

std::optional<std::string> needs_threads(World& world) {
    if (world.kind() == "threads") return std::nullopt;
    return "it connects threads, and these ranks are processes (run without mpirun, with --ranks "
           "N)";
}

std::optional<std::string> needs_mpi(World& world) { return ranks_are_not_of_mpi(world); }

std::optional<std::string> needs_one_host_and_peer_memory(World& world) {
    if (auto refusal = shared_memory_refuses(world)) return refusal;
    return peer_memory_refuses(world);
}

std::optional<std::string> needs_one_host_and_heaps(World& world) {
    if (auto refusal = shared_memory_refuses(world)) return refusal;
    Heap::load();
    return heaps_refuse(world);
}

template <auto make>
OpenTransport open(World& world, const std::optional<Fault>&) {
    return {.messages = make(world)};
}

template <auto make>
OpenTransport open_devices(World& world, const std::optional<Fault>& fault) {
    return {.devices = make(world, fault)};
}

// Some plans over these reach the ranks' memory instead.
template <auto make>
OpenTransport open_beside_memory(World& world, const std::optional<Fault>&) {
    OpenTransport opened{.messages = make(world)};
    if (peer_memory_refuses(world)) opened.unusable = {TransferMethod::single_copy};
    return opened;
}

// Plans over these need nothing but the ranks' memory.
OpenTransport open_memory(World&, const std::optional<Fault>&) { return {}; }

// Returns the default of btl_tcp_eager_limit. With other MPI libraries, World::links is 1 and this
// is not used.
Bytes eager_limit_of_open_mpi() { return Bytes{64 << 10}; }

// In a build without UCX, a hybrid uses MPI. If UCX fails on a rank only when it is opened, the
// hybrid also uses MPI, but the segment has been chosen before.
Bytes eager_limit_of_hybrid() { return ucx_missing() ? eager_limit_of_open_mpi() : Bytes{}; }

constexpr bool is_part = true;
constexpr bool between_devices = true;

using enum TransferMethod;
constexpr TransferMethods on_devices{device_lines, device_memory};
constexpr TransferMethods by_memory_and_messages{messages, registered, mapped, copy_in_copy_out,
                                                 single_copy};

const TransportRow rows[] = {
    {"loopback", "messages between threads of one process; injects faults on command", nullptr,
     needs_threads,
     [](World& world, const std::optional<Fault>& fault) -> OpenTransport {
         return {.messages = loopback_transport(world, fault)};
     }},
    {.name = "mpi",
     .what = "point-to-point messages of the MPI library",
     .build_lacks = mpi_missing,
     .refuses = needs_mpi,
     .open = open<mpi_transport>,
     .by_one_link_up_to = eager_limit_of_open_mpi},
    {"ucx", "tagged messages of UCX over InfiniBand, TCP or shared memory, as UCX chooses",
     ucx_missing, [](World& world) { return ucx_refuses(world); },
     open<[](World& world) { return ucx_transport(world); }>},
    {.name = "hybrid",
     .what = "shared memory within each host, messages over ucx, or else mpi, between hosts",
     .build_lacks = nullptr,
     .refuses = hybrid_refuses,
     .open = open_beside_memory<hybrid_transport>,
     .methods = by_memory_and_messages,
     .by_one_link_up_to = eager_limit_of_hybrid},
    {.name = "hybrid-mpi",
     .what = "shared memory within each host, messages over mpi between hosts",
     .build_lacks = mpi_missing,
     .refuses = hybrid_over_mpi_refuses,
     .open = open_beside_memory<hybrid_over_mpi>,
     .methods = by_memory_and_messages,
     .is_part = true,
     .by_one_link_up_to = eager_limit_of_open_mpi},
    {"nccl",
     "groups of ncclSend and ncclRecv between GPUs, one rank per GPU; tutti's kernels reduce",
     nccl_missing,
     nccl_refuses,
     open<nccl_transport>,
     {messages},
     !is_part,
     between_devices},
    {"shm",
     "ranks of one host read and write each other's memory, by the fastest of the shm-* methods",
     nullptr,
     shared_memory_refuses,
     open_beside_memory<ll_transport>,
     {lines, registered, mapped, copy_in_copy_out, single_copy}},
    {"shm-lines",
     "small messages in the cache lines of their flags",
     nullptr,
     shared_memory_refuses,
     open<ll_transport>,
     {lines},
     is_part},
    {"shm-direct",
     "registered memory in place; unregistered memory staged in shared memory",
     nullptr,
     shared_memory_refuses,
     open_memory,
     {registered, copy_in_copy_out},
     is_part},
    {"shm-cma",
     "any memory, copied by the kernel (process_vm_readv, process_vm_writev)",
     nullptr,
     needs_one_host_and_peer_memory,
     open_memory,
     {single_copy},
     is_part},
    {"shm-mapped",
     "any memory; in place in heaps of libtutti_heap.so, which peers map",
     nullptr,
     needs_one_host_and_heaps,
     open_memory,
     {mapped},
     is_part},
    {"cuda", "one kernel per GPU runs the whole plan and accesses all ranks' memory", gpus_missing,
     cuda_refuses, open_devices<cuda_transport>, on_devices, !is_part, !between_devices,
     Bytes{8 << 10}},  // so far a flag next to every 8 bytes costs less than a separate counter
    {"cuda-emulated", "emulation of a GPU's kernel by threads of this host; for tests", nullptr,
     needs_threads, open_devices<emulated_transport>, on_devices, is_part, !between_devices,
     Bytes{512}},  // small, so that tests reach both protocols
};

}  // namespace

std::span<const TransportRow> transports() { return rows; }

const TransportRow& find_transport(std::string_view name) {
    return find_row(rows, "transport", name);
}

}  // namespace tutti
