// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/traces/trace_forms.hpp"

namespace tutti {

int GradientTrace::recorded_ranks() const {
    int most = 0;
    for (const Iteration& one : iterations) most = std::max(most, one.rank);
    return most + 1;
}

namespace {

class Reader {
public:
    explicit Reader(const Fields& document) : document_(document) {}

    GradientTrace read() {
        try {
            trace_.type = type_of_trace(document_.text("dtype", "float32"));
        } catch (const Error& error) {
            document_.refuse(error.what());
        }
        read_order();
        read_parameters();
        read_buffers();
        for (const Fields& one : document_.objects("iterations")) read_iteration(one);
        if (trace_.iterations.empty()) read_medians();
        require_every_rank();
        read_buckets();
        return std::move(trace_);
    }

private:
    // Requires each number from 0 once.
    void read_order() {
        const auto listed = document_.numbers("ready_order");
        trace_.ready_order.assign(listed.begin(), listed.end());
        auto sorted = listed;
        std::ranges::sort(sorted);
        for (std::size_t i = 0; i < sorted.size(); ++i)
            if (sorted[i] != static_cast<std::int64_t>(i))
                document_.refuse("'ready_order' does not have each parameter once");
    }

    void read_parameters() {
        const auto listed = document_.objects("params");
        trace_.parameters.resize(listed.size());
        std::vector<char> is_read(listed.size());
        for (const Fields& one : listed) {
            const std::int64_t id = one.number("id");
            if (id < 0 || id >= static_cast<std::int64_t>(listed.size()) || is_read[id] != 0)
                one.refuse(fmt::format("parameter {} appears twice or is not below {}", id,
                                       listed.size()));
            is_read[id] = 1;
            Parameter& parameter = trace_.parameters[id];
            parameter.name = one.text("name");
            parameter.shape = one.has("shape") ? one.counts("shape")
                                               : std::vector<std::int64_t>{one.count("numel")};
            std::int64_t elements = 1;
            for (const std::int64_t rows : parameter.shape) {
                if (rows > 0 && elements > most_elements / rows)
                    one.refuse("'shape' has more than 2^40 elements");
                elements *= rows;
            }
            if (one.has("numel") && one.number("numel") != parameter.count())
                one.refuse(fmt::format("'numel' is {}, but the shape has {}", one.number("numel"),
                                       parameter.count()));
        }
        // Element counts only, in the ready order.
        const auto counts = document_.counts("ready_param_numel");
        if (listed.empty()) {
            if (counts.size() != trace_.ready_order.size())
                document_.refuse("'ready_order' and 'ready_param_numel' differ in length");
            trace_.parameters.resize(counts.size());
            for (std::size_t at = 0; at < counts.size(); ++at)
                trace_.parameters[trace_.ready_order[at]] = {
                    .name = fmt::format("parameter {}", trace_.ready_order[at]),
                    .shape = {counts[at]}};
        }
        if (trace_.parameters.empty()) document_.refuse("no parameters: 'params' is missing");
        if (trace_.ready_order.size() != trace_.parameters.size())
            document_.refuse(fmt::format("'ready_order' has {} of {} parameters",
                                         trace_.ready_order.size(), trace_.parameters.size()));
    }

    void read_buffers() {
        if (!document_.has("buffers_broadcast")) return;
        const auto* listed = document_.at("buffers_broadcast").list();
        if (!listed) document_.refuse("'buffers_broadcast' is not a list");
        for (const JsonValue& one : *listed) {
            if (const auto* count = one.whole_number()) {
                document_.require_count("buffers_broadcast", *count);
                trace_.buffers.push_back({Bytes{4}, *count});
            } else {
                const Fields fields = document_.child(one);
                const std::int64_t element = fields.number("elem_bytes", 4);
                if (element < 1 || element > 16) fields.refuse("'elem_bytes' is not from 1 to 16");
                trace_.buffers.push_back({Bytes{element}, fields.count("numel")});
            }
        }
    }

    void read_iteration(const Fields& one) {
        GradientTrace::Iteration iteration;
        const std::int64_t rank = one.number("rank", 0);
        if (rank < 0 || rank >= 1 << 20) one.refuse("'rank' is not a rank number");
        iteration.rank = static_cast<int>(rank);
        iteration.forward_ns = one.duration_ns("forward_us");
        iteration.ready_ns = one.durations_ns("ready_us");
        iteration.backward_ns = one.duration_ns("backward_us", one.duration_ns("backward_gpu_us"));
        iteration.optimizer_ns = one.duration_ns("optimizer_us");
        for (const Fields& call : one.objects("allreduce"))
            iteration.all_reduces.push_back(
                {call.count("numel"), call.duration_ns("start_us"), call.duration_ns("dur_us")});
        keep(one, std::move(iteration));
    }

