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


def note_autocast(stack, mine, recorder):
    """Tensors of a capture are on no GPU, where torch.autocast('cuda') would change their types."""
    kind = torch.autocast
    enter = kind.__enter__

    def enter_and_note(self):
        if mine() and getattr(self, "device", "") == "cuda":
            recorder.note_autocast(str(getattr(self, "fast_dtype", "")).replace("torch.", ""))
        return enter(self)
    stack.enter_context(replaced(kind, "__enter__", enter_and_note))


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
        note_autocast(stack, mine, recorder)
        yield
