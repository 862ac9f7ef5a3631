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

/// What ranks of one device run at once, again and again.
struct Work {
    std::vector<const DeviceProgram*> of_rank;  ///< in device memory: those of a rank's blocks
    unsigned blocks = 1;                        ///< of each rank
    unsigned runs = 1;                          ///< one after the other, with one launch
    DataType type = DataType::float32;
    Op op = Op::sum;
};

/// Work that can be started. One thread starts it; any may ask whether it is over.
class DeviceLaunch {
public:
    virtual ~DeviceLaunch() = default;
    /// Returns at once. A block that waits for longer than that stops all (see
    /// Accelerator::stopped).
    virtual void start(std::uint64_t timeout_ns) = 0;
    virtual bool is_over() = 0;
    /// Returns when no block is left that touches memory; after a stop they give up soon. Nothing
    /// to do where release() of memory waits for what runs on the device.
    virtual void settle() {}
    /// What the last run took on the device by its own clock; nothing if it has none.
    virtual std::optional<std::int64_t> device_ns() { return std::nullopt; }
};

/// What another process needs to reach memory of a device.
struct DeviceKey {
    std::byte bytes[64] = {};
};

/// Memory of its own, and blocks of threads that work there all at the same time: a GPU, or threads
/// of this process that stand for one. All members may be called by any thread.
class Accelerator {
public:
    virtual ~Accelerator() = default;

    /// "GPU 0 (NVIDIA H200)".
    virtual std::string name() const = 0;

    /// Zeroed. Throws Error if there is not so much.
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* memory) noexcept = 0;
    /// Both return when it is done.
    virtual void copy_in(std::byte* to, std::span<const std::byte> from) = 0;
    virtual void copy_out(std::span<std::byte> to, const std::byte* from) = 0;

    /// How another process opens what was allocated here, and lets go of it.
    virtual DeviceKey key_of(std::byte* memory) = 0;
    virtual std::byte* open(const DeviceKey& key) = 0;
    virtual void close(std::byte* memory) noexcept = 0;

    /// The same memory for plans by messages; none: they cannot work there.
    virtual MemoryDevice* for_messages() { return nullptr; }

    /// So many blocks of each rank can run at once if `ranks` share the device.
    virtual unsigned most_blocks(int ranks) = 0;
    /// Less than so many bytes are not worth a block of their own.
    virtual std::size_t grain() const = 0;
    virtual std::unique_ptr<DeviceLaunch> prepare(const Work& work) = 0;

    /// Once a block has given up; from then on nothing ends well here.
    virtual std::optional<DeviceStop> stopped() const = 0;
};

/// Memory of the device that is released with its last owner. Throws Error as allocate() does.
inline std::shared_ptr<std::byte> allocated(const std::shared_ptr<Accelerator>& device,
                                            std::size_t bytes) {
    return {device->allocate(bytes), [device](std::byte* memory) { device->release(memory); }};
}

}  // namespace tutti
