//! Generates the gRPC service over the messages of `nacre-proto`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../proto/proto");
    let descriptors = protox::compile(["grpc_service.proto"], ["../proto/proto"])?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(true)
        .build_transport(false)
        .extern_path(".inference", "::nacre_proto::inference")
        .compile_fds(descriptors)?;
    Ok(())
}
