//! A component, but no plugin: it exports nothing.
