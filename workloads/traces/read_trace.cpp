// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr const char* forms_read =
    "what is read is gradtrace/1 as scripts/record_ddp writes it (JSON or JSON Lines), and traces "
    "of PARAM, PyTorch (execution trace, profiler, flight recorder) and Chakra, a file for each "
    "rank";

constexpr std::string_view endings_in_folders[] = {".json", ".json.gz", ".et", ".et.gz"};

std::string content_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream)
        throw Error(fmt::format("{}: cannot be read; use --file TRACE.jsonl", file.string()));
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns the numbers in a name, in order; one after "rank" comes last.
std::vector<std::int64_t> numbers_in_name(const fs::path& file) {
    const std::string name = file.filename().string();
    std::vector<std::int64_t> numbers;
    std::optional<std::int64_t> after_rank;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t at = 0; at < name.size(); ++at) {
        if (!is_digit(name[at])) continue;
        std::size_t end = at;
        while (end < name.size() && is_digit(name[end])) ++end;
        const std::string_view before = std::string_view(name).substr(0, at);
        const auto number = decimal_number(std::string_view(name).substr(at, end - at));
        at = end;
        if (!number) continue;
        numbers.push_back(*number);
        const std::size_t word = before.find_last_not_of("_-=.");
        if (word != before.npos && before.substr(0, word + 1).ends_with("rank"))
            after_rank = *number;
    }
    if (after_rank) numbers.push_back(*after_rank);
    return numbers;
}

bool is_of_folder(const fs::path& file) {
    const std::string name = file.filename().string();
    return !name.starts_with('.') &&  // such as "._0.json" of macOS
           std::ranges::any_of(endings_in_folders,
                               [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (is_of_folder(entry.path())) files.push_back(entry.path());
    std::ranges::sort(files);
    if (files.empty())
        throw Error(fmt::format("{}: has no *.json, *.et or *.gz; use --file TRACE.jsonl",
                                folder.string()));
    return files;
}

std::vector<fs::path> files_of(const std::string& typed) {
    if (typed.empty())
        throw Error("which trace? type --file TRACE.jsonl; scripts/record_ddp records one");
    if (fs::exists(typed)) return {typed};
    std::vector<fs::path> files;
    for (std::size_t at = 0; at <= typed.size();) {
        const std::size_t end = std::min(typed.find(',', at), typed.size());
        files.emplace_back(typed.substr(at, end - at));
        at = end + 1;
    }
    return files;
}

// The list of the document that receives the lines of each name.
const std::map<std::string, const char*> list_of = {
    {"parameter", "params"}, {"bucket", "buckets"},       {"buffer", "buffers_broadcast"},
    {"group", "groups"},     {"iteration", "iterations"}, {"op", "ops"},
};

// Returns a field of the object, as an empty list if there was none.
JsonValue& field_of(JsonValue& object, std::string_view name) {
    auto& fields = std::get<JsonValue::Object>(object.value);
    for (JsonField& field : fields)
        if (field.name == name) return field.value;
    return fields.emplace_back(JsonField{std::string(name), {object.line, JsonValue::List{}}})
        .value;
}

// Joins a trace of JSON Lines to the one document that it was cut from. Throws Error for an invalid
// line, and if the end line is missing.
JsonValue joined_lines(std::string_view text, const Source& source) {
    constexpr const char* cut_off = "cut off: no end line follows; record or copy the trace again";
    const auto parsed = [&](std::string_view line, int number) {
        try {
            return parse_json(line, source, number);
        } catch (const NotJson&) {
            if (text.empty()) source.fail(number, cut_off);  // torn in the last line
            throw;
        }
    };
    JsonValue document;
    int number = 0;
    bool is_over = false;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        JsonValue json = parsed(line, number);
        if (number == 1) {
            document = std::move(json);
            continue;
        }
        const Fields fields(json, source);
        const std::string name = fields.text("line");
        if (is_over) fields.refuse("nothing follows the end line");
        if (name == "end") {
            if (fields.number("lines") != number)
                fields.refuse(fmt::format("lines are missing: this is line {} of what were {}",
                                          number, fields.number("lines")));
            is_over = true;
            continue;
        }
        const auto list = list_of.find(name);
        if (list == list_of.end())
            fields.refuse(
                fmt::format("'line' is '{}', which is none of parameter, bucket, buffer, "
                            "group, iteration, op, end",
                            name));
        JsonValue& items = field_of(document, list->second);
        if (!items.list()) fields.refuse("the first line has no place for it");
        std::get<JsonValue::List>(items.value).push_back(std::move(json));
    }
    if (!is_over) source.fail(number, cut_off);
    return document;
}

bool is_in_lines(std::string_view text, const Source& source) {
    try {
        const JsonValue head = parse_json(text.substr(0, text.find('\n')), source, 1);
        const JsonValue* form = head.find("form");
        return form && form->text() && *form->text() == "lines";
    } catch (const Error&) {
        return false;  // the document continues in the next line
    }
}

// Names formats that hold no calls to replay, and what to do instead.
const char* advice_for(std::string_view text) {
    if (text.starts_with("SQLite format 3"))
        return "an SQLite database; Nsight Systems records no sizes of calls, so use a trace of "
               "PyTorch's profiler";
    if (text.starts_with("\x80"))
        return "a pickle; write it as JSON: python3 -c \"import json, pickle, sys; "
               "json.dump(pickle.load(open(sys.argv[1], 'rb')), sys.stdout)\" FILE > 0.json";
    return nullptr;
}

// Counts the kernels of collectives in a table of Nsight Systems, which has no sizes.
void refuse_table_of_kernels(std::string_view text, const fs::path& file) {
    const std::string_view head = text.substr(0, text.find('\n'));
    if (head.find("Duration") == head.npos || head.find("Name") == head.npos) return;
    int kernels = 0;
    for (const std::string_view line : split(text, '\n'))
        kernels += line.find("ncclDevKernel") != line.npos || line.find("ncclKernel") != line.npos;
    throw Error(
        fmt::format("{}: a table of Nsight Systems with {} kernels of collectives, but "
                    "without their sizes; use a trace of PyTorch's profiler",
                    file.string(), kernels));
}

JsonValue document_of(const fs::path& file, const Source& source) {
    std::string text = content_of(file);
    if (text.starts_with("\x1f\x8b")) text = unzipped(text, source);
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a mark that some editors leave
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || (text[begin] != '{' && text[begin] != '[')) {
        const std::string name = file.filename().string();
        if (name.ends_with(".et") || name.ends_with(".et.gz"))
            return chakra_messages_in(text, source);
        if (const char* advice = advice_for(text))
            throw Error(fmt::format("{}: {}", file.string(), advice));
        refuse_table_of_kernels(text, file);
        throw Error(fmt::format("{}: no trace: {}", file.string(), forms_read));
    }
    return is_in_lines(text, source) ? joined_lines(text, source) : parse_json(text, source, 1);
}

