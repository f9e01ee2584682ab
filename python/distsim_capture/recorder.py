"""Records the calls of ATen that run below autograd, tensors by number."""
import torch
from torch._subclasses import FakeTensor
from torch._subclasses.fake_tensor import run_fallback_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from .shape_rules import RULES

MOST_ZEROS = 1 << 26  # bytes
OF_NEW_CONSTANTS = {"aten::lift", "aten::lift_fresh", "aten::lift_fresh_copy"}  # torch.tensor([...]): torch replaces them itself
READS_A_NUMBER = {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal"}
ACCUMULATION = {"aten::new_empty_strided", "aten::copy_", "aten::detach", "aten::clone"}


class Call:
    __slots__ = ("op", "inputs", "outputs", "label", "phase", "operators", "autocast")

    def __init__(self, op, inputs, outputs, label, phase, operators=0, autocast=None):
        self.op, self.inputs, self.outputs, self.label, self.phase = op, inputs, outputs, label, phase
        self.operators, self.autocast = operators, autocast


class TensorInfo:
    __slots__ = ("shape", "dtype", "role", "name", "channels_last", "storage", "maker")

    def __init__(self, tensor, storage):
        self.shape = tuple(int(size) for size in tensor.shape)
        self.dtype = str(tensor.dtype).removeprefix("torch.")
        self.role, self.name, self.storage, self.maker = "activation", "", storage, ""
        self.channels_last = (tensor.dim() == 4 and min(self.shape) > 0 and self.shape[1] > 1
                              and tensor.is_contiguous(memory_format=torch.channels_last)
                              and not tensor.is_contiguous())


def follows_values(func):
    """A number that is read out of a tensor, or a size that depends on what is in one."""
    tags = [str(tag) for tag in getattr(func, "tags", [])]
    return func._schema.name in READS_A_NUMBER or any("data_dependent" in tag or "dynamic_output" in tag for tag in tags)


def has_data(value):
    if isinstance(value, (list, tuple)):
        return any(has_data(v) for v in value)
    return isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)


def storage_of(tensor):
    """What tells storages apart; those of kept tensors live as long as the recorder."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()
    return storage._cdata


def node_of(tensor):
    """The node of autograd that made a tensor. Torch says of some views that it cannot tell."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def plain(value):
    """A scalar argument as JSON has it; types, devices and layouts as text."""
    if value is None or isinstance(value, (bool, int, float)):
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return str(value)
        return value
    return str(value)


