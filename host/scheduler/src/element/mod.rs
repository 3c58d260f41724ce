//! Models that take one element at a time: the rows of a request, several at once on the plugin threads.

mod join;
mod queue;
mod run;
mod split;

pub(crate) use queue::ElementQueue;
