// SPDX-License-Identifier: Apache-2.0
#include "results/records/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/encoding.hpp"
#include "base/json_value.hpp"

namespace tutti {
namespace {

// A training run writes its steps again and again until it ends.
void leave_out_replaced(std::vector<TrainingStep>& steps) {
    const auto is_same = [](const TrainingStep& one, const TrainingStep& other) {
        return other.session == one.session && other.launch == one.launch && other.key == one.key;
    };
    std::vector<TrainingStep> left;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool is_replaced =
            steps[i].is_partial &&
            std::any_of(steps.begin() + static_cast<long>(i) + 1, steps.end(),
                        [&](const TrainingStep& later) { return is_same(steps[i], later); });
        if (!is_replaced) left.push_back(steps[i]);
    }
    steps = std::move(left);
}

// Editors and programs that join files leave blank lines, some with a byte order mark.
bool is_blank(std::string_view line) {
    return without_byte_order_mark(line).find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Results read_results(std::istream& stream, std::string_view name) {
    Results results;
    const auto lists = lists_of(results);
    std::size_t known = 0;
    const auto append = [&]<class Kind>(Kind& record) {
        if constexpr (!std::is_same_v<Kind, std::monostate>) {
            std::get<std::vector<Kind>&>(lists).push_back(std::move(record));
            ++known;
        }
    };
    const Source source("", name);
    int number = 0, blank = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        if (number == 1 && is_utf16(line)) {
            std::string all = line + (stream.eof() ? "" : "\n");
            all.append(std::istreambuf_iterator<char>(stream), {});
            std::istringstream converted(in_utf8(all));
            return read_results(converted, name);
        }
        if (is_blank(line)) {
            ++blank;
            continue;
        }
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
    if (number == blank) throw Error(fmt::format("'{}' is empty: no results in it", name));
    leave_out_replaced(results.steps);
    for (const LowerLimits& lower : results.lower_limits) replace_limits(results.points, lower);
    return results;
}

void append(Results& all, Results more) {
    const auto append_list = [&]<class Kind>(std::vector<Kind>& list) {
        auto& of_all = std::get<std::vector<Kind>&>(lists_of(all));
        of_all.insert(of_all.end(), std::move_iterator(list.begin()),
                      std::move_iterator(list.end()));
    };
    std::apply([&](auto&... lists) { (append_list(lists), ...); }, lists_of(more));
    all.warnings.insert(all.warnings.end(), more.warnings.begin(), more.warnings.end());
}

Results read_results(const std::filesystem::path& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none))
        throw Error(fmt::format("'{}' is a folder; use a results file (*.jsonl)", path.string()));
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        throw Error(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
    return read_results(stream, path.string());
}

}  // namespace tutti