    // Reads medians of many steps: a time for each parameter, and the times of the passes.
    void read_medians() {
        GradientTrace::Iteration iteration;
        iteration.ready_ns.resize(trace_.parameters.size());
        const auto listed = document_.objects("params");
        for (std::size_t at = 0; at < trace_.ready_order.size(); ++at) {
            const auto of = std::ranges::find_if(listed, [&](const Fields& one) {
                return one.number("id") == trace_.ready_order[at];
            });
            if (of == listed.end() || !of->has("ready_us"))
                document_.refuse("no times: neither 'iterations' nor 'ready_us' of the parameters");
            iteration.ready_ns[at] = of->duration_ns("ready_us");
        }
        if (document_.has("phases_us")) {
            const Fields phases = document_.object("phases_us");
            const char* without_sync = "nosync_hooked";
            const Fields passes = phases.has(without_sync) ? phases.object(without_sync) : phases;
            iteration.forward_ns = passes.duration_ns("forward");
            iteration.backward_ns = passes.duration_ns("backward");
            iteration.optimizer_ns = passes.duration_ns("optimizer");
        }
        keep(document_, std::move(iteration));
    }

    void keep(const Fields& of, GradientTrace::Iteration iteration) {
        if (iteration.ready_ns.size() != trace_.parameters.size())
            of.refuse(fmt::format("'ready_us' has {} times for {} parameters",
                                  iteration.ready_ns.size(), trace_.parameters.size()));
        trace_.iterations.push_back(std::move(iteration));
    }

    void require_every_rank() const {
        std::vector<char> is_there(trace_.recorded_ranks());
        for (const auto& one : trace_.iterations) is_there[one.rank] = 1;
        const auto missing = std::ranges::find(is_there, 0);
        if (missing != is_there.end())
            document_.refuse(fmt::format("rank {} has no iteration", missing - is_there.begin()));
    }

    void read_buckets() {
        std::vector<char> is_in(trace_.parameters.size());
        const auto listed = document_.objects("buckets");
        for (const Fields& one : listed) {
            Bucket bucket;
            for (const std::int64_t id : one.numbers("params")) {
                if (id < 0 || id >= static_cast<std::int64_t>(is_in.size()) || is_in[id] != 0)
                    one.refuse(fmt::format("parameter {} is unknown, or in two buckets", id));
                is_in[id] = 1;
                bucket.parameters.push_back(static_cast<int>(id));
                bucket.count += trace_.parameters[id].count();
            }
            if (one.number("numel", bucket.count) != bucket.count)
                one.refuse(fmt::format("'numel' is {}, but its parameters have {}",
                                       one.number("numel"), bucket.count));
            trace_.buckets.push_back(std::move(bucket));
        }
        if (!listed.empty() && std::ranges::count(is_in, 0) > 0)
            document_.refuse("a parameter is in no bucket");
        if (listed.empty()) cut_buckets();
    }

    // Buckets known by their sizes only: gradients in the ready order, cut at the recorded
    // all-reduces.
    void cut_buckets() {
        const auto& calls = trace_.iterations.front().all_reduces;
        std::size_t next = 0;
        for (const auto& call : calls) {
            Bucket bucket;
            while (bucket.count < call.count && next < trace_.ready_order.size()) {
                const int parameter = trace_.ready_order[next++];
                bucket.parameters.push_back(parameter);
                bucket.count += trace_.parameters[parameter].count();
            }
            if (bucket.count != call.count)
                document_.refuse(
                    fmt::format("an all-reduce of {} elements does not end where a parameter of "
                                "the ready order ends",
                                call.count));
            trace_.buckets.push_back(std::move(bucket));
        }
        if (!calls.empty() && next != trace_.ready_order.size())
            document_.refuse("the all-reduces do not cover all gradients");
    }

    const Fields& document_;
    GradientTrace trace_;
};

}  // namespace

GradientTrace gradients_of(const Fields& document) { return Reader(document).read(); }

}  // namespace tutti
