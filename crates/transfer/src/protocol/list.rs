//! The list of files and folders at the begin of a transfer.

use crate::limits::ListMemory;
use crate::protocol::control::{ControlReader, ControlWriter};
use crate::protocol::manifest::{Entry, MAX_ENTRIES, Manifest};
use crate::protocol::message::{Message, PROTOCOL};
use crate::protocol::{MAX_PUSHED, error::TransferError, link::Link, token::Token};
use shallop_quic::tidy;

/// The memory of an entry and its state, without its path, bytes.
const ENTRY: usize = 128;

pub(crate) struct SenderList {
    pub token: Token,
    pub manifest: Manifest,
    /// Whether the files follow unasked.
    pub is_pushed: bool,
}

/// Reads the sender's list of files and folders, and checks their paths and sizes.
pub(crate) fn read_list(control: &mut ControlReader, memory: &mut ListMemory<'_>) -> Result<SenderList, TransferError> {
    let wrong = |what: &str| Err(TransferError::Manifest(what.to_owned()));
    let Message::Hello { protocol, token, entries, bytes, pushed } = control.read()? else {
        return Err(TransferError::Protocol("it does not greet".to_owned()));
    };
    if protocol != PROTOCOL {
        return Err(TransferError::Protocol(format!("it speaks {:?}, not {PROTOCOL:?}", tidy(&protocol))));
    }
    if entries as usize > MAX_ENTRIES {
        return wrong("it has too many entries");
    }
    let mut manifest = Manifest::default();
    for number in 0..entries {
        let Message::Entry { id, path, kind, size, mode } = control.read()? else {
            return wrong("it has fewer entries than said");
        };
        if id != number {
            return wrong("its entries do not count up from 0");
        }
        if !memory.take(path.len() + ENTRY) {
            return wrong("its list needs more memory than the lists of all transfers may take");
        }
        manifest.push(Entry { path, kind, size, mode })?;
    }
    if manifest.bytes() != bytes {
        return wrong("its sizes do not add up");
    }
    if pushed && bytes > MAX_PUSHED {
        return wrong("it has too many bytes to be sent unasked");
    }
    manifest.check()?;
    Ok(SenderList { token, manifest, is_pushed: pushed })
}

/// Opens the control stream and sends the list of files and folders.
pub(crate) fn write_list(
    link: &dyn Link, manifest: &Manifest, token: Option<Token>, is_pushed: bool,
) -> Result<ControlWriter, TransferError> {
    let token = token.map_or_else(Token::random, Ok)?;
    let mut control = ControlWriter::new(link.open_uni()?);
    let entries = manifest.entries();
    control.write(&Message::Hello {
        protocol: PROTOCOL.to_owned(),
        token,
        entries: entries.len() as u32,
        bytes: manifest.bytes(),
        pushed: is_pushed,
    })?;
    for (id, entry) in (0..).zip(entries) {
        control.write(&Message::entry(id, entry))?;
    }
    control.flush()?;
    Ok(control)
}
