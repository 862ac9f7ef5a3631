// SPDX-License-Identifier: Apache-2.0
// A plug-in that uses MPI. The program that loads it, plugins.cpp, does not.
#include <thread>

#include "scenarios.hpp"

#define PLUGIN_EXPORTS extern "C" [[gnu::visibility("default")]]

PLUGIN_EXPORTS void plugin_start() {
    int is_there = 0, provided = 0;
    MPI_Initialized(&is_there);
    if (is_there == 0) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
}

PLUGIN_EXPORTS void plugin_work() { call_many_of_each_kind(Job(MPI_COMM_WORLD), 100); }

PLUGIN_EXPORTS int plugin_end(const char* name) {
    const bool is_first = Job(MPI_COMM_WORLD).rank == 0;
    MPI_Finalize();
    if (is_first) std::printf("%s %s\n", name, checks.wrong == 0 ? "OK" : "WRONG");
    return checks.wrong == 0 ? 0 : 1;
}

// Starts MPI while the plug-in is loaded, if START_WHEN_LOADED is set.
[[gnu::constructor]] static void start_when_loaded() {
    if (std::getenv("START_WHEN_LOADED") != nullptr) plugin_start();
}
