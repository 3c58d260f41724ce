#!/usr/bin/env bash
# Builds Rust's wasm32-wasip2 target from Debian's packages, for machines on which rustup cannot fetch it.
# usage: debian_wasm_toolchain.sh FOLDER
#
# Debian ships a newer Rust (rustc-web) with its source, LLVM's linker and a C library for WASI. They are downloaded and
# unpacked into FOLDER; nothing is installed and no root is needed. The standard library is then compiled once for the
# target. FOLDER/environment.sh is what a build of plugins has to read first; it is written last.
set -euo pipefail

target=wasm32-wasip2
final=$1
prefix=$final.new
rm -rf "$prefix"
mkdir -p "$prefix/packages"

echo "      downloading Debian's Rust, LLVM and WASI packages"
(
    cd "$prefix/packages"
    # The release and its security updates may hold unlike versions; all of these have to be of one.
    version=$(apt-cache madison rustc-web | awk '{ print $3; exit }')
    if [ -z "$version" ]; then
        echo "the package rustc-web is unknown here; 'sudo apt-get update' may help, an older Debian has none" >&2
        exit 1
    fi
    library=$(apt-cache depends "rustc-web=$version" | awk '/Depends: libstd-rust-web/ { print $2 }' | grep -v -- -dev | head -n 1)
    llvm=$(apt-cache depends "rustc-web=$version" rust-web-llvm 2>/dev/null | awk '/Depends: libllvm/ { print $2; exit }')
    wanted=("rustc-web=$version" "libstd-rust-web-dev=$version" "rust-web-src=$version" "$library" wasi-libc)
    if apt-cache show "rust-web-llvm=$version" >/dev/null 2>&1; then
        wanted+=("rust-web-llvm=$version")
    fi
    [ -n "$llvm" ] && wanted+=("$llvm" "lld-${llvm#libllvm}")
    apt-get download -q "${wanted[@]}"
    for package in *.deb; do
        dpkg -x "$package" "$prefix"
    done
)
rm -rf "$prefix/packages"
