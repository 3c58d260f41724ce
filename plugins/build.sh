#!/usr/bin/env bash
# Builds the plugins and puts them where they are served: model_repository/<model>/1/plugin.wasm, and all of them in
# plugins/out/. A component that has not changed is left alone, so that a running server has nothing to reload.
set -euo pipefail
cd "$(dirname "$0")"

# publish FILE PLACE: atomically, and only if it differs.
publish() {
  if cmp -s "$1" "$2"; then return; fi
  mkdir -p "$(dirname "$2")"
  cp "$1" "$2.new"
  mv -f "$2.new" "$2"
  echo "  $2 ($(stat -c %s "$2") bytes)" >&2
}

cargo build --release --target wasm32-wasip2

built=target/wasm32-wasip2/release
for plugin in decode_image preprocess; do
  publish "$built/$plugin.wasm" "out/$plugin.wasm"
done
publish out/decode_image.wasm ../model_repository/decode_image/1/plugin.wasm
