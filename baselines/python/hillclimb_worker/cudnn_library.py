"""The softmax of cuDNN's C interface through ctypes: the graph front end has none."""

import ctypes
import os
import sys

NAME = "libcudnn.so.9"
TYPES = {"float32": 0, "float16": 2, "bfloat16": 9}  # cudnnDataType_t
NCHW = 0
ACCURATE = 1  # the row's maximum is taken out before the exponential
INSTANCE, CHANNEL = 0, 1
# Where a row's elements lie in the four dimensions that cuDNN knows, and over which of them it sums: all the same numbers.
LAYOUTS = {
    "instance, row in C": (INSTANCE, lambda m, n: (m, n, 1, 1)),
    "instance, row in W": (INSTANCE, lambda m, n: (m, 1, 1, n)),
    "channel, row in C": (CHANNEL, lambda m, n: (m, n, 1, 1)),
}


class CudnnError(RuntimeError):
    """A call of cuDNN that failed, with its name and the library's words."""


def folders():
    """Where PyPI's packages put the library."""
    return [os.path.join(path, "nvidia", "cudnn", "lib") for path in sys.path if path]


def load():
    """The library that the framework loaded, the loader finds, or a package brought; ImportError where there is none."""
    heard = ""
    for path in (NAME, *(os.path.join(folder, NAME) for folder in folders())):
        if path != NAME and not os.path.exists(path):
            continue
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            heard = str(error)
            continue
        library.cudnnGetVersion.restype = ctypes.c_size_t
        library.cudnnGetErrorString.restype = ctypes.c_char_p
        return library
    raise ImportError(f"no {NAME} ({heard})")


class Softmax:
    """cuDNN's softmax of rows with one layout, on the current device and the given stream."""

    def __init__(self, layout, rows, columns, dtype, stream):
        """dtype: "float32", "float16" or "bfloat16"."""
        self.library = load()
        self.mode, sizes = LAYOUTS[layout]
        self.handle, self.tensor = ctypes.c_void_p(), ctypes.c_void_p()
        self.check("cudnnCreate", ctypes.byref(self.handle))
        self.check("cudnnSetStream", self.handle, ctypes.c_void_p(stream))
        self.check("cudnnCreateTensorDescriptor", ctypes.byref(self.tensor))
        self.check("cudnnSetTensor4dDescriptor", self.tensor, NCHW, TYPES[dtype], *sizes(rows, columns))
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)  # floats for the 16-bit types as well

    def __del__(self):
        """Gives the descriptor and the handle back."""
        if getattr(self, "tensor", None):
            self.library.cudnnDestroyTensorDescriptor(self.tensor)
        if getattr(self, "handle", None):
            self.library.cudnnDestroy(self.handle)

    def check(self, name, *arguments):
        """Calls a function; its status must be 0."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise CudnnError(f"{name}: {self.library.cudnnGetErrorString(status).decode()}")

    def forward(self, x, y):
        """Queues y = softmax of x's rows; addresses on the device."""
        self.check(
            "cudnnSoftmaxForward", self.handle, ACCURATE, self.mode, ctypes.byref(self.one), self.tensor, ctypes.c_void_p(x),
            ctypes.byref(self.zero), self.tensor, ctypes.c_void_p(y),
        )

    def backward(self, dy, y, dx):
        """Queues the gradient of the rows; addresses on the device."""
        self.check(
            "cudnnSoftmaxBackward", self.handle, ACCURATE, self.mode, ctypes.byref(self.one), self.tensor, ctypes.c_void_p(y),
            self.tensor, ctypes.c_void_p(dy), ctypes.byref(self.zero), self.tensor, ctypes.c_void_p(dx),
        )
