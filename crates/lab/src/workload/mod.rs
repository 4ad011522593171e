//! What flows there are: their sizes, when they start, from whom to whom they go, and traces that say all of it.
//! Each is pure: what is random comes from the stream it is given. docs/workloads.md explains the choices.

pub mod builtin;
mod parse;
pub mod sizes;

pub use parse::SizesError;
pub use sizes::Sizes;
