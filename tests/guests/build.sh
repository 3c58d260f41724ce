#!/bin/sh
# Builds every guest into out/. Does nothing for what is up to date.
set -eu
cd "$(dirname "$0")"
cargo build --quiet --release --target-dir target --target wasm32-wasip2 --examples
mkdir -p out
for source in examples/*.rs; do
    guest=$(basename "$source" .rs)
    built=target/wasm32-wasip2/release/examples/$guest.wasm
    cmp -s "$built" "out/$guest.wasm" || cp "$built" "out/$guest.wasm"
done
