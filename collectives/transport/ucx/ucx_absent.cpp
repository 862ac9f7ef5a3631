// SPDX-License-Identifier: Apache-2.0
// Takes the place of ucx_*.cpp where no UCX was found when configuring.
#include "collectives/transport/ucx/ucx.hpp"

namespace tutti {

std::optional<std::string> ucx_missing() {
    return "this build has no UCX; run scripts/setup and build again";
}

std::optional<std::string> ucx_refuses(World&) { return ucx_missing(); }

std::unique_ptr<MessageTransport> ucx_transport(World&) { throw Error(*ucx_missing()); }

std::string ucx_version() { return "none"; }

}  // namespace tutti
