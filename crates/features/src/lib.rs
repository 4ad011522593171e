//! Nothing but what `Cargo.toml` says: features of libraries that the command and the Python module are both built
//! with.
