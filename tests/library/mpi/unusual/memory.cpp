// SPDX-License-Identifier: Apache-2.0
// Memory in which the buffers of collectives may lie.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "scenarios.hpp"

namespace {

constexpr int most = most_ranks * longest_block;
constexpr std::size_t most_bytes = most * sizeof(int);

constexpr std::array<int, most> given_by_rank_0() {
    std::array<int, most> data{};
    for (int i = 0; i < most; ++i) data[static_cast<std::size_t>(i)] = given(0, i);
    return data;
}
constinit const std::array<int, most> constants = given_by_rank_0();  // in .rodata

int* mapped(int protection, int flags, int file = -1, void* at = nullptr,
            std::size_t bytes = most_bytes, off_t offset = 0) {
    void* const memory = mmap(at, bytes, protection, flags, file, offset);
    if (memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 70);
    return static_cast<int*>(memory);
}
int* mapped_anonymous() { return mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS); }
void unmap(int* memory, std::size_t bytes = most_bytes) { munmap(memory, bytes); }

// Creates a file of this size, without a name.
int new_file(std::size_t bytes) {
    std::FILE* const file = std::tmpfile();
    const int number = dup(fileno(file));
    std::fclose(file);
    if (ftruncate(number, static_cast<off_t>(bytes)) != 0) MPI_Abort(MPI_COMM_WORLD, 71);
    return number;
}

int* allocated(std::size_t bytes = most_bytes) {
    return static_cast<int*>(std::aligned_alloc(4096, bytes));
}

void send_from_read_only_file(const Job& world) {
    const int file = new_file(most_bytes);
    int* const written = mapped(PROT_READ | PROT_WRITE, MAP_SHARED, file);
    fill(written, world.rank, most);
    const int* const send = mapped(PROT_READ, MAP_PRIVATE, file);
    std::vector<int> receive(most);
    call_many_of_each_kind(world, send, receive.data(), Sent::own_read_only);
    unmap(const_cast<int*>(send));
    unmap(written);
    close(file);
}

void send_constants(const Job& world) {
    std::vector<int> receive(most);
    call_many_of_each_kind(world, constants.data(), receive.data(), Sent::common_read_only);
}

void send_protected_memory(const Job& world) {
    int* const send = allocated();
    std::vector<int> receive(most);
    fill(send, world.rank, most);
    mprotect(send, most_bytes, PROT_READ);
    call_many_of_each_kind(world, send, receive.data(), Sent::own_read_only);
    mprotect(send, most_bytes, PROT_READ | PROT_WRITE);
    std::free(send);
}

// All ranks send rank 0's segment, and receive into their own.
void share_a_window(const Job& world) {
    int* mine = nullptr;
    int* first = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate_shared(2 * most_bytes, sizeof(int), MPI_INFO_NULL, world.comm, &mine, &window);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window, 0, &bytes, &unit, &first);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    if (world.rank == 0) fill(first, 0, most);
    MPI_Win_sync(window);
    MPI_Barrier(world.comm);
    MPI_Win_sync(window);
    call_many_of_each_kind(world, first, mine + most, Sent::common);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

// The ranks map a file of rank 0. All send its first part, and each receives into its own part.
void share_a_file(const Job& world) {
    char name[] = "/tmp/tutti-unusual-XXXXXX";
    int file = -1;
    const std::size_t bytes = most_bytes * static_cast<std::size_t>(world.size + 1);
    if (world.rank == 0) {
        file = mkstemp(name);
        if (ftruncate(file, static_cast<off_t>(bytes)) != 0) MPI_Abort(world.comm, 71);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, world.comm);
    if (world.rank != 0) file = open(name, O_RDWR);
    int* const all = mapped(PROT_READ | PROT_WRITE, MAP_SHARED, file, nullptr, bytes);
    if (world.rank == 0) fill(all, 0, most);
    MPI_Barrier(world.comm);
    if (world.rank == 0) unlink(name);
    call_many_of_each_kind(world, all, all + most * (world.rank + 1), Sent::common);
    MPI_Barrier(world.comm);
    unmap(all, bytes);
    close(file);
}

