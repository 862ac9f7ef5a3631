// SPDX-License-Identifier: Apache-2.0
// A dlsym() that allocates, as on some systems, to preload after the heap. The heap looks up its
// next allocator by dlsym().
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

using Look = void* (*)(void*, const char*);

Look the_systems() {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
        if (void* const found = dlvsym(RTLD_NEXT, "dlsym", version))
            return reinterpret_cast<Look>(found);
    std::abort();
}

}  // namespace

extern "C" void* dlsym(void* handle, const char* name) {
    auto* memory = static_cast<char*>(std::calloc(10, 10));
    for (int i = 0; i < 100; ++i)
        if (memory[i] != 0) std::abort();
    std::strcpy(memory, name);
    memory = static_cast<char*>(std::realloc(memory, 2000));
    std::memset(memory + 100, 1, 1900);
    if (std::strcmp(memory, name) != 0) std::abort();
    void* const found = the_systems()(handle, name);
    std::free(memory);
    return found;
}
