//! Files between a process of the command and endpoints of the test, over loopback.

use crate::support::transfer::{CODE, Place, report};
use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, Endpoint, QuicError, Tls, identity::AnyServer};
use shallop_transfer::client::{Trust, connect};
use shallop_transfer::protocol::{SendOptions, SourcePaths};
use std::{fs, io::Read, time::Duration};

#[test]
fn an_empty_list_does_not_end_receive_once() {
    let place = Place::new();
    let receiver = place.receiver(&[]);
    let to = receiver.address.parse().unwrap();
    let session = connect(&to, Config::new(BitsPerSec::gbps(1)), &Trust::Code(CODE.parse().unwrap()), None).unwrap();
    let nothing = session.send(&SourcePaths::default(), SendOptions::default(), &()).unwrap();
    assert!(nothing.transfer.is_empty());
    fs::write(place.path("file"), "abc").unwrap();
    report(&place.send("file", &receiver.address, &["--json"]));
    assert_eq!(receiver.report(0).0["transfer"]["files"], 1);
}

#[test]
fn strangers_see_nothing_and_are_not_seen() {
    let place = Place::new();
    fs::write(place.path("inbox/secret"), "a file").unwrap();
    let mut receiver = place.listen(&["receive", "inbox"]);
    let to = receiver.address.parse().unwrap();
    let threads = || fs::read_dir(format!("/proc/{}/task", receiver.process.0.id())).unwrap().count();
    let before = threads();
    let any = "127.0.0.1:0".parse().unwrap();
    let protocol: &[u8] = b"shallop-quic/1+code";
    let tls = Tls::client(AnyServer::new()).speaking(&[protocol]);
    let stranger = Endpoint::bind(any, Config { credits: false, ..Config::new(BitsPerSec::gbps(1)) }, tls).unwrap();
    let connections: Vec<_> = (0..100).map(|_| block_on(stranger.connect(to, "shallop")).unwrap()).collect();
    for connection in &connections {
        // The begin of a transfer, as a sender without a code would send it.
        let mut list = block_on(connection.open_uni()).unwrap();
        block_on(list.write_all(br#"{"say":"hello","version":1}{"say":"file","path":"secret","size":6}"#)).unwrap();
    }
    // The receiver's thread for signals may begin late.
    assert!(threads() <= before + 1, "no thread serves a stranger");
    for connection in &connections {
        let answer = block_on(connection.accept_any()).err().unwrap();
        assert!(matches!(answer, QuicError::Closed { code: 2, .. }), "{answer}");
    }
    let forged = block_on(stranger.connect(to, "shallop")).unwrap();
    let (mut proof, _) = block_on(forged.open_bi()).unwrap();
    block_on(proof.write_all(b"\x1b[2J 192.0.2.7:1: 12 files received, 32 bytes")).unwrap();
    forged.close(7, b"\x1b]0;words of a stranger\x07");
    assert!(threads() <= before + 1);
    drop(forged);
    receiver.process.interrupt();
    let (code, said) = receiver.process.end(Duration::from_secs(20));
    assert_eq!((code, said.as_str()), (Some(130), ""));
    let mut told = String::new();
    receiver.lines.read_to_string(&mut told).unwrap();
    assert_eq!(told, "");
}
