//! What a peer says in a transfer of files, as the receiver and as the sender hear it: lines of any sort and order, and
//! streams of any bytes. Nothing is written outside of the receiver's folder, and a file is there only if its BLAKE3
//! was told.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use shallop_fuzz::draw;
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{
    Link, Outgoing, PART_SUFFIX, ReceiveOptions, SendOptions, SourcePaths, Token, receive, send,
};
use std::collections::VecDeque;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A peer whose streams are made beforehand, and who reads nothing.
struct Script(Mutex<VecDeque<Vec<u8>>>);

impl Link for Script {
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>> {
        Ok(Box::new(Deaf))
    }

    fn accept_uni(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Ok(next.map(|bytes| Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>))
    }

    fn close(&self, _: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

struct Deaf;

impl Write for Deaf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outgoing for Deaf {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// What files have: an index, which their streams and sums may say.
const CONTENTS: [&[u8]; 3] = [b"", b"a", b"some more"];
const PATHS: [&str; 6] = ["a", "b/c", "../out", "b", "/out", "a.shallop-part"];

fn sum(u: &mut Unstructured<'_>, told: &mut Vec<String>) -> Result<String> {
    let hash = blake3::hash(u.choose(&CONTENTS)?).to_hex().to_string();
    told.push(hash.clone());
    Ok(hash)
}

/// A line that the grammar has, with any numbers, or any line.
fn line(u: &mut Unstructured<'_>, told: &mut Vec<String>) -> Result<String> {
    let id = draw::count(u)? % 5;
    let text = serde_json::Value::from(u.arbitrary::<&str>()?);
    Ok(match u.int_in_range(0..=11u8)? {
        0 => format!(r#"{{"say":"same","id":{id}}}"#),
        1 => format!(r#"{{"say":"ask","id":{id}}}"#),
        2 | 3 => format!(r#"{{"say":"sum","id":{id},"sum":"{}"}}"#, sum(u, told)?),
        4 => format!(r#"{{"say":"abandon","id":{id},"reason":{text}}}"#),
        5 => format!(r#"{{"say":"done","id":{id}}}"#),
        6 => format!(r#"{{"say":"failed","id":{id},"reason":{text}}}"#),
        7 => format!(r#"{{"say":"refuse","reason":{text}}}"#),
        8 => r#"{"say":"end"}"#.to_owned(),
        9 => {
            let (len, part) = (draw::number(u, 1)?, sum(u, told)?);
            format!(r#"{{"say":"want","id":{id},"part":{{"len":{len},"sum":"{part}"}}}}"#)
        }
        10 => format!(r#"{{"say":"want","id":{id},"part":null}}"#),
        _ => u.arbitrary::<&str>()?.to_owned(),
    })
}

/// What a sender says first: a list of files, most often a good one.
fn list(u: &mut Unstructured<'_>) -> Result<Vec<String>> {
    let (mut lines, mut total) = (Vec::new(), 0_u64);
    let entries = u.int_in_range(0..=3u8)?;
    for id in 0..entries {
        let path = serde_json::Value::from(if u.ratio(7, 8)? {
            PATHS[usize::from(u.int_in_range(0..=7u8)? % 6)]
        } else {
            u.arbitrary()?
        });
        let kind = *u.choose(&["file", "folder", "file"])?;
        // Most often that of a content; else any, up to 2^64 - 1.
        let size = if u.ratio(3, 4)? { u.choose(&CONTENTS)?.len() as u64 } else { draw::number(u, 1 << 20)? };
        let size = if kind == "folder" { 0 } else { size };
        total = total.wrapping_add(size);
        let mode = u.int_in_range(0..=0o777)?;
        lines.push(format!(r#"{{"say":"entry","id":{id},"path":{path},"kind":"{kind}","size":{size},"mode":{mode}}}"#));
    }
    let bytes = if u.ratio(9, 10)? { total } else { draw::number(u, 1)? };
    let hello = r#"{"say":"hello","protocol":"shallop-files-3","token":"00000000000000000000000000000007""#;
    let pushed = u.arbitrary::<bool>()?;
    lines.insert(0, format!(r#"{hello},"entries":{entries},"bytes":{bytes},"pushed":{pushed}}}"#));
    Ok(lines)
}

fn stream(u: &mut Unstructured<'_>, told: &mut Vec<String>) -> Result<Vec<u8>> {
    if u.ratio(1, 4)? {
        return Ok(u.arbitrary::<&[u8]>()?.to_vec());
    }
    let (id, offset) = (draw::count(u)? % 4, if u.ratio(3, 4)? { 0 } else { draw::number(u, 1)? });
    let content = *u.choose(&CONTENTS)?;
    let end = hex(&sum(u, told)?);
    let chunk = if content.is_empty() { vec![] } else { (content.len() as u32).to_le_bytes().to_vec() };
    Ok([b"F", &id.to_le_bytes()[..], &offset.to_le_bytes(), &chunk, content, &[0; 4], &end].concat())
}

fn hex(digits: &str) -> Vec<u8> {
    blake3::Hash::from_hex(digits).map(|hash| hash.as_bytes().to_vec()).expect("a digest")
}

/// The streams of a peer, the first of them its control stream, and the sums that it told.
fn script(u: &mut Unstructured<'_>, lists: bool) -> Result<(Script, Vec<String>)> {
    let mut lines = if lists { list(u)? } else { Vec::new() };
    let mut told = Vec::new();
    for _ in 0..u.int_in_range(0..=6u8)? {
        lines.push(line(u, &mut told)?);
    }
    let mut control = lines.join("\n").into_bytes();
    control.push(b'\n');
    let mut streams = VecDeque::from([control]);
    for _ in 0..u.int_in_range(0..=3u8)? {
        streams.push_back(stream(u, &mut told)?);
    }
    Ok((Script(Mutex::new(streams)), told))
}

/// A folder of this process, in memory where the system has that.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let place = base.join(format!("shallop-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder");
    std::fs::write(place.join("sent"), CONTENTS[2]).expect("a file");
    place
});

/// Every file below a folder that is whole.
fn check(folder: &Path, told: &[String]) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            check(&path, told);
        } else if !path.to_string_lossy().ends_with(PART_SUFFIX) {
            let hash = blake3::hash(&std::fs::read(&path).expect("a file")).to_hex().to_string();
            assert!(told.contains(&hash), "{} is no file that was sent", path.display());
        }
    }
}

fn run(bytes: &[u8]) -> Result<()> {
    let u = &mut Unstructured::new(bytes);
    if u.arbitrary()? {
        let (peer, _) = script(u, false)?;
        let sources = SourcePaths::collect(&[PLACE.join("sent")]).expect("a file");
        let streams = usize::from(u.int_in_range(1..=4u8)?);
        let push = if u.arbitrary()? { 64 } else { 0 };
        let token = Token::try_from("7".repeat(32)).ok();
        let _ = send(&peer, &sources, SendOptions { streams, token, push, ..SendOptions::default() }, &());
        return Ok(());
    }
    let inside = PLACE.join("around/inside");
    // An input that ended has left what it had.
    let _ = std::fs::remove_dir_all(&inside);
    std::fs::create_dir_all(&inside).expect("a folder");
    let mut all = Vec::new();
    // The second one goes on from what the first one left.
    for _ in 0..2 {
        let (peer, told) = script(u, true)?;
        all.extend(told);
        let options = ReceiveOptions { overwrite: u.arbitrary()?, hidden: u.arbitrary()?, ..ReceiveOptions::default() };
        let _ = receive(&peer, &inside, options, &Limits::default(), &());
        let around = std::fs::read_dir(PLACE.join("around")).expect("a folder");
        assert_eq!(around.count(), 1, "something was written outside");
        check(&inside, &all);
    }
    std::fs::remove_dir_all(&inside).expect("a folder");
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
