// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/table/measured_choices.hpp"
#include "collectives/baselines/foreign_algorithms.hpp"
#include "collectives/baselines/nccl_choice.hpp"

namespace tutti {

/// The algorithm that a library gets for sizes (as tutti counts them) from `from` to below `end`.
struct ExportedRule {
    Bytes from, end;
    const ForeignAlgorithm* algorithm = nullptr;  ///< null: the library's default
    Bytes segment;                                ///< 0: none
    int fan_out = 0;                              ///< 0: the library's
    NcclChoice nccl = {};                         ///< NCCL's own, if that was measured

    /// Whether both mean the same algorithm.
    bool agrees_with(const ExportedRule& other) const {
        return algorithm == other.algorithm && segment == other.segment &&
               fan_out == other.fan_out && nccl == other.nccl;
    }
};

/// The rules of a collective on a number of ranks: ascending, without gaps.
struct ExportedCell {
    Collective collective;
    JobShape job_shape;
    std::vector<ExportedRule> rules;
};

/// Settings by the user about the library and its programs.
struct ExportSettings {
    ExportedPart part = {};
    int ranks = 0;                ///< 0: all numbers of ranks that the table has
    bool is_commutative = false;  ///< programs reduce with no operation that does not commute
    int channels = 0;             ///< for nccl-csv
    std::string gpu = {};         ///< for the cutoffs: the GPU's name
    std::string base = {};        ///< for mpich: the selection that the rules are added to
};

struct ExportFormat;

/// A table in terms of a library.
struct Export {
    const ExportFormat* format;
    ExportSettings settings;
    std::vector<ExportedCell> cells;  ///< by collective, then by ranks
    std::vector<std::string> notes;   ///< the table, its coverage and what was left out
};

/// A kind of file.
struct ExportFormat {
    std::string_view name, what;
    ForeignLibrary library;
    std::string (*write)(const Export&);
    /// The line for the job script, with {} for the file.
    std::string_view line;
    int version = 0;  ///< the library's major version: with `running`, the least one
    /// Beginning of the library's name and version; empty: `tune --library` cannot tune it.
    std::string_view running = {};
    /// How calls show which rule they obey: those of a rule without a usable algorithm fail, or the
    /// library reports its choice.
    enum class Proof { none, errors, reports };
    Proof proof = Proof::none;
    bool has_comments = true;  ///< lines that begin with #
    bool on_devices = false;
    bool has_channels = false;             ///< the file names a number of channels
    bool has_gpu = false;                  ///< the file names the GPU
    std::string_view refused_ending = {};  ///< of the file's name, which means another format
    Bytes least = {};                      ///< tutti's algorithms are left out for smaller sizes
    /// Describes calls that no rule covers.
    std::string_view rest = "the library's default";
    /// Why rules do not depend on the size, for collectives where that is so.
    std::string_view (*ignores_size)(Collective) = nullptr;
};

/// The only list of formats.
std::span<const ExportFormat> export_formats();

/// Throws Error if the table has nothing for the library.
Export export_of(const Table& table, const ExportFormat& format, const ExportSettings& settings);

/// Returns the whole file: the notes and `line` as comments if the format has any, then the rules.
/// Throws Error if the format cannot express them.
std::string text_of(const Export& exported, const std::string& file);

/// Returns the notes and the line for the job script, each with "# " before it.
std::string head_of(const Export& exported, const std::string& file);

/// Returns whether the library's file can name the choice for these ranks.
bool can_express(const ExportFormat& format, Collective collective, const Configuration& choice,
                 int ranks, const ExportSettings& settings);

/// Returns the variables that the format's line for the job script sets. If the line reads the file
/// (`.`), these are the variables in it, none before it is written.
std::map<std::string, std::string> environment_of(const ExportFormat& format,
                                                  const std::string& file);

/// Returns the rules of a cell that name an algorithm.
std::vector<ExportedRule> named_rules(const ExportedCell& cell);

/// Whether a rule holds for all sizes from `from` on.
bool is_open_ended(const ExportedRule& rule);

// Write the rules; see the formats for what each is.
std::string write_open_mpi(const Export& exported);
/// The same, with the numbers that `id_of` returns.
std::string write_open_mpi(
    const std::vector<ExportedCell>& cells,
    const std::function<std::string(const ExportedCell&, const ExportedRule&)>& id_of);
std::string write_open_mpi_json(const Export& exported);
std::string write_han(const Export& exported);
std::string write_mpich(const Export& exported);
std::string write_ucc(const Export& exported);
/// The same, but UCC has no algorithm for the sizes of the rules for which `is_off` returns true.
std::string write_ucc(const std::vector<ExportedCell>& cells,
                      const std::function<bool(const ExportedCell&, const ExportedRule&)>& is_off);
std::string write_oneccl(const Export& exported);
std::string write_intel_mpi(const Export& exported);
std::string write_nccl_csv(const Export& exported);
std::string write_ncclx(const Export& exported);
std::string write_mscclpp(const Export& exported);
std::string write_engine(const Export& exported);

/// Returns MPICH's selection in a file: JSON, or libmpich.so, which contains its default. Throws
/// Error if there is none.
std::string mpich_selection_in(std::string_view text, std::string_view name);
std::string mpich_selection_of(const std::string& file);

}  // namespace tutti