void read_origin(const Fields& document, Trace& trace) {
    const auto text = [&](const char* name) { return printable(document.text(name)); };
    trace.model = text("model");
    if (trace.model.empty()) document.refuse("'model' is missing");
    trace.source = text(document.has("source") ? "source" : "data");
    trace.licence = text("licence");
    trace.device = text("device");
    trace.framework = text("framework");
    trace.note = text("note");
    trace.world = static_cast<int>(document.number("world", 0));
}

Trace ours(const RankFile& file) {
    const Fields document(file.document, file.source);
    if (document.text("schema") != trace_schema)
        document.refuse(fmt::format("no trace: 'schema' is not {}; {}", trace_schema, forms_read));
    Trace trace;
    read_origin(document, trace);
    const std::string kind = document.text("kind", "gradients");
    if (kind == "gradients")
        trace.what = gradients_of(document);
    else if (kind == "ops")
        trace.what = ops_of(document);
    else if (kind == "comms")
        trace.what = comms_of(document);
    else
        document.refuse(fmt::format("kind '{}' is not one of gradients, ops", kind));
    return trace;
}

Trace imported(std::string name, const std::vector<RankFile>& files,
               OpsTrace (*import)(const std::vector<RankFile>&, std::string&)) {
    Trace trace;
    trace.model = std::move(name);
    trace.what = import(files, trace.note);
    const auto& ranks = std::get<OpsTrace>(trace.what).ranks;
    if (std::ranges::all_of(ranks, [](const auto& rank) { return rank.empty(); }))
        throw Error(fmt::format("{}: the trace has no calls{}", files.front().source.name(),
                                trace.note.empty() ? "" : "; " + trace.note));
    trace.world = int_size(ranks);
    return trace;
}

// A form of traces that has a file for each rank.
struct Form {
    std::string_view name;  // begins the name of the trace
    bool (*fits)(const JsonValue& document);
    OpsTrace (*import)(const std::vector<RankFile>& files, std::string& note);
    std::optional<std::int64_t> (*rank)(const RankFile& file);  // by its content
};

bool is_list_of_entries(const JsonValue& document) {
    if (!document.list()) return false;
    return document.list()->empty() || document.list()->front().find("comms") ||
           document.list()->front().find("compute");
}

std::optional<std::int64_t> rank_in_profile(const RankFile& file) {
    const JsonValue* const info = file.document.find("distributedInfo");
    const JsonValue* const rank = info ? info->find("rank") : nullptr;
    return rank && rank->whole_number() ? std::optional(*rank->whole_number()) : std::nullopt;
}

std::optional<std::int64_t> no_rank(const RankFile&) { return std::nullopt; }

