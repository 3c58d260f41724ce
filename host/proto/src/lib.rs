//! Messages and descriptors of the KServe v2 inference protocol and of config.pbtxt, generated from `proto/`.
//!
//! Messages only: the crate that implements the service generates its trait over them from
//! [`FILE_DESCRIPTOR_SET`], with the path `.inference` mapped to [`inference`].

use std::sync::OnceLock;

use prost_reflect::{DescriptorPool, MessageDescriptor};

/// Package `inference`: the messages of `GRPCInferenceService` and [`inference::ModelConfig`].
///
/// Fields of type `bytes` are [`bytes::Bytes`] and share the buffer that they were decoded from.
#[allow(missing_docs, clippy::all, reason = "generated")]
pub mod inference {
    include!(concat!(env!("OUT_DIR"), "/inference.rs"));
}

/// The encoded `FileDescriptorSet` of package `inference`, services included.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The descriptors of package `inference`, for reflection.
pub fn descriptor_pool() -> &'static DescriptorPool {
    static POOL: OnceLock<DescriptorPool> = OnceLock::new();
    POOL.get_or_init(|| {
        #[allow(clippy::expect_used, reason = "the bytes are a part of this binary, and a test decodes them")]
        DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("the embedded descriptor set decodes")
    })
}

/// The descriptor of [`inference::ModelConfig`].
pub fn model_config_descriptor() -> MessageDescriptor {
    #[allow(clippy::expect_used, reason = "the message is a part of this binary, and a test looks it up")]
    descriptor_pool().get_message_by_name("inference.ModelConfig").expect("inference.ModelConfig is declared")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message;

    use super::*;

    #[test]
    fn embedded_descriptors_name_the_service_and_its_calls() {
        let pool = descriptor_pool();
        let service = pool.get_service_by_name("inference.GRPCInferenceService").unwrap();
        assert_eq!(service.methods().len(), 20);
        let stream = service.methods().find(|m| m.name() == "ModelStreamInfer").unwrap();
        assert!(stream.is_client_streaming() && stream.is_server_streaming());
        assert_eq!(model_config_descriptor().fields().len(), 25);
    }

    #[test]
    fn bytes_fields_share_the_received_buffer() {
        let tensor = Bytes::from_static(b"0123456789");
        let request = inference::ModelInferRequest { raw_input_contents: vec![tensor], ..Default::default() };
        let received = Bytes::from(request.encode_to_vec());
        let decoded = inference::ModelInferRequest::decode(received.clone()).unwrap();
        let range = received.as_ptr_range();
        assert!(range.contains(&decoded.raw_input_contents[0].as_ptr()));
    }
}
