// SPDX-License-Identifier: Apache-2.0
#include "collectives/formats/schedule_files.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "collectives/formats/file_readers.hpp"
#include "collectives/formats/format_writers.hpp"

namespace tutti {

ImportedSchedule read_schedule(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::error_code none;
    if (!stream || std::filesystem::is_directory(file, none))
        throw Error(fmt::format("cannot read '{}'; use a file of MSCCL, MSCCL++, SCCL or TACCL",
                                printable(file.string())));
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_schedule(text, file.string());
}

ImportedSchedule parse_schedule(std::string_view text, std::string_view name) {
    const Source source(text, name);
    const auto begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (begin != text.npos && text[begin] == '<') return read_msccl_xml(source);
    if (begin == text.npos || text[begin] != '{')
        source.fail(1,
                    "is not a schedule; use MSCCL XML, an MSCCL++ plan or JSON of SCCL or TACCL");
    return text.find("\"gpus\"") != text.npos ? read_mscclpp_plan(source) : read_sccl_json(source);
}

namespace {

int chunks_of_message(const CollectiveSpec& spec, const std::vector<FileBuffers>& buffers,
                      const Source& source) {
    const auto in = static_cast<int>(spec.input_blocks(spec.root())),
               out = static_cast<int>(spec.output_blocks(spec.root()));
    const FileBuffers& first = buffers.front();
    const int per_block = first.output > 0 ? first.output / out : first.input / in;
    const std::int64_t chunks = std::int64_t{per_block} * spec.blocks();
    for (const FileBuffers& one : buffers) {
        const bool has_input = one.input == per_block * in,
                   has_output = one.output == per_block * out;
        if (per_block == 0 || !(has_input || one.input == 0) || !(has_output || one.output == 0) ||
            !(has_input || has_output))
            source.fail(one.line, fmt::format("has {} input and {} output chunks, which do not fit "
                                              "{} on {} ranks; use a file that fits",
                                              one.input, one.output, name_of(spec.collective()),
                                              spec.ranks()));
    }
    if (chunks > most_file_chunks || chunks * spec.ranks() > 4 * std::int64_t{most_file_chunks})
        source.fail(first.line, fmt::format("has {} chunks on {} ranks; use a file with at most {} "
                                            "on all ranks together",
                                            chunks, spec.ranks(), 4 * most_file_chunks));
    return static_cast<int>(chunks);
}

}  // namespace

ImportedSchedule imported(std::string_view name, const CollectiveSpec& spec,
                          const FileProgram& program, const Source& source) {
    const int chunks = chunks_of_message(spec, program.buffers, source);
    const Aliasing aliasing = spec.exchanges() ? Aliasing::none : program.aliasing;
    return {printable(name), spec, lifted_schedule(program.blocks, chunks, spec, aliasing, source)};
}

void check_place(FilePlace place, int count, const FileBuffers& buffers, const Source& source,
                 int line) {
    const int chunks = place.buffer == FileBuffer::input    ? buffers.input
                       : place.buffer == FileBuffer::output ? buffers.output
                                                            : buffers.scratch;
    if (place.index < 0 || count < 1 || count > chunks || place.index > chunks - count)
        source.fail(line, fmt::format("uses {} chunks from {}[{}], which has {}; use a complete "
                                      "file",
                                      count, static_cast<char>(place.buffer), place.index, chunks));
}

Collective collective_of_file(std::string_view name, const Source& source, int line) {
    for (const MscclName& row : msccl_names())
        if (!name.empty() && (row.xml == name || row.plan == name)) return row.collective;
    source.fail(line, fmt::format("is of the collective {}; use allreduce, allgather, "
                                  "reduce_scatter, alltoall, broadcast or reduce",
                                  in_quotes(name)));
}

FileBuffer file_buffer(std::string_view letter, const Source& source, int line) {
    for (const auto buffer : {FileBuffer::input, FileBuffer::output, FileBuffer::scratch})
        if (letter.size() == 1 && letter[0] == static_cast<char>(buffer)) return buffer;
    source.fail(line, fmt::format("names the buffer {}; use i, o or s", in_quotes(letter)));
}

}  // namespace tutti
