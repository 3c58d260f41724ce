"""Writes the small models that the tests of the torch backend load: make_test_models.py FOLDER

One file for each behaviour; a file is written under another name first, so that a broken run leaves none half done.
"""

import os
import pathlib
import sys
import warnings
import zipfile
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore")


class Identity(nn.Module):
    """Gives back the very tensor that it got, whatever its data type."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Double(nn.Module):
    """x + x for every data type; for booleans that is "or"."""

    def forward(self, x: Tensor) -> Tensor:
        return x + x


class AddSub(nn.Module):
    """Two inputs that do not commute, a tuple of two outputs."""

    def forward(self, a: Tensor, b: Tensor) -> Tuple[Tensor, Tensor]:
        return a + b, a - b


class OptionalScale(nn.Module):
    """An argument that may be missing and one that has a default."""

    def forward(self, x: Tensor, scale: Optional[Tensor] = None, offset: float = 1.0) -> Tensor:
        if scale is not None:
            x = x * scale
        return x + offset


class ListOutput(nn.Module):
    def forward(self, x: Tensor) -> List[Tensor]:
        return [x, x * 2]


class DictOutput(nn.Module):
    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        return {"twice": x * 2, "same": x}


class NestedOutput(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, List[Tensor]]:
        return x, [x, x]


class NumberOutput(nn.Module):
    def forward(self, x: Tensor) -> float:
        return float(x.sum())


class DictInput(nn.Module):
    def forward(self, features: Dict[str, Tensor]) -> Tensor:
        return features["left"] - features["right"]


class ListInput(nn.Module):
    def forward(self, features: List[Tensor]) -> Tensor:
        return features[0] - features[1]


class NumberArgument(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        return x * n


class ManyArguments(nn.Module):
    """Nine arguments: the order counts."""

    def forward(
        self, a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, f: Tensor, g: Tensor, h: Tensor, i: Tensor
    ) -> Tensor:
        return torch.stack([a, b, c, d, e, f, g, h, i], dim=1)


class EchoStrings(nn.Module):
    def forward(self, text: List[str]) -> List[str]:
        return text


class StringLengths(nn.Module):
    """Strings in; numbers and strings out."""

    def forward(self, text: List[str]) -> Tuple[Tensor, List[str]]:
        out: List[str] = []
        lengths: List[int] = []
        for item in text:
            out.append(item + "!")
            lengths.append(len(item))
        return torch.tensor(lengths, dtype=torch.int64), out


class Raising(nn.Module):
    """Raises an exception for a negative sum, and a shape error for a vector that is not of three elements."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() < 0):
            raise ValueError("the sum is negative")
        return x + torch.ones(3)


class Allocate(nn.Module):
    """As many elements as the input says."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros(int(x[0]))


class Positive(nn.Module):
    """As many elements as are positive."""

    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0]


class Transposed(nn.Module):
    """An output that does not lie row by row in memory."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


class Halves(nn.Module):
    """Two outputs that are parts of one tensor."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        y = x * 1
        return y[:, :2], y[:, 2:]


class Counter(nn.Module):
    """Remembers how often it was called, and gives back its own memory."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        return self.calls


class InPlace(nn.Module):
    """Overwrites its input."""

    def forward(self, x: Tensor) -> Tensor:
        x.add_(1)
        return x * 1


class Constant(nn.Module):
    """Gives back one of its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight


class NoForward(nn.Module):
    """A module with another method only."""

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return x


class Modes(nn.Module):
    """Says whether gradients are recorded, and whether inference mode is on (a tensor made in it says so)."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        y = x * 1
        return torch.tensor([torch.is_grad_enabled()]), torch.tensor([y.is_inference()])


class ComplexOutput(nn.Module):
    """Data types that the protocol does not have."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.complex(x, x)


def linear() -> nn.Module:
    """y = W x + b with W = [[1,2,3],[4,5,6]], b = [0.5,-0.5]."""
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        layer.bias.copy_(torch.tensor([0.5, -0.5]))
    return layer


def convolution() -> nn.Module:
    """Convolution, batch norm, relu, pooling: what freezing and optimising changes most. Every weight is known: the
    output is relu(9 x / 2 + 1) for an image of the constant x."""
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4, eps=1.0), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    with torch.no_grad():
        model[0].weight.fill_(1.0)
        model[1].running_var.fill_(3.0)
        model[1].bias.fill_(1.0)
    return model


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    def write(name: str, save) -> None:
        part = folder / (name + ".part")
        save(str(part))
        os.replace(part, folder / name)

    scripted = {
        "identity": Identity(),
        "double": Double(),
        "add_sub": AddSub(),
        "optional_scale": OptionalScale(),
        "list_output": ListOutput(),
        "dict_output": DictOutput(),
        "nested_output": NestedOutput(),
        "number_output": NumberOutput(),
        "dict_input": DictInput(),
        "list_input": ListInput(),
        "number_argument": NumberArgument(),
        "many_arguments": ManyArguments(),
        "echo_strings": EchoStrings(),
        "string_lengths": StringLengths(),
        "raising": Raising(),
        "allocate": Allocate(),
        "positive": Positive(),
        "transposed": Transposed(),
        "halves": Halves(),
        "counter": Counter(),
        "in_place": InPlace(),
        "constant": Constant(),
        "no_forward": NoForward(),
        "modes": Modes(),
        "complex_output": ComplexOutput(),
        "linear": linear(),
        "convolution": convolution(),
    }
    for name, model in scripted.items():
        write(f"{name}.pt", torch.jit.script(model.eval()).save)

    traced = torch.jit.trace(convolution().eval(), torch.ones(2, 1, 8, 8))
    write("traced_convolution.pt", traced.save)
    training = torch.jit.script(convolution().train())
    write("training_mode.pt", training.save)

    # Saving loses the weights that optimising has put into the graph.
    optimized = torch.jit.optimize_for_inference(torch.jit.script(convolution().eval()))
    write("optimized_then_saved.pt", optimized.save)

    # What is not TorchScript.
    write("state_dict.pt", lambda path: torch.save(linear().state_dict(), path))
    write("pickled_module.pt", lambda path: torch.save(linear(), path))
    write("old_pickle.pt", lambda path: torch.save(linear().state_dict(), path, _use_new_zipfile_serialization=False))
    write("text.pt", lambda path: pathlib.Path(path).write_text("This is not a model.\n"))
    write("empty.pt", lambda path: pathlib.Path(path).write_bytes(b""))
    whole = (folder / "linear.pt").read_bytes()
    write("cut_off.pt", lambda path: pathlib.Path(path).write_bytes(whole[: len(whole) // 2]))

    def plain_zip(path: str) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("notes/readme.txt", "hello")

    write("plain_zip.pt", plain_zip)
    exported = torch.export.export(linear().eval(), (torch.ones(1, 3),))
    # The suffix is part of what torch.export.save checks.
    torch.export.save(exported, str(folder / "exported.part.pt2"))
    os.replace(folder / "exported.part.pt2", folder / "exported.pt2")
    print(f"{len(list(folder.iterdir()))} test models in {folder}")


if __name__ == "__main__":
    main()
