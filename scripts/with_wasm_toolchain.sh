#!/usr/bin/env bash
# Runs a command that builds WebAssembly, with the toolchain that the set-up found to work on this machine.
set -euo pipefail
environment="$(dirname "${BASH_SOURCE[0]}")/../.setup/wasm-toolchain/environment.sh"
if [ -f "$environment" ]; then
    # shellcheck disable=SC1090 # written by scripts/setup/debian_wasm_toolchain.sh
    . "$environment"
fi
exec "$@"
