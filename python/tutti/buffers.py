# SPDX-License-Identifier: Apache-2.0
"""Finds the address, length and type of the data that a program passes to a call: numpy arrays, objects with the buffer protocol
(bytearray, array.array, memoryview, ctypes arrays), and CPU tensors with DLPack (torch, JAX, CuPy in pinned memory)."""
import ctypes
import sys
from ctypes import POINTER, c_char, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint64, c_void_p, py_object

from . import library

FIRST_BYTE = c_char * 1
READERS = {}  # by type of data
ARRAY_TYPES = {}  # by dtype of numpy

# Numbers of tutti_type by kind and size of an element. Other elements have the negative of their size: they can be moved only.
TYPES = {("i", 1): library.INT8, ("i", 2): library.INT16, ("i", 4): library.INT32, ("i", 8): library.INT64,
         ("u", 1): library.UINT8, ("u", 2): library.UINT16, ("u", 4): library.UINT32, ("u", 8): library.UINT64,
         ("f", 2): library.HALF, ("f", 4): library.FLOAT, ("f", 8): library.DOUBLE, ("bfloat", 2): library.BFLOAT16}
SIZES = {number: size for (_, size), number in TYPES.items()}
WORDS = {"i": "int", "u": "uint", "f": "float", "bfloat": "bfloat"}
NAMES = {number: f"{WORDS[kind]}{8 * size}" for (kind, size), number in TYPES.items()}
KINDS_OF_FORMATS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"), **dict.fromkeys("efd", "f")}
KINDS_OF_DLPACK = {0: "i", 1: "u", 2: "f", 4: "bfloat"}
HOST_MEMORY = (1, 3, 11)  # DLDeviceType: kDLCPU, kDLCUDAHost, kDLROCMHost
NATIVE_ORDER = "@=" + ("<" if sys.byteorder == "little" else ">!")


class Address(c_void_p):
    """An address. `owner` keeps its memory alive."""


def read(data, writes):
    """Returns address, number of elements, and type (see TYPES). writes: whether the call may write. Raises TypeError or ValueError
    for data that no call can use."""
    reader = READERS.get(type(data)) or reader_of(data)
    return reader(data, writes)


def bytes_of(count, kind):
    return count * (SIZES[kind] if kind >= 0 else -kind)


def describe(count, kind):
    return f"{count} {NAMES[kind] if kind >= 0 else f'{-kind}-byte'} elements"


def reader_of(data):
    """Returns the function that reads data of this type. Does not import numpy, so that programs without it start faster."""
    numpy, kind = sys.modules.get("numpy"), type(data)
    if numpy is not None and issubclass(kind, numpy.ndarray):
        ARRAY_TYPES.update({numpy.dtype(f"{letter}{size}"): number for (letter, size), number in TYPES.items() if letter in "iuf"})
        reader = read_array
    elif has_buffer(data):
        reader = read_buffer
    elif hasattr(kind, "__dlpack__"):
        reader = read_dlpack
    else:
        raise TypeError(f"data of type {kind.__name__} cannot be used as a buffer; use a numpy array, an array.array, a bytearray, or a CPU tensor "
                        "with DLPack")
    READERS[kind] = reader
    return reader


def has_buffer(data):
    try:
        memoryview(data).release()
    except TypeError:
        return False
    return True


def read_array(array, writes):
    # ctypes checks that the array is contiguous and writable. This is the fastest way to its address.
    try:
        return FIRST_BYTE.from_buffer(array), array.size, ARRAY_TYPES[array.dtype]
    except (BufferError, KeyError, TypeError, ValueError):
        return read_unusual_array(array, writes)


