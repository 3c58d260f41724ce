//! Compiles the C++ shim against the libtorch that torch-sys found.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let lib = env::var_os("DEP_TCH_LIBTORCH_LIB").map(PathBuf::from);
    let root = lib.as_deref().and_then(|lib| lib.parent()).map(PathBuf::from);
    let Some(root) = root.or_else(|| env::var_os("LIBTORCH").map(PathBuf::from)) else {
        println!(
            "cargo:error=no libtorch: run `make setup`, or set LIBTORCH to the folder of an installed torch"
        );
        return;
    };
    let include = root.join("include");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .files(["shim/runtime.cpp", "shim/module.cpp", "shim/session.cpp"])
        .include("shim")
        // As system headers, so that only our own code is warned about.
        .flag("-isystem")
        .flag(&include)
        .flag("-isystem")
        .flag(include.join("torch/csrc/api/include"))
        .flag("-D_GLIBCXX_USE_CXX11_ABI=1")
        .warnings(true)
        .extra_warnings(true)
        .compile("nacre_torch_shim");
}
