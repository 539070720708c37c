"""The few calls of the CUDA driver that launch a kernel, through ctypes."""

import ctypes


class DriverError(RuntimeError):
    """A call of the driver that failed, with its name."""


class Kernel:
    """A function of a cubin, bound to its arguments and ready to be launched on the current context."""

    MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    STATIC_SHARED = 48 << 10

    def __init__(self, driver, module, launch, values):
        self.driver = driver
        shared_bytes = launch["shared_bytes"]
        self.function = ctypes.c_void_p()
        driver.check("cuModuleGetFunction", ctypes.byref(self.function), module, launch["function"].encode())
        if shared_bytes > self.STATIC_SHARED:
            driver.check("cuFuncSetAttribute", self.function, self.MAX_DYNAMIC_SHARED_BYTES, ctypes.c_int(shared_bytes))
        self.cells = [ctypes.c_uint64(v & 0xFFFFFFFFFFFFFFFF) for v in values]
        self.parameters = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(c), ctypes.c_void_p) for c in self.cells))
        self.sizes = [ctypes.c_uint(v) for v in (*launch["grid"], *launch["block"], shared_bytes)]

    def launch(self, stream):
        """Queues one launch."""
        code = self.driver.library.cuLaunchKernel(self.function, *self.sizes, ctypes.c_void_p(stream), self.parameters, None)
        if code:
            raise DriverError(f"cuLaunchKernel: CUDA error {code}")


class Driver:
    """libcuda.so.1; a context has to be current."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def check(self, name, *arguments):
        """Calls a function whose result is 0 for success."""
        code = getattr(self.library, name)(*arguments)
        if code:
            raise DriverError(f"{name}: CUDA error {code}")

    def load(self, cubin):
        """A module of a cubin's bytes."""
        module = ctypes.c_void_p()
        self.check("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def kernel(self, module, launch, values):
        """A function of the module with the launch's sizes, bound to the values of its parameters."""
        return Kernel(self, module, launch, values)
