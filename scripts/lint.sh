#!/usr/bin/env bash
# Formatting and lints of the whole repository. Tools that are not part of Rust are used where they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run() {
    echo "+ $*"
    "$@"
}

run cargo fmt --all --check
run cargo clippy --release --workspace --all-targets -- -D warnings
# Plugins are code for this machine too, in their tests; some of it is there for WebAssembly alone.
(cd plugins && run cargo clippy --workspace --all-targets -- -D warnings)
toolchain=$PWD/scripts/with_wasm_toolchain.sh
for guests in plugins tests/guests; do
    (
        cd "$guests"
        run cargo fmt --all --check
        run "$toolchain" cargo clippy --release --target wasm32-wasip2 --workspace --lib --examples -- -D warnings
    )
done
if command -v cargo-deny >/dev/null; then
    run cargo deny --all-features check
else
    echo "cargo-deny is not installed; licences and advisories are not checked (cargo install cargo-deny)"
fi
if command -v ruff >/dev/null; then
    run ruff check
else
    echo "ruff is not installed; Python is not checked"
fi
if command -v shellcheck >/dev/null; then
    git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck
else
    echo "shellcheck is not installed; shell scripts are not checked"
fi
