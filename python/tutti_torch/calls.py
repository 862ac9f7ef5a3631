# SPDX-License-Identifier: Apache-2.0
"""Collectives on tensors: what the worker of a group does. Each returns the tensors that hold its results."""
import contextlib
import ctypes

import torch
import torch.distributed as dist

from . import library
from .library import IN_PLACE, call

TYPES = {torch.int8: library.INT8, torch.int16: library.INT16, torch.int32: library.INT32, torch.int64: library.INT64,
         torch.uint8: library.UINT8, torch.bool: library.UINT8, torch.float16: library.HALF,
         torch.bfloat16: library.BFLOAT16, torch.float32: library.FLOAT, torch.float64: library.DOUBLE}
OPERATIONS = {"SUM": library.SUM, "AVG": library.AVG, "PRODUCT": library.PROD, "MIN": library.MIN, "MAX": library.MAX}
OF_BOOLS = {library.SUM: library.MAX, library.PROD: library.MIN}  # or, and


def reduction(dtype, operation):
    """Type and operation as the library numbers them."""
    kind = TYPES.get(dtype)
    # A ReduceOp has no hash in all versions of torch.
    found = [number for name, number in OPERATIONS.items() if operation == getattr(dist.ReduceOp, name)]
    if kind is None or not found:
        raise ValueError(f"tutti cannot reduce {dtype} by {operation}; it has sum, avg, product, min and max of "
                         "real numbers of up to 64 bits")
    return kind, OF_BOOLS.get(found[0], found[0]) if dtype == torch.bool else found[0]


def expect_host(*tensors):
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ValueError(f"tutti takes dense tensors in memory of the host, not {tensor.layout} on {tensor.device}; "
                             "copy it there first, or use another backend for it")


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


@contextlib.contextmanager
def in_a_row(tensor):
    """The tensor, or, where its elements do not lie in a row, a copy that is copied back at the end."""
    if tensor.is_contiguous():
        yield tensor
    else:
        copy = tensor.contiguous()
        yield copy
        tensor.copy_(copy)


def apart(tensor, output):
    """The tensor's elements in a row, in a copy where they lie in the memory of `output`, which is in a row, too. Nothing is done
    in place for that: the other ranks do not see where this one's tensors lie."""
    data = tensor.contiguous()
    overlap = (data.data_ptr() < output.data_ptr() + bytes_of(output) and output.data_ptr() < data.data_ptr() + bytes_of(data))
    return data.clone() if overlap else data


def expect_same_sizes(tensors, like, count):
    if len(tensors) != count or any(each.numel() != like.numel() or each.dtype != like.dtype for each in tensors):
        raise ValueError(f"expected {count} tensors of {like.numel()} elements of {like.dtype}, one for each rank")


def expect_blocks(blocks, block, ranks):
    if blocks.numel() != ranks * block.numel() or blocks.dtype != block.dtype:
        raise ValueError(f"expected {ranks} blocks of {block.numel()} elements of {block.dtype}, one for each rank, not "
                         f"{blocks.numel()} elements of {blocks.dtype}")


def spread(flat, tensors):
    """Copies the rows of `flat` to the tensors."""
    for tensor, row in zip(tensors, flat):
        tensor.copy_(row.view(tensor.shape))


def all_reduce(comm, tensors, operation):
    for tensor in tensors:
        with in_a_row(tensor) as data:
            call("all_reduce", comm, IN_PLACE, data.data_ptr(), data.numel(), *reduction(data.dtype, operation))
    return tensors


def reduce(comm, tensor, operation, root, is_root):
    data = tensor.contiguous()
    result = torch.empty_like(data) if is_root else None
    call("reduce", comm, data.data_ptr(), result.data_ptr() if is_root else None, data.numel(),
         *reduction(data.dtype, operation), root)
    if is_root:
        tensor.copy_(result)
    return [tensor]


def broadcast(comm, tensor, root, is_root):
    # The root's tensor is only read: it may be expanded, or lie in memory that cannot be written.
    with contextlib.nullcontext(tensor.contiguous()) if is_root else in_a_row(tensor) as data:
        call("broadcast", comm, data.data_ptr(), bytes_of(data), library.UINT8, root)
    return [tensor]


def all_gather_into(comm, output, tensor, ranks):
    expect_blocks(output, tensor, ranks)
    with in_a_row(output) as all_data:
        data = apart(tensor, all_data)
        call("all_gather", comm, data.data_ptr(), all_data.data_ptr(), bytes_of(data), library.UINT8)
    return [output]


