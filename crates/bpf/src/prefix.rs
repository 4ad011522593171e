//! IP prefixes, as the BPF programs store them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// The bits before the IPv4 address in an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`).
const BEFORE_V4: u32 = 96;

/// An IP prefix, such as `10.0.0.0/8` or `fd00::/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Encodes the prefix as `struct prefix` of `c/tcp.h`: the prefix length, and an IPv6 address in network byte
    /// order.
    pub fn to_bytes(self) -> [u8; 20] {
        let (address, bits) = match self.address {
            IpAddr::V4(address) => (address.to_ipv6_mapped(), u32::from(self.bits) + BEFORE_V4),
            IpAddr::V6(address) => (address, u32::from(self.bits)),
        };
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&bits.to_ne_bytes());
        bytes[4..].copy_from_slice(&address.octets());
        bytes
    }

    /// Decodes `struct prefix` of `c/tcp.h`.
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        let (bits, address) = bytes.split_at(4);
        let bits = bits.first_chunk().map_or(0, |bits| u32::from_ne_bytes(*bits)).min(128);
        let address = address.first_chunk().map_or(Ipv6Addr::UNSPECIFIED, |of| Ipv6Addr::from(*of));
        match address.to_ipv4_mapped().filter(|_| bits >= BEFORE_V4) {
            Some(address) => Self { address: address.into(), bits: (bits - BEFORE_V4) as u8 },
            None => Self { address: address.into(), bits: bits as u8 },
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no prefix of addresses such as 10.0.0.0/8");
        let text = text.trim();
        if let Ok(address) = text.parse::<IpAddr>() {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            return Err(format!("\"{text}\" has no length; {address}/{bits} is this address alone"));
        }
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.parse().ok().filter(|&bits| bits <= most).ok_or_else(wrong)?;
        let prefix = Self { address, bits };
        if prefix.masked() != address {
            let whole = Self { address: prefix.masked(), bits };
            return Err(format!("\"{text}\" has bits beyond its length; {whole} is the prefix"));
        }
        Ok(prefix)
    }
}

impl Prefix {
    fn masked(self) -> IpAddr {
        let keep = u32::from(self.bits);
        match self.address {
            IpAddr::V4(of) => {
                let mask = u32::MAX.checked_shl(32 - keep).unwrap_or(0);
                IpAddr::V4((of.to_bits() & mask).into())
            }
            IpAddr::V6(of) => {
                let mask = u128::MAX.checked_shl(128 - keep).unwrap_or(0);
                IpAddr::V6((of.to_bits() & mask).into())
            }
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_both_versions_survive_their_bytes() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "192.0.2.7/32", "fd00::/16", "::/0", "2001:db8::1/128"] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), text);
            assert_eq!(Prefix::from_bytes(prefix.to_bytes()), prefix);
        }
        let bytes = "10.0.0.0/8".parse::<Prefix>().unwrap().to_bytes();
        assert_eq!(bytes[..4], 104_u32.to_ne_bytes());
        assert_eq!(bytes[14..], [0xff, 0xff, 10, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_prefix_is_refused_and_a_loose_one_told() {
        for wrong in ["", "10.0.0.0/33", "fd00::/129", "host/8", "10.0.0.0/-1"] {
            assert!(wrong.parse::<Prefix>().unwrap_err().contains("10.0.0.0/8"), "{wrong}");
        }
        let alone = |text: &str| text.parse::<Prefix>().unwrap_err();
        assert!(alone("192.0.2.7").contains("; 192.0.2.7/32 is"), "{}", alone("192.0.2.7"));
        assert!(alone("fd00::1").contains("; fd00::1/128 is"), "{}", alone("fd00::1"));
        assert!("10.0.0.1/8".parse::<Prefix>().unwrap_err().contains("; 10.0.0.0/8 is"));
    }
}
