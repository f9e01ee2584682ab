"""What a capture changes of torch while it runs, for its own thread, and puts back. One capture runs at a time."""
import contextlib
import threading
import warnings

import torch

ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def replaced(owner, name, value):
    kept = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield kept
    finally:
        setattr(owner, name, kept)


def inside_functional(stack, mine):
    """Lets the capture see what the functions of torch.nn.functional call, attention among them, instead of these as a whole."""
    functional = torch.nn.functional
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        asked = getattr(functional, name, None)
        if asked is not None:
            stack.enter_context(replaced(functional, name, lambda *tensors, asked=asked: not mine() and asked(*tensors)))


def tell_parameters_apart(stack):
    """torch 1.13 takes every parameter without data for one of a lazy module, which weight_norm refuses."""
    meta, lazy = type(torch.nn.Parameter), torch.nn.UninitializedParameter
    ours = torch.empty(0)
    ours._is_param = True
    if isinstance(ours, lazy):
        check = meta.__instancecheck__
        stack.enter_context(replaced(meta, "__instancecheck__", lambda cls, one: check(cls, one) and (
            cls is torch.nn.Parameter or type.__instancecheck__(cls, one))))


class Unstated(int):
    """What torch.is_autocast_enabled() says where the model states nothing: false, and the caller's where a region is made of it."""


UNSTATED = Unstated(0)


def follow_autocast(stack, mine, recorder):
    """Tensors of a capture are on no GPU, where torch.autocast('cuda') would change their types: each call has the type that the
    regions around it state, and distsim makes the casts."""
    kind = torch.autocast
    begin, enter, leave = kind.__init__, kind.__enter__, kind.__exit__
    is_enabled, dtype_of_gpu = torch.is_autocast_enabled, torch.get_autocast_gpu_dtype
    around = []  # types outside of the regions that run
    entering = []  # while torch itself keeps what it will put back

    def name_of(dtype):
        return str(dtype).replace("torch.", "")

    def begin_on_gpu(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not mine() or device_type != "cuda":
            return begin(self, device_type, dtype, enabled, cache_enabled)
        begin(self, "cuda", torch.float16, False, cache_enabled)  # without a GPU, bfloat16 is refused
        self.fast_dtype = dtype or torch.float16
        self.asked = recorder.autocast if enabled is UNSTATED else name_of(self.fast_dtype) if enabled else "float32"

    def enter_on_gpu(self):
        if mine() and getattr(self, "device", "") == "cuda":
            around.append(recorder.autocast)
            recorder.autocast = getattr(self, "asked", name_of(self.fast_dtype))
            recorder.regions |= recorder.autocast is not None
            if recorder.autocast not in (None, "float32"):
                recorder.remark(f"torch.autocast('cuda', {recorder.autocast}) of the model is followed")
        entering.append(self)
        try:
            return enter(self)
        finally:
            entering.pop()

    def leave_on_gpu(self, *error):
        if mine() and getattr(self, "device", "") == "cuda" and around:
            recorder.autocast = around.pop()
        return leave(self, *error)

    def enabled_on_gpu(*device):
        if not mine() or entering or device and device[0] != "cuda":
            return is_enabled(*device)
        return UNSTATED if recorder.autocast is None else recorder.autocast != "float32"

    def gpu_dtype():
        stated = mine() and not entering and recorder.autocast not in (None, "float32")
        return getattr(torch, recorder.autocast) if stated else dtype_of_gpu()
    for name, value in (("__init__", begin_on_gpu), ("__enter__", enter_on_gpu), ("__exit__", leave_on_gpu)):
        stack.enter_context(replaced(kind, name, value))
    stack.enter_context(replaced(torch, "is_autocast_enabled", enabled_on_gpu))
    stack.enter_context(replaced(torch, "get_autocast_gpu_dtype", gpu_dtype))


def see_own_functions(stack, mine, recorder):
    """torch.autograd.Function.apply() is no function that modes see."""
    kind = torch.autograd.Function
    apply = next(k.__dict__["apply"] for k in kind.__mro__ if "apply" in k.__dict__)
    kept = kind.__dict__.get("apply")

    def apply_and_note(cls, *args, **named):
        results = apply.__get__(None, cls)(*args, **named)
        if mine():
            recorder.made(results)
        return results

    def put_back():
        delattr(kind, "apply") if kept is None else setattr(kind, "apply", kept)
    kind.apply = classmethod(apply_and_note)
    stack.callback(put_back)


def leave_out_marks(stack, mine):
    """Marks of ranges for profilers are not computed, and cannot be made of tensors without data or without a GPU."""
    ranges = torch.autograd.profiler.record_function
    begin, enter, leave = ranges.__init__, ranges.__enter__, ranges.__exit__  # torch 1.13 makes a tensor for it
    stack.enter_context(replaced(ranges, "__init__", lambda self, *a, **k: None if mine() else begin(self, *a, **k)))
    stack.enter_context(replaced(ranges, "__enter__", lambda self: self if mine() else enter(self)))
    stack.enter_context(replaced(ranges, "__exit__", lambda self, *error: None if mine() else leave(self, *error)))
    for name in ("range_push", "range_pop", "mark"):
        call = getattr(torch.cuda.nvtx, name)
        stack.enter_context(replaced(torch.cuda.nvtx, name, lambda *a, call=call, **k: 0 if mine() else call(*a, **k)))


def run_scripts_plainly(stack, mine):
    """What TorchScript compiles calls the same functions; its profiles and derivatives would make other calls of each pass."""
    script = torch.jit.script
    stack.enter_context(torch.jit.optimized_execution(False))
    stack.enter_context(replaced(torch.jit, "script", lambda obj=None, *a, **k: obj if mine() else script(obj, *a, **k)))


@contextlib.contextmanager
def changed_torch(recorder):
    """For the thread that enters it. The caller holds ONE_AT_A_TIME."""
    thread = threading.get_ident()
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="User provided device_type of 'cuda'")
        warnings.filterwarnings("ignore", message="None of the inputs have requires_grad")

        def mine():
            return threading.get_ident() == thread
        inside_functional(stack, mine)
        tell_parameters_apart(stack)
        follow_autocast(stack, mine, recorder)
        if recorder.notes_nodes:
            see_own_functions(stack, mine, recorder)
        leave_out_marks(stack, mine)
        run_scripts_plainly(stack, mine)
        yield
