//! Files between two processes of the command, over loopback.

use crate::support::transfer::{Place, one_line, report};
use std::fs;

#[test]
fn files_arrive_at_a_known_receiver_only() {
    let place = Place::new();
    fs::create_dir(place.path("source")).unwrap();
    let bytes: Vec<u8> = (0..700_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    fs::write(place.path("source/file"), &bytes).unwrap();
    let receiver = place.receiver(&[]);
    let (address, fingerprint) = (receiver.address.clone(), receiver.fingerprint.clone());

    let other = "00000000-00000000-00000000-00000000-00000000-00000000-00000000-00000000";
    let to_copy = format!("--fingerprint {fingerprint}\n");
    for (more, why) in
        [(&[][..], &["is not known", &to_copy][..]), (&["--fingerprint", other], &["somebody else answers"])]
    {
        let refused = place.send("source", &address, more);
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(why.iter().all(|why| said.contains(why)), "{said}");
    }
    assert!(!place.path("inbox/source").exists());

    let sent = report(&place.send("source", &address, &["--trust-new", "--json"]));
    assert_eq!(sent["on_credits"], true);
    assert_eq!(sent["transfer"]["bytes"], 700_000);
    assert!(sent["credits"]["data_packets"].as_u64() <= sent["credits"]["used"].as_u64());
    let (found, _) = receiver.report(0);
    assert_eq!(found["transfer"]["files"], 1);
    assert!(fs::read(place.path("inbox/source/file")).unwrap() == bytes);
    let known = fs::read_to_string(place.path("data/shallop/known_hosts")).unwrap();
    assert_eq!(known.trim(), format!("{address} {fingerprint}"));
}

#[test]
fn zeros_for_a_time_are_counted_where_they_arrive_and_no_file_is_made() {
    let place = Place::new();
    let receiver = place.receiver(&[]);
    let to = receiver.address.as_str();
    let zeros = ["send", "--for", "300ms", to, "--wait", "20ms", "--trust-new", "--json"];
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
    let sent = place.send("file", &receiver.address, &["--trust-new", "--quiet", "--stats"]);
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
    fs::write(place.path("file"), vec![7; 300_000]).unwrap();
    let receiver = place.receiver(&[]);
    let more = ["--trust-new", "--json", "--unscheduled", "100KB"];
    let sent = report(&place.send("file", &receiver.address, &more));
    assert_eq!(sent["leaves"], "credits");
    let unscheduled = sent["credits"]["unscheduled"].as_u64().unwrap();
    assert!((1..=66).contains(&unscheduled), "the list of files comes first: {unscheduled}");
    receiver.report(0);

    let receiver = place.receiver(&["--without-credits", "--overwrite"]);
    fs::write(place.path("file"), vec![8; 300_000]).unwrap();
    let more = ["--trust-new", "--fallback", "bbr", "--retry-credits", "1s"];
    let sent = place.send("file", &receiver.address, &more);
    assert_eq!(sent.status.code(), Some(0), "{}", one_line(&sent.stderr));
    let said = String::from_utf8(sent.stdout).unwrap();
    assert!(said.contains("Data leaves by BBR, without credits: one of both ends"), "{said}");
    receiver.report(0);
}

#[test]
fn bad_transfer_options_are_refused_with_their_name() {
    let place = Place::new();
    fs::write(place.path("notes.txt"), "aye").unwrap();
    std::os::unix::fs::symlink("notes.txt", place.path("link")).unwrap();
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = port.local_addr().unwrap().to_string();
    for (args, said) in [
        (&["send", "nowhere", "127.0.0.1"][..], &["nowhere: No such file"][..]),
        (&["send", "notes.txt", "127.0.0.1", "--wait", "0s"], &["--wait: the waiting time is from 1us"]),
        (&["send", "notes.txt", "no-such-host.invalid"], &["no-such-host.invalid:4747 is no host"]),
        (&["send", "notes.txt", "no such host"], &["' ' has no place in the name of a host"]),
        (&["send", "notes.txt", "ship:70000"], &["a port is a number from 1 to 65535"]),
        (&["send", "notes.txt", "notes.txt"], &["there is a file of that name", "the last argument"]),
        (&["send", "notes.txt"], &["HOST[:PORT]"]),
        (&["send", "notes.txt", "ship:/tmp"], &["the folder is chosen at the receiver"]),
        (&["send", "--for", "0s", "127.0.0.1"], &["a time above zero"]),
        (&["send", "link", "127.0.0.1"], &["link: symbolic links are not sent"]),
        (&["send", "notes.txt", "127.0.0.1", "--fingerprint", "12"], &["64 hexadecimal digits"]),
        (&["send", "notes.txt", "127.0.0.1", "--cert", "a"], &["--key"]),
        (&["receive", "--once"], &["required arguments were not provided", "<DIR>"]),
        (&["receive", "nowhere", "--once"], &["is no folder", "make it first"]),
        (&["receive", "notes.txt", "--once"], &["\"notes.txt\" is no folder"]),
        (&["receive", ".", "--bind", "4747"], &["as 192.0.2.1:4747"]),
        (&["receive", ".", "--bind", "192.0.2.1:4747"], &["--bind takes an address of this host"]),
        (&["receive", ".", "--bind", &taken], &[&taken, "another program has this port"]),
        (&["ping", "--listen", "--bind", &taken], &["another program has this port"]),
        (
            &["send", ".", "127.0.0.1", "--unscheduled", "2000GB"],
            &["--unscheduled: at most 1 TB leave before the first credit"],
        ),
        (&["send", ".", "127.0.0.1", "--unscheduled", "2"], &["--unscheduled"]),
        (&["send", ".", "127.0.0.1", "--fallback", "reno"], &["cubic, bbr"]),
    ] {
        let output = place.output(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = one_line(&output.stderr);
        for said in said {
            assert!(error.contains(said), "{args:?}: {error}");
        }
    }
}

#[test]
fn a_host_that_does_not_answer_is_reported_with_advice() {
    let place = Place::new();
    let deaf = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = deaf.local_addr().unwrap();
    let output = place.send("inbox", &to.to_string(), &["--trust-new"]);
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
    let sent = place.send("source", &receiver.address, &["--trust-new"]);
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
