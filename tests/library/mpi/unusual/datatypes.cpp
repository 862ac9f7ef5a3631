// SPDX-License-Identifier: Apache-2.0
// Datatypes, operations and special arguments.
#include <complex>
#include <cstdint>

#include "scenarios.hpp"

namespace {

// Commits a datatype and frees it at the end of the block.
class Type {
public:
    explicit Type(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
    ~Type() { MPI_Type_free(&type_); }
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;
    operator MPI_Datatype() const { return type_; }

private:
    MPI_Datatype type_;
};

MPI_Datatype vector_of_integers(int count, int stride) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, stride, MPI_INT, &made);
    return made;
}
MPI_Datatype resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(old, lower, extent, &made);
    return made;
}

// Products of 2 x 2 matrices do not commute. add() is a sum of integers, as MPI_SUM.
struct Matrix {
    std::int64_t a, b, c, d;
    friend bool operator==(const Matrix&, const Matrix&) = default;
};
Matrix product(const Matrix& x, const Matrix& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
            x.c * y.b + x.d * y.d};
}
void multiply(void* left, void* right, int* count, MPI_Datatype*) {
    const auto* const x = static_cast<const Matrix*>(left);
    auto* const y = static_cast<Matrix*>(right);
    for (int i = 0; i < *count; ++i) y[i] = product(x[i], y[i]);
}
void add(void* left, void* right, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(right)[i] += static_cast<int*>(left)[i];
}
Matrix matrix_of(int rank, int i) { return {1, rank + i % 5, rank % 2, 1 + i % 2}; }

void use_own_operations(const Job& world) {
    MPI_Datatype row = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_INT64_T, &row);
    const Type type(row);
    MPI_Op by_matrices = MPI_OP_NULL, sum = MPI_OP_NULL;
    MPI_Op_create(multiply, 0, &by_matrices);
    MPI_Op_create(add, 1, &sum);
    for (int i = 0; i < many_calls; ++i) {
        const Matrix mine = matrix_of(world.rank, i);
        Matrix up_to_here = matrix_of(0, i), all = up_to_here, result{};
        for (int r = 1; r < world.size; ++r) {
            all = product(all, matrix_of(r, i));
            if (r == world.rank) up_to_here = all;
        }
        MPI_Allreduce(&mine, &result, 1, type, by_matrices, world.comm);
        EXPECT(result == all);
        MPI_Scan(&mine, &result, 1, type, by_matrices, world.comm);
        EXPECT(result == up_to_here);
        MPI_Reduce(&mine, &result, 1, type, by_matrices, i % world.size, world.comm);
        EXPECT(world.rank != i % world.size || result == all);
        int total = 0;
        MPI_Allreduce(&world.rank, &total, 1, MPI_INT, sum, world.comm);
        EXPECT(total == sum_of_ranks(world.size));
        check_sum(world, i);
    }
    MPI_Op_free(&sum);
    MPI_Op_free(&by_matrices);
}

// The MPI library reuses the handle of a freed operation for another one.
void reuse_operations(const Job& world) {
    for (int i = 0; i < many_calls; ++i) {
        const auto most = [](void* left, void* right, int* count, MPI_Datatype*) {
            for (int j = 0; j < *count; ++j)
                static_cast<int*>(right)[j] =
                    std::max(static_cast<int*>(left)[j], static_cast<int*>(right)[j]);
        };
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create(i % 2 == 0 ? add : +most, 1, &op);
        const int mine = world.rank + i;
        int result = 0;
        MPI_Allreduce(&mine, &result, 1, MPI_INT, op, world.comm);
        EXPECT(result ==
               (i % 2 == 0 ? sum_of_ranks(world.size) + world.size * i : world.size - 1 + i));
        MPI_Op_free(&op);
        MPI_Allreduce(&mine, &result, 1, MPI_INT, i % 2 == 0 ? MPI_MAX : MPI_SUM, world.comm);
        EXPECT(result ==
               (i % 2 == 0 ? world.size - 1 + i : sum_of_ranks(world.size) + world.size * i));
    }
}