def read_unusual_array(array, writes):
    """Reads an array that is empty, read-only, of an unusual dtype, or cannot be used."""
    dtype = array.dtype
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"dtype {dtype} has no fixed number of bytes; use a dtype of numbers")
    if not dtype.isnative:
        raise TypeError(f"dtype {dtype} has another byte order; use array.astype(array.dtype.newbyteorder('='))")
    check_use(array.flags.c_contiguous, array.flags.writeable, writes, f"array of shape {array.shape}", "numpy.ascontiguousarray(array)")
    kind = ARRAY_TYPES.get(dtype, library.BFLOAT16 if dtype.name == "bfloat16" else -dtype.itemsize)
    return address_in(array.__array_interface__["data"][0], array), array.size, kind


def read_buffer(data, writes):
    view = memoryview(data)
    check_use(view.c_contiguous, not view.readonly, writes, f"buffer of shape {view.shape}", "a contiguous copy")
    letters = view.format.lstrip(NATIVE_ORDER)
    if "O" in letters or view.itemsize == 0:
        raise TypeError(f"a buffer of format '{view.format}' has no fixed number of bytes; use one of numbers")
    if letters[0] in "<>!":
        raise TypeError(f"a buffer of format '{view.format}' has another byte order; use a copy in the order of this machine")
    kind = TYPES.get((KINDS_OF_FORMATS.get(letters), view.itemsize), -view.itemsize)
    if view.nbytes == 0:
        return None, 0, kind
    address = address_of_constant(view) if view.readonly else FIRST_BYTE.from_buffer(view)
    return address, view.nbytes // view.itemsize, kind


def check_use(is_contiguous, is_writable, writes, what, cure):
    if not is_contiguous:
        raise ValueError(f"the {what} is not contiguous in C order; use {cure}")
    if writes and not is_writable:
        raise ValueError(f"the {what} is read-only, but the call writes to it; use a writable copy")


def address_in(address, owner):
    made = Address(address)
    made.owner = owner
    return made


class Buffer(ctypes.Structure):
    """Py_buffer"""

    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p), ("suboffsets", c_void_p),
                ("internal", c_void_p)]


def address_of_constant(view):
    """Returns the address of a view that ctypes refuses, because it is read-only."""
    buffer = Buffer()
    GET_BUFFER(view, buffer, 0)
    RELEASE_BUFFER(buffer)
    return address_in(buffer.buf, view)


class Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


def read_dlpack(data, writes):
    """Reads a tensor by DLPack, which does not say whether it is read-only."""
    device = data.__dlpack_device__()[0]
    if device not in HOST_MEMORY:
        raise TypeError(f"the tensor is on a device (DLPack type {int(device)}); copy it to the CPU")
    capsule = data.__dlpack__()
    tensor = Tensor.from_address(CAPSULE_POINTER(capsule, b"dltensor"))
    shape = tensor.shape[:tensor.ndim]
    check_use(is_compact(shape, tensor.strides), True, writes, f"tensor of shape {tuple(shape)}", "a contiguous copy")
    if tensor.bits % 8 != 0 or tensor.lanes != 1:
        raise TypeError(f"a tensor with {tensor.lanes} x {tensor.bits} bits per element cannot be used; use elements of whole bytes")
    size, count = tensor.bits // 8, 1
    for length in shape:
        count *= length
    kind = TYPES.get((KINDS_OF_DLPACK.get(tensor.code), size), -size)
    return address_in((tensor.data or 0) + tensor.byte_offset, capsule), count, kind


def is_compact(shape, strides):
    if not strides or 0 in shape:
        return True
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides[:len(shape)])):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def view_of(address, size):
    """Returns a writable view of memory that the library owns."""
    return VIEW(address, size, 0x200) if size > 0 else memoryview(bytearray())  # PyBUF_WRITE


def function(name, restype, *argtypes):
    """Returns a function of Python's own C interface."""
    made = ctypes.pythonapi[name]
    made.restype, made.argtypes = restype, argtypes
    return made


GET_BUFFER = function("PyObject_GetBuffer", c_int, py_object, POINTER(Buffer), c_int)
RELEASE_BUFFER = function("PyBuffer_Release", None, POINTER(Buffer))
CAPSULE_POINTER = function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
VIEW = function("PyMemoryView_FromMemory", py_object, c_void_p, c_ssize_t, c_int)
