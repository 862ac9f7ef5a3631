// SPDX-License-Identifier: Apache-2.0
// The MPI library's name and error messages.
#include "collectives/transport/messages/mpi_library.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <string>

#include "base/error.hpp"
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {

void throw_mpi_error(int code, std::source_location where) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    PMPI_Error_string(code, text, &length);
    throw Error("MPI failed in " + std::string(where.function_name()) + ": " + text,
                Exit::rank_lost);
}

std::string mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    PMPI_Get_library_version(text, &length);
    // The text is e.g. "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\nMPICH Release
    // date...".
    const std::string_view whole(text);
    const std::string_view line = whole.substr(0, whole.find_first_of(",\n"));
    const auto digit = line.find_first_of("0123456789");
    if (digit == line.npos) return std::string(line);
    std::string_view vendor = line.substr(0, digit);
    vendor = vendor.substr(0, vendor.find(" Version"));
    vendor = vendor.substr(0, vendor.find_last_not_of(" v") + 1);
    return std::string(vendor) + " " + std::string(line.substr(digit));
}

std::string file_of_mpi_library() {
    Dl_info found{};
    if (dladdr(reinterpret_cast<void*>(&PMPI_Get_library_version), &found) == 0 ||
        found.dli_fname == nullptr)
        throw Error("the file of the MPI library cannot be found");
    return found.dli_fname;
}

}  // namespace tutti
