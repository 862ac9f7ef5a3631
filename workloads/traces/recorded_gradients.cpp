// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const fs::path& trace, std::int64_t step, std::size_t bucket, int rank) {
    return trace.parent_path() /
           fmt::format("{}.step{}.bucket{}.rank{}.f32", trace.stem().string(), step, bucket, rank);
}

int recorded_ranks(const fs::path& trace) {
    int ranks = 0;
    while (fs::exists(file_of(trace, 0, 0, ranks))) ++ranks;
    return ranks;
}

void append(const fs::path& file, std::int64_t count, std::vector<std::byte>& bytes) {
    const auto size = as_size(count) * sizeof(float);
    const auto read = [&] {
        std::error_code unreadable;
        if (fs::file_size(file, unreadable) != size || unreadable) return false;
        const std::size_t index = bytes.size();
        bytes.resize(index + size);
        std::ifstream stream(file, std::ios::binary);
        stream.read(reinterpret_cast<char*>(bytes.data() + index),
                    static_cast<std::streamsize>(size));
        return stream.good();
    };
    if (!read())
        throw Error(
            fmt::format("{}: does not have the {} bytes of its bucket; record it again, or use "
                        "--gradients no",
                        file.string(), size));
}

}  // namespace

RecordedGradients::RecordedGradients(const fs::path& trace, const GradientTrace& recorded,
                                     Rank rank) {
    const int ranks = recorded_ranks(trace);
    if (ranks == 0 || recorded.type != DataType::float32) return;
    const int from = rank.index % ranks;
    for (std::int64_t step = 0; fs::exists(file_of(trace, step, 0, from)); ++step) {
        auto& bytes = steps_.emplace_back();
        for (std::size_t i = 0; i < recorded.buckets.size(); ++i)
            append(file_of(trace, step, i, from), recorded.buckets[i].count, bytes);
    }
}

void RecordedGradients::load(const ProgramBuffers& program_buffers, std::int64_t number) const {
    const auto& bytes = at(steps_, number % steps());
    const auto& calls = program_buffers.program().calls;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].call.collective != Collective::all_reduce) continue;
        const PooledBuffers buffers = program_buffers.buffers_of(static_cast<int>(i));
        if (offset == bytes.size()) offset = 0;  // the next round of a repeated step
        if (offset + buffers.writable_input.size() > bytes.size()) return;
        buffers.write_input([&](std::span<std::byte> input) {
            std::memcpy(input.data(), bytes.data() + offset, input.size());
        });
        offset += buffers.writable_input.size();
    }
}

}  // namespace tutti