void use_all_builtin_operations(const Job& world) {
    struct Pair {
        double value;
        int place;
    };
    for (int i = 0; i < many_calls; ++i) {
        const Pair mine{static_cast<double>((world.rank + i) % world.size), world.rank};
        Pair least{}, most{};
        MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, world.comm);
        MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, world.comm);
        EXPECT(least.value == 0 && (least.place + i) % world.size == 0);
        EXPECT(most.value == world.size - 1 && (most.place + i) % world.size == world.size - 1);
        const unsigned bit = 1U << world.rank;
        unsigned all = 0;
        MPI_Allreduce(&bit, &all, 1, MPI_UNSIGNED, MPI_BOR, world.comm);
        EXPECT(all == (1U << world.size) - 1);
        MPI_Allreduce(&bit, &all, 1, MPI_UNSIGNED, MPI_BXOR, world.comm);
        EXPECT(all == (1U << world.size) - 1);
        const int is_first = world.rank == 0 ? 1 : 0;
        int any = -1, every = -1;
        MPI_Allreduce(&is_first, &any, 1, MPI_INT, MPI_LOR, world.comm);
        MPI_Allreduce(&is_first, &every, 1, MPI_INT, MPI_LAND, world.comm);
        EXPECT(any == 1 && every == 0);
        const long double wide = world.rank + i;
        long double wide_sum = -1;
        MPI_Allreduce(&wide, &wide_sum, 1, MPI_LONG_DOUBLE, MPI_SUM, world.comm);
        EXPECT(wide_sum == sum_of_ranks(world.size) + world.size * i);
        const std::complex<double> z(1, world.rank);
        std::complex<double> z_sum, z_product;
        MPI_Allreduce(&z, &z_sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, world.comm);
        MPI_Allreduce(&z, &z_product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, world.comm);
        std::complex<double> expected(1, 0);
        for (int r = 1; r < world.size; ++r) expected *= std::complex<double>(1, r);
        EXPECT(z_sum == std::complex<double>(world.size, sum_of_ranks(world.size)));
        EXPECT(z_product == expected);
    }
}

// Sends the integers 0, 2, 4, ... of an array, or the same from its end to its start.
void send_types_with_holes(const Job& world, int stride) {
    constexpr int count = 40;
    const Type type(resized(vector_of_integers(count, stride), 0, 2 * count * sizeof(int)));
    const int room = 2 * count * (world.size + 1);
    std::vector<int> send(static_cast<std::size_t>(room)), receive(send.size());
    // Negative strides go down from the end of a block.
    const int start = stride < 0 ? 2 * (count - 1) : 0;
    const auto place = [&](int block, int i) {
        return static_cast<std::size_t>(start + 2 * count * block + stride * i);
    };
    for (int block = 0; block < world.size; ++block)
        for (int i = 0; i < count; ++i)
            send[place(block, i)] = given(world.rank, block * count + i);
    int* const from = send.data() + start;
    int* const to = receive.data() + start;
    const auto is_right = [&](int blocks, auto expected) {
        int others = 0;
        for (const int value : receive) others += value != -1 ? 1 : 0;
        for (int block = 0; block < blocks; ++block)
            for (int i = 0; i < count; ++i)
                if (receive[place(block, i)] != expected(block, i)) return false;
        return others == blocks * count;  // holes are not written
    };
    for (int i = 0; i < many_calls; ++i) {
        const int root = i % world.size;
        const bool is_root = world.rank == root;
        std::ranges::fill(receive, -1);
        MPI_Allgather(from, 1, type, to, 1, type, world.comm);
        EXPECT(is_right(world.size, [&](int block, int j) { return given(block, j); }));
        std::ranges::fill(receive, -1);
        MPI_Alltoall(from, 1, type, to, 1, type, world.comm);
        EXPECT(is_right(world.size,
                        [&](int block, int j) { return given(block, world.rank * count + j); }));
        std::ranges::fill(receive, -1);
        MPI_Gather(from, 1, type, to, 1, type, root, world.comm);
        EXPECT(!is_root || is_right(world.size, [&](int block, int j) { return given(block, j); }));
        std::ranges::fill(receive, -1);
        MPI_Scatter(from, 1, type, to, 1, type, root, world.comm);
        EXPECT(is_right(1, [&](int, int j) { return given(root, world.rank * count + j); }));
        std::ranges::fill(receive, -1);
        MPI_Bcast(is_root ? from : to, 1, type, root, world.comm);
        EXPECT(is_root || is_right(1, [&](int, int j) { return given(root, j); }));
    }
}
void use_holes(const Job& world) { send_types_with_holes(world, 2); }
void use_negative_strides(const Job& world) { send_types_with_holes(world, -2); }

