// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/learn/training/dataset.hpp"

namespace tutti {
namespace {

// Rows are dense: larger files are not meant for the networks here.
constexpr int most_columns = 1 << 16;
constexpr std::size_t most_values = std::size_t{1} << 28;
constexpr int most_classes = 1000;

struct Entry {
    int column;
    float value;
};

struct Sample {
    int label = 0;
    std::vector<Entry> entries;
};

// Reads the text once, line by line and word by word, and knows its position.
class Reader {
public:
    Reader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

    std::vector<Sample> samples() {
        std::vector<Sample> all;
        while (!text_.empty()) {
            std::string_view line = next_line();
            line = line.substr(0, line.find('#'));
            const std::string_view label = next_word(line);
            if (!label.empty()) all.push_back(sample(label, line));
        }
        return all;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}:{}: {}", source_, line_, what));
    }

    std::string_view next_line() {
        ++line_;
        const std::size_t end = text_.find('\n');
        if (end == std::string_view::npos)
            fail("the last line has no end, so the file may be cut off; use the whole file");
        const std::string_view line = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return line;
    }

    static std::string_view next_word(std::string_view& line) {
        constexpr std::string_view blanks = " \t\r";
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        const std::string_view word = line.substr(0, line.find_first_of(blanks));
        line.remove_prefix(word.size());
        return word;
    }

    template <typename Number>
    static bool reads_as(std::string_view word, Number& number) {
        if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
        const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
        return fault == std::errc{} && end == word.data() + word.size();
    }

    Sample sample(std::string_view label, std::string_view rest) {
        double value = 0;
        if (!reads_as(label, value) || std::abs(value) > 1e9 || value != std::trunc(value))
            fail(fmt::format("'{}' is not a label; a line begins with a whole number", label));
        Sample read{static_cast<int>(value), {}};
        int before = 0;
        for (auto word = next_word(rest); !word.empty(); word = next_word(rest)) {
            read.entries.push_back(entry(word, before));
            before = read.entries.back().column + 1;
        }
        return read;
    }

    Entry entry(std::string_view word, int before) const {
        const std::size_t colon = word.find(':');
        if (colon == std::string_view::npos || colon + 1 == word.size())
            fail(fmt::format("'{}' should be index:value", word));
        int index = 0;
        if (!reads_as(word.substr(0, colon), index) || index > most_columns)
            fail(fmt::format("'{}' has no index from 1 to {}", word, most_columns));
        if (index < 1) fail(fmt::format("'{}': indices begin at 1", word));
        if (index <= before)
            fail(fmt::format("index {} after {}; indices must ascend", index, before));
        float value = 0;
        if (!reads_as(word.substr(colon + 1), value) || !std::isfinite(value))
            fail(fmt::format("'{}' has no number after the colon", word));
        return {index - 1, value};
    }

    std::string_view text_;
    std::string_view source_;
    int line_ = 0;
};

std::vector<int> distinct_labels(const std::vector<Sample>& samples) {
    std::vector<int> labels;
    for (const Sample& sample : samples) labels.push_back(sample.label);
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    return labels;
}

int columns_of(const std::vector<Sample>& samples) {
    int columns = 0;
    for (const Sample& sample : samples)
        if (!sample.entries.empty()) columns = std::max(columns, sample.entries.back().column + 1);
    return columns;
}

}  // namespace

Dataset parse_libsvm(std::string_view text, std::string_view source) {
    const auto samples = Reader{text, source}.samples();
    Dataset data;
    data.columns = columns_of(samples);
    data.class_names = distinct_labels(samples);
    if (data.columns == 0) throw Error(fmt::format("{}: no features in it", source));
    if (data.classes() < 2 || data.classes() > most_classes)
        throw Error(fmt::format("{}: {} different labels; 2 to {} are supported", source,
                                data.classes(), most_classes));
    const auto width = as_size(data.columns);
    if (samples.size() > most_values / width)
        throw Error(fmt::format("{}: {} rows of {} columns are more than fit; use fewer rows",
                                source, samples.size(), width));
    data.features.resize(samples.size() * width);
    for (std::size_t row = 0; row < samples.size(); ++row) {
        const auto name =
            std::lower_bound(data.class_names.begin(), data.class_names.end(), samples[row].label);
        data.labels.push_back(static_cast<int>(name - data.class_names.begin()));
        for (const Entry& entry : samples[row].entries)
            data.features[row * width + as_size(entry.column)] = entry.value;
    }
    return data;
}

Dataset read_libsvm(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream || std::filesystem::is_directory(path))
        throw Error(fmt::format("cannot read the data '{}'; use a LIBSVM file", path.string()));
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_libsvm(text, path.string());
}

}  // namespace tutti
