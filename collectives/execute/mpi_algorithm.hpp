// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/execute/baselines.hpp"
#include "collectives/execute/mpi_setting.hpp"

namespace tutti {

/// The running MPI library's algorithm for a collective, as it is told to it. Open MPI 4 listens
/// when a communicator is made, MPICH 4 at every call.
class MpiAlgorithm {
public:
    /// `name` empty: the library's own choice.
    MpiAlgorithm(Collective collective, const std::string& name);
    ~MpiAlgorithm();
    MpiAlgorithm(const MpiAlgorithm&) = delete;
    MpiAlgorithm& operator=(const MpiAlgorithm&) = delete;

    bool is_forced() const { return !lines_.empty(); }

    /// From here on it is the one, until another is told. In a timed loop: a comparison.
    void tell() {
        if (told != this) tell_anew();
    }

private:
    struct Line {
        MpiSetting setting;
        int as_found, forced;
    };
    void tell_anew();
    static void take_back();

    static MpiAlgorithm* told;  // null: all is as found
    std::vector<Line> lines_;
};

/// Why a named algorithm cannot be forced, or why the library would run another one in its place.
std::optional<std::string> mpi_algorithm_refuses(const LibraryCall& call, const World& world);

}  // namespace tutti
