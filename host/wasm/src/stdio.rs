//! A guest's standard output and standard error, cut into lines of the log.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamError, StreamResult},
};

use crate::log::{Line, MAX_LINE, PluginLog, Source};

/// Bytes that a guest may write in one call: a line is a byte or more, and each takes its time.
const AT_ONCE: usize = 1 << 16;

/// Standard output or standard error of one instance.
#[derive(Clone)]
pub(crate) struct LineStream {
    lines: Arc<Mutex<Lines>>,
}

impl LineStream {
    pub(crate) fn new(log: &Arc<PluginLog>, request: &Arc<str>, source: Source) -> LineStream {
        let lines =
            Lines { log: Arc::clone(log), request: Arc::clone(request), source, pending: Vec::new(), cut: 0 };
        LineStream { lines: Arc::new(Mutex::new(lines)) }
    }

    /// What is written from now on belongs to another request.
    pub(crate) fn begin(&self, request: &Arc<str>) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.end_line();
        lines.request = Arc::clone(request);
    }
}

impl IsTerminal for LineStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LineStream {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only asked for by WASI 0.3, which is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for LineStream {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for LineStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > AT_ONCE {
            return Err(StreamError::trap("more bytes written at once than check-write permits"));
        }
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(AT_ONCE)
    }
}

/// Collects bytes until a line is whole; the last one is written when the instance ends.
struct Lines {
    log: Arc<PluginLog>,
    request: Arc<str>,
    source: Source,
    pending: Vec<u8>,
    cut: usize,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        let mut parts = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            let room = MAX_LINE.saturating_sub(self.pending.len());
            self.pending.extend_from_slice(part.get(..room).unwrap_or(part));
            self.cut += part.len().saturating_sub(room);
            if parts.peek().is_some() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let text = String::from_utf8_lossy(self.pending.trim_ascii_end());
        if !text.is_empty() {
            let (source, level) = (self.source, self.source.level());
            let line =
                Line { request: &self.request, source, level, text: &text, missing: self.cut, fields: &[] };
            self.log.write_line(&line);
        }
        self.pending.clear();
        self.cut = 0;
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end_line();
    }
}
