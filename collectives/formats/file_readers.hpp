// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers, one file each, and what they share. Only schedule_files.cpp lists them.
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "base/source.hpp"
#include "collectives/formats/lifted_schedule.hpp"
#include "collectives/formats/schedule_files.hpp"

namespace tutti {

ImportedSchedule read_msccl_xml(const Source& source);
ImportedSchedule read_mscclpp_plan(const Source& source);
ImportedSchedule read_sccl_json(const Source& source);

constexpr int most_file_ranks = 4096, most_file_chunks = 65536;

/// Chunks of a rank's buffers, as the file says.
struct FileBuffers {
    int line = 0;
    int input = 0, output = 0, scratch = 0;
};

/// A file of operations.
struct FileProgram {
    Aliasing aliasing = Aliasing::none;
    std::vector<FileBuffers> buffers = {};  ///< by rank
    std::vector<ReadBlock> blocks = {};
};

/// Lifts the program. Throws Error through `source` if its buffers do not fit the collective; one
/// of input and output may be empty if they are the same memory.
ImportedSchedule imported(std::string_view name, const CollectiveSpec& spec,
                          const FileProgram& program, const Source& source);

/// Throws Error through `source` unless the chunks are in the buffer.
void check_place(FilePlace place, int count, const FileBuffers& buffers, const Source& source,
                 int line);

FileBuffer file_buffer(std::string_view letter, const Source& source, int line);

/// Returns the collective with this name in files of MSCCL or MSCCL++.
Collective collective_of_file(std::string_view name, const Source& source, int line);

template <class Visit>
void for_each_item(const JsonPlace& list, Visit&& visit) {
    for (std::size_t i = 0; i < list.list().size(); ++i) visit(list.item(i));
}

}  // namespace tutti
