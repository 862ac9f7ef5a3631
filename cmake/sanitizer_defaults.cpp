// SPDX-License-Identifier: Apache-2.0
// Linked into sanitizer builds only: lets them run under MPI without settings in the environment.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

// UCX's memory hooks run once more after a thread has ended. The thread sanitizer sees their locks,
// no longer has the thread, and crashes. UCX reads this variable while it is loaded, so the program
// restarts itself with it.
[[gnu::constructor]] static void begin_without_hooks(int, char** words, char**) {
    if (std::getenv("UCX_MEM_EVENTS") != nullptr) return;
    setenv("UCX_MEM_EVENTS", "n", 0);
    execv(std::filesystem::read_symlink("/proc/self/exe").c_str(), words);
}

// Sanitizers look up these functions, so they must be visible.
#pragma GCC visibility push(default)
extern "C" {

// MPI closes its components before leaks are looked for, so their frames would have no names and
// could not be distinguished from ours. Nothing is unloaded instead.
int dlclose(void*) { return 0; }

// Tests preload libraries of ours, which need the sanitizer before the program does.
const char* __asan_default_options() { return "fast_unwind_on_malloc=0:verify_asan_link_order=0"; }

// Libraries keep memory until the end.
const char* __lsan_default_suppressions() {
    return "leak:libmpi.so\nleak:libopen-rte.so\nleak:libopen-pal.so\nleak:libpmix.so\nleak:mca_\n"
           "leak:libevent\nleak:libucp.so\nleak:libucs.so\nleak:libuct.so\nleak:libmpich.so\n";
}

const char* __lsan_default_options() { return "print_suppressions=0"; }

// Libraries that were not built for it would be accused of what it cannot see.
const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1:halt_on_error=1"; }

// Open MPI's TCP takes the locks of a peer and of its list of peers in both orders.
const char* __tsan_default_suppressions() { return "deadlock:mca_btl_tcp.so\n"; }
}
#pragma GCC visibility pop
