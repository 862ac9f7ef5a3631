// SPDX-License-Identifier: Apache-2.0
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "collectives/transport/ucx/near_devices.hpp"
#include "collectives/transport/ucx/ucx_worker.hpp"

namespace tutti {
namespace {

bool is_set_by_user(const std::string& name) {
    return std::getenv(("UCX_" + name).c_str()) != nullptr;
}

// UCX warns about settings of a transport that it does not use. "^tcp,cma" means all but those two.
bool may_take_tcp() {
    const char* transports = std::getenv("UCX_TLS");
    const std::string_view named = transports == nullptr ? "all" : transports;
    const bool names_tcp = named.find("tcp") != named.npos;
    return named.starts_with('^') ? !names_tcp : names_tcp || named.find("all") != named.npos;
}

// Before UCX 1.17, ucp_config_modify took the name of a transport's setting without the transport:
// TX_SEG_SIZE.
std::string prefix_of_tcp() {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return std::pair(major, minor) < std::pair(1U, 17U) ? "" : "TCP_";
}

}  // namespace

UcxConfig::UcxConfig() {
    if (ucp_config_read(nullptr, nullptr, &config_) != UCS_OK) {
        config_ = nullptr;
        return;
    }
    // TCP sends a message in pieces of the smaller of the two sizes, with one system call each: 8
    // KiB and 64 KiB by default. Pieces above 96 KiB are slower again: docs/background/ucx.md.
    const std::string prefix = prefix_of_tcp();
    if (may_take_tcp())
        for (const std::string name : {"TX_SEG_SIZE", "RX_SEG_SIZE"})
            if (!is_set_by_user("TCP_" + name))
                ucp_config_modify(config_, (prefix + name).c_str(), "96kb");
    if (!is_set_by_user("NET_DEVICES"))
        if (const auto near = near_devices(network_devices(), node_of_this_rank()); !near.empty())
            ucp_config_modify(config_, "NET_DEVICES", near.c_str());
}

UcxConfig::~UcxConfig() {
    if (config_ != nullptr) ucp_config_release(config_);
}

}  // namespace tutti
