# SPDX-License-Identifier: Apache-2.0
"""Loads libtutti_c.so by ctypes, which releases the GIL during each call. `tutti.h` describes the functions."""
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_void_p
from pathlib import Path

ABI = 1  # TUTTI_C_ABI_VERSION
NAME = f"libtutti_c.so.{ABI}"
IN_PLACE = c_void_p(-1)
MPI_COMM_WORLD = -2**31  # TUTTI_MPI_COMM_WORLD
USAGE = 64  # TUTTI_USAGE

INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, HALF, BFLOAT16, FLOAT, DOUBLE = range(12)
SUM, PROD, MIN, MAX, AVG = range(5)


class TuttiError(RuntimeError):
    """An error of a call, with one line of text. `code`: 4 for a timeout, 5 for a failed rank, 64 for wrong use."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


class Options(ctypes.Structure):
    """tutti_options"""

    _fields_ = [("bytes", c_size_t), ("deadline", c_double), ("job", c_char_p), ("table", c_char_p),
                ("listening_socket", c_int), ("background", c_int)]


def candidates():
    """Returns where to look for the library: TUTTI_C_LIBRARY, else next to the installed package, else the loader's search path."""
    if named := os.environ.get("TUTTI_C_LIBRARY"):
        return [named]
    above = Path(__file__).resolve().parents
    nearby = [str(path) for prefix in above[2:5] for folder in ("lib", "lib64") for path in
              [prefix / folder / NAME, *sorted((prefix / folder).glob(f"*-linux-*/{NAME}"))] if path.exists()]
    return [*nearby, NAME]


def load():
    problems = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as problem:
            problems.append(str(problem))
    else:
        raise ImportError(f"{NAME} not found ({'; '.join(problems)}); install libtutti, or set TUTTI_C_LIBRARY to its path")
    if (found := library.tutti_abi_version()) != ABI:
        raise ImportError(f"{library._name} has version {found} of the C interface, but this module needs {ABI}; install both from one "
                          "version")
    declare(library)
    return library


def declare(library):
    """Declares the parameter types of all functions, because ctypes would pass integers as int."""
    moves = [c_void_p, c_void_p, c_void_p, c_size_t, c_int]
    counts = POINTER(c_size_t)
    blocks, rooted_blocks = [c_void_p, c_void_p, c_void_p, counts], [c_void_p, c_void_p, c_void_p, c_size_t, counts, c_int, c_int]
    collectives = {
        "all_reduce": [*moves, c_int], "reduce_scatter": [*moves, c_int], "reduce": [*moves, c_int, c_int],
        "broadcast": [c_void_p, c_void_p, c_size_t, c_int, c_int],
        "scan": [*moves, c_int], "exscan": [*moves, c_int], "barrier": [c_void_p],
        "all_gather": moves, "all_to_all": moves, "gather": [*moves, c_int], "scatter": [*moves, c_int],
        "all_gather_v": [*blocks, c_int], "reduce_scatter_v": [*blocks, c_int, c_int], "all_to_all_v": [*blocks, counts, c_int],
        "gather_v": rooted_blocks, "scatter_v": rooted_blocks,
    }
    made, message = [POINTER(Options), POINTER(c_void_p)], [c_void_p, c_void_p, c_size_t, c_int, c_int]
    arguments = {
        **collectives, **{f"start_{name}": [*types, POINTER(c_void_p)] for name, types in collectives.items()},
        "comm_create": [c_char_p, c_int, c_int, *made], "comm_create_from_environment": made,
        "comm_create_over_mpi": [c_int, *made], "comm_create_self": made, "comm_rank": [c_void_p], "comm_size": [c_void_p],
        "send": message, "receive": message, "wait": [POINTER(c_void_p)],
        "test": [POINTER(c_void_p), POINTER(c_int)],
        "allocate": [c_void_p, c_size_t, POINTER(c_void_p)], "free": [c_void_p, c_void_p, c_size_t],
    }
    for name, types in arguments.items():
        function = getattr(library, "tutti_" + name)
        function.argtypes, function.restype = types, c_int
    library.tutti_comm_free.argtypes, library.tutti_comm_free.restype = [c_void_p], None
    library.tutti_last_error.restype = c_char_p


LIBRARY = load()


def call(name, *arguments):
    """tutti_<name>(*arguments). Raises TuttiError."""
    code = getattr(LIBRARY, "tutti_" + name)(*arguments)
    if code != 0:
        raise error(code)


def error(code):
    """Returns the error of this thread's last call, which returned `code`."""
    return TuttiError(LIBRARY.tutti_last_error().decode(errors="replace"), code)


def create(function, *arguments, deadline=30.0, job=None, table=None, listening_socket=-1, background=False):
    """Returns the handle of a communicator, made by tutti_comm_create<function>. deadline: in seconds. listening_socket: on rank 0,
    a socket that the library takes over."""
    options = Options(ctypes.sizeof(Options), deadline, as_c_string(job), as_c_string(table), listening_socket, background)
    made = c_void_p()
    call("comm_create" + function, *arguments, byref(options), byref(made))
    return made


def as_c_string(text):
    return os.fsencode(text) if text is not None else None


def free(handle):
    """Frees a communicator. Waits for the other ranks, unless a call has failed."""
    LIBRARY.tutti_comm_free(handle)
