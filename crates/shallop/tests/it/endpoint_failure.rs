//! Commands whose endpoint stops working end with exit code 2 and its reason, and do not wait.

use crate::support::transfer::{Listener, Place, Process, one_line};
use std::{fs, net::UdpSocket, path::Path, process::Command, time::Duration};

/// A library to load before libc: `recvmmsg` fails with EBADF while the file $FAILS exists, as for a closed socket.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout)
{
    const char *fails = getenv("FAILS");
    if (fails && access(fails, F_OK) == 0) {
        errno = EBADF;
        return -1;
    }
    int (*real)(int, struct mmsghdr *, unsigned int, int, struct timespec *) = dlsym(RTLD_NEXT, "recvmmsg");
    return real(fd, messages, count, flags, timeout);
}
"#;

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("library.c"), LIBRARY).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-o", "library.so", "library.c", "-ldl"]);
    let status = command.current_dir(place.path("")).status().unwrap();
    assert!(status.success(), "the library is not compiled");
    place
}

/// A command whose sockets fail once the file `fails` exists.
fn command(place: &Place, fails: &str, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.env("FAILS", place.path(fails)).env("LD_PRELOAD", place.path("library.so"));
    command
}

fn start(place: &Place, fails: &str, args: &[&str]) -> Process {
    Process(command(place, fails, args).spawn().unwrap())
}

fn listen(place: &Place, fails: &str, args: &[&str]) -> Listener {
    let args = [args, &["--json", "--bind", "127.0.0.1:0"]].concat();
    Listener::start(command(place, fails, &args))
}

fn ends_with_the_reason(mut process: Process, what: &str) {
    let (code, said) = process.end(Duration::from_secs(30));
    assert_eq!(code, Some(2), "{what}: {said}");
    let expected = "the endpoint has failed: Bad file descriptor (os error 9)";
    assert!(one_line(said.as_bytes()).contains(expected), "{what}: {said}");
}

/// Makes the sockets fail: creates the file, and sends a datagram that wakes the receiver.
fn fail(path: &Path, address: &str) {
    fs::write(path, "").unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0], address).unwrap();
}

#[test]
fn receivers_whose_endpoint_fails_end_with_exit_code_2_and_its_reason() {
    let place = place();
    let receive = listen(&place, "fails", &["receive", "inbox"]);
    let once = listen(&place, "fails", &["receive", "inbox", "--once"]);
    let ping = listen(&place, "fails", &["ping", "--listen"]);
    for (what, listener) in [("receive", receive), ("--once", once), ("ping", ping)] {
        fail(&place.path("fails"), &listener.address);
        ends_with_the_reason(listener.process, what);
    }
}

#[test]
fn senders_whose_endpoint_fails_end_with_exit_code_2_and_its_reason() {
    let place = place();
    let receiver = listen(&place, "never", &["receive", "inbox"]);
    let to = receiver.address.as_str();
    fs::write(place.path("fails at once"), "").unwrap();
    ends_with_the_reason(start(&place, "fails at once", &["ping", to]), "ping");
    let zeros = ["send", "--for", "60s", to, "--wait", "20ms"];
    let what = "send, before it is connected";
    ends_with_the_reason(start(&place, "fails at once", &zeros), what);
    fs::write(place.path("large"), vec![7; 40_000_000]).unwrap();
    let slow = ["send", "large", to, "--wait", "20ms", "--rate-limit", "10Mbps"];
    let sender = start(&place, "fails", &slow);
    assert!(shallop_testing::soon(|| place.part("large") > 0));
    fs::write(place.path("fails"), "").unwrap();
    ends_with_the_reason(sender, "send");
}
