// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tutti {

// Sanitizers look up the functions of cmake/sanitizer_defaults.cpp by name, and ignore missing
// ones.
TEST(SanitizerDefaults, AreFoundByTheSanitizers) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "this build has no sanitizers";
#endif
    for (const char* name : {"__asan_default_options", "__lsan_default_suppressions",
                             "__tsan_default_options", "__tsan_default_suppressions", "dlclose"}) {
        void* const found = dlsym(RTLD_DEFAULT, name);
        Dl_info where{};
        ASSERT_TRUE(found != nullptr && dladdr(found, &where) != 0) << name;
        EXPECT_TRUE(std::filesystem::equivalent(where.dli_fname, "/proc/self/exe"))
            << name << " is " << where.dli_fname << "'s";
    }
}

}  // namespace tutti
