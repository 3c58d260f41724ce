#!/usr/bin/env bash
# The same plugin in seven languages: made, built, tested, checked, dropped into a running server, asked.
# Prints each answer and how long it took from `nacre plugin new` to there. After `make build`:
#   scripts/seven_languages.sh [EMPTY_FOLDER]
# The folder stays; it is a model repository. HTTP_PORT, GRPC_PORT, METRICS_PORT: other ports than 8000, 8001, 8002.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$(mktemp -d)}
server=http://127.0.0.1:${HTTP_PORT:=8000}
PATH=$here/target/release:$PATH

mkdir -p "$folder"
cd "$folder"
nacre serve --model-repository . --http-address 127.0.0.1 --grpc-address 127.0.0.1 --metrics-address 127.0.0.1 \
    --http-port "$HTTP_PORT" --grpc-port "${GRPC_PORT:-8001}" --metrics-port "${METRICS_PORT:-8002}" >server.log 2>&1 &
trap 'kill $!; wait' EXIT
curl --silent --retry 100 --retry-connrefused --retry-delay 1 --fail --output /dev/null "$server/v2/health/ready"

for language in rust c cpp zig python javascript typescript; do
    started=${EPOCHREALTIME/./}
    {
        nacre plugin new "$language" --language "$language"
        "$here/scripts/with_wasm_toolchain.sh" nacre plugin build "$language"
        nacre plugin test "$language"
        nacre plugin check "$language"
        curl --silent --show-error --fail-with-body --request POST "$server/v2/repository/models/$language/load"
        curl --silent --show-error --fail-with-body "$server/v2/models/$language/infer" --output "$language.json" --data '{
          "inputs": [
            { "name": "x", "datatype": "FP32", "shape": [3], "data": [1, 2, 3] },
            { "name": "names", "datatype": "BYTES", "shape": [1], "data": ["Ada"] }
          ]
        }'
    } >"$language.log" 2>&1 || {
        cat "$language.log" server.log
        exit 1
    }
    printf '%-10s  %4d.%d s  %s\n' "$language" $(((${EPOCHREALTIME/./} - started) / 1000000)) \
        $(((${EPOCHREALTIME/./} - started) / 100000 % 10)) "$(cat "$language.json")"
done
echo "the plugins are in $PWD"
