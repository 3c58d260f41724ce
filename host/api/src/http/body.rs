use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, EXPECT},
};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, SizeHint};
use nacre_domain::{Error, Result};

/// Reads a body into one piece of memory: copied once, or not at all if it arrives in one piece.
///
/// # Errors
/// Unsupported if it is compressed, resource exhausted above `limit` bytes, invalid argument if it breaks off.
pub async fn read_body(headers: &HeaderMap, mut body: Body, limit: usize) -> Result<Bytes> {
    refuse_compression(headers)?;
    let promised = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    if promised.is_some_and(|size| size > limit) {
        // A client that asks first has not sent it yet.
        if !headers.contains_key(EXPECT) {
            discard(&mut body, limit).await;
        }
        return Err(too_large(promised, limit));
    }
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|e| Error::invalid_argument(format!("the request's body broke off: {e}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit.saturating_sub(first.len()).saturating_sub(whole.len()) {
            discard(&mut body, limit).await;
            return Err(too_large(None, limit));
        }
        if !whole.is_empty() {
            whole.extend_from_slice(&data);
        } else if first.is_empty() {
            first = data;
        } else {
            whole.reserve(promised.unwrap_or(first.len() + data.len()));
            whole.extend_from_slice(&first);
            whole.extend_from_slice(&data);
            first = Bytes::new();
        }
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}

/// Reads on for as much again, keeping nothing: a client that is still sending would otherwise see its connection reset
/// before it sees the answer.
async fn discard(body: &mut Body, limit: usize) {
    let mut left = limit;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        if size > left {
            break;
        }
        left -= size;
    }
}

fn too_large(size: Option<usize>, limit: usize) -> Error {
    let size = size.map_or("more".to_owned(), |size| format!("{size} bytes"));
    Error::resource_exhausted(format!(
        "the request's body is {size}, but at most {limit} bytes are taken; raise --http-max-input-size to take more"
    ))
}

fn refuse_compression(headers: &HeaderMap) -> Result<()> {
    match headers.get(CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"" | b"identity") => Ok(()),
        Some(other) => Err(Error::unsupported(format!(
            "Content-Encoding '{}' is not supported; send the body uncompressed",
            String::from_utf8_lossy(other)
        ))),
    }
}

/// A body of known length that consists of pieces, none of them copied.
pub struct Chunks {
    chunks: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl Chunks {
    /// A body of these pieces; none may be empty.
    pub fn new(chunks: Vec<Bytes>) -> Chunks {
        let left = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Chunks { chunks: chunks.into_iter(), left }
    }
}

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.chunks.next();
        self.left -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
