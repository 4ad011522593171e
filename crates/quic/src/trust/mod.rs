//! Authentication of peers: codes, certificates and authorities.

pub mod authority;
pub mod code;
pub mod identity;
pub(crate) mod tls;
