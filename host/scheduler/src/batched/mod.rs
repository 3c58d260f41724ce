//! Models that take whole batches: queue, batch forming, one thread per instance.

mod assemble;
mod form;
mod queue;
mod worker;

pub(crate) use queue::BatchedQueue;
