//! Who the peer is: certificates, fingerprints that are known, and authorities.

pub mod authority;
pub mod identity;
pub mod known_hosts;
pub(crate) mod tls;
