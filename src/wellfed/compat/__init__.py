"""TensorFlow's names over wellfed: `import wellfed.compat as tf` runs programs of TF 1 queues and of tf.data.

One rule for both ages: a name of TensorFlow 1, or a tensor among the arguments, gives something deferred, which a
`Session` runs; anything else is there at once. docs/compat.md lists all names with their twins in wellfed.

    deferred/            the graph: tensors, sessions, runners, and how functions on values defer themselves
    queue, inputs, batchers, readers, train      TensorFlow 1's input system over wellfed.queues
    data                 tf.data over wellfed.feed
    io, parsing, pictures, image, resizing       records, Examples, pictures
    arrays, math, strings, random, sparse, state what is done with values
    missing              what is not here, and what wellfed has instead
"""

from __future__ import annotations

import functools

from wellfed.columns import Ragged as RaggedTensor
from wellfed.compat import (
    app,
    compat,
    data,
    errors,
    flags,
    gfile,
    image,
    io,
    logging,
    math,
    python_io,
    queue,
    random,
    sparse,
    strings,
    train,
)
from wellfed.compat.arrays import (
    boolean_mask,
    cast,
    concat,
    constant,
    convert_to_tensor,
    expand_dims,
    fill,
    gather,
    identity,
    linspace,
    one_hot,
    ones,
    ones_like,
    pad,
    range,
    rank,
    reshape,
    reverse,
    sequence_mask,
    shape,
    size,
    slice,
    sparse_tensor_to_dense,
    sparse_to_dense,
    split,
    squeeze,
    stack,
    stop_gradient,
    tile,
    to_double,
    to_float,
    to_int32,
    to_int64,
    transpose,
    unique,
    unstack,
    where,
    zeros,
    zeros_like,
)
from wellfed.compat.deferred import dtypes
from wellfed.compat.deferred.dtypes import (
    DType,
    as_dtype,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from wellfed.compat.deferred.graph import Graph, Operation, Tensor, get_default_graph, get_default_session
from wellfed.compat.deferred.graph import reset_default_graph
from wellfed.compat.deferred.session import InteractiveSession, RunOptions, Session
from wellfed.compat.deferred.shapes import Dimension, TensorShape
from wellfed.compat.deferred.sparse import SparseTensor, SparseTensorValue
from wellfed.compat.graphs import (
    ConfigProto,
    GPUOptions,
    GraphKeys,
    add_to_collection,
    device,
    disable_eager_execution,
    disable_v2_behavior,
    enable_eager_execution,
    enable_v2_behavior,
    executing_eagerly,
    function,
    get_collection,
    name_scope,
    variable_scope,
)
from wellfed.compat.io import decode_csv
from wellfed.compat.math import (
    abs,
    add,
    add_n,
    argmax,
    argmin,
    ceil,
    clip_by_value,
    cumsum,
    div,
    divide,
    equal,
    exp,
    floor,
    floordiv,
    floormod,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    not_equal,
    pow,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    round,
    sign,
    sqrt,
    square,
    squared_difference,
    subtract,
    truediv,
)
from wellfed.compat.missing import refuse as _refuse
from wellfed.compat.names import (
    decode_raw,
    parse_example,
    parse_single_example,
    parse_single_sequence_example,
    read_file,
    write_file,
)
from wellfed.compat.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from wellfed.compat.queue import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from wellfed.compat.random import random_crop, random_normal, random_shuffle, random_uniform, set_random_seed
from wellfed.compat.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from wellfed.compat.state import (
    Assert,
    Variable,
    assign,
    assign_add,
    cond,
    control_dependencies,
    global_variables,
    global_variables_initializer,
    group,
    initialize_all_variables,
    initialize_local_variables,
    local_variables,
    local_variables_initializer,
    no_op,
    numpy_function,
    placeholder,
    placeholder_with_default,
    py_func,
    py_function,
    tables_initializer,
    variables_initializer,
)
from wellfed.compat.state import tuple_ as tuple
from wellfed.compat.strings import as_string, string_join, string_split, string_to_number, substr

newaxis = None
__getattr__ = functools.partial(_refuse, "")
