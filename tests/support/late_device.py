"""The device of late_device.cc, built and made known to torch as "late". For one process: torch cannot forget it."""

from __future__ import annotations

import contextlib
import subprocess
import types
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cc")


def add_late_device(torch, tmp_path_factory):
    """`torch.late`, which is as torch.cuda is; the first call in a process builds it, which takes half a minute."""
    if hasattr(torch, "late"):
        return torch.late
    from torch.utils import cpp_extension

    library = tmp_path_factory.mktemp("late") / "late_device.so"
    includes = [f"-isystem{path}" for path in cpp_extension.include_paths()]
    folders = [flag for path in cpp_extension.library_paths() for flag in (f"-L{path}", f"-Wl,-rpath,{path}")]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", abi, *includes, str(SOURCE), "-o", str(library)]
    subprocess.run(["g++", *flags, *folders, "-lc10", "-ltorch", "-ltorch_cpu"], check=True)
    torch.utils.rename_privateuse1_backend("late")
    torch.ops.load_library(library)
    module = types.ModuleType("torch.late")
    module.is_available = lambda: True
    module.device_count = lambda: 2
    module.current_device = torch.accelerator.current_device_index
    module.Stream = torch.Stream
    module.stream = lambda stream: contextlib.nullcontext() if stream is None else stream
    module.current_stream = torch.accelerator.current_stream
    module.synchronize = torch.accelerator.synchronize
    module.waiting = torch.ops.late.waiting
    module.hurry = torch.ops.late.hurry
    module.memory_reserved = torch.ops.late.memory_reserved
    torch._register_device_module("late", module)
    return torch.late
