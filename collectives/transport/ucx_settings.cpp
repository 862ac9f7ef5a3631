// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx_settings.hpp"

#include <ucp/api/ucp.h>

#include <cstdlib>
#include <string>

namespace tutti {
namespace {

struct Setting {
    const char* name;
    const char* value;
};

// Each was measured: see docs/ucx.md.
constexpr Setting ours[] = {
    {"MAX_EAGER_LANES", "1"},
};

bool is_set_by_user(const std::string& name) {
    return std::getenv(("UCX_" + name).c_str()) != nullptr ||
           std::getenv(("TUTTI_UCX_" + name).c_str()) != nullptr;
}

}  // namespace

UcxConfig::UcxConfig() {
    if (ucp_config_read("TUTTI", nullptr, &config_) != UCS_OK) {
        config_ = nullptr;
        return;
    }
    for (const Setting& setting : ours)
        if (!is_set_by_user(setting.name)) ucp_config_modify(config_, setting.name, setting.value);
}

UcxConfig::~UcxConfig() {
    if (config_ != nullptr) ucp_config_release(config_);
}

}  // namespace tutti
