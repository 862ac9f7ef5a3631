// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/error.hpp"
#include "base/rounding.hpp"

#ifndef MADV_POPULATE_WRITE  // glibc 2.34 and older
#define MADV_POPULATE_WRITE 23
#endif

namespace tutti {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t token_bytes = sizeof(SharedFile::Key::token);

std::size_t bytes_with_token(std::size_t page_size, std::size_t size) {
    return round_up(size + token_bytes, page_size);
}

}  // namespace

SharedMapping::SharedMapping(std::size_t size) : SharedMapping(size, -1, page) {}

SharedMapping::SharedMapping(std::size_t size, int descriptor, std::size_t page_size) {
    const std::size_t bytes = bytes_with_token(page_size, size);
    const int kind = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, descriptor, 0);
    if (address == MAP_FAILED) return;
    all_ = {static_cast<std::byte*>(address), bytes};
    used_ = all_.first(size);
    // Huge pages cause fewer TLB misses, where the system offers them.
    if (page_size == page && size >= huge_page) madvise(address, bytes, MADV_HUGEPAGE);
}

bool SharedMapping::prefault(std::size_t offset, std::size_t bytes) const {
    const std::size_t begin = offset / page * page;
    const std::size_t end = round_up(offset + bytes, page);
    return madvise(all_.data() + begin, end - begin, MADV_POPULATE_WRITE) == 0;
}

SharedMapping::~SharedMapping() {
    if (!all_.empty()) munmap(all_.data(), all_.size());
}

SharedFile::SharedFile(std::size_t size)
    : key_{.process = getpid(),
           .size = size,
           .token = std::random_device{}() | std::uint64_t{1} << 32} {
    if (size >= huge_page) make(huge_page, MFD_HUGETLB);
    if (!mapping_ || mapping_->failed()) make(page, 0);
    if (!mapping_ || mapping_->failed()) {
        key_.error = errno;
        return;
    }
    std::memcpy(mapping_->all().last(token_bytes).data(), &key_.token, token_bytes);
}

void SharedFile::make(std::size_t page_size, unsigned kind) {
    file_.emplace(memfd_create("tutti", MFD_CLOEXEC | kind));
    key_.page_size = page_size;
    key_.descriptor = file_->number;
    const auto length = static_cast<off_t>(bytes_with_token(page_size, key_.size));
    if (!*file_ || ftruncate(file_->number, length) != 0) return;
    // Reserving huge pages is not enough: a container limit can still deny them (SIGBUS).
    if (kind != 0 && fallocate(file_->number, 0, 0, length) != 0) return;
    mapping_ = std::make_shared<SharedMapping>(key_.size, file_->number, page_size);
}

void require_memory(const SharedFile::Key& key) {
    if (key.error != 0) throw Error(std::string("shared memory: ") + std::strerror(key.error));
}

std::shared_ptr<const SharedMapping> map_shared_file(const SharedFile::Key& key) {
    const OpenFile file = file_of_process(key.process, key.descriptor);
    std::uint64_t token = 0;
    const auto at = static_cast<off_t>(bytes_with_token(key.page_size, key.size) - token_bytes);
    if (!file || pread(file.number, &token, token_bytes, at) != token_bytes || token != key.token)
        throw Error("a peer's memory cannot be opened through /proc (other user or container?)");
    auto mapping = std::make_shared<SharedMapping>(key.size, file.number, key.page_size);
    if (mapping->failed()) throw Error("a peer's memory cannot be mapped");
    return mapping;
}

}  // namespace tutti
