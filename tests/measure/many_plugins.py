"""Start-up and memory with many plugins, each of its own configured memory.

    .venv/bin/python tests/measure/many_plugins.py PLUGIN_FOLDER [--count 2000]

PLUGIN_FOLDER is one that `nacre plugin new` and `build` made; its parameter `factor` differs in each copy. Starts a server
twice over them: with an empty cache, then from what the first left.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from nacre_server import Server  # noqa: E402 the folder is known only now


def make(folder, plugin, count):
    config = (plugin / "config.pbtxt").read_text()
    config = "\n".join(line for line in config.splitlines() if not line.startswith(("name:", 'parameters { key: "factor"')))
    component = plugin / "1" / "plugin.wasm"
    for number in range(count):
        version = folder / f"plugin_{number}" / "1"
        version.mkdir(parents=True)
        os.link(component, version / "plugin.wasm")
        value = f'parameters {{ key: "factor" value {{ string_value: "{number}" }} }}\n'
        (version.parent / "config.pbtxt").write_text(f"{config}\n{value}")


def memory_kb(process):
    """Resident and, of it, private memory of a process."""
    told = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    values = {line.split(":")[0]: int(line.split()[1]) for line in told[1:]}
    return values["Rss"], values["Private_Dirty"] + values["Private_Clean"]


def start(repository, cache):
    began = time.monotonic()
    with Server(repository, options=("--plugin-cache", str(cache)), ready_within=3600) as server:
        return time.monotonic() - began, memory_kb(server.process.pid)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.plugin.parent) as folder:
        memory = {}
        for count in (1, options.count):
            repository, cache = Path(folder) / str(count), Path(folder) / f"cache-{count}"
            repository.mkdir()
            make(repository, options.plugin, count)
            first, _ = start(repository, cache)
            again, memory[count] = start(repository, cache)
            size = sum(file.stat().st_size for file in cache.iterdir()) / 1e6
            print(f"{count} plugins: ready in {first:.1f} s, from the cache ({size:.0f} MB) in {again:.1f} s", flush=True)
        resident, private = (
            (many - one) / (options.count - 1) for many, one in zip(memory[options.count], memory[1], strict=True)
        )
        print(f"a plugin that waits: {resident:.0f} KB resident, {private:.0f} KB of it private")


if __name__ == "__main__":
    main()
