//! Authentication of peers: certificates, fingerprints and authorities.

pub mod authority;
pub mod identity;
pub(crate) mod tls;