def all_gather(comm, outputs, tensor, ranks):
    expect_same_sizes(outputs, tensor, ranks)
    flat = torch.empty(ranks, tensor.numel(), dtype=tensor.dtype)
    all_gather_into(comm, flat, tensor, ranks)
    spread(flat, outputs)
    return outputs


def reduce_scatter_from(comm, output, tensor, operation, ranks):
    expect_blocks(tensor, output, ranks)
    with in_a_row(output) as block:
        data = apart(tensor, block)
        call("reduce_scatter", comm, data.data_ptr(), block.data_ptr(), block.numel(), *reduction(data.dtype, operation))
    return [output]


def reduce_scatter(comm, output, inputs, operation, ranks):
    expect_same_sizes(inputs, output, ranks)
    return reduce_scatter_from(comm, output, torch.stack([each.reshape(-1) for each in inputs]), operation, ranks)


def gather(comm, outputs, tensor, root, ranks):
    """outputs: None on other ranks than the root."""
    data = tensor.contiguous()
    flat = None
    if outputs is not None:
        expect_same_sizes(outputs, tensor, ranks)
        flat = torch.empty(ranks, tensor.numel(), dtype=tensor.dtype)
    call("gather", comm, data.data_ptr(), None if flat is None else flat.data_ptr(), bytes_of(data), library.UINT8, root)
    if flat is not None:
        spread(flat, outputs)
    return outputs if outputs is not None else [tensor]


def scatter(comm, output, inputs, root, ranks):
    """inputs: None on other ranks than the root."""
    flat = None
    if inputs is not None:
        expect_same_sizes(inputs, output, ranks)
        flat = torch.stack([each.reshape(-1) for each in inputs])
    with in_a_row(output) as block:
        call("scatter", comm, None if flat is None else flat.data_ptr(), block.data_ptr(), bytes_of(block), library.UINT8, root)
    return [output]


def all_to_all_single(comm, output, tensor, output_rows, input_rows):
    """output_rows, input_rows: of each block of `output` and of `tensor`. A rank whose blocks all have one size does not know that
    of the others', so all agree on the largest, and make one call."""
    sizes = [*sizes_of(output, output_rows), *sizes_of(tensor, input_rows)]
    block = largest_of_all(comm, max(sizes))
    if min(sizes) < block:
        exchange(comm, output.split(output_rows), tensor.split(input_rows), block)
        return [output]
    with in_a_row(output) as result:
        data = apart(tensor, result)
        call("all_to_all", comm, data.data_ptr(), result.data_ptr(), block, library.UINT8)
    return [output]


def sizes_of(tensor, rows):
    """Bytes of blocks of so many rows."""
    bytes_of_row = bytes_of(tensor) // max(1, tensor.shape[0])
    return [each * bytes_of_row for each in rows]


def all_to_all(comm, outputs, inputs, ranks):
    if len(outputs) != ranks or len(inputs) != ranks:
        raise ValueError(f"all_to_all needs {ranks} tensors to send and {ranks} to receive, one for each rank")
    exchange(comm, outputs, inputs, largest_of_all(comm, max(map(bytes_of, [*inputs, *outputs]))))
    return outputs


def largest_of_all(comm, size):
    """The largest `size` that a rank gives."""
    most = ctypes.c_int64(size)
    call("all_reduce", comm, IN_PLACE, ctypes.addressof(most), 1, library.INT64, library.MAX)
    return most.value


def exchange(comm, outputs, inputs, block):
    """Blocks of up to so many bytes: each travels as so many."""
    sent, received = torch.empty(len(inputs), block, dtype=torch.uint8), torch.empty(len(outputs), block, dtype=torch.uint8)
    for row, tensor in zip(sent, inputs):
        if tensor.numel() > 0:
            row[:bytes_of(tensor)] = tensor.contiguous().reshape(-1).view(torch.uint8)
    call("all_to_all", comm, sent.data_ptr(), received.data_ptr(), block, library.UINT8)
    for row, tensor in zip(received, outputs):
        if tensor.numel() > 0:
            tensor.copy_(row[:bytes_of(tensor)].clone().view(tensor.dtype).view(tensor.shape))


def barrier(comm):
    call("barrier", comm)
    return [torch.empty(0)]


def send(comm, tensor, to, tag):
    data = tensor.contiguous()
    call("send", comm, data.data_ptr(), bytes_of(data), to, tag)
    return [tensor]


def receive(comm, tensor, source, tag):
    with in_a_row(tensor) as data:
        call("receive", comm, data.data_ptr(), bytes_of(data), source, tag)
    return [tensor]
