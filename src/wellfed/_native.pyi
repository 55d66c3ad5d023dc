"""
wellfed's kernel: checksums, framing, parsing, encoding, permutation and pixels.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray
from typing_extensions import Buffer

def crc32c(data: Buffer | numpy.ndarray, crc: int = 0) -> int:
    """CRC-32C of the bytes; `crc` is the sum of the bytes before them."""

def masked_crc32c(data: Buffer | numpy.ndarray) -> int:
    """CRC-32C of the bytes in the masked form that TFRecord stores."""

def crc32c_implementations() -> list[str]:
    """
    Names of the implementations that this CPU can run, slowest first; the last one is used.
    """

def crc32c_with(name: str, data: Buffer | numpy.ndarray, crc: int = 0) -> int:
    """
    As crc32c, by the implementation of that name. Raises ValueError where this CPU has none of that name.
    """

FRAME_OK: int = 0

FRAME_END: int = 1

FRAME_TRUNCATED: int = 2

FRAME_BAD_LENGTH_CRC: int = 3

FRAME_BAD_PAYLOAD_CRC: int = 4

def scan_frames(
    block: Buffer | numpy.ndarray, start: int = 0, max_records: int = 18446744073709551615, check: bool = True
) -> tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,))], int, int]:
    """
    Walks records from byte `start` on. Returns (offset of each header, header of the first record that was not
    scanned, a FRAME_* status that says why the walk ended there).
    """

def find_frame(block: Buffer | numpy.ndarray, start: int = 0) -> int:
    """
    The first position from `start` on where a whole record stands whose two sums hold, or len(block).
    """

def find_frame_in_stream(
    block: Buffer | numpy.ndarray, start: int = 0, max_length: int = 18446744073709551615
) -> tuple[int, int]:
    """
    As find_frame, for a block after which more bytes may come. Returns (position, status): FRAME_OK, a whole
    record; FRAME_TRUNCATED, a true header of at most `max_length` bytes of payload that the block ends inside;
    FRAME_END, none starts in front of `position`.
    """

class FrameSearch:
    """
    Goes over one block whose records are damaged, in time proportional to it whatever its bytes claim.
    Keeps the buffer given; threads that share one wait for each other.
    """

    def __init__(self, block: object) -> None: ...
    def scan(
        self, start: int = 0, max_records: int = 18446744073709551615
    ) -> tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,))], int, int]:
        """As scan_frames with `check`."""

    def find_in_stream(self, start: int = 0, max_length: int = 18446744073709551615) -> tuple[int, int]:
        """As find_frame_in_stream."""

    def find(self, start: int = 0) -> int:
        """As find_frame."""

    def masked_crc32c(self, start: int, length: int) -> int:
        """The masked CRC-32C of `length` bytes from `start` on."""

def frame_records(
    data: Buffer | numpy.ndarray,
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> bytes:
    """
    Frames record i, the `sizes[i]` bytes of `data` at `starts[i]`, for each i. Returns the framed bytes.
    """

def permute_range(n: int, key: int, start: int, stop: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Where the permutation of [0, n) that `key` picks takes the positions start to stop. n is at most 2**48.
    """

