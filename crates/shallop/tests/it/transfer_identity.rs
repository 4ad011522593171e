//! Senders and receivers with certificates of an authority, as processes of the command.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;

/// Writes an authority, and a certificate of it with its key, for 127.0.0.1.
fn write_certificates(place: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    for (name, text) in
        [("ca", issuer.pem()), ("cert", certificate.pem()), ("key", key.serialize_pem())]
    {
        fs::write(place.join(name), text).unwrap();
        fs::set_permissions(place.join(name), Permissions::from_mode(0o600)).unwrap();
    }
}

/// What a receiver with these arguments says on standard error before it receives anything.
fn said_at_start(place: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
    command.args(["receive", "inbox", "--json", "--bind", "127.0.0.1:0"]).args(more);
    command.current_dir(place).env("XDG_DATA_HOME", place).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(first.contains("address"), "{first}{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_receiver_warns_that_anybody_may_send_unless_it_asks_for_certificates() {
    let place = tempfile::tempdir().unwrap();
    write_certificates(place.path());
    fs::create_dir(place.path().join("inbox")).unwrap();
    let said = said_at_start(place.path(), &[]);
    assert!(said.starts_with("warning: anybody who reaches this port may send files"), "{said}");
    assert!(said.contains("--client-ca FILE"), "{said}");
    assert_eq!(said_at_start(place.path(), &["--client-ca", "ca"]), "");
}

#[test]
fn senders_and_receivers_of_an_authority_trust_each_other_and_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    write_certificates(place.path());
    fs::create_dir(place.path().join("inbox")).unwrap();
    fs::write(place.path().join("file"), "contents").unwrap();
    let shallop = |args: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
        command.args(args.split_whitespace()).current_dir(place.path()).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", place.path()).stderr(Stdio::piped());
        command
    };
    let receive = "receive inbox --once --json --wait 20ms --bind 127.0.0.1:0";
    let mut child = shallop(&format!("{receive} --cert cert --key key --client-ca ca"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let told: Value = serde_json::from_str(&first).unwrap();
    let address = told["address"].as_str().unwrap().to_owned();
    let port = address.rsplit_once(':').unwrap().1;
    let send = |to: &str, more: &str| {
        let output = shallop(&format!("send file {to} --wait 20ms {more}")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Without what a narrow terminal breaks it with.
        let words: Vec<&str> = said.split_whitespace().filter(|&word| word != "│").collect();
        (output.status.code(), words.join(" "))
    };
    for (to, more, said) in [
        (address.as_str(), "--ca ca", "give --cert and --key"),
        (&format!("localhost:{port}"), "--ca ca", "for the name localhost"),
        (&address, "--ca ca --trust-new", "cannot be used with"),
        (&address, "--ca ca --cert cert", "--key"),
        (&address, "--ca cert --cert cert --key key", "signed by an authority in cert"),
        (&address, "--ca none", "none"),
    ] {
        let (code, error) = send(to, more);
        assert_eq!(code, Some(2), "{to} {more}: {error}");
        assert!(error.contains(said), "{to} {more}: {error}");
    }
    assert!(!place.path().join("inbox/file").exists());
    let (code, error) = send(&address, "--ca ca --cert cert --key key");
    assert_eq!(code, Some(0), "{error}");
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(place.path().join("inbox/file")).unwrap(), b"contents");
}
