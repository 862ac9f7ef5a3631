// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/compressed_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/name_table.hpp"
#include "base/source.hpp"
#include "base/units.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

using Kind = Compression::Kind;

constexpr Named<Kind> kinds[] = {{Kind::none, "none"},
                                 {Kind::bf16, "bf16"},
                                 {Kind::fp16, "fp16"},
                                 {Kind::int8, "int8"},
                                 {Kind::topk, "topk"}};

[[noreturn]] void refuse(std::string_view text) {
    throw Error(fmt::format(
        "--compress {} is unknown; use none, bf16, fp16, int8, topk:1%, topk:1%:sampled", text));
}

// Returns the text before the first colon, and leaves the rest after it in `rest`.
std::string_view word_of(std::string_view& rest) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view word = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    return word;
}

}  // namespace

Compression parse_compression(std::string_view text) {
    std::string_view rest = text;
    const std::string_view word = word_of(rest);
    const auto* row = find_in(kinds, word);
    if (row == nullptr) refuse(text);
    Compression compression{.kind = row->value};
    if (compression.kind != Kind::topk) {
        if (word.size() != text.size()) refuse(text);
        return compression;
    }
    const std::string_view share = word_of(rest);
    try {
        compression.share = parse_fraction(share);
    } catch (const Error&) {
        refuse(text);
    }
    if (!(compression.share > 0) || compression.share > 1)
        throw Error(
            fmt::format("--compress {}: a share is above 0 and at most 100%, e.g. topk:1%", text));
    if (rest == "sampled")
        compression.search = ThresholdSearch::sampled;
    else if (!rest.empty())
        refuse(text);
    return compression;
}

std::string name_of(const Compression& compression) {
    std::string name(name_in(kinds, compression.kind));
    if (compression.kind == Kind::topk)
        name += fmt::format(":{:.6g}%{}", compression.share * 100,
                            compression.search == ThresholdSearch::sampled ? ":sampled" : "");
    return name;
}

std::vector<Compression> parse_compressions(std::string_view text) {
    std::vector<Compression> all;
    for (const std::string_view part : split(text, ',')) {
        const Compression one = parse_compression(part);
        if (one.kind != Kind::none && std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
    return all;
}

void CompressedUnderWay::make_progress() {
    std::size_t ahead = SIZE_MAX;
    for (CompressedAllReduce* one : all_) {
        one->advance(ahead);
        ahead = std::min(ahead, one->begun_);
    }
    std::erase_if(all_,
                  [](const CompressedAllReduce* one) { return one->done_ == one->inner_.size(); });
}

CompressedAllReduce::CompressedAllReduce(CompressedEnvironment& environment, const Call& call,
                                         const PooledBuffers& buffers)
    : call_(call), environment_(environment), buffers_(buffers) {
    environment_.under_way.all_.reserve(++environment_.under_way.exist_);
}

CompressedAllReduce::~CompressedAllReduce() {
    std::erase(environment_.under_way.all_, this);
    --environment_.under_way.exist_;
}

CompressedAllReduce::Inner CompressedAllReduce::inner(const CompressedEnvironment::Part& part,
                                                      const Call& call, bool in_place) {
    const BufferKind kind =
        buffers_.registered != nullptr ? BufferKind::registered : BufferKind::unregistered;
    Inner inner;
    inner.pool = std::make_unique<BufferPool>(
        *part.world, BufferPool::bytes_for(call, ranks(), in_place), std::span(&kind, 1));
    inner.buffers = inner.pool->buffers_for(call, in_place, kind);
    inner.operation = part.method->operation(call, inner.buffers);
    return inner;
}

void CompressedAllReduce::set_collectives(std::vector<Operation*> inner, double sent_bytes) {
    inner_ = std::move(inner);
    sent_bytes_ = sent_bytes;
    begun_ = done_ = inner_.size();
}

std::span<const float> CompressedAllReduce::input() const {
    return {reinterpret_cast<const float*>(buffers_.call.input.data()), as_size(call_.count)};
}

std::span<float> CompressedAllReduce::output() const {
    return {reinterpret_cast<float*>(buffers_.call.output.data()), as_size(call_.count)};
}

void CompressedAllReduce::start() {
    const double others = ranks() - 1;
    tally().plain_bytes += 2 * others / ranks() * 4 * static_cast<double>(call_.count);
    tally().sent_bytes += sent_bytes_;
    const std::int64_t began = now_ns();
    encode();
    tally().ns += now_ns() - began;
    begun_ = done_ = 0;
    environment_.under_way.all_.push_back(this);
    begin();
}

void CompressedAllReduce::begin() {
    // Counts before the start: a call that blocks in it may read the count to see its progress.
    Operation* next = inner_[begun_++];
    next->start();
}

// Progresses as far as possible. Starts its next collective only if the previous call has started
// as many.
void CompressedAllReduce::advance(std::size_t most_begun) {
    while (done_ < inner_.size()) {
        if (begun_ == done_) {
            if (begun_ >= most_begun) return;
            begin();
        }
        if (!inner_[done_]->test()) return;
        const std::int64_t began = now_ns();
        after_collective(done_);
        tally().ns += now_ns() - began;
        ++done_;
    }
}

bool CompressedAllReduce::test() {
    if (done_ < inner_.size()) environment_.under_way.make_progress();
    return done_ == inner_.size();
}

void CompressedAllReduce::wait() {
    if (!ends_in_time(*environment_.first.world, *this)) throw Error(hang_report(), Exit::time_out);
}

std::string CompressedAllReduce::hang_report() const {
    const std::size_t index = std::min(done_, inner_.size() - 1);
    return inner_[index]->hang_report() + ", of a compressed all-reduce";
}

}  // namespace tutti
