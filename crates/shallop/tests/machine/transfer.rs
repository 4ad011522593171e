//! Transfers that need IPv6, or a file system of their own.

use crate::support::transfer::{CODE, Listener, Place, RECEIVE_ONCE, one_line, report};
use shallop_testing::{Cause, Outcome, need, programs, skip};
use std::fs;
use std::process::{Command, Stdio};

pub fn a_receiver_of_both_families_is_reached_over_either() -> Outcome {
    need(Cause::Ipv6, std::net::UdpSocket::bind("[::1]:0"))?;
    let place = Place::new();
    for host in ["127.0.0.1", "[::1]", "localhost"] {
        fs::write(place.path(host), vec![9; 200_000]).unwrap();
        let receiver = Listener::start(place.command(&[RECEIVE_ONCE, &["--bind", "[::]:0"]].concat()));
        let to = format!("{host}:{}", receiver.port());
        let sent = report(&place.send(host, &to, &["--json"]));
        assert_eq!(sent["on_credits"], true, "{host}");
        receiver.report(0);
        assert_eq!(fs::read(place.path("inbox").join(host)).unwrap().len(), 200_000);
    }
    Ok(())
}

pub fn a_full_disk_fails_the_file_and_says_so() -> Outcome {
    programs(&["mount", "unshare"])?;
    let place = Place::new();
    fs::write(place.path("large"), vec![1; 3_000_000]).unwrap();
    fs::write(place.path("small"), "aye").unwrap();
    // A file system of 1 MB, in a mount namespace of the receiver.
    let script = "mount -t tmpfs -o size=1m none inbox && exec \"$0\" \"$@\"";
    let receive = place.command(&[RECEIVE_ONCE, &["--bind", "127.0.0.1:0"]].concat());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(receive.get_program()).args(receive.get_args());
    command.current_dir(place.path("")).env("SHALLOP_CODE", CODE);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let receiver = Listener::try_start(command)
        .map_err(|why| skip(Cause::Namespaces, format!("no namespaces for this user: {why}")))?;
    let to = receiver.address.as_str();
    let sent = place.output(&["send", "large", "small", to, "--wait", "20ms"]);
    assert_eq!(sent.status.code(), Some(1));
    let said = one_line(&sent.stderr);
    assert!(said.contains("large: not in place at the receiver: No space left"), "{said}");
    let what = one_line(&sent.stdout);
    assert!(what.contains("1 file sent, 1 not, "), "{what}");
    receiver.report(1);
    Ok(())
}
