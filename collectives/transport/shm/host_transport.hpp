// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// How peers access memory that is not registered: its owner copies it, piece by piece, to where
/// they can load it; the kernel copies it for them (CMA); or it lies in the heaps of the ranks'
/// processes, which the peers have mapped, and is as good as registered memory.
enum class UnregisteredMethod { copy_in_copy_out, single_copy, mapped };

/// For ranks of one host: reads and writes peers' memory in place, see execute/direct_plan; the
/// smallest messages use the LL protocol.
class HostTransport final : public Transport {
public:
    struct Methods {
        std::unique_ptr<MessageTransport> ll = {};  ///< for small messages; null: never
        /// If there are several, plans measure which is the fastest, and whether `ll` is; `mapped`
        /// is used where most buffers lie in the ranks' heaps.
        std::vector<UnregisteredMethod> unregistered = {UnregisteredMethod::copy_in_copy_out};
        bool takes_registered = true;  ///< false: treat registered memory as unregistered

        bool allows(UnregisteredMethod method) const {
            return std::ranges::find(unregistered, method) != unregistered.end();
        }
    };

    HostTransport(std::string_view name, Methods methods)
        : name_(name), methods_(std::move(methods)) {}

    std::string_view name() const override { return name_; }
    const Methods& methods() const { return methods_; }

private:
    std::string_view name_;
    Methods methods_;
};

/// The LL protocol (as in NCCL) between ranks of one host: a small message is copied into lines of
/// shared memory that carry data and flag together. So it takes one transfer of a cache line, no
/// rank waits until its buffer was read, and any memory can be used. Each byte is copied twice: for
/// a few KiB at most.
std::unique_ptr<MessageTransport> ll_transport(World& world);

}  // namespace tutti
