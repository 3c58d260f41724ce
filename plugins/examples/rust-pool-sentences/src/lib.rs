//! Makes one vector for each sentence of those of its tokens, and says how alike the sentences are.
//!
//! - inputs `token_embeddings`: FP32 [n, length, width], `attention_mask`: INT64 [n, length], 0 for padding
//! - output `embedding`: FP32 [n, width], a row a sentence
//! - output `similarity`: FP32 [n, n], the cosine of each embedding with each
//!
//! Parameters, both optional, with their defaults: `pooling` mean (or cls, max), `normalize` true (embeddings of
//! length 1). The width is that of `token_embeddings` in config.pbtxt, if it says one.

use nacre_plugin::{DataType, Description, Error, Plugin, Request, Response, Settings, Tensor, TensorSpec};
use nacre_postprocess::{Pooling, cosine_similarity_matrix, normalize_l2};

struct PoolSentences {
    pooling: Pooling,
    normalize: bool,
}

impl Plugin for PoolSentences {
    fn describe(settings: &Settings) -> Result<Description, Error> {
        let width =
            settings.input("token_embeddings").and_then(|spec| spec.dims.last().copied()).unwrap_or(-1);
        Ok(Description {
            summary: "pools token embeddings to sentence embeddings and compares these".to_owned(),
            inputs: vec![
                TensorSpec::new("token_embeddings", DataType::Fp32, &[-1, -1, width]),
                TensorSpec::new("attention_mask", DataType::Int64, &[-1, -1]),
            ],
            outputs: vec![
                TensorSpec::new("embedding", DataType::Fp32, &[-1, width]),
                TensorSpec::new("similarity", DataType::Fp32, &[-1, -1]),
            ],
        })
    }

    fn configure(settings: &Settings) -> Result<Self, Error> {
        settings.warn_unknown(&["pooling", "normalize"]);
        Ok(Self {
            pooling: settings.choose("pooling", &Pooling::WORDS)?.unwrap_or(Pooling::Mean),
            normalize: settings.parse("normalize")?.unwrap_or(true),
        })
    }

    fn process(&mut self, request: Request) -> Result<Response, Error> {
        let (tokens, mask) = (request.input("token_embeddings")?, request.input("attention_mask")?);
        let [n, length, width] = tokens.dims()?;
        if mask.dims()? != [n, length] {
            return Err(Error::invalid_argument(format!(
                "input 'attention_mask' has the shape {:?}: expected [{n}, {length}], as 'token_embeddings' has {:?}",
                mask.shape, tokens.shape
            )));
        }
        if width == 0 {
            return Err(Error::invalid_argument("input 'token_embeddings' has vectors of width 0"));
        }
        let (tokens, mask) = (tokens.view::<f32>()?, mask.view::<i64>()?);
        let embedding = Tensor::build::<f32>("embedding", &[n as i64, width as i64], |values| {
            for ((sentence, tokens), mask) in
                values.chunks_exact_mut(width).zip(tokens.rows()).zip(mask.rows())
            {
                self.pooling.pool(&tokens, &mask, sentence);
                if self.normalize {
                    normalize_l2(sentence);
                }
            }
            Ok(())
        })?;
        if !request.wants("similarity") {
            return Ok(Response::new([embedding]));
        }
        let similarity = Tensor::build::<f32>("similarity", &[n as i64, n as i64], |values| {
            cosine_similarity_matrix(&embedding.view::<f32>()?, width, values);
            Ok(())
        })?;
        Ok(Response::new([embedding, similarity]))
    }
}

nacre_plugin::export!(PoolSentences);
