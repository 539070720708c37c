"""libhillclimb_timer through ctypes: Python code is timed by the very lines that time everything else."""

import ctypes
import os
import pathlib

ABI = 1
SINGLE, BACK_TO_BACK = 0, 1

Launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Options(ctypes.Structure):
    """HillclimbTimerOptions of src/bench/timer.h."""

    _fields_ = [
        ("abi", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("blocks", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("min_block_s", ctypes.c_double),
        ("warmup_s", ctypes.c_double),
        ("flush_bytes", ctypes.c_int64),
        ("max_launches", ctypes.c_int64),
        ("plain_threads", ctypes.c_int32),
    ]


class Block(ctypes.Structure):
    """HillclimbTimerBlock."""

    _fields_ = [
        ("seconds", ctypes.POINTER(ctypes.c_double)),
        ("readings", ctypes.c_int64),
        ("launches", ctypes.c_int64),
        ("start_monotonic_s", ctypes.c_double),
        ("mid_monotonic_s", ctypes.c_double),
        ("mid_unix_s", ctypes.c_double),
        ("mhz", ctypes.c_double),
        ("load1", ctypes.c_double),
        ("voluntary_switches", ctypes.c_int64),
        ("involuntary_switches", ctypes.c_int64),
    ]


class Result(ctypes.Structure):
    """HillclimbTimerResult."""

    _fields_ = [
        ("blocks", ctypes.POINTER(Block)),
        ("block_count", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("flush_bytes", ctypes.c_int64),
        ("warmup_launches", ctypes.c_int64),
        ("empty_s", ctypes.c_double),
        ("clock", ctypes.c_char_p),
    ]


class DeviceState(ctypes.Structure):
    """HillclimbTimerDeviceState of src/bench/timer_cuda.h."""

    _fields_ = [
        ("sm_mhz_clock", ctypes.c_double),
        ("sm_mhz_nvml", ctypes.c_double),
        ("memory_mhz", ctypes.c_double),
        ("temperature_c", ctypes.c_double),
        ("power_w", ctypes.c_double),
        ("event_reasons", ctypes.c_uint64),
        ("queue_timeouts", ctypes.c_int32),
    ]


class DeviceFacts(ctypes.Structure):
    """HillclimbTimerDeviceFacts."""

    _fields_ = [
        ("name", ctypes.c_char * 96),
        ("uuid", ctypes.c_char * 48),
        ("driver", ctypes.c_char * 48),
        ("vbios", ctypes.c_char * 48),
        ("cuda_driver", ctypes.c_int32),
        ("sm", ctypes.c_int32),
        ("multiprocessors", ctypes.c_int32),
        ("l2_bytes", ctypes.c_int64),
        ("memory_bytes", ctypes.c_int64),
        ("power_cap_w", ctypes.c_double),
        ("power_cap_min_w", ctypes.c_double),
        ("power_cap_max_w", ctypes.c_double),
        ("power_cap_default_w", ctypes.c_double),
        ("max_sm_mhz", ctypes.c_double),
        ("max_memory_mhz", ctypes.c_double),
        ("ecc", ctypes.c_int32),
        ("persistence", ctypes.c_int32),
        ("compute_mode", ctypes.c_int32),
        ("mig", ctypes.c_int32),
        ("other_processes", ctypes.c_int32),
    ]


class TimerError(RuntimeError):
    """The timer's own sentence, or the exception that a launch raised."""


def as_dict(structure):
    """Fields by name; byte strings become text."""
    values = {}
    for name, _ in structure._fields_:
        value = getattr(structure, name)
        values[name] = value.decode() if isinstance(value, bytes) else value
    return values


def library_path():
    """$HILLCLIMB_TIMER, or the library beside this package or in the repository's build folders."""
    named = os.environ.get("HILLCLIMB_TIMER")
    if named:
        return named
    here = pathlib.Path(__file__).resolve()
    folders = [here.parent, *(here.parents[3] / "build" / name for name in ("release", "dev"))]
    for folder in folders:
        if (folder / "libhillclimb_timer.so").exists():
            return str(folder / "libhillclimb_timer.so")
    raise TimerError("libhillclimb_timer.so is not built; build the target hillclimb_timer or set HILLCLIMB_TIMER to its path")


class Timer:
    """What both forms share: launches that may raise, and results as dictionaries."""

    def __init__(self):
        self.library = ctypes.CDLL(library_path())
        self._raised = None

    def _check(self, why):
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        if why:
            raise TimerError(why.decode())

    def _callback(self, launch):
        def call(_user, _stream):
            try:
                launch()
                return 0
            except BaseException as error:  # an exception may not cross the C frames
                self._raised = error
                return 1

        return Launch(call)

    @staticmethod
    def _reply(view, mode, states=None):
        rows = []
        for i in range(view.block_count):
            block = view.blocks[i]
            row = {name: getattr(block, name) for name, _ in Block._fields_ if name not in ("seconds", "readings")}
            row["seconds"] = block.seconds[: block.readings]
            if states is not None:
                row["device"] = as_dict(states[i])
            rows.append(row)
        return {
            "blocks": rows,
            "mode": "single" if mode == SINGLE else "back_to_back",
            "threads": view.threads,
            "flush_bytes": view.flush_bytes,
            "warmup_launches": view.warmup_launches,
            "empty_s": view.empty_s,
            "clock": view.clock.decode(),
        }


class CpuTimer(Timer):
    """The CPU form. Caches are emptied by plain threads: the framework has an OpenMP of its own, which would spin beside ours."""

    def __init__(self):
        super().__init__()
        self.library.hillclimb_timer_run.restype = ctypes.c_char_p
        self.library.hillclimb_timer_default_flush_bytes.restype = ctypes.c_int64

    def cache_bytes(self):
        """Twice the L2 of all cores."""
        return self.library.hillclimb_timer_default_flush_bytes()

    def run(self, launch, threads=0, blocks=5, min_block_s=0.005, warmup_s=0.02, mode=SINGLE, flush_bytes=-1, max_launches=0):
        """Raw blocks as dictionaries. `launch` does its work and returns when it is done."""
        options = Options(ABI, mode, blocks, threads, min_block_s, warmup_s, flush_bytes, max_launches, 1)
        result = ctypes.POINTER(Result)()
        callback = self._callback(launch)
        self._check(self.library.hillclimb_timer_run(ctypes.byref(options), callback, None, ctypes.byref(result)))
        reply = {**self._reply(result.contents, mode), "threads": threads}
        self.library.hillclimb_timer_free(result)
        return reply


class CudaTimer(Timer):
    """The CUDA form on the current context; open it after the framework made one."""

    def __init__(self, ordinal=0):
        super().__init__()
        for name in ("open", "run", "preheat", "state", "copy"):
            getattr(self.library, "hillclimb_timer_cuda_" + name).restype = ctypes.c_char_p
        self.library.hillclimb_timer_cuda_facts.restype = ctypes.POINTER(DeviceFacts)
        self.handle = ctypes.c_void_p()
        self._check(self.library.hillclimb_timer_cuda_open(ctypes.c_int32(ordinal), ctypes.byref(self.handle)))

    def facts(self):
        """Name, UUID, driver, power cap, ... of the device."""
        return as_dict(self.library.hillclimb_timer_cuda_facts(self.handle).contents)

    def cache_bytes(self):
        """Twice the L2."""
        return 2 * self.facts()["l2_bytes"]

    def state(self):
        """SM clock, temperature, power and event reasons now."""
        state = DeviceState()
        self._check(self.library.hillclimb_timer_cuda_state(self.handle, ctypes.byref(state)))
        return as_dict(state)

    def run(self, launch, stream=0, blocks=5, min_block_s=0.005, warmup_s=0.02, mode=SINGLE, flush_bytes=-1, max_launches=0):
        """Raw blocks as dictionaries, with the device's state in each. `launch` queues its work on `stream` and returns."""
        options = Options(ABI, mode, blocks, 0, min_block_s, warmup_s, flush_bytes, max_launches, 0)
        result = ctypes.POINTER(Result)()
        states = (DeviceState * blocks)()
        callback = self._callback(launch)
        self._check(
            self.library.hillclimb_timer_cuda_run(
                self.handle, ctypes.byref(options), callback, None, ctypes.c_void_p(stream), ctypes.byref(result), states
            )
        )
        reply = self._reply(result.contents, mode, states)
        self.library.hillclimb_timer_cuda_free(result)
        return reply

    def preheat(self, launch, stream=0, min_s=0.0, window_s=1.0, max_s=20.0):
        """Launches until the device is steady; the last state, and whether it was."""
        state, steady = DeviceState(), ctypes.c_int32()
        callback = self._callback(launch)  # has to live as long as the call
        self._check(
            self.library.hillclimb_timer_cuda_preheat(
                self.handle,
                callback,
                None,
                ctypes.c_void_p(stream),
                ctypes.c_double(min_s),
                ctypes.c_double(window_s),
                ctypes.c_double(max_s),
                ctypes.byref(state),
                ctypes.byref(steady),
            )
        )
        return {**as_dict(state), "steady": bool(steady.value)}

    def copy_seconds(self, bytes_, readings=20):
        """Median seconds of the driver's device-to-device copy of so many bytes, cold L2."""
        seconds = ctypes.c_double()
        self._check(
            self.library.hillclimb_timer_cuda_copy(
                self.handle, ctypes.c_int64(bytes_), ctypes.c_int32(readings), ctypes.byref(seconds)
            )
        )
        return seconds.value
