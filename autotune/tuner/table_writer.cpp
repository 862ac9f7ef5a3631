// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/table_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autotune/model/model_json.hpp"
#include "autotune/table/table_json.hpp"

namespace tutti {
namespace {

std::size_t sizes_seen(const Section& section) {
    std::size_t sizes = 0;
    for (const Range& range : section.ranges) sizes += range.evidence.size();
    return sizes;
}

}  // namespace

Table table_in(const std::string& file) {
    return std::filesystem::exists(file) ? read_table(file) : Table{};
}

void expect_sections(const Table& table, const std::string& file) {
    if (table.sections.empty())
        throw Error(
            fmt::format("'{0}' has no entries to validate; run: tutti tune --table {0}", file));
}

void keep_if_any(const Table& table, const std::string& file) {
    if (!table.sections.empty()) keep_table(table, file);
}

std::string model_with(const CostModel& newer, const std::string& known, const std::string& file) {
    return to_json(known.empty() ? newer : merged(model_from_json(known, file), newer));
}

std::string in_a_line(const std::vector<Range>& ranges) {
    std::string text;
    for (const Range& range : ranges)
        text += range.from.count == 0
                    ? to_string(range.choice)
                    : fmt::format("; from {} {}", to_string(range.from), to_string(range.choice));
    return text;
}

TableWriter::TableWriter(std::string file, const Session& session)
    : file_(std::move(file)), table_(table_in(file_)) {
    for (Section& section : table_.sections)  // otherwise they would get today's date
        if (section.measured_at.empty()) section.measured_at = table_.written;
    table_.written = session.t;
    table_.tool = session.tool.git.empty()
                      ? session.tool.version
                      : fmt::format("{} ({})", session.tool.version, session.tool.git);
    keep();
}

void TableWriter::keep() const { keep_if_any(table_, file_); }

void TableWriter::open_log(const JobShape& shape, const std::string& plan, bool resumes) {
    std::error_code failed;  // opening the log reports the error
    const auto folder = std::filesystem::path(file_).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, failed);
    log_.emplace(fmt::format("{}.races", file_), shape, plan, resumes);
}

void TableWriter::put(const Section& section) {
    if (section.ranges.empty()) return;  // nothing is known yet
    const Section* before = find_section(table_, section.job_shape, section.subject);
    if (before != nullptr && before->is_complete && !section.is_complete) return;
    const auto is_same = [&](const Section& other) {
        return other.job_shape == section.job_shape && other.subject == section.subject;
    };
    std::erase_if(table_.sections, is_same);
    table_.sections.push_back(section);
    table_.sections.back().measured_at = table_.written;
    keep();
}

void TableWriter::put_draft(const Section& section) {
    const Section* before = find_section(table_, section.job_shape, section.subject);
    if (before == nullptr || sizes_seen(*before) <= sizes_seen(section)) put(section);
}

void TableWriter::put(const Calibration& calibration) {
    table_.model = model_with(calibration.model, table_.model, file_);
    if (log_) log_->append_calibration(calibration.samples, calibration.seconds);
    keep();
}

}  // namespace tutti
