// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "collectives/device/device_program.hpp"

namespace tutti {

class MemoryDevice;

/// Work that the ranks of one device run at the same time, repeatedly.
struct Work {
    /// In device memory: the programs of a rank's blocks.
    std::vector<const DeviceProgram*> of_rank;
    unsigned blocks = 1;  ///< per rank
    unsigned runs = 1;    ///< consecutive runs per launch
    DataType type = DataType::float32;
    Op op = Op::sum;
};

/// Work that can be started. One thread starts it; any thread may ask whether it is over.
class DeviceLaunch {
public:
    virtual ~DeviceLaunch() = default;
    /// Returns at once. A block that waits longer than the timeout stops all (see
    /// Accelerator::stopped).
    virtual void start(std::uint64_t timeout_ns) = 0;
    virtual bool is_over() = 0;
    /// Returns when no block accesses memory any more; after a stop they give up soon. Does nothing
    /// if release() of memory waits for running work.
    virtual void settle() {}
    /// Returns the duration of the last run by the device's clock; nothing if it has none.
    virtual std::optional<std::int64_t> device_ns() { return std::nullopt; }
};

/// A key with which another process opens memory of a device.
struct DeviceKey {
    std::byte bytes[64] = {};
};

/// A device with its own memory and blocks of threads that run there at the same time: a GPU, or
/// threads of this process that emulate one. Any thread may call any member.
class Accelerator {
public:
    virtual ~Accelerator() = default;

    /// "GPU 0 (NVIDIA H200)".
    virtual std::string name() const = 0;

    /// Returns zeroed memory. Throws Error if there is too little.
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* memory) noexcept = 0;
    /// Both are synchronous.
    virtual void copy_in(std::byte* to, std::span<const std::byte> from) = 0;
    virtual void copy_out(std::span<std::byte> to, const std::byte* from) = 0;

    /// How another process opens memory allocated here, and releases it.
    virtual DeviceKey key_of(std::byte* memory) = 0;
    virtual std::byte* open(const DeviceKey& key) = 0;
    virtual void close(std::byte* memory) noexcept = 0;

    /// Returns the same memory for plans by messages; null if they cannot use it.
    virtual MemoryDevice* for_messages() { return nullptr; }

    /// Returns how many blocks of each rank can run at once if `ranks` ranks share the device.
    virtual unsigned most_blocks(int ranks) = 0;
    /// Returns the minimum number of bytes that justify another block.
    virtual std::size_t grain() const = 0;
    virtual std::unique_ptr<DeviceLaunch> prepare(const Work& work) = 0;

    /// Returns where a block has given up, if any has; after that, no work here succeeds.
    virtual std::optional<DeviceStop> stopped() const = 0;
};

/// Returns device memory that its last owner releases. Throws Error as allocate() does.
inline std::shared_ptr<std::byte> allocated(const std::shared_ptr<Accelerator>& device,
                                            std::size_t bytes) {
    return {device->allocate(bytes), [device](std::byte* memory) { device->release(memory); }};
}

/// Makes a device of host memory whose blocks are threads: it runs the same programs by the same
/// loop as a GPU, so that they can be tested without one. The blocks of `stopped_rank` never begin,
/// as a fault for tests.
std::shared_ptr<Accelerator> emulated_device(std::optional<int> stopped_rank = {});

}  // namespace tutti
