"""`nacre plugin` where it needs a compiler, a terminal, a server, NumPy or Pillow."""

import json
import os
import pty
import re
import subprocess
import threading
import urllib.request

import numpy
import PIL.Image
import pytest
from nacre_server import BINARY, Server

# Longer than anything here takes; for what would otherwise wait for ever.
PATIENCE = 120


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "repository"
    made.mkdir()
    return made


def nacre(folder, *arguments, **options):
    command = [str(BINARY), "plugin", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, **options)


def said(run):
    return f"{run.stdout}{run.stderr}"


def make(folder, name, language="c"):
    for arguments in (("new", name, "--language", language), ("build", name)):
        run = nacre(folder, *arguments)
        assert run.returncode == 0, said(run)
    return folder / name


def infer(server, model, x):
    tensor = {"name": "x", "datatype": "FP32", "shape": [len(x)], "data": x}
    body = json.dumps({"inputs": [tensor], "outputs": [{"name": "y"}]}).encode()
    with urllib.request.urlopen(f"http://{server.http}/v2/models/{model}/infer", body, timeout=PATIENCE) as answer:
        return json.load(answer)["outputs"][0]["data"]


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, folder, *arguments, **environment):
        self.ours, theirs = pty.openpty()
        ours = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CLICOLOR_FORCE", "TERM")}
        self.process = subprocess.Popen(
            [str(BINARY), "plugin", *arguments], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
            env={**ours, "TERM": "xterm", **environment}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.seen = ""
        self.guard = threading.Timer(PATIENCE, self.process.kill)
        self.guard.start()

    def __enter__(self):
        return self

    def read(self):
        try:
            part = os.read(self.ours, 4096)
        except OSError:  # the other end is closed
            part = b""
        self.seen += part.decode(errors="replace")
        return part

    def answer(self, question, text):
        while question not in self.seen:
            assert self.read(), self.seen
        os.write(self.ours, f"{text}\n".encode())

    def end(self):
        while self.read():
            pass
        return self.process.wait(PATIENCE)

    def __exit__(self, *_):
        self.guard.cancel()
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def test_new_asks_for_what_is_not_given(folder):
    with Terminal(folder, "new") as terminal:
        terminal.answer("Name of the plugin", "scale")
        terminal.answer("Language, by number or name:", "2")
        assert terminal.end() == 0, terminal.seen
    assert re.search(r"1 +rust .*\r\n.*2 +c ", terminal.seen), terminal.seen
    assert (folder / "scale" / "plugin.c").is_file()

    with Terminal(folder, "new", "other") as terminal:
        terminal.answer("Language, by number or name:", "python")
        assert terminal.end() == 0, terminal.seen
    assert (folder / "other" / "plugin.py").is_file()

    with Terminal(folder, "new", "third") as terminal:
        terminal.answer("Language, by number or name:", "cobol")
        assert terminal.end() == 2, terminal.seen
    assert "'cobol' is none of the languages" in terminal.seen
    assert not (folder / "third").exists()

    run = nacre(folder, "new", stdin=subprocess.DEVNULL)
    assert run.returncode == 2 and "nacre plugin new NAME --language LANGUAGE" in run.stderr, said(run)


def test_colours_are_for_terminals(folder):
    def escapes(**environment):
        with Terminal(folder, "check", "nowhere", **environment) as terminal:
            assert terminal.end() == 2
        assert "cannot find nowhere" in terminal.seen
        return "\x1b[" in terminal.seen

    assert escapes()
    assert not escapes(NO_COLOR="1")
    assert "\x1b[" not in said(nacre(folder, "check", "nowhere", env={**os.environ, "TERM": "xterm"}))


def test_cases_take_arrays_and_pictures(folder):
    plugin = make(folder, "scale")
    tests = plugin / "tests"
    x = numpy.random.default_rng(1).normal(size=1000).astype("float32")
    numpy.save(tests / "x.npy", x)
    # Of the other byte order, as some files are.
    numpy.save(tests / "y.npy", (x * 2 + 0.5).astype(">f4"))
    numpy.save(tests / "wrong.npy", numpy.where(numpy.arange(1000) == 700, 0, x * 2 + 0.5).astype("float32"))
    case = {"inputs": [{"name": "x", "file": "x.npy"}], "outputs": [{"name": "y", "file": "y.npy"}]}
    (tests / "arrays.json").write_text(json.dumps(case))
    run = nacre(folder, "test", "scale", "--filter", "arrays")
    assert run.returncode == 0 and "ok: 1 passed" in run.stdout, said(run)

    case["outputs"][0]["file"] = "wrong.npy"
    (tests / "arrays.json").write_text(json.dumps(case))
    run = nacre(folder, "test", "scale", "--filter", "arrays")
    assert run.returncode == 1, said(run)
    assert re.search(r"y.*\[700\].*expected 0, got", run.stdout), said(run)
    case["tolerance"] = {"absolute": 100}
    (tests / "arrays.json").write_text(json.dumps(case))
    assert nacre(folder, "test", "scale", "--filter", "arrays").returncode == 0

    run = nacre(folder, "run", "scale", "--input", "x=@scale/tests/x.npy", "--save", "answers")
    assert run.returncode == 0, said(run)
    numpy.testing.assert_allclose(numpy.load(folder / "answers" / "y.npy"), x * 2 + 0.5, rtol=1e-6)


def test_a_picture_is_its_pixels(folder):
    plugin = make(folder, "invert")
    (plugin / "config.pbtxt").write_text('backend: "wasm"\n')
    (plugin / "plugin.c").write_text("""
#include "nacre.h"
bool nacre_describe(const nacre_settings *settings, nacre_description *description, nacre_error *error) {
  (void)settings, (void)error;
  nacre_add_input(description, "image", NACRE_UINT8, NACRE_SHAPE(-1, -1, 3));
  nacre_add_output(description, "inverted", NACRE_UINT8, NACRE_SHAPE(-1, -1, 3));
  return true;
}
bool nacre_configure(const nacre_settings *settings, nacre_error *error) { return (void)settings, (void)error, true; }
bool nacre_process(const nacre_request *request, nacre_response *response, nacre_error *error) {
  const nacre_tensor *image = nacre_input(request, "image", NACRE_UINT8, error);
  if (image == NULL) return false;
  const uint8_t *in = nacre_values(image);
  uint8_t *out = nacre_output(response, "inverted", NACRE_UINT8, image->shape);
  for (size_t i = 0; i < nacre_elements(image); i++) out[i] = 255 - in[i];
  return true;
}
""")
    pixels = numpy.random.default_rng(2).integers(0, 256, (5, 7, 3), dtype="uint8")
    PIL.Image.fromarray(pixels).save(plugin / "tests" / "cat.png")
    case = {
        "inputs": [{"name": "image", "image": "cat.png"}],
        "outputs": [{"name": "inverted", "data": (255 - pixels).tolist()}],
    }
    for old in (plugin / "tests").glob("*.json"):
        old.unlink()
    (plugin / "tests" / "cat.json").write_text(json.dumps(case))
    run = nacre(folder, "test", "invert", "--build")
    assert run.returncode == 0 and "ok: 1 passed" in run.stdout, said(run)
    run = nacre(folder, "run", "invert", "--input", "image=@invert/tests/cat.png", "--json")
    assert json.loads(run.stdout)["outputs"][0]["shape"] == [5, 7, 3], said(run)


class Dev:
    """`nacre plugin dev`, event by event."""

    def __init__(self, folder, *arguments):
        self.errors = (folder / "dev.log").open("w+")
        self.process = subprocess.Popen(
            [str(BINARY), "plugin", "dev", *arguments, "--json"], cwd=folder, stdout=subprocess.PIPE,
            stderr=self.errors, text=True,
        )  # fmt: skip
        self.guard = threading.Timer(PATIENCE, self.process.kill)
        self.guard.start()

    def __enter__(self):
        return self

    def until_waiting(self):
        """Events and errors until a change is waited for."""
        events = {}
        for line in self.process.stdout:
            event = json.loads(line)
            events[event.get("event", "error")] = event
            if event.get("event") == "waiting":
                return events
        raise AssertionError(f"it ended: {self.said()}")

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def __exit__(self, *_):
        self.guard.cancel()
        self.process.kill()
        self.process.wait()
        self.errors.close()


def test_dev_serves_each_change_that_holds(folder):
    plugin = make(folder, "scale")
    source = plugin / "plugin.c"
    original = source.read_text()
    with Server(folder) as server:
        assert infer(server, "scale", [1, 2]) == [2.5, 4.5]
        address = f"http://{server.http}"
        with Dev(folder, "scale", "--server", address, "--test") as dev:
            events = dev.until_waiting()
            assert events["served"]["server"] == address and events["tested"]["passed"] == 4, dev.said()

            # An error of the compiler, inline; what was served goes on.
            source.write_text(original.replace("return true;", "return maybe;"))
            events = dev.until_waiting()
            assert events["error"]["ok"] is False and "served" not in events
            assert re.search(r"plugin\.c:\d+:\d+: error: .*maybe", dev.said()), dev.said()
            assert infer(server, "scale", [1, 2]) == [2.5, 4.5]

            # It compiles, but its cases fail: not served either.
            changed = original.replace("x[i] * factor + offset", "x[i] * factor + offset + 1")
            assert changed != original
            source.write_text(changed)
            events = dev.until_waiting()
            assert "cases fail" in events["error"]["error"]["message"] and "served" not in events

            source.write_text(original.replace('"hello, %.*s"', '"good day, %.*s"'))
            cases = plugin / "tests" / "scale.json"
            events = dev.until_waiting()
            assert "good day, Ada" in events["error"]["error"]["message"]
            cases.write_text(cases.read_text().replace("hello, ", "good day, "))
            assert "served" in dev.until_waiting(), dev.said()

        with Dev(folder, "scale", "--server", address) as dev:
            dev.until_waiting()
            source.write_text(changed)
            assert "served" in dev.until_waiting(), dev.said()
            assert infer(server, "scale", [1, 2]) == [3.5, 5.5]


def test_dev_once_copies_to_another_repository(folder, tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    make(sources, "scale")
    with Server(folder) as server:
        arguments = ("dev", "scale", "--once", "--repository", folder, "--server", f"http://{server.http}")
        run = nacre(sources, *arguments)
        assert run.returncode == 0 and "served at" in run.stdout, said(run)
        assert infer(server, "scale", [1]) == [2.5]
        assert not (folder / "scale" / "plugin.c").exists()
        # A server of another repository does not know it.
        run = nacre(make(sources, "lost").parent, "dev", "lost", "--once", "--server", f"http://{server.http}")
        assert run.returncode == 1 and "--model-repository has to be the folder" in run.stderr, said(run)


def test_a_trap_names_the_line_where_it_was_built_with_debug_information(folder):
    plugin = make(folder, "crash")
    with (plugin / "nacre.toml").open("a") as manifest:
        manifest.write("debug = true\n")
    source = plugin / "plugin.c"
    begin = "bool nacre_process("
    before, after = source.read_text().split(begin)
    signature, body = after.split("{\n", 1)
    trap = 'if (nacre_find(request, "x") != NULL) __builtin_trap();'
    source.write_text(f"{before}{begin}{signature}{{\n  {trap}\n{body}")
    line = source.read_text().split("__builtin_trap")[0].count("\n") + 1
    assert nacre(folder, "build", "crash").returncode == 0
    run = nacre(folder, "run", "crash", "--input", "x=[1]")
    assert run.returncode == 1, said(run)
    assert "nacre_process" in run.stderr and f"plugin.c:{line}:" in run.stderr, said(run)
