// SPDX-License-Identifier: Apache-2.0
// Communicator attributes whose copy and delete functions call MPI.
#include "scenarios.hpp"

namespace {

int deletions = 0, copies = 0;
MPI_Comm parent = MPI_COMM_NULL;

// Creates a key for an attribute, and frees it at the end of the scenario.
class Key {
public:
    explicit Key(MPI_Comm_delete_attr_function* deletes,
                 MPI_Comm_copy_attr_function* copy = MPI_COMM_NULL_COPY_FN, void* state = nullptr) {
        deletions = copies = 0;
        MPI_Comm_create_keyval(copy, deletes, &key_, state);
    }
    ~Key() { MPI_Comm_free_keyval(&key_); }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;
    void set(MPI_Comm comm, void* value = nullptr) const { MPI_Comm_set_attr(comm, key_, value); }
    int number() const { return key_; }

private:
    int key_ = MPI_KEYVAL_INVALID;
};

int call_on_dying(MPI_Comm comm, int, void*, void*) {
    ++deletions;
    call_many_of_each_kind(Job(comm), 10, 3);
    check_sums(Job(comm));
    return MPI_SUCCESS;
}
int call_on_parent(MPI_Comm, int, void*, void*) {
    ++deletions;
    check_sums(Job(parent), 3);
    return MPI_SUCCESS;
}
int call_on_world(MPI_Comm, int, void*, void*) {
    ++deletions;
    check_sums(Job(MPI_COMM_WORLD), 3);
    return MPI_SUCCESS;
}

// Frees a communicator with an attribute, after `calls` collectives on it.
void free_with_attribute(const Job& world, const Key& key, int calls) {
    MPI_Comm_dup(world.comm, &parent);
    check_sums(Job(parent), calls);
    MPI_Comm child = MPI_COMM_NULL;
    MPI_Comm_dup(parent, &child);
    key.set(child);
    check_sums(Job(child), calls);
    MPI_Comm_free(&child);
    EXPECT(deletions == 1);
    deletions = 0;
    check_sums(Job(parent), 3);
    MPI_Comm_free(&parent);
    check_sums(world, 3);
}
void delete_calls_on(const Job& world, MPI_Comm_delete_attr_function* deletes) {
    const Key key(deletes);
    for (const int calls : {0, 1, many_calls}) free_with_attribute(world, key, calls);
}
void delete_calls_on_dying(const Job& world) { delete_calls_on(world, call_on_dying); }
void delete_calls_on_parent(const Job& world) { delete_calls_on(world, call_on_parent); }
void delete_calls_on_world(const Job& world) { delete_calls_on(world, call_on_world); }

// Sets the attribute before or after tutti sets its own.
void delete_frees_another(const Job& world) {
    const auto free_value = [](MPI_Comm, int, void* value, void*) {
        ++deletions;
        auto* const inner = static_cast<MPI_Comm*>(value);
        check_sum(Job(*inner));
        return MPI_Comm_free(inner);
    };
    const Key key(free_value);
    for (int i = 0; i < 20; ++i) {
        MPI_Comm outer = MPI_COMM_NULL, inner = MPI_COMM_NULL;
        MPI_Comm_dup(world.comm, &outer);
        MPI_Comm_dup(world.comm, &inner);
        if (i % 2 == 0) key.set(outer, &inner);
        check_sums(Job(outer));
        if (i % 4 < 2) check_sums(Job(inner));
        if (i % 2 != 0) key.set(outer, &inner);
        MPI_Comm_free(&outer);
        EXPECT(inner == MPI_COMM_NULL);
    }
    EXPECT(deletions == 20);
}

int call_and_copy(MPI_Comm comm, int, void*, void* value, void* copy, int* flag) {
    ++copies;
    check_sums(Job(comm), 3);
    *static_cast<void**>(copy) = value;
    *flag = 1;
    return MPI_SUCCESS;
}
void copy_calls(const Job& world) {
    const Key key(call_on_dying, call_and_copy);
    int value = 5;
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &first);
    key.set(first, &value);
    for (int i = 0; i < many_calls; ++i) {
        MPI_Comm copy = MPI_COMM_NULL;
        check_sum(Job(first), i);
        MPI_Comm_dup(first, &copy);
        void* found = nullptr;
        int is_there = 0;
        MPI_Comm_get_attr(copy, key.number(), &found, &is_there);
        EXPECT(is_there == 1 && found == &value && copies == i + 1);
        check_sum(Job(copy), i);
        MPI_Comm_free(&copy);
    }
    MPI_Comm_free(&first);
    EXPECT(deletions == many_calls + 1);
}

