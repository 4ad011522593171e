//! A peer whose messages and streams are written by hand.

use super::Outcome;
use crate::memory_link::MemoryLink;
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{Link, Outgoing, ReceiveOptions, receive};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

pub(crate) struct Peer {
    pub(crate) link: MemoryLink,
    control: Box<dyn Outgoing>,
    heard: Option<BufReader<Box<dyn Read + Send>>>,
    /// Streams that have begun and not ended.
    begun: Vec<Box<dyn Outgoing>>,
}

impl Peer {
    pub(crate) fn new(link: MemoryLink) -> Self {
        let control = link.open_uni().unwrap();
        Self { link, control, heard: None, begun: Vec::new() }
    }

    pub(crate) fn say(&mut self, text: &str) {
        let _ = self.control.write_all(text.as_bytes()).and_then(|()| self.control.write_all(b"\n"));
    }

    /// The next line of the other side; empty at the end.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        if self.heard.is_none() {
            self.heard = self.link.accept_uni().ok().flatten().map(BufReader::new);
        }
        let _ = self.heard.as_mut().map(|heard| heard.read_line(&mut line));
        line
    }

    /// Sends a record that says that `summed` was sent.
    pub(crate) fn stream(&self, mark: u8, id: u32, offset: u64, bytes: &[u8], summed: &[u8]) {
        // The other side may have left.
        let Ok(mut stream) = self.link.open_uni() else { return };
        let _ = stream.write_all(&record(mark, id, offset, bytes, summed));
        let _ = stream.finish();
    }

    /// Sends the first bytes of a record.
    pub(crate) fn begin(&mut self, id: u32, bytes: &[u8], count: usize) {
        let Ok(mut stream) = self.link.open_uni() else { return };
        let _ = stream.write_all(&record(b'F', id, 0, bytes, bytes)[..count]);
        self.begun.push(stream);
    }

    /// Takes the streams of a sender, and reads none, until it closes the link.
    pub(crate) fn take_streams(&self) {
        let mut streams = Vec::new();
        while let Ok(Some(stream)) = self.link.accept_uni() {
            streams.push(stream);
        }
    }
}

pub(crate) fn record(mark: u8, id: u32, offset: u64, bytes: &[u8], summed: &[u8]) -> Vec<u8> {
    let header = [&[mark][..], &id.to_le_bytes(), &offset.to_le_bytes()].concat();
    let chunk = if bytes.is_empty() { vec![] } else { (bytes.len() as u32).to_le_bytes().to_vec() };
    [&header, &chunk[..], bytes, &[0; 4], blake3::hash(summed).as_bytes()].concat()
}

pub(crate) fn sent_by(to: &Path, options: ReceiveOptions, peer: impl FnOnce(&mut Peer)) -> Outcome {
    let (here, there) = MemoryLink::pair(None);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&there, to, options, &Limits::default(), &()));
        let mut other = Peer::new(here);
        peer(&mut other);
        other.link.close("through");
        receiver.join().unwrap()
    })
}

pub(crate) fn hello(entries: usize, bytes: u64) -> String {
    let start = r#"{"say":"hello","protocol":"shallop-files-3","token":"#;
    format!(r#"{start}"{:032x}","entries":{entries},"bytes":{bytes},"pushed":false}}"#, 7)
}

pub(crate) fn entry(id: usize, path: &str, kind: &str, size: u64) -> String {
    let path = serde_json::to_string(path).unwrap();
    format!(r#"{{"say":"entry","id":{id},"path":{path},"kind":"{kind}","size":{size},"mode":420}}"#)
}

pub(crate) fn sum(bytes: &[u8]) -> String {
    format!(r#"{{"say":"sum","id":0,"sum":"{}"}}"#, blake3::hash(bytes).to_hex())
}
