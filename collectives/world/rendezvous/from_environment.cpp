// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "base/source.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/rendezvous.hpp"

namespace tutti {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

std::string text_of(const char* variable, const char* whose) {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text == '\0')
        throw Error(std::string(variable) + " is not set, but " + whose +
                    " sets it; set it or use --rendezvous tcp://HOST:PORT --rank R --size N");
    return text;
}

int number_of(const char* variable, const char* whose) {
    const std::string text = text_of(variable, whose);
    const auto number = number_in<int>(text);
    if (!number) throw Error(std::string(variable) + "=" + text + " is not a number");
    return *number;
}

// Returns the first host of a SLURM list: node003 for "node[003-007,9],login1".
std::string first_host(const std::string& list) {
    const auto bracket = list.find('['), comma = list.find(',');
    if (bracket == list.npos || comma < bracket) return list.substr(0, comma);
    const auto end = list.find_first_of("-,]", bracket);
    const auto closing = list.find(']', bracket);
    if (end == list.npos || closing == list.npos) return list;
    const auto behind = list.find(',', closing);
    return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
           list.substr(closing + 1, behind == list.npos ? behind : behind - closing - 1);
}

Rendezvous of_torchrun() {
    constexpr const char* whose = "torchrun";
    int port = number_of("MASTER_PORT", whose);
    // torchrun's own agent listens at the given port to serve its store: use the next one.
    const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
    if (agent != nullptr && std::strcmp(agent, "True") == 0) ++port;
    const char* job = std::getenv("TORCHELASTIC_RUN_ID");
    return {.address = to_string(TcpAddress{text_of("MASTER_ADDR", whose), port}),
            .rank = number_of("RANK", whose),
            .size = number_of("WORLD_SIZE", whose),
            .job = job != nullptr ? job : ""};
}

Rendezvous of_slurm() {
    constexpr const char* whose = "srun";
    const int job = number_of("SLURM_JOB_ID", whose), step = number_of("SLURM_STEP_ID", whose);
    // Each step of each job gets its own port, outside the range that systems assign.
    const int port = 20000 + (job * 16 + step % 16) % 12000;
    const char* list = is_set("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    return {.address = to_string(TcpAddress{first_host(text_of(list, whose)), port}),
            .rank = number_of("SLURM_PROCID", whose),
            .size = number_of("SLURM_NTASKS", whose),
            .job = std::to_string(job) + "." + std::to_string(step)};
}

}  // namespace

Rendezvous rendezvous_from_environment() {
    if (is_set("WORLD_SIZE") || is_set("MASTER_ADDR")) return of_torchrun();
    if (is_set("SLURM_PROCID")) return of_slurm();
    throw Error(
        "neither torchrun nor srun started this process (no MASTER_ADDR, no SLURM_PROCID in "
        "the environment); use --rendezvous tcp://HOST:PORT --rank R --size N");
}

}  // namespace tutti
