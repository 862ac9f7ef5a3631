// SPDX-License-Identifier: Apache-2.0
#pragma once

struct ucp_config;

namespace tutti {

/// What a UCX context is made with: the user's UCX_* (environment, ucx.conf) as they are, and what
/// suits collectives better than UCX's defaults where the environment says nothing.
class UcxConfig {
public:
    UcxConfig();
    ~UcxConfig();
    UcxConfig(const UcxConfig&) = delete;
    UcxConfig& operator=(const UcxConfig&) = delete;

    /// Null if UCX could not read its settings: then it takes its defaults.
    ucp_config* handle() const { return config_; }

private:
    ucp_config* config_ = nullptr;
};

}  // namespace tutti
