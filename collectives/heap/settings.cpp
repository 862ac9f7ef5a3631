// SPDX-License-Identifier: Apache-2.0
#include "collectives/heap/settings.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace tutti::heap {
namespace {

// The C library keeps its own state in smaller allocations, which a fork must not share.
constexpr std::size_t least_threshold = 4096;

const char* value_of(char** environment, std::string_view name) {
    for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
            return *entry + name.size() + 1;
    }
    return nullptr;
}

std::optional<std::size_t> parse_size(std::string_view text) {
    int shift = 0;
    if (!text.empty())
        if (const auto unit = std::string_view("KMG").find(text.back()); unit != text.npos) {
            shift = 10 * (static_cast<int>(unit) + 1);
            text.remove_suffix(1);
        }
    if (text.empty() || text.size() > 10) return std::nullopt;
    std::size_t number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') return std::nullopt;
        number = 10 * number + static_cast<std::size_t>(digit - '0');
    }
    return number << shift;
}

void read_size(char** environment, const char* name, std::size_t& into) {
    const char* const text = value_of(environment, name);
    if (text == nullptr) return;
    if (const auto size = parse_size(text))
        into = *size;
    else
        say(name, " must be a size such as 64K, 1M or 2G, not ", text);
}

}  // namespace

void say(const char* text, const char* more, const char* end) {
    constexpr std::string_view begin = "tutti_heap: ";
    iovec parts[5];
    int count = 0;
    for (const std::string_view part : {begin, {text}, {more}, {end}, std::string_view("\n")})
        parts[count++] = {const_cast<char*>(part.data()), part.size()};
    syscall(SYS_writev, STDERR_FILENO, parts, count);
}

Settings settings_from(char** environment) {
    Settings settings;
    const char* const threshold = value_of(environment, "TUTTI_HEAP_THRESHOLD");
    if (threshold != nullptr && std::string_view(threshold) == "off")
        settings.threshold = 0;
    else
        read_size(environment, "TUTTI_HEAP_THRESHOLD", settings.threshold);
    settings.threshold =
        settings.threshold == 0 ? SIZE_MAX : std::max(settings.threshold, least_threshold);
    read_size(environment, "TUTTI_HEAP_RETAIN", settings.retain);
    read_size(environment, "TUTTI_HEAP_RESERVE", settings.reserve);
    if (const char* const word = value_of(environment, "TUTTI_HEAP_FORK")) {
        if (std::string_view(word) == "exec")
            settings.after_fork = AfterFork::exec;
        else if (std::string_view(word) != "copy")
            say("TUTTI_HEAP_FORK must be copy or exec, not ", word);
    }
    return settings;
}

}  // namespace tutti::heap
