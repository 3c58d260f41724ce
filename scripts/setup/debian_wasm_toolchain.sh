#!/usr/bin/env bash
# Builds Rust's wasm32-wasip2 target from Debian's packages, for machines on which rustup cannot fetch it.
# usage: debian_wasm_toolchain.sh FOLDER
#
# Debian ships a Rust of its own (rustc-web) with its source, LLVM's linker and a C library for WASI. They are downloaded
# and unpacked into FOLDER; nothing is installed and no root is needed. The standard library is then compiled once for
# the target. FOLDER/environment.sh is what a build of plugins reads first; it is the last thing written.
set -euo pipefail

target=wasm32-wasip2
final=$1
rm -rf "$final"
mkdir -p "$final/packages"
prefix=$(cd "$final" && pwd)

say() { echo "      $*"; }

# The version of Rust, as 1.96, and of the LLVM that it is linked with, as 22.
version=$(apt-cache policy rustc-web | awk '/Candidate:/ { print $2 }')
rust=$(cut -d . -f 1,2 <<<"$version")
llvm=$(apt-cache depends "libstd-rust-web-$rust" 2>/dev/null | sed -n 's/.*Depends: libllvm//p' | head -n 1)
if [ -z "$llvm" ]; then
    echo "Debian's package rustc-web is not known here: 'sudo apt-get update' may help (Debian 12 or later has it)" >&2
    exit 1
fi

say "downloading Rust $rust, LLVM $llvm and the C library for WASI from Debian (140 MB)"
cd "$prefix/packages"
apt-get download -q=2 "rustc-web=$version" "libstd-rust-web-$rust=$version" "libstd-rust-web-dev=$version" \
    "rust-web-src=$version" "rust-web-llvm=$version" "libllvm$llvm" "lld-$llvm" wasi-libc
for package in *.deb; do
    dpkg -x "$package" "$prefix"
done
cd "$prefix"
rm -rf packages

usr=$prefix/usr
tools=$usr/lib/rustlib/x86_64-unknown-linux-gnu/bin
export LD_LIBRARY_PATH=$usr/lib/x86_64-linux-gnu
# rustc looks for its linker under these names, before the ones that Debian gives it.
ln -sf "lld-$llvm" "$usr/bin/rust-lld"
ln -sf "wasm-ld-$llvm" "$usr/bin/wasm-ld"
rm -rf "$tools/gcc-ld"

say "compiling Rust's standard library for $target (two minutes)"
mkdir -p "$prefix/sysroot/src"
cd "$prefix/sysroot"
: >src/lib.rs
cat >Cargo.toml <<'TOML'
# Empty: only the standard library that it depends on is wanted.
[package]
name = "sysroot"
version = "0.0.0"
edition = "2021"
[profile.release]
panic = "abort"
[workspace]
TOML
# -Z build-std is for nightly compilers; the embedded bitcode is what link-time optimisation of plugins needs.
PATH=$usr/bin:$tools:$PATH RUSTC=$usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes \
    cargo build --quiet --release --target "$target" -Z build-std=std,panic_abort
library=$usr/lib/rustlib/$target/lib
mkdir -p "$library/self-contained"
cp "target/$target/release/deps/"*.rlib "$library/"
rm -f "$library"/libsysroot-*.rlib
cp "$usr"/lib/wasm32-wasi/crt1*.o "$usr"/lib/wasm32-wasi/lib*.a "$library/self-contained/"
cd "$prefix"
rm -rf sysroot "$usr/src" "$usr/lib/rustlib/src" "$usr/share"

cat >environment.sh.new <<ENVIRONMENT
export LD_LIBRARY_PATH='$LD_LIBRARY_PATH'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export PATH='$usr/bin:$tools':\$PATH
export RUSTC='$usr/bin/rustc'
ENVIRONMENT
mv environment.sh.new environment.sh
