"""What a model is given: shapes and types such as 64x3x224x224 or 8x512:int64."""
import dataclasses

LARGEST = 1 << 40


@dataclasses.dataclass(frozen=True)
class InputSpec:
    shape: tuple
    dtype: str = "float32"

    def of_batch(self, samples: int) -> tuple:
        return (samples,) + self.shape[1:]


def parse_input(text: str) -> InputSpec:
    """Sizes joined by x, the batch first, and after a colon the type. Raises ValueError."""
    sizes, _, dtype = text.partition(":")
    try:
        shape = tuple(int(size) for size in sizes.split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1 or max(shape) > LARGEST:
        raise ValueError(f"--input: found {text!r}, expected sizes such as 64x3x224x224 or 8x512:int64")
    return InputSpec(shape, dtype or "float32")
