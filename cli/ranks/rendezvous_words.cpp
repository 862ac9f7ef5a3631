// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/rendezvous_words.hpp"

#include <algorithm>

#include "base/source.hpp"

namespace tutti {
namespace {

std::optional<Rendezvous> of_process;

// The value of "--name value" or "--name=value", taken out; none if it is not there.
std::optional<std::string> taken(std::vector<std::string>& arguments, const std::string& name) {
    const auto end = std::ranges::find(arguments, "--");
    for (auto word = arguments.begin(); word != end; ++word) {
        if (word->starts_with(name + "=")) {
            std::string value = word->substr(name.size() + 1);
            arguments.erase(word);
            return value;
        }
        if (*word != name) continue;
        if (word + 1 == end) throw Error(name + " needs a value behind it");
        std::string value = *(word + 1);
        arguments.erase(word, word + 2);
        return value;
    }
    return std::nullopt;
}

int number_of(const std::optional<std::string>& text, const std::string& name) {
    if (!text)
        throw Error("--rendezvous needs " + name +
                    "; type --rank R --size N beside it, or --rendezvous auto under torchrun or "
                    "srun");
    const auto number = number_in<int>(*text);
    if (!number) throw Error(name + " " + *text + " is no number");
    return *number;
}

}  // namespace

void take_rendezvous(std::vector<std::string>& arguments) {
    const auto address = taken(arguments, "--rendezvous");
    if (!address) return;
    const auto rank = taken(arguments, "--rank"), size = taken(arguments, "--size");
    if (*address != "auto") {
        of_process = {.address = *address,
                      .rank = number_of(rank, "--rank"),
                      .size = number_of(size, "--size")};
        return;
    }
    if (rank || size)
        throw Error(
            "--rendezvous auto takes rank and size from torchrun or srun; leave --rank and "
            "--size out, or name an address");
    of_process = rendezvous_from_environment();
}

const std::optional<Rendezvous>& rendezvous_of_process() { return of_process; }

}  // namespace tutti