// An inaccessible page lies in front of each buffer and after it.
class BetweenGuards {
public:
    BetweenGuards()
        : all_(mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, nullptr,
                      most_bytes + 2 * page)) {
        mprotect(all_, page, PROT_NONE);
        mprotect(end(), page, PROT_NONE);
    }
    ~BetweenGuards() { munmap(all_, most_bytes + 2 * page); }
    BetweenGuards(const BetweenGuards&) = delete;
    BetweenGuards& operator=(const BetweenGuards&) = delete;
    int* begin() const { return all_ + page / sizeof(int); }
    int* end() const { return begin() + most; }

private:
    static constexpr std::size_t page = 4096;
    int* all_;
};

void end_at_unmapped_pages(const Job& world) {
    const BetweenGuards send_pages, receive_pages;
    for (int i = 0; i < many_calls; ++i) {
        const int count = i % 10 == 9 ? 5000 : i * i % 701 + 1;
        const int all = world.size * count;
        const bool is_first = i % 2 == 0;
        int* const send = is_first ? send_pages.begin() : send_pages.end() - all;
        int* const receive = is_first ? receive_pages.begin() : receive_pages.end() - all;
        fill(send, world.rank, all);
        call_each_kind(world, {send, receive, count}, i % world.size);
        // A vector that fills the memory up to the inaccessible page.
        MPI_Allreduce(send, receive, all, MPI_INT, MPI_SUM, world.comm);
        EXPECT(receive[all - 1] == combined<int>(MPI_SUM, world.size, all - 1));
        MPI_Bcast(is_first ? receive : send_pages.end() - 1, 1, MPI_INT, 0, world.comm);
    }
}

void call_from_deep_stacks(const Job& world, int depth) {
    constexpr int count = 500;
    int send[most_ranks * count], receive[most_ranks * count];
    fill(send, world.rank, world.size * count);
    if (depth > 0) call_from_deep_stacks(world, depth - 1);
    call_each_kind(world, {send, receive, count}, depth % world.size);
    call_each_kind(world, {send, receive, 1}, depth % world.size);
}
void use_stacks(const Job& world) {
    for (int i = 0; i < 3; ++i) call_from_deep_stacks(world, 20);
}

void use_adjacent_buffers(const Job& world) {
    for (const bool send_is_first : {true, false}) {
        for (int i = 0; i < many_calls / 2 + 5; ++i) {
            const int count = 3 * i + 1, all = world.size * count;
            std::vector<int> both(static_cast<std::size_t>(2 * all));
            int* const send = both.data() + (send_is_first ? 0 : all);
            int* const receive = both.data() + (send_is_first ? all : 0);
            fill(send, world.rank, all);
            call_each_kind(world, {send, receive, count}, i % world.size);
        }
    }
}

// MPI 3 lets several calls read one buffer at the same time.
void send_one_buffer_in_two_calls(const Job& world) {
    const auto send = given_by<int>(world.rank, 1000);
    std::vector<int> sum(1000), more(1000), all(static_cast<std::size_t>(1000 * world.size));
    for (int i = 0; i < many_calls; ++i) {
        MPI_Request requests[2];
        std::ranges::fill(sum, -1);
        MPI_Iallreduce(send.data(), sum.data(), 1000, MPI_INT, MPI_SUM, world.comm, &requests[0]);
        MPI_Iallgather(send.data(), 1000, MPI_INT, all.data(), 1000, MPI_INT, world.comm,
                       &requests[1]);
        MPI_Allreduce(send.data(), more.data(), 1000, MPI_INT, MPI_SUM, world.comm);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(sum == more && sum[999] == combined<int>(MPI_SUM, world.size, 999));
        EXPECT(all.back() == given(world.size - 1, 999));
    }
}

