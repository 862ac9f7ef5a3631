// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/codecs.hpp"
#include "workloads/compress/compressed_all_reduce.hpp"

namespace tutti {
namespace {

// The same all-reduce of elements half as wide: half the bytes.
template <class Element>
class CastAllReduce final : public CompressedAllReduce {
public:
    CastAllReduce(CompressedEnvironment& environment, const Call& call,
                  const PooledBuffers& buffers, const Call& narrow)
        : CompressedAllReduce(environment, call, buffers),
          all_reduce_(inner(environment.first, narrow, true)) {
        runs({all_reduce_.operation.get()},
             2.0 * (ranks() - 1) / ranks() * sizeof(Element) * static_cast<double>(call.count));
    }

private:
    std::span<Element> elements() const {
        return {reinterpret_cast<Element*>(all_reduce_.buffers.call.output.data()),
                static_cast<std::size_t>(call_.count)};
    }
    void encode() override { tutti::encode(input(), elements()); }
    void took(std::size_t) override { decode(std::span<const Element>(elements()), output()); }

    Inner all_reduce_;
};

}  // namespace

std::unique_ptr<Operation> cast_all_reduce(CompressedEnvironment& environment, const Call& call,
                                           const PooledBuffers& buffers, DataType type) {
    Call narrow = call;
    narrow.type = type;
    if (type == DataType::half)
        return std::make_unique<CastAllReduce<Half>>(environment, call, buffers, narrow);
    return std::make_unique<CastAllReduce<BFloat16>>(environment, call, buffers, narrow);
}

}  // namespace tutti
