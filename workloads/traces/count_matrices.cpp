// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/count_matrices.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// The sum of a matrix is limited like a program's counts, see check() of programs.
constexpr std::int64_t most_of_matrix = std::int64_t{1} << 44;

// Collects rows, whatever the form of the file, and reports its faults.
class MatrixCollector {
public:
    explicit MatrixCollector(const Source& source) : source_(source) { all_.name = source.name(); }

    void begin_row(int line) {
        line_ = line;
        column_ = 0;
        if (row_ == 0) {
            all_.matrices.emplace_back();
            sum_ = 0;
        }
        ++row_;
    }

    void add(std::string_view text) {
        const auto number = decimal_number(text);
        if (!number || *number < 0 || *number > most_elements) {
            ++column_;
            fail(fmt::format("{} is not a count of elements; use whole numbers from 0 to {}",
                             in_quotes(text), most_elements));
        }
        add(*number);
    }

    void add(std::int64_t number) {
        ++column_;
        sum_ += number;
        if (sum_ > most_of_matrix)
            fail(fmt::format("the counts of the matrix exceed {} in total; use smaller counts",
                             most_of_matrix));
        all_.matrices.back().push_back(number);
    }

    void end_row() {
        if (is_first_row()) all_.columns = column_;
        if (column_ != all_.columns)
            fail(fmt::format("the row has {}, but the first row has {}; use rows of equal length",
                             counted(column_, "number"), all_.columns));
    }

    void end_matrix() {
        if (row_ == 0) return;
        if (all_.matrices.size() == 1) all_.rows = row_;
        if (row_ != all_.rows)
            fail(
                fmt::format("the matrix has {}, but the first matrix has {}; use matrices of one "
                            "shape in a file",
                            counted(row_, "row"), all_.rows));
        row_ = 0;
    }

    CountMatrices done() {
        if (all_.matrices.empty())
            source_.fail(1, "has no counts; use a row of whole numbers for each rank");
        return std::move(all_);
    }

private:
    bool is_first_row() const { return all_.matrices.size() == 1 && row_ == 1; }

    [[noreturn]] void fail(const std::string& what) const {
        source_.fail(line_, fmt::format("matrix {}, row {}, column {}: {}", all_.matrices.size(),
                                        row_, column_, what));
    }

    const Source& source_;
    CountMatrices all_;
    int line_ = 0;
    int row_ = 0, column_ = 0;  // in the matrix and the row that are read
    std::int64_t sum_ = 0;
};

void collect_text(std::string_view text, MatrixCollector& matrices) {
    int number = 0;
    for (const std::string_view line : split(text, '\n')) {
        ++number;
        const std::string_view content = line.substr(0, line.find('#'));
        const bool has_comment = content.size() < line.size();
        if (words_of(content).empty()) {
            if (!has_comment) matrices.end_matrix();
            continue;
        }
        matrices.begin_row(number);
        auto fields = split(content, ',');
        if (fields.size() > 1 && words_of(fields.back()).empty()) fields.pop_back();
        for (const std::string_view field : fields) {
            const auto words = words_of(field);
            if (words.empty()) matrices.add(field);  // between two commas
            for (const std::string_view word : words) matrices.add(word);
        }
        matrices.end_row();
    }
    matrices.end_matrix();
}

// Returns how deep the lists are nested: 1 for a row, 2 for a matrix, 3 for matrices.
int depth_of(const JsonValue& value) {
    const JsonValue::List* list = value.list();
    if (list == nullptr) return 0;
    return 1 + (list->empty() ? 0 : depth_of(list->front()));
}

void collect_json(const JsonPlace& place, int depth, MatrixCollector& matrices) {
    if (place.list().empty()) place.fail("is empty");
    if (depth == 1) matrices.begin_row(place.value().line);
    for (std::size_t i = 0; i < place.list().size(); ++i) {
        const JsonPlace item = place.item(i);
        if (depth > 1)
            collect_json(item, depth - 1, matrices);
        else
            matrices.add(item.whole_number<std::int64_t>(0, most_elements));
    }
    if (depth == 1) matrices.end_row();
    if (depth == 2) matrices.end_matrix();
}

void collect_json(const Source& source, MatrixCollector& matrices) {
    constexpr JsonRules rules{.remedy =
                                  "; use [[1, 2], [3, 4]], a list of such matrices, or "
                                  "{\"counts\": ...}"};
    const JsonValue document = parse_json(source);
    const JsonPlace whole(document, source, rules);
    const JsonPlace counts = document.object() != nullptr ? whole.needed("counts") : whole;
    const int depth = depth_of(counts.value());
    if (depth < 1 || depth > 3) counts.fail("is not a matrix of counts");
    collect_json(counts, depth, matrices);
    matrices.end_matrix();  // if it is a single row
}

}  // namespace

void CountMatrices::require_square(int ranks) const {
    if (rows == ranks && columns == ranks) return;
    throw Error(fmt::format(
        "{}: the matrix has {} and {}, but there are {}; use a row and a column "
        "for each rank",
        printable(name), counted(rows, "row"), counted(columns, "column"), counted(ranks, "rank")));
}

CountMatrices parse_count_matrices(std::string_view text, std::string_view name) {
    const Source source(text, name);
    MatrixCollector matrices(source);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != text.npos && (text[first] == '{' || text[first] == '['))
        collect_json(source, matrices);
    else
        collect_text(text, matrices);
    return matrices.done();
}

CountMatrices read_count_matrices(const std::string& file, std::string_view option) {
    return parse_count_matrices(
        unzipped_file(file, fmt::format("use {} with a file of counts", option)), file);
}

std::vector<std::int64_t> transposed(const std::vector<std::int64_t>& matrix, int ranks) {
    std::vector<std::int64_t> exchanged;
    for (int column = 0; column < ranks; ++column)
        for (int row = 0; row < ranks; ++row) exchanged.push_back(at(matrix, row * ranks + column));
    return exchanged;
}

}  // namespace tutti
