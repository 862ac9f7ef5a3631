// SPDX-License-Identifier: Apache-2.0
// A program that does not link MPI and loads plug-ins that do. Each scenario is a separate run.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace {

class Plugin {
public:
    explicit Plugin(int flags) {
        const auto path = std::filesystem::read_symlink("/proc/self/exe")
                              .replace_filename("libunusual_plugin.so");
        handle_ = dlopen(path.c_str(), flags);
        if (handle_ == nullptr) {
            std::fprintf(stderr, "%s\n", dlerror());
            std::exit(70);
        }
    }
    template <class Result = void, class... Arguments>
    Result call(const char* function, Arguments... arguments) const {
        const auto found = reinterpret_cast<Result (*)(Arguments...)>(dlsym(handle_, function));
        return found(arguments...);
    }
    void close() { dlclose(handle_); }

private:
    void* handle_ = nullptr;
};

int use_plugin(int flags, const char* name) {
    const Plugin plugin(flags);
    plugin.call("plugin_start");
    plugin.call("plugin_work");
    return plugin.call<int>("plugin_end", name);
}

int load_locally() { return use_plugin(RTLD_NOW | RTLD_LOCAL, "local"); }
int load_globally() { return use_plugin(RTLD_NOW | RTLD_GLOBAL, "global"); }
int load_deeply() { return use_plugin(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, "deep"); }
int load_lazily() { return use_plugin(RTLD_LAZY | RTLD_LOCAL, "lazy"); }

int start_while_loading() {
    setenv("START_WHEN_LOADED", "1", 1);
    return use_plugin(RTLD_NOW | RTLD_LOCAL, "constructor");
}

// Loads and closes the plug-in before MPI starts, and closes a second handle later.
int load_again() {
    for (int i = 0; i < 3; ++i) Plugin(RTLD_NOW | RTLD_LOCAL).close();
    const Plugin plugin(RTLD_NOW | RTLD_LOCAL);
    plugin.call("plugin_start");
    plugin.call("plugin_work");
    Plugin second(RTLD_NOW | RTLD_LOCAL);
    second.call("plugin_work");
    second.close();
    plugin.call("plugin_work");
    return plugin.call<int>("plugin_end", "again");
}

struct Row {
    std::string_view name, sentence;
    int (*run)();
};
constexpr std::array<Row, 6> scenarios{{
    {"local", "a plug-in is loaded by RTLD_LOCAL", load_locally},
    {"global", "a plug-in is loaded by RTLD_GLOBAL", load_globally},
    {"deep", "a plug-in is loaded by RTLD_DEEPBIND, so that its own libraries come first",
     load_deeply},
    {"lazy", "RTLD_LAZY: functions of a plug-in are resolved at their first calls", load_lazily},
    {"constructor", "a constructor of a plug-in starts MPI while it is loaded",
     start_while_loading},
    {"again", "a plug-in is loaded and closed several times", load_again},
}};

}  // namespace

int main(int argc, char** argv) {
    for (const auto& [name, sentence, run] : scenarios) {
        if (argc < 2) std::printf("%s (alone): %s\n", name.data(), sentence.data());
        if (argc > 1 && name == argv[1]) return run();
    }
    return argc < 2 ? 0 : 64;
}
