// SPDX-License-Identifier: Apache-2.0
#include "cli/options/algorithm_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "base/source.hpp"
#include "cli/options/values.hpp"
#include "collectives/formats/schedule_files.hpp"

namespace tutti {
namespace {

// Returns why the file's schedule cannot do the job.
std::optional<std::string> refusal_of_file(const Job& job, const CollectiveSpec& spec) {
    if (job.ranks != spec.ranks())
        return fmt::format("the file is for {} ranks; use {} ranks, or a file for {}", spec.ranks(),
                           spec.ranks(), job.ranks);
    if (has_root(job.collective) && job.root != spec.root())
        return fmt::format("the file is for root {}; use this root", spec.root().index);
    return std::nullopt;
}

// Returns whether commands know an algorithm, a collective or another word of that name.
bool is_taken(std::string_view name) {
    static constexpr std::string_view words[] = {"all", "all+", "auto", "learn", "none"};
    return std::ranges::find(words, name) != std::end(words) ||
           std::ranges::any_of(catalog(), [&](const Algorithm& row) {
               return row.name == name || name_of(row.collective) == name;
           });
}

}  // namespace

bool is_path(const std::string& word) { return word.find_first_of("./") != word.npos; }

const FileAlgorithm& algorithm_in_file(const std::string& path) {
    static std::map<std::string, FileAlgorithm> files;  // by name, for which rows have views
    const std::string name = std::filesystem::path(path).filename().string();
    const auto may_be_in_name = [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("._-").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (name.empty() || !std::ranges::all_of(name, may_be_in_name))
        throw Error(fmt::format(
            "{} cannot be the name of an algorithm; use a file whose name has only letters, "
            "digits, dots and dashes",
            in_quotes(name)));
    if (is_taken(name))
        throw Error(
            fmt::format("'{}' has a name that tutti uses itself; call the file {}.xml or "
                        "{}.json",
                        path, name, name));
    if (const auto known = files.find(name); known != files.end()) {
        std::error_code none;
        if (std::filesystem::equivalent(known->second.path, path, none)) return known->second;
        throw Error(fmt::format("'{}' and '{}' have the same name; rename one of them",
                                known->second.path, path));
    }
    const ImportedSchedule imported = read_schedule(path);
    const auto one =
        files
            .emplace(name, FileAlgorithm{path, "'" + imported.name + "' in " + printable(path),
                                         imported.spec})
            .first;
    one->second.row = &add_algorithm(
        {imported.spec.collective(), one->first, one->second.idea,
         [schedule = imported.schedule](const Job&) { return schedule; }, Takes::its_name,
         [spec = imported.spec](const Job& job) { return refusal_of_file(job, spec); }});
    return one->second;
}

Proof FileAlgorithm::expect_proof() const {
    Proof proof = prove(row->build({}), spec);
    if (proof.fault)
        throw Error(printable(fmt::format("{}: {} is wrong: {}; use a program that delivers", path,
                                          name_of(spec.collective()), *proof.fault)),
                    Exit::wrong_result);
    return proof;
}

std::vector<std::string> parse_algorithms(const std::string& text) {
    std::vector<std::string> names = split_list(text);
    for (std::string& name : names) {
        if (!is_path(name)) continue;
        const FileAlgorithm& file = algorithm_in_file(name);
        file.expect_proof();
        name = file.row->name;
    }
    return names;
}

}  // namespace tutti
