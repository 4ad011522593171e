//! Files between two processes of the command, over loopback.

use crate::support::transfer::{CODE, Listener, Place, Process, RECEIVE_ONCE, one_line, report};
use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, Endpoint, QuicError, Tls, identity::AnyServer};
use shallop_transfer::client::{Trust, connect};
use shallop_transfer::protocol::{SendOptions, SourcePaths};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::{fs, fs::Permissions, time::Duration};

/// What a command prints until it is ended: two lines, and standard error.
fn first_words(mut command: Command) -> (String, String) {
    let mut process = Process(command.spawn().unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    let told: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
    process.0.kill().unwrap();
    (told.join("\n"), process.end(Duration::from_secs(10)).1)
}

#[test]
fn files_arrive_with_the_code_that_the_receiver_prints_only() {
    let place = Place::new();
    fs::create_dir(place.path("source")).unwrap();
    let bytes: Vec<u8> = (0..700_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    fs::write(place.path("source/file"), &bytes).unwrap();
    let mut command = place.command(&[RECEIVE_ONCE, &["--bind", "127.0.0.1:0"]].concat());
    command.env_remove("SHALLOP_CODE");
    let receiver = Listener::start(command);
    let address = receiver.address.clone();
    let code = receiver.code.clone().unwrap();
    for (code, why) in [(&[][..], "the receiver has another code"), (&["--code", "12"], "26 digits and letters")] {
        let refused = place.send("source", &address, code);
        assert_eq!(refused.status.code(), Some(2));
        let said = one_line(&refused.stderr);
        assert!(said.contains(why), "{said}");
    }
    let mut without = place.command(&["send", "source", &address]);
    let without = without.env_remove("SHALLOP_CODE").output().unwrap();
    let said = one_line(&without.stderr);
    assert!(without.status.code() == Some(2) && said.contains(&format!("the code of {address} is missing")), "{said}");
    assert!(!place.path("inbox/source").exists());

    let code = format!("{}-{}", &code[..13], code[13..].to_uppercase());
    let sent = report(&place.send("source", &address, &["--json", "--code", &code]));
    assert_eq!(sent["on_credits"], true);
    assert_eq!(sent["transfer"]["bytes"], 700_000);
    assert!(sent["credits"]["data_packets"].as_u64() <= sent["credits"]["used"].as_u64());
    let (found, said) = receiver.report(0);
    assert_eq!((&found["transfer"]["files"], said.as_str()), (&1.into(), ""), "nothing is said of strangers");
    assert!(fs::read(place.path("inbox/source/file")).unwrap() == bytes);
}

#[test]
fn a_receiver_prints_the_command_line_of_the_sender_and_warns_if_anybody_may_send() {
    let place = Place::new();
    let said = |args: &str| {
        let args: Vec<&str> = args.split_whitespace().collect();
        first_words(place.command(&args))
    };
    let (told, warned) = said("receive inbox --bind 127.0.0.1:47479");
    let line = format!("shallop send PATH... 127.0.0.1:47479 --code {CODE}");
    assert_eq!((told.lines().last(), warned.as_str()), (Some(line.as_str()), ""));
    let (told, _) = said("ping --listen --bind 0.0.0.0:47478 --code 7zzzzzzzzzzzzzzzzzzzzzzzzz");
    assert!(told.ends_with("\nshallop ping HOST:47478 --code 7zzzzzzzzzzzzzzzzzzzzzzzzz"), "{told}");
    let (told, warned) = said("receive inbox --anybody --bind 127.0.0.1:47477 --wait 20ms");
    assert!(told.ends_with("\nshallop send PATH... 127.0.0.1:47477 --anybody --wait 20ms"), "{told}");
    assert!(warned.starts_with("warning: anybody who reaches this port may send files"), "{warned}");
}

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
fn many_files_at_a_time_arrive_where_few_may_be_open_and_no_folder_is_open_to_all() {
    let place = Place::new();
    fs::create_dir(place.path("source")).unwrap();
    fs::set_permissions(place.path("source"), Permissions::from_mode(0o777)).unwrap();
    (0..64).for_each(|number| fs::write(place.path(&format!("source/{number}")), vec![7; 300_000]).unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -Sn 40; umask 0; exec \"$0\" \"$@\" --bind 127.0.0.1:0", env!("CARGO_BIN_EXE_shallop")]);
    shell.args(RECEIVE_ONCE).current_dir(place.path("")).env("SHALLOP_CODE", CODE);
    let receiver = Listener::start({
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    });
    report(&place.send("source", &receiver.address, &["--json", "--streams", "64"]));
    assert_eq!(receiver.report(0).0["transfer"]["files"], 64);
    let mode = fs::metadata(place.path("inbox/source")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn a_small_file_waits_for_no_credit() {
    let place = Place::new();
    fs::write(place.path("small"), "abc").unwrap();
    // The credits of both ends are good after 5 s.
    let receiver = place.listen(&["receive", "inbox", "--wait", "5s"]);
    let sent = report(&place.output(&["send", "small", &receiver.address, "--wait", "5s", "--json"]));
    assert_eq!((&sent["transfer"]["files"], &sent["credits"]["data_packets"]), (&1.into(), &0.into()), "{sent}");
    assert!(sent["transfer"]["seconds"].as_f64().unwrap() < 4.0, "{sent}");
    assert_eq!(fs::read(place.path("inbox/small")).unwrap(), b"abc");
}

#[test]
fn a_paused_sender_is_not_cut_when_another_begins() {
    let place = Place::new();
    let receiver = place.listen(&["receive", "inbox", "--wait", "20ms"]);
    fs::write(place.path("large"), vec![7; 4_000_000]).unwrap();
    fs::write(place.path("small"), "abc").unwrap();
    let slow = ["send", "large", &receiver.address, "--wait", "20ms", "--rate-limit", "20Mbps"];
    let mut paused = place.start(&slow);
    assert!(shallop_testing::soon(|| place.part("large") > 0));
    paused.signal("STOP");
    let sent = place.send("small", &receiver.address, &[]);
    // Longer than a sender may take to answer.
    std::thread::sleep(Duration::from_millis(1_500));
    paused.signal("CONT");
    assert_eq!(sent.status.code(), Some(0));
    let (code, said) = paused.end(Duration::from_secs(30));
    assert_eq!(code, Some(0), "{said}");
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

#[test]
fn zeros_for_a_time_are_counted_where_they_arrive_and_no_file_is_made() {
    let place = Place::new();
    let receiver = place.receiver(&[]);
    let to = receiver.address.as_str();
    let zeros = ["send", "--for", "300ms", to, "--wait", "20ms", "--json"];
    let sent = report(&place.output(&zeros));
    let packets = sent["credits"]["data_packets"].as_f64().unwrap();
    let payload = sent["transfer"]["bytes"].as_f64().unwrap() / packets;
    assert!((1_000.0..1_472.0).contains(&payload), "{sent}");
    // The first data leaves a waiting time later, and queued data still leaves at the end.
    let seconds = sent["transfer"]["seconds"].as_f64().unwrap();
    assert!((0.1..2.0).contains(&seconds), "{sent}");
    assert_eq!(fs::read_dir(place.path("inbox")).unwrap().count(), 0);
    let both = place.output(&["send", "--for", "1s", "file", to]);
    assert_eq!(both.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot be used with"));
}

/// The number in the line of a table that begins with this name.
fn figure(table: &str, name: &str) -> f64 {
    let line = table.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn both_sides_print_their_counters_and_quiet_prints_nothing() {
    let place = Place::new();
    fs::write(place.path("file"), vec![7; 400_000]).unwrap();
    let receiver = place.receiver(&["--stats"]);
    let sent = place.send("file", &receiver.address, &["--quiet", "--stats"]);
    assert_eq!(sent.status.code(), Some(0), "{}", one_line(&sent.stderr));
    assert!(sent.stdout.is_empty(), "{}", String::from_utf8_lossy(&sent.stdout));
    let of_sender = String::from_utf8(sent.stderr).unwrap();
    let (found, of_receiver) = receiver.report(0);

    let packets = figure(&of_sender, "data packets on credits");
    assert!(packets >= 400_000.0 / 1_472.0, "{of_sender}");
    assert!(figure(&of_sender, "credits granted") >= packets, "{of_sender}");
    assert!(figure(&of_sender, "QUIC packets sent") >= packets, "{of_sender}");
    let credits_sent = figure(&of_receiver, "credits sent to the peer");
    assert!(credits_sent >= figure(&of_sender, "credits granted"), "{of_receiver}");
    assert_eq!(found["credits"]["credits_sent"].as_f64(), Some(credits_sent));
    // A round trip over loopback is shorter than the waiting time.
    let trip = figure(&of_sender, "least round trip, ms");
    assert!(trip > 0.0 && trip < 20.0, "{of_sender}");
    let path = &found["path"];
    assert!(path["min_rtt_s"].as_f64().unwrap() <= path["max_smoothed_rtt_s"].as_f64().unwrap());
}

#[test]
fn unscheduled_data_and_the_controller_without_credits_can_be_chosen() {
    let place = Place::new();
    fs::write(place.path("file"), vec![7; 100_000]).unwrap();
    let receiver = place.receiver(&[]);
    let of_burst = ["--json", "--wait", "2s", "--unscheduled", "150KB"];
    let sent = report(&place.output(&[&["send", "file", &receiver.address], &of_burst[..]].concat()));
    assert_eq!(sent["leaves"], "credits");
    let unscheduled = sent["credits"]["unscheduled"].as_u64().unwrap();
    // The acknowledgement of the list does not end the burst.
    assert!((70..=119).contains(&unscheduled), "{unscheduled}");
    receiver.report(0);

    let receiver = place.receiver(&["--without-credits", "--overwrite"]);
    fs::write(place.path("file"), vec![8; 300_000]).unwrap();
    let more = ["--fallback", "bbr", "--retry-credits", "1s"];
    let sent = place.send("file", &receiver.address, &more);
    assert_eq!(sent.status.code(), Some(0), "{}", one_line(&sent.stderr));
    let said = String::from_utf8(sent.stdout).unwrap();
    assert!(said.contains("Data leaves by BBR, without credits: one of both ends"), "{said}");
    receiver.report(0);
}

#[test]
fn a_port_of_another_program_is_refused() {
    let place = Place::new();
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = port.local_addr().unwrap().to_string();
    for args in [&["receive", ".", "--bind", &taken][..], &["ping", "--listen", "--bind", &taken]] {
        let output = place.output(args);
        let error = one_line(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(&taken) && error.contains("another program has this port"), "{args:?}: {error}");
    }
}

#[test]
fn a_host_that_does_not_answer_is_reported_with_advice() {
    let place = Place::new();
    let deaf = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = deaf.local_addr().unwrap();
    let output = place.send("inbox", &to.to_string(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = one_line(&output.stderr);
    assert!(said.contains(&format!("{to}: no answer for 10 s")), "{said}");
    assert!(said.contains(&format!("let UDP to port {} and back pass?", to.port())), "{said}");
}

#[test]
fn odd_file_names_arrive_and_are_printed_escaped() {
    let place = Place::new();
    let odd = "two\nlines\u{1b}[31m";
    for folder in ["source/a folder there", "inbox/source/a file there", "source/empty folder"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    let (source, inbox) = (place.path("source"), place.path("inbox/source"));
    for (folder, name, text) in [
        (&source, odd, "aye"),
        (&source, "a file there", "aye"),
        (&source, "empty", ""),
        (&inbox, "a folder there", "in the way"),
        (&inbox, odd, "other"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let receiver = place.receiver(&[]);
    let sent = place.send("source", &receiver.address, &[]);
    assert_eq!(sent.status.code(), Some(1), "{}", one_line(&sent.stderr));
    let said = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(said.lines().count(), 3, "{said}");
    for name in [r"two\nlines\u001b[31m: not in place at the receiver: a file", "a file there", "a folder there"] {
        let start = format!("source/{name}");
        assert!(said.lines().any(|line| line.starts_with(&start)), "{start}: {said}");
    }
    assert_eq!(said.matches(": not in place at the receiver: ").count(), 3, "{said}");
    assert!(said.chars().all(|of| of == '\n' || !of.is_control()), "{said:?}");
    let (found, _) = receiver.report(1);
    assert_eq!(found["transfer"]["failed"].as_array().unwrap().len(), 3);
    assert_eq!(fs::read(inbox.join(odd)).unwrap(), b"other");
    assert!(fs::read(inbox.join("empty")).unwrap().is_empty());
    assert!(inbox.join("empty folder").is_dir());
}
