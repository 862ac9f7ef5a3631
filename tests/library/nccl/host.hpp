// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/library/nccl/published.hpp"

// NCCL's side of its plugins: how it opens them, and its log.
namespace nccl_host {

/// The plugin, opened as NCCL opens it. Throws std::runtime_error.
inline void* plugin() {
    static void* const library = [] {
        void* const opened = dlopen(NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        if (opened == nullptr) throw std::runtime_error(dlerror());
        return opened;
    }();
    return library;
}
template <class Symbol>
Symbol* symbol(const char* name) {
    void* const found = dlsym(plugin(), name);
    if (found == nullptr) throw std::runtime_error(std::string("the plugin has no ") + name);
    return reinterpret_cast<Symbol*>(found);
}

struct LoggedLine {
    int level;
    unsigned long flags;
    std::string text;
};
inline std::vector<LoggedLine> logged;

[[gnu::format(printf, 5, 6)]] inline void log(int level, unsigned long flags, const char*, int,
                                              const char* format, ...) {
    char text[4096];
    va_list values;
    va_start(values, format);
    std::vsnprintf(text, sizeof text, format, values);
    va_end(values);
    logged.push_back({level, flags, text});
}

}  // namespace nccl_host
