// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/index.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr const char* forms_read =
    "what is read is gradtrace/1 as scripts/record_ddp writes it (JSON or JSON Lines), and PARAM "
    "or Chakra traces as JSON, a file for each rank";

std::string content_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream)
        throw Error(fmt::format("{}: cannot be read; use --file TRACE.jsonl", file.string()));
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns the last number in a name, which is the rank of a file in a folder.
int rank_in(const fs::path& file) {
    const std::string name = file.stem().string();
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto end = std::find_if(name.rbegin(), name.rend(), is_digit).base();
    auto begin = end;
    while (begin != name.begin() && is_digit(*(begin - 1))) --begin;
    int rank = -1;
    std::from_chars(name.data() + (begin - name.begin()), name.data() + (end - name.begin()), rank);
    return rank;
}

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    std::ranges::sort(files, {}, rank_in);
    for (std::size_t i = 0; i < files.size(); ++i)
        if (rank_in(files[i]) != static_cast<int>(i))
            throw Error(fmt::format(
                "{}: the files of ranks are named 0.json, 1.json, ... or *rank0.json, ...; "
                "rank {} is missing or there twice",
                folder.string(), i));
    if (files.empty())
        throw Error(fmt::format("{}: has no *.json; use --file TRACE.jsonl", folder.string()));
    return files;
}

std::vector<fs::path> files_of(const std::string& typed) {
    if (typed.empty())
        throw Error("which trace? type --file TRACE.jsonl; scripts/record_ddp records one");
    if (fs::is_directory(typed)) return files_in(typed);
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

JsonValue document_of(const fs::path& file, const Source& source) {
    std::string text = content_of(file);
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a mark that some editors leave
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || (text[begin] != '{' && text[begin] != '['))
        throw Error(fmt::format("{}: no trace: {}", file.string(), forms_read));
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
        throw Error(files.front().source.name() + ": the trace has no calls");
    trace.world = int_size(ranks);
    return trace;
}

}  // namespace

Trace read_trace(const std::string& typed) {
    std::vector<RankFile> files;
    for (const fs::path& file : files_of(typed)) {
        const Source source("", file.string());
        files.push_back({source, document_of(file, source)});
    }
    const auto is_param = [](const RankFile& file) { return file.document.list() != nullptr; };
    const auto is_chakra = [](const RankFile& file) {
        return file.document.find("nodes") != nullptr;
    };
    const std::string name = fs::path(files.front().source.name()).stem().string();
    if (std::ranges::all_of(files, is_param)) return imported("param-" + name, files, ops_of_param);
    if (std::ranges::all_of(files, is_chakra))
        return imported("chakra-" + name, files, ops_of_chakra);
    if (files.size() > 1)
        throw Error(
            fmt::format("{}: only PARAM and Chakra traces have a file for each rank; use "
                        "--file with one file",
                        files[1].source.name()));
    return ours(files.front());
}

}  // namespace tutti
