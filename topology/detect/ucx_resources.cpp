// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/ucx_resources.hpp"

#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tutti {
namespace {

struct Cleanup {
    void operator()(ucp_context* context) const { ucp_cleanup(context); }
};
using Context = std::unique_ptr<ucp_context, Cleanup>;

// UCX lists the resources of a context in no other way.
std::string printed(ucp_context_h context) {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* const stream = open_memstream(&text, &bytes);
    if (!stream) return "";
    ucp_context_print_info(context, stream);
    std::fclose(stream);
    std::string copy(text, bytes);
    std::free(text);
    return copy;
}

}  // namespace

UcxResources ucx_resources() {
    ucp_config_t* settings = nullptr;
    if (const auto code = ucp_config_read(nullptr, nullptr, &settings); code != UCS_OK)
        return {.why_none = std::string("UCX refuses its settings: ") + ucs_status_string(code)};
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    ucp_context_h raw = nullptr;
    const auto code = ucp_init(&wanted, settings, &raw);
    ucp_config_release(settings);
    if (code != UCS_OK)
        return {.why_none = std::string("UCX does not start: ") + ucs_status_string(code)};
    const Context context(raw);
    return {.transports = ucx_resources_in(printed(raw))};
}

}  // namespace tutti
