// SPDX-License-Identifier: Apache-2.0
#include "cli/script.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/source.hpp"
#include "cli/build_info.hpp"

namespace tutti {
namespace {

// The interpreter is Debian's, which has matplotlib and numpy, unless another one is named.
const char* python() {
    const char* chosen = std::getenv("TUTTI_PYTHON");
    if (chosen != nullptr) return chosen;
    return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

// The words that start a script. Throws Error where there is no such script.
Arguments script_command(std::string_view name, const Arguments& words) {
    const auto script = scripts_folder() / name;
    if (!std::filesystem::exists(script))
        throw Error("the script is not at " + script.string() +
                    "; set TUTTI_SCRIPTS to its folder");
    Arguments all{python(), script.string()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

// Scripts run this program again (as $TUTTI) to compute what they draw.
[[noreturn]] void become(Arguments& words) {
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    setenv("TUTTI", std::filesystem::read_symlink("/proc/self/exe").c_str(), 1);
    execvp(argv[0], argv.data());
    std::fprintf(stderr, "tutti: cannot start %s: %s\n", argv[0], std::strerror(errno));
    _exit(64);
}

// Calls in_child in a new process and returns its status.
int status_of_child(auto&& in_child) {
    const pid_t child = fork();
    if (child == 0) in_child();
    if (child < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

// A file without a name, for what a child reads or writes.
struct HiddenFile {
    std::FILE* file = std::tmpfile();
    HiddenFile() {
        if (file == nullptr)
            throw Error(std::string("cannot create a temporary file: ") + std::strerror(errno));
    }
    ~HiddenFile() { std::fclose(file); }
    HiddenFile(const HiddenFile&) = delete;
    HiddenFile& operator=(const HiddenFile&) = delete;

    std::string text() const {
        std::string all;
        std::array<char, 65536> block;
        std::rewind(file);
        while (const std::size_t got = std::fread(block.data(), 1, block.size(), file))
            all.append(block.data(), got);
        return all;
    }
};

}  // namespace

Exit run_script(std::string_view name, const Arguments& words, CodeOne one) {
    Arguments command = script_command(name, words);
    const int status = status_of_child([&] { become(command); });
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE)  // `| head` is no error
        throw Error(fmt::format(
            "{} was killed by signal {} ({}); run it again, on fewer files if memory was short",
            name, WTERMSIG(status), strsignal(WTERMSIG(status))));
    const Exit code = WIFEXITED(status) ? static_cast<Exit>(WEXITSTATUS(status)) : Exit::usage;
    return code == Exit::regression && one == CodeOne::failure ? Exit::usage : code;
}

std::string drawn(std::string_view kind, const std::string& json, const std::string& file) {
    const HiddenFile description, picture, messages;
    std::fwrite(json.data(), 1, json.size(), description.file);
    std::rewind(description.file);
    Arguments command = script_command(
        "draw.py", {std::string(kind), std::filesystem::path(file).extension().string()});
    const int status = status_of_child([&] {
        dup2(fileno(description.file), STDIN_FILENO);
        dup2(fileno(picture.file), STDOUT_FILENO);
        dup2(fileno(messages.file), STDERR_FILENO);
        become(command);
    });
    if (status == 0) return picture.text();
    std::string message = messages.text();
    while (message.ends_with('\n')) message.pop_back();
    throw Error("cannot draw: " + printable(message.substr(message.rfind('\n') + 1)));
}

}  // namespace tutti