class Recorder(TorchDispatchMode):
    def __init__(self, mode, samples, notes_nodes=False):
        super().__init__()
        self.mode = mode  # in which tensors have no data
        self.samples = samples  # batch of this pass
        self.remarks = []
        self.sparse = set()  # parameters whose gradients have only the rows of ids
        self.tensors, self.calls, self.gradients = [], [], []
        self.storage_numbers, self.of_storage = {}, {}
        self.numbers, self.kept = {}, []  # a tensor that is kept has an id of its own
        self.modules, self.phase, self.active = [""], "forward", False
        self.operator_begun = False
        self.autocast = None  # type of the region of torch.autocast that runs, "float32" where it is disabled; None: the caller's
        self.regions = False  # there was one
        self.notes_nodes = notes_nodes  # for which each node of autograd is looked at
        self.autocast_of = {}  # of each node of autograd, by the region that it was made in
        self.ended = 0  # calls that a node of autograd has been found for
        self.accumulating = None  # a gradient that is complete: autograd copies a gradient that somebody else, here `kept`, also holds

    def remark(self, text):
        if text not in self.remarks:
            self.remarks.append(text)

    def enter(self, name):
        self.modules.append(name)

    def leave(self):
        self.modules.pop()

    def begin_operator(self):
        """The next recorded call is the first of a function that the model called."""
        self.operator_begun = True

    def made(self, results):
        """Notes the region of torch.autocast for the nodes of autograd that a function of the model has made."""
        if not self.notes_nodes:
            return
        left = [node_of(r) for r in tree_flatten(results)[0] if isinstance(r, torch.Tensor)]
        while left:
            node = left.pop()
            if node is not None and node not in self.autocast_of:
                self.autocast_of[node] = self.autocast
                left.extend(following for following, _ in node.next_functions)

    def begin_backward(self):
        self.modules, self.phase, self.ended = ["loss"], "backward", len(self.calls)

    def end_backward_node(self, autocast):
        """A node of autograd has run; its calls are the last recorded ones."""
        if self.calls:
            self.calls[-1].operators += 1
        for call in self.calls[self.ended:]:
            call.autocast = call.autocast or autocast
        self.ended = len(self.calls)

    def number_of(self, tensor, storage=None):
        """The number of a tensor, a new one if need be; its storage is `storage`, or what other tensors of it have."""
        if id(tensor) not in self.numbers:
            number, key = len(self.tensors), storage_of(tensor)
            self.numbers[id(tensor)] = number
            self.kept.append(tensor)
            storage = self.storage_numbers.setdefault(key, number + 1 if storage is None else storage)
            self.tensors.append(TensorInfo(tensor, storage))
            self.of_storage.setdefault(storage, []).append(number)
        return self.numbers[id(tensor)]

    def name(self, tensor, role, name):
        info = self.tensors[self.number_of(tensor)]
        info.role, info.name = role, name

    def argument(self, value):
        if isinstance(value, torch.Tensor):
            return {"t": self.given(value)}
        if isinstance(value, (list, tuple)):
            if any(isinstance(v, torch.Tensor) for v in value):
                return {"t": [self.given(v) for v in value if isinstance(v, torch.Tensor)]}
            if all(isinstance(v, (bool, int, float)) for v in value):
                return [plain(v) for v in value]
            return str(value)
        return plain(value)

    def given(self, tensor):
        """A tensor that no recorded call has made: autograd has kept it in another object, or it was there before, as
        constants of a model are."""
        if id(tensor) in self.numbers:
            return self.numbers[id(tensor)]
        key = storage_of(tensor)
        base = self.of_storage[self.storage_numbers[key]][0] if key in self.storage_numbers else None
        number = self.number_of(tensor)
        if base is None:
            self.name(tensor, "buffer", "constant")
        else:
            info, known = self.tensors[number], self.tensors[base]
            info.role, info.name, info.maker = known.role, known.name, known.maker
            if info.role == "activation":
                self.calls.append(Call("aten::alias", [{"t": base}], [number], known.maker, self.phase))
        return number

    def label(self, numbers):
        if self.phase == "forward":
            return self.modules[-1]
        for n in numbers:
            info = self.tensors[n]
            if info.role == "parameter":
                return info.name.rpartition(".")[0]
            if info.maker:
                return info.maker
        return self.calls[-1].label if self.calls else ""

    def storages(self, func, args):
        """Storage of each result that is an argument or a view of one, by the schema's annotations."""
        sets = {}
        for argument, value in zip(func._schema.arguments, args):
            alias = argument.alias_info
            if alias is not None and isinstance(value, torch.Tensor):
                for name in alias.before_set:
                    sets[name] = self.tensors[self.given(value)].storage
        found = []
        for returned in func._schema.returns:
            alias = returned.alias_info
            found.append(None if alias is None else next((sets[n] for n in alias.before_set if n in sets), None))
        return found

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name
        if name not in OF_NEW_CONSTANTS and (any(has_data(v) for v in args) or any(has_data(v) for v in kwargs.values())):
            args, kwargs = tree_map(self.without_data, (tuple(args), kwargs))
        rule = RULES.get(name)
        results = rule(*args, **kwargs) if rule else self.sizes_of(func, args, kwargs)
        if self.active:
            self.record(func, args, kwargs, results)
        return results

    def without_data(self, value):
        """Constants that were made before the capture, such as those of a module of Python or of a closure."""
        return self.mode.from_tensor(value) if has_data(value) and not isinstance(value, (list, tuple)) else value

    def sizes_of(self, func, args, kwargs):
        """What torch's own rule says; where it has none, what the CPU makes of zeros, if they are few."""
        try:
            return func(*args, **kwargs)
        except NotImplementedError as error:
            if follows_values(func):
                raise
            tensors = [v for v in tree_flatten((args, kwargs))[0] if isinstance(v, torch.Tensor)]
            if sum(t.numel() * t.element_size() for t in tensors) > MOST_ZEROS:
                raise
            try:
                return run_fallback_kernel(self.mode, func, args, kwargs, error)
            except NotImplementedError:
                raise error from None

    def record(self, func, args, kwargs, results):
        if func._schema.name.startswith("prim::"):
            return
        if self.accumulating is not None:
            if func._schema.name in ACCUMULATION and any(a is self.accumulating for a in args):
                return
            self.accumulating = None
        places = {a.name: i for i, a in enumerate(func._schema.arguments)}
        values = list(args) + [None] * (len(places) - len(args))
        for name, value in kwargs.items():
            values[places[name]] = value
        for i, argument in enumerate(func._schema.arguments):
            if i >= len(args) and argument.name not in kwargs and argument.has_default_value():
                values[i] = argument.default_value
        inputs = [self.argument(value) for value in values]
        storages = self.storages(func, values)
        outputs = []
        for i, result in enumerate(results if isinstance(results, (list, tuple)) else [results]):
            storage = storages[min(i, len(storages) - 1)] if storages else None
            outputs.extend(self.number_of(r, storage) for r in (result if isinstance(result, (list, tuple)) else [result])
                           if isinstance(r, torch.Tensor))
        numbers = [n for i in inputs if isinstance(i, dict) for n in (i["t"] if isinstance(i["t"], list) else [i["t"]])]
        label = self.label(numbers)
        for n in outputs:
            if not self.tensors[n].maker and self.phase == "forward":
                self.tensors[n].maker = label
        name = func._schema.name if "::" in func._schema.name else "aten::" + func._schema.name
        overload = func._schema.overload_name
        begun = self.operator_begun and self.phase == "forward"
        self.operator_begun = False
        self.calls.append(Call(name + ("." + overload if overload else ""), inputs, outputs, label, self.phase, int(begun),
                               self.autocast))

    def gradient_of(self, parameter, gradient):
        self.gradients.append((self.numbers[id(parameter)], max(0, len(self.calls) - 1)))
        self.accumulating = gradient
