#!/usr/bin/env bash
# Builds every plugin of examples/ with `nacre plugin build` and puts it where it is served: plugins/out/<name>.wasm, and
# model_repository/<name>/1/plugin.wasm if the demo has a model of that name. A component that has not changed is left
# alone, so that a running server has nothing to reload.
set -euo pipefail
cd "$(dirname "$0")"
nacre=../target/release/nacre

if [[ ! -x $nacre ]]; then
  echo "plugins/build.sh: $nacre, which builds the plugins, is not there; 'make build' makes it." >&2
  exit 1
fi

# publish FILE PLACE: atomically, and only if it differs.
publish() {
  if cmp -s "$1" "$2"; then return; fi
  mkdir -p "$(dirname "$2")"
  cp "$1" "$2.new"
  mv -f "$2.new" "$2"
}

for project in examples/*/; do
  name=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$project/nacre.toml")
  "$nacre" plugin build "$project"
  publish "$project/1/plugin.wasm" "out/$name.wasm"
  if [[ -d ../model_repository/$name ]]; then
    publish "out/$name.wasm" "../model_repository/$name/1/plugin.wasm"
  fi
done
