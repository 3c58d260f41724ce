"""Plugins in Python: tensors as memoryviews, strings as str, errors as exceptions.

A plugin is a class `Plugin`, derived from `nacre.Plugin`, in the project's plugin.py. The server makes one object when
it loads the model, calls `configure`, and keeps the interpreter as that leaves it. Each request begins there, in an
instance that no other request has seen: what `process` leaves in `self`, nobody sees again.

The standard library is there, without files, sockets, threads and processes; of packages, those without native code.
`random` is seeded anew for each request; the seed of `hash` for strings is one for all of them.
"""

import os
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence

from componentize_py_types import Err, Ok
from wit_world.exports.step import Description as _Description
from wit_world.imports import files as _files
from wit_world.imports import log as _log
from wit_world.imports import metrics as _metrics
from wit_world.imports import models as _models
from wit_world.imports import types as _types

# A type's name in the protocol → how `memoryview.cast` and `struct` call it. BF16 has no Python type: its bits.
FORMATS = {
    "BOOL": "?", "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q", "INT8": "b", "INT16": "h", "INT32": "i",
    "INT64": "q", "FP16": "e", "BF16": "H", "FP32": "f", "FP64": "d",
}  # fmt: skip
_TYPES = {("BOOL" if kind.name == "BOOLEAN" else kind.name): kind for kind in _types.DataType}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_CODES = {code.name.lower(): code for code in _types.ErrorCode}


class Error(Exception):
    """Ends a call with one sentence, which reaches the client.

    `code` says whose fault it is, and becomes a status: "invalid_argument" (the client's, 400), "not_found" (404),
    "unsupported" (501), "resource_exhausted" (413), "unavailable" (503), "deadline_exceeded" (504), "internal" (500).
    """

    def __init__(self, message: str, code: str = "invalid_argument"):
        super().__init__(message)
        self.code = code


class Spec:
    """What a plugin takes or gives: `Spec("x", "FP32", [-1, 3])`. A dimension of -1 varies."""

    def __init__(self, name: str, type: str, dims: Sequence[int], optional: bool = False):
        self.name, self.type, self.dims, self.optional = name, type, list(dims), optional


class Tensor:
    """A named tensor: `type` as in the protocol ("FP32"), `shape`, and `data`, its bytes."""

    def __init__(self, name: str, type: str, shape: Sequence[int], data: bytes):
        self.name, self.type, self.shape, self.data = name, type, list(shape), data

    def values(self) -> memoryview:
        """The numbers, last dimension innermost, without a copy."""
        if self.type == "BYTES":
            raise Error(f"tensor '{self.name}' is BYTES: it holds strings, not numbers", "internal")
        return memoryview(self.data).cast(FORMATS[self.type])

    def elements(self) -> list[bytes]:
        """The elements of a tensor of BYTES."""
        if self.type != "BYTES":
            raise Error(f"tensor '{self.name}' is {self.type}: expected BYTES")
        found, at, data = [], 0, self.data
        while at < len(data):
            (length,) = struct.unpack_from("<I", data, at)
            found.append(data[at + 4 : at + 4 + length])
            at += 4 + length
        return found

    def strings(self) -> list[str]:
        """The elements of a tensor of BYTES, which must be UTF-8."""
        try:
            return [element.decode() for element in self.elements()]
        except UnicodeDecodeError as error:
            raise Error(f"tensor '{self.name}' is not UTF-8 text: {error.reason}") from None


def tensor(name: str, type: str, shape: Sequence[int], values: Iterable) -> Tensor:
    """A tensor of numbers: an array, a memoryview or anything that can be iterated over."""
    code = FORMATS[type]
    if type in ("FP16", "BOOL"):  # `array` has no such types
        numbers = list(values)
        return Tensor(name, type, shape, struct.pack(f"<{len(numbers)}{code}", *numbers))
    same = isinstance(values, array) and values.typecode == code
    return Tensor(name, type, shape, (values if same else array(code, values)).tobytes())


def strings(name: str, shape: Sequence[int], texts: Iterable[str | bytes]) -> Tensor:
    """A tensor of BYTES."""
    parts = []
    for text in texts:
        element = text.encode() if isinstance(text, str) else text
        parts += (struct.pack("<I", len(element)), element)
    return Tensor(name, "BYTES", shape, b"".join(parts))


def fp32(value: float) -> float:
    """The FP32 number nearest to a Python one, which has more digits."""
    return array("f", (value,))[0]


class Settings:
    """What config.pbtxt says. `model` and `version` name the model; `parameters` are all of its parameters."""

    def __init__(self, raw):
        self.model, self.version, self.max_batch_size = raw.model, raw.version, raw.max_batch_size
        self.parameters = dict(raw.parameters)

    def text(self, name: str, default: str | None = None) -> str:
        """A parameter; without a default, it must be set."""
        value = self.parameters.get(name, default)
        if value is None:
            raise Error(
                f"parameter '{name}' is missing: add parameters {{ key: \"{name}\" value {{ string_value: \"…\" }} }} "
                "to config.pbtxt"
            )
        return value

    def _parsed(self, name: str, default, parse: Callable, expected: str):
        if name not in self.parameters and default is not None:
            return default
        text = self.text(name)
        try:
            return parse(text)
        except (ValueError, KeyError):
            raise Error(f"parameter '{name}' is '{text}': expected {expected}") from None

    def number(self, name: str, default: float | None = None) -> float:
        """A parameter that is a number."""
        return self._parsed(name, default, float, "a number")

    def integer(self, name: str, default: int | None = None) -> int:
        """A parameter that is a whole number."""
        return self._parsed(name, default, int, "a whole number")

    def truth(self, name: str, default: bool | None = None) -> bool:
        """A parameter that is true or false."""
        return self._parsed(name, default, {"true": True, "false": False}.__getitem__, "true or false")


