// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cast.cuh"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch.cuh"

namespace tutti::device {

struct CastArguments {
    std::byte* narrow;
    std::byte* floats;
    std::int64_t count;
};

template <class Narrow, Direction direction>
__global__ void __launch_bounds__(block_threads, 4) cast_kernel(CastArguments a) {
    cast<Narrow, direction, Access::streamed>(a.narrow, a.floats, a.count, grid_thread(),
                                              grid_threads());
}

namespace {

template <Direction direction>
void (*kernel_of(DataType type))(CastArguments) {
    switch (type) {
        case DataType::half:
            return cast_kernel<Half, direction>;
        case DataType::bfloat16:
            return cast_kernel<BFloat16, direction>;
        case DataType::fp8_e4m3:
            return cast_kernel<Fp8E4M3, direction>;
        case DataType::fp8_e5m2:
            return cast_kernel<Fp8E5M2, direction>;
        default:
            throw Error("floats are cast to half, bfloat16, fp8_e4m3 or fp8_e5m2, not " +
                        std::string(name_of(type)));
    }
}

}  // namespace

// The side that is only read is not written through its non-const pointer.
void cast_from_float(DataType type, std::byte* to, const float* from, std::int64_t count,
                     Stream stream, int waves) {
    auto* const floats = reinterpret_cast<std::byte*>(const_cast<float*>(from));
    launch(kernel_of<Direction::narrow>(type), CastArguments{to, floats, count},
           count * static_cast<std::int64_t>(size_of(type)), waves, stream);
}

void cast_to_float(DataType type, float* to, const std::byte* from, std::int64_t count,
                   Stream stream, int waves) {
    launch(kernel_of<Direction::widen>(type),
           CastArguments{const_cast<std::byte*>(from), reinterpret_cast<std::byte*>(to), count},
           count * static_cast<std::int64_t>(size_of(type)), waves, stream);
}

}  // namespace tutti::device
