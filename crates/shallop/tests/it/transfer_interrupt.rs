//! Ctrl-C during a transfer: the other side is told at once, and the same command resumes later.

use crate::support::transfer::{Place, Process, one_line};
use shallop_testing::soon;
use std::{fs, time::Duration};

#[test]
fn ctrl_c_ends_both_sides_at_once_and_the_transfer_resumes_later() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..12_000_000_u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
    fs::write(place.path("file"), &bytes).unwrap();
    let there = || place.part("file");
    let slow = |args: &[&'static str]| [args, &["--wait", "20ms", "--rate-limit", "20Mbps"]].concat();
    let end = |process: &mut Process| process.end(Duration::from_secs(10));

    let mut receiver = place.listen(&slow(&["receive", "inbox"]));
    let address = receiver.address.clone();
    let send = || {
        let args = slow(&["send", "file"]);
        place.start(&[&args[..2], &[address.as_str()], &args[2..]].concat())
    };

    let mut sender = send();
    assert!(soon(|| there() > 1_000_000));
    sender.interrupt();
    let (code, said) = end(&mut sender);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("resumes from there"), "{said}");

    let before = there();
    let mut sender = send();
    assert!(soon(|| there() > before + 1_000_000));
    receiver.process.interrupt();
    let (code, said) = end(&mut receiver.process);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("interrupted"), "of the first sender: {said}");
    let (code, said) = end(&mut sender);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("closed"), "{said}");
    assert!(one_line(said.as_bytes()).contains("the same command resumes"), "{said}");

    let again = slow(&["receive", "inbox", "--once", "--bind"]);
    let mut again = place.start(&[&again[..4], &[address.as_str()], &again[4..]].concat());
    // The rest of 12 MB at 20 Mb/s: four seconds, more on a busy machine.
    let (code, said) = send().end(Duration::from_secs(40));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(end(&mut again).0, Some(0));
    assert_eq!(fs::read(place.path("inbox/file")).unwrap(), bytes);
}