const Form forms[] = {
    {"param", is_list_of_entries, ops_of_param, no_rank},
    {"chakra", [](const JsonValue& one) { return one.find("nodes") != nullptr; }, ops_of_chakra,
     rank_in_execution_trace},
    {"chakra", [](const JsonValue& one) { return one.find("messages") != nullptr; },
     ops_of_messages, no_rank},
    {"profile", [](const JsonValue& one) { return one.find("traceEvents") != nullptr; },
     ops_of_profiler, rank_in_profile},
    {"flight-recorder", [](const JsonValue& one) { return one.find("entries") != nullptr; },
     ops_of_flight_recorder, no_rank},
};

const Form* form_of(const RankFile& file) {
    const auto* const form =
        std::ranges::find_if(forms, [&](const Form& one) { return one.fits(file.document); });
    return form == std::end(forms) ? nullptr : form;
}

// Sorts the files of a folder by rank: by their content, or else by a number in their names.
void sort_by_rank(std::vector<RankFile>& files, const Form& form, const std::string& folder) {
    std::vector<std::vector<std::int64_t>>
        numbers;  // the numbers of a file; the best one is the last
    std::size_t least = SIZE_MAX;
    for (const RankFile& file : files) {
        numbers.push_back(numbers_in_name(file.source.name()));
        if (const auto rank = form.rank(file)) numbers.back().push_back(*rank);
        least = std::min(least, numbers.back().size());
    }
    const auto by = [&](std::size_t from_end) {
        std::vector<std::size_t> order(files.size(), files.size());
        for (std::size_t i = 0; i < files.size(); ++i) {
            const std::int64_t rank = numbers[i][numbers[i].size() - 1 - from_end];
            if (rank >= 0 && rank < static_cast<std::int64_t>(files.size()))
                order[static_cast<std::size_t>(rank)] = i;
        }
        return order;
    };
    std::vector<std::size_t> last;
    for (std::size_t from_end = 0; from_end < least; ++from_end) {
        const std::vector<std::size_t> order = by(from_end);
        if (from_end == 0) last = order;
        if (std::ranges::find(order, files.size()) != order.end()) continue;
        std::vector<RankFile> sorted;
        for (const std::size_t i : order) sorted.push_back(std::move(files[i]));
        files = std::move(sorted);
        return;
    }
    if (files.size() == 1) return;
    const auto missing = std::ranges::find(last, files.size()) - last.begin();
    throw Error(fmt::format(
        "{}: the files of ranks are named 0.json, 1.json, ... or *rank0.json, ...; rank {} is "
        "missing or there twice",
        folder, missing));
}

// Reads the files of a folder; leaves out those that hold something else.
std::vector<RankFile> files_of_ranks(const std::string& folder, std::string& note) {
    std::vector<RankFile> files;
    int foreign = 0;
    const Form* form = nullptr;
    for (const fs::path& path : files_in(folder)) {
        const Source source("", path.string());
        RankFile file{source, document_of(path, source)};
        const Form* const own = form_of(file);
        const JsonValue* const schema = file.document.find("schema");
        const bool is_ours = schema && schema->text() && *schema->text() == trace_schema;
        if (own == nullptr && !is_ours) {
            ++foreign;
            continue;
        }
        if (!files.empty() && own != form)
            throw Error(
                fmt::format("{}: holds traces of another kind than {}; use a folder for "
                            "each kind",
                            path.string(), files.front().source.name()));
        form = own;
        files.push_back(std::move(file));
    }
    if (files.empty())
        throw Error(fmt::format("{}: {} files are no traces: {}", folder, foreign, forms_read));
    if (foreign > 0) note = fmt::format("left out: {} files that are no traces", foreign);
    if (form != nullptr) sort_by_rank(files, *form, folder);
    return files;
}

}  // namespace

Trace read_trace(const std::string& typed) {
    std::vector<RankFile> files;
    std::string note;
    if (fs::is_directory(typed)) {
        files = files_of_ranks(typed, note);
    } else {
        for (const fs::path& file : files_of(typed)) {
            const Source source("", file.string());
            files.push_back({source, document_of(file, source)});
        }
    }
    const Form* const form = form_of(files.front());
    const bool are_alike =
        std::ranges::all_of(files, [&](const RankFile& file) { return form_of(file) == form; });
    if (form != nullptr && are_alike) {
        const std::string name = fs::path(files.front().source.name()).stem().string();
        Trace trace = imported(fmt::format("{}-{}", form->name, name), files, form->import);
        add_note(trace.note, note);
        return trace;
    }
    if (files.size() > 1)
        throw Error(
            fmt::format("{}: only traces of PARAM, PyTorch and Chakra have a file for each "
                        "rank, all of one kind; use --file with one file",
                        files[1].source.name()));
    return ours(files.front());
}

}  // namespace tutti
