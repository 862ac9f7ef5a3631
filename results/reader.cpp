// SPDX-License-Identifier: Apache-2.0
#include "results/reader.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <tuple>

#include "base/json_value.hpp"

namespace tutti {

Results read_results(std::istream& stream, std::string_view name) {
    Results results;
    const auto lists = std::tie(results.sessions, results.launches, results.points, results.steps,
                                results.fails, results.ends, results.limits);
    std::size_t known = 0;
    const auto append = [&]<class Kind>(Kind& record) {
        if constexpr (!std::is_same_v<Kind, std::monostate>) {
            std::get<std::vector<Kind>&>(lists).push_back(std::move(record));
            ++known;
        }
    };
    const Source source("", name);
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        const bool ended = !stream.eof();  // getline meets the end only where no newline was
        try {
            Record record = parse_json_line(line, source, number);
            std::visit(append, record);
        } catch (const NotJson&) {
            if (ended || known == 0) source.fail(number, "not JSON");
            results.warnings.push_back(
                fmt::format("{}:{}: the last line is torn (the writer was interrupted) and left "
                            "out; the {} records before it are intact",
                            name, number, known));
        }
    }
    if (stream.bad()) throw Error(fmt::format("cannot read '{}': {}", name, std::strerror(errno)));
    if (number == 0) throw Error(fmt::format("'{}' is empty: no results in it", name));
    return results;
}

Results read_results(const std::filesystem::path& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none))
        throw Error(fmt::format("'{}' is a folder; type a results file (*.jsonl)", path.string()));
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        throw Error(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
    return read_results(stream, path.string());
}

}  // namespace tutti
