#!/usr/bin/env bash
# Every test of the repository, from nothing: set-up, builds, Rust's tests, then real clients against a real server.
# Tells at its end how long each part took.
# Functions are called by name, through `part`.
# shellcheck disable=SC2317
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

times=()
status=0

report() {
    echo
    echo "time by part:"
    printf '%s\n' "${times[@]}"
    printf '  %5d s  all\n' "$SECONDS"
}

# part NAME COMMAND...: runs a command, remembers how long it took.
part() {
    local name=$1 started=$SECONDS code=0
    shift
    echo
    echo "== $name"
    "$@" || code=$?
    times+=("$(printf '  %5d s  %s' $((SECONDS - started)) "$name")")
    return "$code"
}

# needed ...: a part without which the others cannot run.
needed() {
    part "$@" && return
    echo "failed: $1"
    report
    exit 1
}

rust_tests() {
    if command -v cargo-nextest >/dev/null; then
        cargo nextest run --release --workspace && cargo test --release --workspace --doc --quiet
    else
        cargo test --release --workspace
    fi
}

plugin_tests() {
    (cd plugins && cargo test --quiet)
}

needed "set-up" "${PYTHON:-python3}" scripts/setup
needed "build of the server" cargo build --release -p nacre-server
needed "build of the plugins" scripts/with_wasm_toolchain.sh plugins/build.sh
needed "build of the hostile guests" scripts/with_wasm_toolchain.sh tests/guests/build.sh
needed "test models" .venv/bin/python tests/python/make_test_models.py .setup/test-models
part "tests in Rust" rust_tests || status=1
part "tests of the plugins" plugin_tests || status=1
part "tests with Python's clients" .venv/bin/python -m pytest tests/python || status=1

report
if [ "$status" -ne 0 ]; then
    echo "there were failures; see above"
fi
exit "$status"
