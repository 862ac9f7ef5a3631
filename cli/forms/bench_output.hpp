// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>

#include "cli/options/bench_options.hpp"
#include "results/records/reader.hpp"
#include "results/tables/text_table.hpp"

namespace tutti {

/// How a sweep is told on stdout: as tutti's table, or as another suite would print it. All calls
/// are made by the rank that prints, in this order; they return whole lines.
class BenchOutput {
public:
    virtual ~BenchOutput() = default;

    /// Before anything is timed; so many candidates take part. Throws Error for a file that cannot
    /// be written.
    virtual std::string begin(const Launch& launch, std::span<const std::string> notes,
                              std::size_t candidates) = 0;
    /// The points of one size, in the order of SweepEvents::after_point, with their samples.
    virtual std::string rows(std::span<const Point> points) = 0;
    /// `all` has each point once, over all launches; `launches` has the points of each launch.
    virtual std::string end(std::span<const Point> all, const Results& launches) = 0;
    /// Whether it shows how near points come to what the machine allows.
    virtual bool shows_limits() const { return false; }
    /// After end(): what else than a wrong result makes the command fail.
    virtual Exit code() const { return Exit::ok; }
};

/// What --like asks for. Throws Error for what cannot be printed so; writes nothing yet.
std::unique_ptr<BenchOutput> make_output(const BenchOptions& options, TableColumns columns = {});

/// The rows of records: as rows() gives them call by call.
std::string rows_of_records(BenchOutput& output, std::span<const Point> points);

/// How many take part in a sweep of such records.
std::size_t candidates_of(std::span<const Point> points);

// The forms, a file each. `details` are the words behind the form's name.
std::unique_ptr<BenchOutput> own_output(const BenchOptions& options, TableColumns columns);
std::unique_ptr<BenchOutput> output_like_nccl_tests(const BenchOptions& options,
                                                    std::span<const std::string> details);
std::unique_ptr<BenchOutput> output_like_osu(const BenchOptions& options,
                                             std::span<const std::string> details);

}  // namespace tutti