// Unmaps a buffer after each call and maps other memory at the same address.
void reuse_an_address(const Job& world) {
    int* const place = mapped_anonymous();
    int* const receive = mapped_anonymous();
    for (int i = 0; i < many_calls; ++i) {
        const int count = i % 10 == 9 ? longest_block : 100 + i;
        fill(place, world.rank, world.size * count);
        call_each_kind(world, {place, receive, count}, i % world.size);
        unmap(place);
        mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, place);
        EXPECT(place[0] == 0);
    }
    unmap(place);
    unmap(receive);
}

void reallocate_between_calls(const Job& world) {
    int* send = nullptr;
    int* receive = nullptr;
    for (int i = 0; i < many_calls; ++i) {
        const int count = i * 67 % many_calls * 40 + 1, all = world.size * count;
        const auto bytes = static_cast<std::size_t>(all) * sizeof(int);
        send = static_cast<int*>(std::realloc(send, bytes));
        receive = static_cast<int*>(std::realloc(receive, bytes));
        fill(send, world.rank, all);
        call_each_kind(world, {send, receive, count}, i % world.size);
    }
    std::free(send);
    std::free(receive);
}

// Unaligned addresses, as in packed records.
void use_odd_addresses(const Job& world) {
    std::vector<char> send(8 * 1000 + 16), sum(8 * 1000 + 16);
    for (int i = 0; i < many_calls; ++i) {
        char* const from = send.data() + i % 7;
        char* const to = sum.data() + i % 5;
        const int count = i % 10 == 9 ? 1000 : i;
        for (int j = 0; j < count; ++j) {
            const double value = given(world.rank, j);
            std::memcpy(from + 8 * j, &value, sizeof value);
        }
        MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, world.comm);
        bool is_right = true;
        for (int j = 0; j < count; ++j) {
            double value = -1;
            std::memcpy(&value, to + 8 * j, sizeof value);
            is_right = is_right && value == combined<int>(MPI_SUM, world.size, j);
        }
        EXPECT(is_right);
        MPI_Bcast(from, 8 * count, MPI_BYTE, 0, world.comm);
        EXPECT(count == 0 || std::equal(from, from + 8 * count, from));
    }
}

void allocate_by_mpi(const Job& world) {
    for (int i = 0; i < many_calls; ++i) {
        int* send = nullptr;
        int* receive = nullptr;
        const int count = 10 * i + 1, all = world.size * count;
        const auto bytes = static_cast<MPI_Aint>(static_cast<std::size_t>(all) * sizeof(int));
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &send);
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &receive);
        fill(send, world.rank, all);
        call_each_kind(world, {send, receive, count}, i % world.size);
        MPI_Free_mem(send);
        MPI_Free_mem(receive);
    }
}

const Scenarios scenarios(
    {{"read_only_file", "ranks send from a file that is mapped read-only",
      send_from_read_only_file},
     {"constants", "ranks send from a table of constants in .rodata", send_constants},
     {"protected", "ranks send from allocated memory that is write-protected",
      send_protected_memory},
     {"shared_window", "all ranks send rank 0's segment of a shared window", share_a_window},
     {"shared_file", "all ranks send the same part of a file that all ranks have mapped",
      share_a_file},
     {"page_edges", "buffers begin or end next to inaccessible pages", end_at_unmapped_pages},
     {"stacks", "buffers lie on the stack, in frames of a recursive function", use_stacks},
     {"adjacent", "the send buffer ends where the receive buffer begins, and the reverse",
      use_adjacent_buffers},
     {"sent_twice", "two outstanding calls and a blocking call read one buffer",
      send_one_buffer_in_two_calls},
     {"address_reused", "the program unmaps memory after each call and maps other memory there",
      reuse_an_address},
     {"reallocated", "realloc moves the buffers between calls", reallocate_between_calls},
     {"odd_addresses", "buffers have odd addresses", use_odd_addresses},
     {"alloc_mem", "buffers come from MPI_Alloc_mem", allocate_by_mpi}});

}  // namespace
