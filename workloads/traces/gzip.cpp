// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "workloads/traces/trace_forms.hpp"

#ifdef TUTTI_WITH_ZLIB
#include <zlib.h>

#include <array>

namespace tutti {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 31;  // a small file can become very large

// Ends the decompression however it is left.
struct Inflater {
    z_stream stream{};
    bool is_ready = false;

    Inflater() {
        constexpr int of_gzip = 16 + MAX_WBITS;
        is_ready = inflateInit2(&stream, of_gzip) == Z_OK;
    }
    ~Inflater() {
        if (is_ready) inflateEnd(&stream);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

std::string unzipped(std::string_view bytes, const Source& source) {
    const auto fail = [&](const std::string& what) -> void {
        throw Error(fmt::format("{}: {}; copy or record the file again", source.name(), what));
    };
    std::string text;
    // gzip files may be joined.
    while (!bytes.empty()) {
        Inflater inflater;
        if (!inflater.is_ready) fail("zlib has no memory to read gzip");
        z_stream& stream = inflater.stream;
        std::string input(bytes);
        stream.next_in = reinterpret_cast<Bytef*>(input.data());
        stream.avail_in = static_cast<uInt>(input.size());
        std::array<char, 1 << 16> block;
        int state = Z_OK;
        while (state == Z_OK) {
            stream.next_out = reinterpret_cast<Bytef*>(block.data());
            stream.avail_out = static_cast<uInt>(block.size());
            state = inflate(&stream, Z_NO_FLUSH);
            text.append(block.data(), block.size() - stream.avail_out);
            if (text.size() > most_bytes) fail("is larger than 2 GiB when uncompressed");
        }
        if (state == Z_BUF_ERROR) fail("the gzip file is cut off");
        if (state != Z_STREAM_END) fail("the gzip file is damaged");
        bytes.remove_prefix(bytes.size() - stream.avail_in);
        if (!bytes.starts_with("\x1f\x8b")) break;  // zeros that fill a block
    }
    return text;
}

}  // namespace tutti
#else
namespace tutti {

std::string unzipped(std::string_view, const Source& source) {
    throw Error(source.name() + ": this tutti was built without zlib; use gunzip first");
}

}  // namespace tutti
#endif

namespace tutti {

std::string unzipped_file(const std::filesystem::path& file, std::string_view cure) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream || std::filesystem::is_directory(file))
        throw Error(fmt::format("{}: cannot be read; {}", file.string(), cure));
    std::string content{std::istreambuf_iterator<char>(stream), {}};
    return content.starts_with("\x1f\x8b") ? unzipped(content, Source("", file.string())) : content;
}

}  // namespace tutti
