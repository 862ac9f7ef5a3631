// SPDX-License-Identifier: Apache-2.0
#include "cli/script.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/build_info.hpp"

namespace tutti {
namespace {

// The interpreter is Debian's, which has matplotlib and numpy, unless another one is named.
const char* python() {
    const char* chosen = std::getenv("TUTTI_PYTHON");
    if (chosen != nullptr) return chosen;
    return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

}  // namespace

// Scripts run this program again (as $TUTTI) to compute what they draw.
Exit run_script(std::string_view name, const Arguments& words, CodeOne one) {
    const auto script = scripts_folder() / name;
    if (!std::filesystem::exists(script))
        throw Error("the script is not at " + script.string() +
                    "; set TUTTI_SCRIPTS to its folder");
    Arguments all{python(), script.string()};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (auto& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        setenv("TUTTI", std::filesystem::read_symlink("/proc/self/exe").c_str(), 1);
        execvp(argv[0], argv.data());
        std::fprintf(stderr, "tutti: cannot start %s: %s\n", argv[0], std::strerror(errno));
        _exit(64);
    }
    if (child < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE)  // `| head` is no error
        throw Error(fmt::format(
            "{} was killed by signal {} ({}); run it again, on fewer files if memory was short",
            name, WTERMSIG(status), strsignal(WTERMSIG(status))));
    const Exit code = WIFEXITED(status) ? static_cast<Exit>(WEXITSTATUS(status)) : Exit::usage;
    return code == Exit::regression && one == CodeOne::failure ? Exit::usage : code;
}

}  // namespace tutti
