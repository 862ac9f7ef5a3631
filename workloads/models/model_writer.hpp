// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "workloads/models/model.hpp"

namespace tutti {

/// Parameters of one operation, in the order in which their gradients become ready.
using Layer = std::vector<int>;

/// Builds a model as a framework does: layers are *registered* in the order of the source
/// text, and *run* in the order of the forward pass. Gradients become ready against the latter.
class ModelWriter {
public:
    explicit ModelWriter(std::string name) { model_.name = std::move(name); }

    /// What is registered from here on belongs to the next unit.
    void next_unit() { ++unit_; }

    // Register a layer that works on `uses` positions of a sample (pixels, tokens).

    /// Rows that are looked up, which costs no arithmetic.
    Layer table(const std::string& name, std::int64_t rows, std::int64_t width);
    /// A matrix without bias.
    Layer projection(const std::string& name, std::int64_t from, std::int64_t to, double uses);
    /// With bias, which is ready first: the weight waits for its transposition.
    Layer linear(const std::string& name, std::int64_t from, std::int64_t to, double uses);
    /// Weight and bias.
    Layer norm(const std::string& name, std::int64_t width, double uses);
    /// A norm's weight alone (RMS norm).
    Layer scale(const std::string& name, std::int64_t width, double uses);
    /// As `norm`, and its statistics, which are broadcast: mean, variance and their count.
    Layer batch_norm(const std::string& name, std::int64_t width, double uses);
    /// Without bias.
    Layer convolution(const std::string& name, std::int64_t from, std::int64_t to,
                      std::int64_t kernel, double uses);
    /// With bias, which is ready after the weight.
    Layer biased_convolution(const std::string& name, std::int64_t from, std::int64_t to,
                             std::int64_t kernel, double uses);

    /// The forward pass comes through these, in this order; each layer once.
    void run(const std::vector<Layer>& layers);
    /// And now does this much work that has no parameters: in the backward pass the layer that was
    /// run last waits for it.
    void compute(double flops);

    /// Sets what a model has beside its parameters.
    Model& model() { return model_; }
    /// The model, after all registered layers were run.
    Model done() &&;

private:
    int add(const std::string& name, std::vector<std::int64_t> shape, double flops);

    Model model_;
    int unit_ = 0;
    std::vector<Layer> executed_;
};

}  // namespace tutti