// A communicator stays usable if a delete function returns an error.
bool may_delete = true;
int delete_if_allowed(MPI_Comm, int, void*, void*) {
    ++deletions;
    return may_delete ? MPI_SUCCESS : MPI_ERR_OTHER;
}
void delete_refuses(const Job& world) {
    const Key key(delete_if_allowed);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    key.set(comm);
    check_sums(Job(comm));
    may_delete = false;
    EXPECT(MPI_Comm_delete_attr(comm, key.number()) != MPI_SUCCESS);
    EXPECT(deletions == 1);
    check_sums(Job(comm));
    may_delete = true;
    MPI_Comm_free(&comm);
    EXPECT(deletions >= 1);
}

void have_many_keys(const Job& world) {
    constexpr std::size_t many = 200;
    const auto copies_all = [](MPI_Comm, int, void*, void* value, void* copy, int* flag) {
        ++copies;
        *static_cast<void**>(copy) = value;
        *flag = 1;
        return MPI_SUCCESS;
    };
    const auto deletes = [](MPI_Comm, int, void* value, void*) {
        ++deletions;
        ++*static_cast<int*>(value);
        return MPI_SUCCESS;
    };
    deletions = copies = 0;
    std::array<int, many> keys{}, values{};
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &first);
    for (std::size_t i = 0; i < many; ++i) {
        MPI_Comm_create_keyval(copies_all, deletes, &keys[i], nullptr);
        MPI_Comm_set_attr(first, keys[i], &values[i]);
        check_sum(Job(first));
    }
    for (int i = 0; i < 5; ++i) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(first, &copy);
        check_sums(Job(copy));
        // A key may be freed before the communicator that has its attribute.
        if (i == 4)
            for (int& key : keys) MPI_Comm_free_keyval(&key);
        MPI_Comm_free(&copy);
    }
    check_sums(Job(first));
    MPI_Comm_free(&first);
    EXPECT(copies == 5 * many && deletions == 6 * many);
    EXPECT(std::ranges::all_of(values, [](int value) { return value == 6; }));
}

// The MPI library reuses handles of freed communicators for communicators of other ranks.
void handles_come_again(const Job& world) {
    for (int i = 0; i < 4 * many_calls; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        const int kind = i % 4;
        // The same ranks, in reverse, halves, and all but the first.
        const int color = kind == 2 ? world.rank % 2 : kind == 3 && world.rank == 0 ? 1 : 0;
        MPI_Comm_split(world.comm, color, kind == 1 ? -world.rank : world.rank, &comm);
        int first = world.rank;
        MPI_Bcast(&first, 1, MPI_INT, 0, comm);
        const int expected = kind == 1   ? world.size - 1
                             : kind == 2 ? world.rank % 2
                             : kind == 3 ? (world.rank == 0 ? 0 : 1)
                                         : 0;
        EXPECT(first == expected);
        EXPECT(sum_over(comm) == Job(comm).size);
        if (i % 16 == 0) check_sums(Job(comm));
        MPI_Comm_free(&comm);
    }
}

// The attribute of a communicator that is never freed is replaced and deleted between calls.
void replace_between_calls(const Job& world) {
    const auto deletes = [](MPI_Comm, int, void*, void*) {
        ++deletions;
        return MPI_SUCCESS;
    };
    const Key key(deletes);
    int values[2] = {};
    for (int i = 0; i < many_calls; ++i) {
        key.set(world.comm, &values[i % 2]);
        check_sum(world, i);
        EXPECT(deletions == i);
    }
    MPI_Comm_delete_attr(world.comm, key.number());
    EXPECT(deletions == many_calls);
    check_sum(world);
}

const Scenarios scenarios(
    {{"delete_calls_on_dying",
      "an attribute delete function calls collectives on the communicator being freed",
      delete_calls_on_dying},
     {"delete_calls_on_parent",
      "an attribute delete function calls collectives on the parent communicator",
      delete_calls_on_parent},
     {"delete_calls_on_world", "an attribute delete function calls collectives on MPI_COMM_WORLD",
      delete_calls_on_world},
     {"delete_frees_another",
      "an attribute delete function frees a communicator that the attribute holds",
      delete_frees_another},
     {"copy_calls",
      "an attribute copy function calls collectives on the communicator being duplicated",
      copy_calls},
     {"delete_refuses", "an attribute delete function returns an error at first", delete_refuses},
     {"many_keys", "a communicator has 200 attributes whose keys are freed before it",
      have_many_keys},
     {"handles_again", "the MPI library reuses communicator handles for other ranks",
      handles_come_again},
     {"replaced", "an attribute is replaced between calls", replace_between_calls}});

}  // namespace
