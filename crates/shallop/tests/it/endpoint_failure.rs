//! Commands whose endpoint stops working end with exit code 2 and its reason, and do not wait.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A library that is loaded before libc: `recvmmsg` fails with EBADF while the file $FAILS exists, as it would for a
/// socket that is gone.
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

/// A folder with the library, from which commands are started.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("library.c"), LIBRARY).unwrap();
        fs::create_dir(place.path("inbox")).unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-o", "library.so", "library.c", "-ldl"]);
        let status = command.current_dir(place.0.path()).status().unwrap();
        assert!(status.success(), "the library is not compiled");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts the command; its sockets fail once the file of this name exists.
    fn start(&self, fails: &str, args: &[&str]) -> Started {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", self.path("data")).env("FAILS", self.path(fails));
        command.env("LD_PRELOAD", self.path("library.so"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Started(command.spawn().unwrap())
    }

    /// Starts something that listens at loopback, and returns its address.
    fn listen(&self, fails: &str, args: &[&str]) -> (Started, String) {
        let mut started = self.start(fails, &[args, &["--json", "--bind", "127.0.0.1:0"]].concat());
        let mut first = String::new();
        BufReader::new(started.0.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let told: serde_json::Value = serde_json::from_str(&first).unwrap();
        (started, told["address"].as_str().unwrap().to_owned())
    }
}

struct Started(Child);

impl Started {
    /// The exit code, and what was said on standard error, without the line breaks that fit it to the screen.
    fn end(&mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it waits for ever");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
        (self.0.wait().unwrap().code(), words.join(" "))
    }

    fn ends_with_the_reason(mut self, what: &str) {
        let (code, said) = self.end();
        assert_eq!(code, Some(2), "{what}: {said}");
        let expected = "the endpoint has failed: Bad file descriptor (os error 9)";
        assert!(said.contains(expected), "{what}: {said}");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the sockets fail, by a file and a datagram after it.
fn fail(path: &Path, address: &str) {
    fs::write(path, "").unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0], address).unwrap();
}

#[test]
fn receivers_whose_endpoint_fails_end_with_exit_code_2_and_its_reason() {
    let place = Place::new();
    let receive = place.listen("fails", &["receive", "inbox"]);
    let once = place.listen("fails", &["receive", "inbox", "--once"]);
    let ping = place.listen("fails", &["ping", "--listen"]);
    for (what, (started, address)) in [("receive", receive), ("--once", once), ("ping", ping)] {
        fail(&place.path("fails"), &address);
        started.ends_with_the_reason(what);
    }
}

#[test]
fn senders_whose_endpoint_fails_end_with_exit_code_2_and_its_reason() {
    let place = Place::new();
    let (_receiver, address) = place.listen("never", &["receive", "inbox"]);
    fs::write(place.path("fails at once"), "").unwrap();
    place.start("fails at once", &["ping", &address]).ends_with_the_reason("ping");
    let zeros = ["send", "--for", "60s", &address, "--trust-new", "--wait", "20ms"];
    place.start("fails at once", &zeros).ends_with_the_reason("send, before it is connected");
    let sender = place.start("fails", &zeros);
    // By then its identity is known, and zeros are sent.
    let begun = Instant::now();
    while !place.path("data/shallop/known_hosts").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody is connected");
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::write(place.path("fails"), "").unwrap();
    sender.ends_with_the_reason("send");
}
