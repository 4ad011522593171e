//! Whole reads and writes on sockets.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsFd;

use rustix::io::Errno;

/// Writes all of these bytes.
///
/// # Errors
/// If the other side is gone.
pub fn write(to: impl AsFd, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(&to, bytes, rustix::net::SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => bytes = &bytes[other?..],
        }
    }
    Ok(())
}

/// Fills these bytes.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] if the other side is gone.
pub fn read(from: impl AsFd, mut into: &mut [u8]) -> Result<()> {
    while !into.is_empty() {
        let got = match rustix::io::read(&from, &mut *into) {
            Err(Errno::INTR) => continue,
            Err(Errno::CONNRESET) => 0,
            other => other?,
        };
        if got == 0 {
            return Err(Error::from(ErrorKind::UnexpectedEof));
        }
        into = &mut into[got..];
    }
    Ok(())
}