// Frees a type after its call. The MPI library reuses its handle for a type with another layout.
void reuse_types(const Job& world) {
    std::vector<int> data(300);
    for (int i = 0; i < 2 * many_calls; ++i) {
        const int stride = i % 3 + 1, count = 20 + i % 7;
        std::ranges::fill(data, -1);
        MPI_Datatype type = vector_of_integers(count, stride);
        MPI_Type_commit(&type);
        if (world.rank == 0)
            for (int j = 0; j < count; ++j) data[static_cast<std::size_t>(stride * j)] = i + j;
        MPI_Bcast(data.data(), 1, type, 0, world.comm);
        MPI_Type_free(&type);
        bool is_right = true;
        for (int j = 0; j < count * stride; ++j)
            is_right = is_right && (data[static_cast<std::size_t>(j)] ==
                                    (j % stride == 0 ? i + j / stride : -1));
        EXPECT(is_right);
    }
}

// Broadcasts data that MPI_Pack has packed.
void send_packed(const Job& world) {
    std::vector<char> packed(1000);
    for (int i = 0; i < many_calls; ++i) {
        const int root = i % world.size;
        int length = 0, number = world.rank + i;
        double values[20];
        std::ranges::fill(values, 0.25 * (world.rank + i));
        if (world.rank == root) {
            MPI_Pack(&number, 1, MPI_INT, packed.data(), 1000, &length, world.comm);
            MPI_Pack(values, 20, MPI_DOUBLE, packed.data(), 1000, &length, world.comm);
        }
        MPI_Bcast(&length, 1, MPI_INT, root, world.comm);
        MPI_Bcast(packed.data(), length, MPI_PACKED, root, world.comm);
        int place = 0;
        MPI_Unpack(packed.data(), length, &place, &number, 1, MPI_INT, world.comm);
        MPI_Unpack(packed.data(), length, &place, values, 20, MPI_DOUBLE, world.comm);
        EXPECT(number == root + i && values[19] == 0.25 * (root + i) && place == length);
    }
}

void send_nothing(const Job& world) {
    const std::vector<int> zeros(static_cast<std::size_t>(world.size), 0);
    const int* const none = zeros.data();
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &made);
    const Type empty(made);
    MPI_Comm const comm = world.comm;
    for (int i = 0; i < many_calls; ++i) {
        MPI_Bcast(nullptr, 0, MPI_INT, 0, comm);
        MPI_Bcast(nullptr, 3, empty, 0, comm);
        MPI_Allreduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, comm);
        MPI_Reduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, 0, comm);
        MPI_Allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, comm);
        MPI_Gather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 0, comm);
        MPI_Scatter(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 0, comm);
        MPI_Alltoall(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, comm);
        MPI_Allgatherv(nullptr, 0, MPI_INT, nullptr, none, none, MPI_INT, comm);
        MPI_Gatherv(nullptr, 0, MPI_INT, nullptr, none, none, MPI_INT, 0, comm);
        MPI_Scatterv(nullptr, none, none, MPI_INT, nullptr, 0, MPI_INT, 0, comm);
        // MPICH reports two null pointers here as overlapping buffers.
        MPI_Alltoallv(nullptr, none, none, MPI_INT, &i, none, none, MPI_INT, comm);
        MPI_Scan(nullptr, nullptr, 0, MPI_INT, MPI_SUM, comm);
        check_sum(world, i);
    }
}

const Scenarios scenarios(
    {{"own_operations", "user-defined operations, commutative and not", use_own_operations},
     {"operations_again", "the MPI library reuses handles of freed operations", reuse_operations},
     {"all_operations", "MINLOC, bitwise and logical operations, long double, complex",
      use_all_builtin_operations},
     {"holes", "datatypes with holes, which must not be written", use_holes},
     {"negative_strides", "datatypes with negative strides", use_negative_strides},
     {"types_again", "the MPI library reuses handles of freed datatypes", reuse_types},
     {"packed", "ranks broadcast data that MPI_Pack has packed", send_packed},
     {"nothing", "calls without elements, with null pointers as buffers", send_nothing}});

}  // namespace
