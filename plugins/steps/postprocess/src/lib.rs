//! What follows a network.