def permute_apply(
    n: int,
    key: int,
    values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Where the permutation of [0, n) that `key` picks takes each of `values`.
    """

def mapping_was_cut(buffer: Buffer | numpy.ndarray) -> bool:
    """
    True where a page of `buffer`, the whole of what map_file gave, could not be read; it and all that follow
    are zeros since.
    """

def map_file(descriptor: int, size: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
    """
    The first `size` bytes (1 at least) of an open file as a read-only array that owns the mapping; the descriptor
    may be closed afterwards. If the file is cut, the missing pages read as zeros. Not on Windows.
    """

def populate_file(
    mapped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)], start: int, stop: int
) -> None:
    """
    Brings the pages of bytes [start, stop) of what map_file gave into the page tables, and into memory, as many at a
    time as the system does. Not on Windows.
    """

def ask_for_ranges(
    mapped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> None:
    """
    Has the pages read that are not in memory of the ranges of what map_file gave that begin at `starts` (int64)
    and have `sizes` bytes (int64), and no others but small gaps between them; does not wait for them. Not on Windows.
    """

def read_whole(mapped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)]) -> None:
    """
    From now on a fault of what map_file gave reads 2 MiB or more where that is not in memory. Not on Windows.
    """

def read_at_random(mapped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)]) -> None:
    """
    From now on a fault of what map_file gave reads its own page alone, not what is around it, and what was
    mapped so far need not stay in memory. Not on Windows.
    """

def release_file(
    mapped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)], start: int, stop: int
) -> None:
    """
    Takes the pages of bytes [start, stop) of what map_file gave out of the page tables; they come back when they
    are touched. Not on Windows.
    """

def read_frames(
    block: Buffer | numpy.ndarray,
    offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    check: bool = True,
) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], int, int]:
    """
    Proves the records whose headers stand at `offsets` of a block. Returns (size of each payload in front of the
    first bad one, how many those are, the bad one's FRAME_* status or FRAME_OK).
    """

def copy_spans(
    data: Buffer | numpy.ndarray,
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> None:
    """
    Copies sizes[i] bytes from data[starts[i]] to out[places[i]], for each i.
    """

def cut_records(
    block: Buffer | numpy.ndarray,
    offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> list:
    """
    The payloads of records that were proved to lie end to end: `offsets` holds each header and then the end.
    """

class ExampleParser:
    """
    Parses Examples into columns. Immutable but for a counter; threads may share it.
    """

    def __init__(self, specs: list) -> None:
        """
        `specs`: (key, kind 1 bytes | 2 float | 3 int64, layout 0 fixed | 1 var | 2 raw, count, default) each;
        the default is None, the bytes of a row, or a list of byte strings.
        """

    @property
    def repeated(self) -> int:
        """
        Records parsed so far in which the key of a spec came more than once: the last counted.
        """

    def parse(
        self,
        data: Buffer | numpy.ndarray,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")] | None],
        present: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")] | None] = [],
    ) -> tuple:
        """
        Parses record i, the `sizes[i]` bytes of `data` at `starts[i]`, into row i. `out` has, per spec, the
        uint8 memory of a dense column, or None; `present`, a 1 per row, or None.
        Returns (columns, None), or (None, (status, feature, row, offset, found kind, length)). A column is
        None (it went to `out`), (values, row_splits), (data, starts, sizes), or (data, starts, sizes,
        row_splits); its `data` is None where the strings lie in the `data` given.
        """

    def parse_list(
        self,
        records: list,
        out: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")] | None],
        present: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")] | None] = [],
    ) -> tuple:
        """The same for a list of bytes-like records; strings are copied."""

def run_pixels(
    pictures: Annotated[NDArray, dict(shape=(None, None, None, None), device="cpu", writable=False)],
    geometry: Annotated[NDArray[numpy.int64], dict(shape=(None, 9), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray, dict(shape=(None, None, None, None), order="C", device="cpu")],
    *,
    out_type: str,
    method: str = "none",
    rounded: str = "uint8",
    scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    planar: bool = False,
    stream: bool = False,
    implementation: str = "",
) -> None:
    """
    Crops, resizes, flips and scales pictures (n, H, W, C) into out (n, h, w, C), or (n, C, h, w) if planar. A row of
    geometry: top, left, height, width of a box; its size when resized, height and width; top and left of the
    window that is taken of it; 1 to mirror. The GIL is released.
    """

class PixelRows:
    """
    A pass into rows of out (n, h, w, C), or (n, C, h, w) if planar, for pictures that come one by one.
    Not thread-safe: one for each thread.
    """

    def __init__(
        self,
        out: Annotated[NDArray, dict(shape=(None, None, None, None), order="C", device="cpu")],
        source_type: str,
        channels: int,
        out_type: str,
        method: str,
        rounded: str,
        scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        planar: bool,
        stream: bool,
    ) -> None: ...
    def run(
        self,
        row: int,
        picture: Annotated[NDArray, dict(shape=(None, None, None), device="cpu", writable=False)],
        place: Sequence[int],
    ) -> None:
        """
        Fills a row from a picture (H, W, C); `place` is a row of geometry. The GIL is released.
        """

def pixel_implementations() -> list[str]:
    """
    The implementations of the pixel pass that this machine runs, slowest first.
    """

class LeasePool:
    """
    Memory for batches that comes back when the last array over it dies; it outlives the pool. At most `max_free_bytes` of returned memory are kept.
    """

    def __init__(self, max_free_bytes: int) -> None: ...
    def take(self, size: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """
        A writable array of `size` uninitialised bytes, aligned to 64. Never waits.
        """

    @property
    def leased_bytes(self) -> int:
        """Bytes of memory that arrays hold now."""

    @property
    def free_bytes(self) -> int:
        """Bytes of returned memory that wait for use."""

class ShardSet:
    """
    Records of many mapped files as rows that are read at random. Keeps the buffers given; immutable, so threads may share it.
    """

    def __init__(self, shards: list) -> None:
        """
        `shards`: (the file's bytes, uint64 offsets of its records' headers) each.
        """

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def ask_for(
        self, rows: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None:
        """
        Has the pages of `rows` (uint64) read that are not in memory, and no others; does not wait for them. Not on Windows.
        """

    def parse(
        self,
        rows: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parser: ExampleParser,
        check: bool,
        out: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")] | None],
    ) -> tuple:
        """
        Reads `rows` (uint64) in that order, proves their sums and parses them. Returns (columns, None) as
        `ExampleParser.parse` does, with strings copied, or (None, (frame status, position in `rows`, shard,
        record in the shard, offset, parse error)). `check` covers the payload's sum; the header's is always
        proved.
        """

    def read(
        self,
        rows: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        check: bool,
        pool: LeasePool,
    ) -> tuple:
        """
        Reads `rows` (uint64) in that order: ((data, starts, sizes), None) with the payloads copied end to
        end into memory of the pool, or (None, error) as `parse`.
        """

def read_files(
    folder: bytes,
    names: Buffer | numpy.ndarray,
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], int]:
    """
    Reads whole files, `folder` + "/" + the bytes of `names` from starts[i] to starts[i + 1], of `sizes` bytes each,
    into one array. Returns it, and how many were read before the first that could not be or had another size.
    """

def read_heads(
    folder: bytes,
    names: Buffer | numpy.ndarray,
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    head: int,
) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The first `head` bytes of each file, named as in read_files, end to end with zeros behind shorter ones; and each
    file's size, -1 where it is no regular file or cannot be read.
    """

def encode_examples(columns: dict, rows: int, framed: bool) -> tuple:
    """
    Encodes `rows` Examples. `columns`: key to (kind 1 bytes | 2 float | 3 int64 | 0 unset, values, row_splits
    or None, count a row); values are a buffer of numbers, or (data, starts, sizes). Returns (data, sizes of the
    payloads), or (None, the first row that is too large).
    """

def encode_example(features: dict, parts_of: Callable) -> bytes:
    """
    Encodes one Example. `parts_of(key, value)` gives (kind, values, None, count) for values that are no int,
    float, bytes or str.
    """

def encode_feature_list(parts: tuple, rows: int) -> bytes:
    """The inside of a FeatureList whose steps are the rows of one column."""

class ExampleScanner:
    """Counts what is in Examples and SequenceExamples. One thread at a time."""

    def __init__(self) -> None: ...
    def add(
        self,
        data: Buffer | numpy.ndarray,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> object:
        """
        Adds record i, the `sizes[i]` bytes of `data` at `starts[i]`. Returns None, or (record, offset) of the
        first that is no Example.
        """

    def add_list(self, records: list) -> object:
        """The same for a list of bytes-like records."""

    @property
    def records(self) -> int: ...
    @property
    def features(self) -> list:
        """
        (key, present, records by kind, first record by kind, counts, steps, ints, floats, nonfinite, sizes,
        strings by look) each; ranges are (min, max) or None. Kinds: unset, bytes, float, int64. Looks: empty, text,
        jpeg, png, gif, webp, binary; the last entry counts records that have the key more than once.
        """

    @property
    def sequences(self) -> list:
        """The same for the lists of SequenceExamples; kinds count steps."""

def decode_example(record: Buffer | numpy.ndarray) -> tuple:
    """
    Decodes an Example or SequenceExample: ({key: feature}, {key: [feature of each step]}, None), or the offset
    of the byte that cannot be read in place of None. A feature is (kind, None, uint8 array of numbers, or list
    of bytes).
    """

class SequenceParser:
    """Parses the lists of SequenceExamples. Immutable; threads may share it."""

    def __init__(self, specs: list) -> None:
        """As ExampleParser's; a list without a default must be there."""

    def parse(
        self,
        data: Buffer | numpy.ndarray,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple:
        """
        Parses record i, the `sizes[i]` bytes of `data` at `starts[i]`. Returns (columns, None), or
        (None, (failure as ExampleParser's, step)). A column is (steps, step_splits); steps are (values,),
        (values, row_splits), (data, starts, sizes), or (data, starts, sizes, row_splits).
        """

    def parse_list(self, records: list) -> tuple:
        """The same for a list of bytes-like records; strings are copied."""

PNG_OK: int = 0

PNG_BAD_FILTER: int = 1

PNG_BAD_SIZE: int = 2

def png_scanline_bytes(height: int, width: int, bit_depth: int, samples: int, interlaced: bool) -> int:
    """Bytes of all scanlines of such a PNG, with their filter types."""

def unfilter_png(
    scanlines: Buffer | numpy.ndarray, height: int, width: int, bit_depth: int, samples: int, interlaced: bool
) -> tuple:
    """
    (status, array (height, width, samples)) of inflated scanlines: uint8, or uint16 for 16 bits; values of
    less than 8 bits stay as they are. The GIL is released.
    """
