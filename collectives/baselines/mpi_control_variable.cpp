// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/mpi_control_variable.hpp"

#include <mpi.h>

#include "collectives/transport/messages/mpi_library.hpp"

namespace tutti {
namespace {

// Open MPI 4.1.4 crashes when its tool interface is finalized after MPI, MPICH 4.0.2 when it is
// initialized a second time. So it is initialized once, and finalized by an attribute of
// MPI_COMM_SELF: at the very start of MPI_Finalize.
void begin_tool_interface() {
    static const bool begun = [] {
        int provided = 0, key = 0;
        check(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
        const auto end = [](MPI_Comm, int, void*, void*) { return MPI_T_finalize(); };
        check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, nullptr));
        check(PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
        check(PMPI_Comm_free_keyval(&key));
        return true;
    }();
    static_cast<void>(begun);
}

std::vector<MpiControlVariable::Choice> choices_of(MPI_T_enum values) {
    if (values == MPI_T_ENUM_NULL) return {};
    char name[256];
    int length = sizeof name, number = 0;
    check(MPI_T_enum_get_info(values, &number, name, &length));
    std::vector<MpiControlVariable::Choice> choices;
    for (int i = 0; i < number; ++i) {
        int value = 0;
        length = sizeof name;
        check(MPI_T_enum_get_item(values, i, &value, name, &length));
        choices.push_back({name, value});
    }
    return choices;
}

}  // namespace

struct MpiControlVariable::Handle {
    MPI_T_cvar_handle of_mpi = MPI_T_CVAR_HANDLE_NULL;

    explicit Handle(int index) {
        int values = 0;
        check(MPI_T_cvar_handle_alloc(index, nullptr, &of_mpi, &values));
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { MPI_T_cvar_handle_free(&of_mpi); }
};

std::optional<MpiControlVariable> MpiControlVariable::find(const std::string& name) {
    int is_begun = 0, is_over = 0, index = 0;
    check(PMPI_Initialized(&is_begun));
    check(PMPI_Finalized(&is_over));
    if (is_begun == 0 || is_over != 0) return std::nullopt;
    begin_tool_interface();
    if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
    char known_as[256], text[4096];
    int name_length = sizeof known_as, text_length = sizeof text;
    int verbosity = 0, bind = 0, scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    check(MPI_T_cvar_get_info(index, known_as, &name_length, &verbosity, &type, &values, text,
                              &text_length, &bind, &scope));
    const bool is_number = type == MPI_INT || type == MPI_C_BOOL;
    if (!is_number || bind != MPI_T_BIND_NO_OBJECT) return std::nullopt;
    MpiControlVariable setting;
    setting.handle_ = std::make_shared<Handle>(index);
    setting.choices_ = choices_of(values);
    setting.description_ = text;
    return setting;
}

int MpiControlVariable::value() const {
    int value = 0;  // booleans fill only the first byte
    check(MPI_T_cvar_read(handle_->of_mpi, &value));
    return value;
}

void MpiControlVariable::set(int value) const { check(MPI_T_cvar_write(handle_->of_mpi, &value)); }

}  // namespace tutti
