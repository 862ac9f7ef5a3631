// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/ucx_resources.hpp"

#include <fcntl.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

// UCX needs about two per network device and kind of shared memory.
constexpr std::size_t descriptors_needed = 64;

// UCX needs a thread with stack and heap, and memory for messages.
constexpr std::size_t mebibytes_needed = 256;

struct Cleanup {
    void operator()(ucp_context* context) const { ucp_cleanup(context); }
};
using Context = std::unique_ptr<ucp_context, Cleanup>;

// Prints the context: UCX has no other way to list its resources.
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

std::string missing_for_ucx() {
    std::vector<int> taken;
    while (taken.size() < descriptors_needed) {
        const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) break;
        taken.push_back(descriptor);
    }
    for (const int descriptor : taken) ::close(descriptor);
    if (taken.size() < descriptors_needed)
        return "UCX needs " + std::to_string(descriptors_needed) +
               " free file descriptors; use 'ulimit -n 4096'";
    return missing_address_space(mebibytes_needed, "UCX");
}

UcxResources ucx_resources() {
    if (std::string missing = missing_for_ucx(); !missing.empty())
        return {.why_none = std::move(missing)};
    ucp_config_t* settings = nullptr;
    if (const auto code = ucp_config_read(nullptr, nullptr, &settings); code != UCS_OK)
        return {.why_none = std::string("UCX rejects its settings: ") + ucs_status_string(code)};
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
