// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/nccl/mailbox.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tutti::simulated {
namespace {

struct Address {
    int process, file;
};

}  // namespace

std::size_t Pipe::write(std::span<const std::byte> bytes) {
    const auto at = written_.load(std::memory_order_relaxed);
    const auto free = room - (at - read_.load(std::memory_order_acquire));
    const std::size_t taken = std::min<std::size_t>(bytes.size(), free);
    for (std::size_t i = 0; i < taken; ++i) bytes_[(at + i) % room] = bytes[i];
    written_.store(at + taken, std::memory_order_release);
    return taken;
}

std::size_t Pipe::read(std::span<std::byte> bytes) {
    const auto at = read_.load(std::memory_order_relaxed);
    const auto there = written_.load(std::memory_order_acquire) - at;
    const std::size_t taken = std::min<std::size_t>(bytes.size(), there);
    for (std::size_t i = 0; i < taken; ++i) bytes[i] = bytes_[(at + i) % room];
    read_.store(at + taken, std::memory_order_release);
    return taken;
}

bool Mailbox::create(ncclUniqueId& id) {
    const int file = memfd_create("simulated NCCL", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, sizeof(Room)) != 0) return false;
    const Address address{getpid(), file};
    id = {};
    std::memcpy(&id, &address, sizeof address);
    return true;
}

Mailbox::Mailbox(const ncclUniqueId& id) {
    Address address{};
    std::memcpy(&address, &id, sizeof address);
    const std::string path =
        "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const memory =
        file < 0 ? MAP_FAILED
                 : mmap(nullptr, sizeof(Room), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) throw std::runtime_error("no such unique id: " + path);
    room_ = static_cast<Room*>(memory);
}

Mailbox::~Mailbox() { munmap(room_, sizeof(Room)); }

void Mailbox::announce_gpu(int rank, int gpu) {
    room_->gpus.at(static_cast<std::size_t>(rank)) = gpu + 1;
}
int Mailbox::gpu_of(int rank) const { return room_->gpus.at(static_cast<std::size_t>(rank)) - 1; }

Pipe& Mailbox::pipe(int from, int to) { return room_->pipes[from][to]; }

}  // namespace tutti::simulated
