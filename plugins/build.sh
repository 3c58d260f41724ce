#!/usr/bin/env bash
# Builds the plugins and puts them where they are served: model_repository/<model>/1/plugin.wasm, and all of them in
# plugins/out/. A component that has not changed is left alone, so that a running server has nothing to reload.
# NACRE_PYTHON: a Python with the package ziglang, whose C compiler builds the C plugins; by default .venv/bin/python.
set -euo pipefail
cd "$(dirname "$0")"
python=${NACRE_PYTHON:-../.venv/bin/python}
built=target/wasm32-wasip2/release

# publish FILE PLACE: atomically, and only if it differs.
publish() {
  if cmp -s "$1" "$2"; then return; fi
  mkdir -p "$(dirname "$2")"
  cp "$1" "$2.new"
  mv -f "$2.new" "$2"
  echo "  plugins/$2: $(stat -c %s "$2") bytes" >&2
}

# build_c NAME SOURCE: a component out of one C file.
build_c() {
  local module=target/c/$1.module.wasm component=target/c/$1.wasm
  if [[ -e $component && -z $(find "$2" sdk/c target/c/bindings target/tools/componentize build.sh -newer "$component" -type f) ]]; then
    return
  fi
  # Its own folder for intermediate files: they are of this compiler and these flags.
  ZIG_GLOBAL_CACHE_DIR=$PWD/target/c/zig ZIG_LOCAL_CACHE_DIR=$PWD/target/c/zig \
    "$python" -m ziglang cc -target wasm32-wasi -mexec-model=reactor -O3 -msimd128 -Wl,--strip-debug -std=c17 -Wall -Wextra -Werror \
    -I target/c/bindings -I sdk/c "$2" sdk/c/nacre.c target/c/bindings/plugin.c target/c/bindings/plugin_component_type.o -o "$module"
  target/tools/componentize component "$module" "$component"
}

if ! "$python" -c 'import ziglang' 2>/dev/null; then
  echo "plugins/build.sh: $python has no package ziglang, whose C compiler builds the C plugins." >&2
  echo "Run 'make setup', or name a Python that has it in NACRE_PYTHON." >&2
  exit 1
fi

cargo build --release --target wasm32-wasip2
cargo build --profile tools -p componentize
target/tools/componentize bindings ../wit target/c/bindings
build_c top_k_labels examples/c-top-k-labels/plugin.c

publish $built/decode_image.wasm out/decode_image.wasm
publish $built/preprocess.wasm out/preprocess.wasm
publish $built/average.wasm out/average.wasm
publish $built/tokenize.wasm out/tokenize.wasm
publish $built/pool_sentences.wasm out/pool_sentences.wasm
publish target/c/top_k_labels.wasm out/top_k_labels.wasm
publish out/decode_image.wasm ../model_repository/decode_image/1/plugin.wasm
publish out/tokenize.wasm ../model_repository/tokenize/1/plugin.wasm
publish out/pool_sentences.wasm ../model_repository/pool_sentences/1/plugin.wasm
publish out/top_k_labels.wasm ../model_repository/top_k_labels/1/plugin.wasm
