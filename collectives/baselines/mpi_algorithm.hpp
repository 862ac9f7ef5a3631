// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_control_variable.hpp"

namespace tutti {

/// The running MPI library's algorithm for a collective, as it is told to it. Open MPI 4 listens
/// when a communicator is made, MPICH 4 at every call. What it is told holds for the whole program,
/// so it is taken back where others may call: see leave_as_found().
class MpiAlgorithm {
public:
    /// `name` empty: the library's own choice.
    MpiAlgorithm(Collective collective, const std::string& name);
    ~MpiAlgorithm();
    MpiAlgorithm(const MpiAlgorithm&) = delete;
    MpiAlgorithm& operator=(const MpiAlgorithm&) = delete;

    bool is_forced() const { return !lines_.empty(); }

    /// Makes the copy of the ranks that calls are to go through: told to a library that listens
    /// then, and to no other communicator.
    template <class Make>
    void tell_while(Make&& make) {
        tell_anew();
        make();
        leave_as_found();
    }

    /// Before a call: to a library that listens at every call it is the one from here on, until
    /// another is told or all is left as found. In a timed loop: a comparison.
    void tell() {
        if (listens_at_calls_ && told != this) tell_anew();
    }

    /// The library does again what the program's user has said.
    static void leave_as_found();

private:
    struct Line {
        MpiControlVariable setting;
        int as_found, forced;
    };
    void tell_anew();

    static MpiAlgorithm* told;  // null: all is as found
    std::vector<Line> lines_;
    bool listens_at_calls_;
};

/// Why a named algorithm cannot be forced, or why the library would run another one in its place.
std::optional<std::string> mpi_algorithm_refuses(const LibraryCall& call, const World& world);

}  // namespace tutti
