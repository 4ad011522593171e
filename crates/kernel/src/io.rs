//! Blocking reads and writes of whole buffers on sockets.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsFd;

use rustix::io::Errno;

/// Writes all bytes.
///
/// # Errors
/// If the peer has closed the socket.
pub fn write(to: impl AsFd, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(&to, bytes, rustix::net::SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => bytes = &bytes[other?..],
        }
    }
    Ok(())
}

/// Reads until the buffer is full.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] if the peer has closed the socket.
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