class Request:
    """One element of a client's batch: `id`, `parameters`, `inputs` by name."""

    def __init__(self, raw):
        self.id = raw.id
        self.parameters = {name: value.value for name, value in raw.parameters}
        self.inputs = {each.name: _from_wit(each) for each in raw.inputs}
        self.requested_outputs = raw.requested_outputs

    def input(self, name: str) -> Tensor:
        """The input of that name, which must be there."""
        found = self.inputs.get(name)
        if found is None:
            raise Error(f"input '{name}' is missing: the request has {', '.join(self.inputs) or 'none'}")
        return found

    def find(self, name: str) -> Tensor | None:
        """The input of that name, or None if it was left out."""
        return self.inputs.get(name)

    def wants(self, output: str) -> bool:
        """Whether the client wants that output; if not, it may be left out."""
        return not self.requested_outputs or output in self.requested_outputs


class Plugin:
    """What a plugin derives from. `inputs` and `outputs` may stay empty: then config.pbtxt alone says what they are."""

    summary: str = ""
    inputs: list[Spec] = []
    outputs: list[Spec] = []

    def configure(self, settings: Settings) -> None:
        """Reads parameters and files, builds tables; once, when the model is loaded."""

    def process(self, request: Request) -> list[Tensor]:
        """The outputs for one request."""
        raise NotImplementedError


def read_file(path: str) -> bytes:
    """The whole file at a path relative to the model's folder."""
    return _translated(_files.read, path)


def infer(model: str, inputs: Iterable[Tensor], version: str | None = None) -> dict[str, Tensor]:
    """Calls another model, which config.pbtxt grants by parameter NACRE_MODELS. Its outputs by name."""
    answer = _translated(_models.infer, _call(model, inputs, version))
    return {each.name: _from_wit(each) for each in answer.outputs}


def infer_all(calls: Iterable[tuple[str, Iterable[Tensor]]]) -> list[dict[str, Tensor] | Error]:
    """The same for several calls, (model, inputs) each, all at once. One that fails is an Error in the list."""
    answers = _models.infer_all([_call(model, inputs, None) for model, inputs in calls])
    return [
        {each.name: _from_wit(each) for each in answer.value.outputs} if isinstance(answer, Ok) else _error(answer.value)
        for answer in answers
    ]


def log(message: str, level: str = "info", **fields: object) -> None:
    """Writes a line to the server's log, with values beside it. `print` works as well."""
    _log.write(_log.Level[level.upper()], message, [(name, str(value)) for name, value in fields.items()])


class metrics:
    """Measurements of the plugin's own, published as nacre_plugin_custom_<name>; labels are keyword arguments."""

    @staticmethod
    def add(name: str, amount: float = 1, **labels: object) -> None:
        """Adds to a counter."""
        _metrics.add(name, amount, [(label, str(value)) for label, value in labels.items()])

    @staticmethod
    def set(name: str, value: float, **labels: object) -> None:
        """Sets a gauge."""
        _metrics.set(name, value, [(label, str(value)) for label, value in labels.items()])

    @staticmethod
    def observe(name: str, value: float, **labels: object) -> None:
        """Adds a value to a histogram."""
        _metrics.observe(name, value, [(label, str(value)) for label, value in labels.items()])


def _from_wit(raw) -> Tensor:
    return Tensor(raw.name, _NAMES[raw.data_type], raw.shape, raw.data)


def _to_wit(each: Tensor):
    return _types.Tensor(each.name, _TYPES[each.type], each.shape, bytes(each.data))


def _call(model: str, inputs: Iterable[Tensor], version: str | None):
    request = _types.Request("", [], [_to_wit(each) for each in inputs], [])
    return _models.Call(model, version, request)


def _error(raw) -> Error:
    return Error(raw.message, raw.code.name.lower())


def _translated(function: Callable, *arguments):
    """A call into the host, its errors as exceptions of this module."""
    try:
        return function(*arguments)
    except Err as error:
        raise _error(error.value) from None


def _guarded(function: Callable, *arguments):
    """A call of the plugin's, its exceptions as errors of the interface."""
    try:
        return function(*arguments)
    except Error as error:
        raise Err(_types.Error(_CODES[error.code], str(error))) from None
    except Exception as error:
        import traceback

        traceback.print_exc()
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(at.filename)}, line {at.lineno}"
        text = f"{type(error).__name__}: {error} ({place})"
        raise Err(_types.Error(_types.ErrorCode.INTERNAL, text)) from None


def export(plugin_class: type[Plugin]) -> type:
    """The class that becomes the component's exports. nacre_main.py does this for the plugin."""
    plugin = plugin_class()
    specs = lambda listed: [  # noqa: E731
        _types.TensorSpec(each.name, _TYPES[each.type], each.dims, each.optional) for each in listed
    ]
    # An instance is thrown away with what its buffers hold.
    sys.stdout.reconfigure(line_buffering=True)

    class Step:
        def describe(self, settings):
            return _Description(plugin.summary, specs(plugin.inputs), specs(plugin.outputs))

        def configure(self, settings):
            _guarded(plugin.configure, Settings(settings))

        def process(self, request):
            if random := sys.modules.get("random"):
                random.seed()
            outputs = _guarded(plugin.process, Request(request))
            return _types.Response([_to_wit(each) for each in outputs], [])

    return Step
