"""The parameters that are fitted, and how they stand in the files of configs/."""
import collections
import math
import pathlib
import re

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAMILIES = {"volta": ("v100",), "ampere": ("a100", "a30"), "hopper": ("h100", "h200", "h20", "gh200")}

Parameter = collections.namedtuple("Parameter", "scope key prior spread log low high")
PARAMETERS = [
    # scope, path of the key, prior, spread of the prior (relative where log), in the logarithm?, bounds
    Parameter("framework", "kernels.matrix", 1.0, 0.10, True, 0.7, 1.5),
    Parameter("framework", "kernels.memory", 1.0, 0.15, True, 0.7, 1.5),
    Parameter("framework", "host.scale", 1.0, 0.25, True, 0.5, 2.0),
    Parameter("device", "calibration.matrix_16bit", 1.0, 0.10, True, 0.7, 1.5),
    Parameter("device", "calibration.matrix_32bit", 1.0, 0.10, True, 0.7, 1.5),
    Parameter("device", "calibration.memory", 1.0, 0.05, True, 0.8, 1.3),  # op benchmarks know streaming rates well
    Parameter("device", "calibration.speed_variation", 0.015, 0.01, False, 0.0, 0.05),
]


def family_of_device(name):
    return next((f for f, starts in FAMILIES.items() if name.startswith(starts)), None)


def device_of_system(system):
    text = (ROOT / "configs/systems" / f"{system}.yaml").read_text()
    return re.search(r"^device:\s*(\S+)", text, re.M).group(1)


def set_value(text, path, value):
    """YAML text with the key at `path` ("uncertainty", "kernels.matrix") set. Keys keep their place and their comment; a new one is put at the end of its
    section, a new section or top-level key before `source`."""
    *section, key = path.split(".")
    lines = text.splitlines()
    top = {m.group(1): i for i, line in enumerate(lines) if (m := re.match(r"(\w+):", line))}
    written = f"{'  ' * len(section)}{key}: {value if isinstance(value, str) else format(value, '.3g')}"
    if section and section[0] not in top:
        new = [f"{section[0]}:   # fitted to measured iterations, docs/calibration.md", written]
        return "\n".join(lines[: top["source"]] + new + lines[top["source"] :]) + "\n"
    first = top[section[0]] + 1 if section else 0
    last = next((i for i in range(first, len(lines)) if re.match(r"\w", lines[i])), len(lines)) if section else len(lines)
    for i in range(first, last):
        if m := re.match(rf"{'  ' * len(section)}{key}:[^#]*?(\s+#.*)?$", lines[i]):
            lines[i] = written + (m.group(1) or "")
            return "\n".join(lines) + "\n"
    at = last if section else top["source"]
    return "\n".join(lines[:at] + [written + "   # fitted, docs/calibration.md"] + lines[at:]) + "\n"


# Profiles that share a parameter because they share what it describes: PyTorch has one eager dispatch and one set of kernels (Megatron brings kernels of its
# own), and neighbouring releases of HugeCTR and of TensorFlow 2 have the same kernels.
PYTORCH = ("pytorch", "pytorch_apex", "pytorch_dlrm", "torchrec")
KERNELS = [PYTORCH, ("hugectr", "hugectr_2021_05"), ("tf2", "tf2_distributed_embeddings")]
SHARED = {"host.scale": [PYTORCH + ("megatron",)], "kernels.matrix": KERNELS, "kernels.memory": KERNELS}


def sharers(key, owner, owners):
    return next((group for group in SHARED.get(key, []) if owner in group), (owner,))


class Profiles:
    """The parameters by (scope, owner, key) and how they are written to a copy of configs/. `rows` are those of `distsim validate --csv`."""

    def __init__(self, rows):
        self.frameworks = sorted({r["framework"] for r in rows} - {""})
        self.families = sorted({family_of_device(device_of_system(r["system_id"])) for r in rows} - {None})
        self.names = []
        for p in PARAMETERS:
            owners = self.frameworks if p.scope == "framework" else self.families
            groups = dict.fromkeys(tuple(o for o in sharers(p.key, owner, owners) if o in owners) for owner in owners)
            self.names += [(p, group) for group in groups]

    def prior(self):
        return np.array([math.log(p.prior) if p.log else p.prior for p, _ in self.names])

    def spread(self):
        return np.array([p.spread for p, _ in self.names])

    def clip(self, x):
        low = np.array([math.log(p.low) if p.log else p.low for p, _ in self.names])
        high = np.array([math.log(p.high) if p.log else p.high for p, _ in self.names])
        return np.clip(x, low, high)

    def write(self, x, folder):
        for (p, owners), value in zip(self.names, x):
            value = math.exp(value) if p.log else value
            if p.scope == "framework":
                files = [folder / "frameworks" / f"{owner}.yaml" for owner in owners]
            else:
                files = [f for f in (folder / "devices").glob("*.yaml") if family_of_device(f.stem) in owners]
            for f in files:
                text = f.read_text()
                f.write_text(set_value(text, p.key, value))
