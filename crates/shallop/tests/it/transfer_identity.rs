//! Senders and receivers with certificates of an authority, as processes of the command.

use crate::support::transfer::{Place, one_line};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// Writes an authority, and a key with its certificate for 127.0.0.1.
fn write_certificates(place: &Place) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    for (name, text) in [("ca", issuer.pem()), ("cert", certificate.pem()), ("key", key.serialize_pem())] {
        fs::write(place.path(name), text).unwrap();
        fs::set_permissions(place.path(name), Permissions::from_mode(0o600)).unwrap();
    }
}

#[test]
fn senders_and_receivers_of_an_authority_trust_each_other_and_nobody_else() {
    let place = Place::new();
    write_certificates(&place);
    fs::write(place.path("file"), "contents").unwrap();
    let receiver = place.receiver(&["--cert", "cert", "--key", "key", "--client-ca", "ca"]);
    let (address, port) = (receiver.address.as_str(), receiver.port());
    let send = |to: &str, more: &str| {
        let more: Vec<&str> = more.split_whitespace().collect();
        let output = place.send("file", to, &more);
        (output.status.code(), one_line(&output.stderr))
    };
    for (to, more, said) in [
        (address, "--ca ca", "give --cert and --key"),
        (&format!("localhost:{port}"), "--ca ca", "for the name localhost"),
        (address, "", "by authorities (--ca)"),
        (address, "--anybody", "give --cert and --key"),
        (address, "--ca ca --anybody", "cannot be used with"),
        (address, "--ca ca --cert cert", "--key"),
        (address, "--ca cert --cert cert --key key", "signed by an authority in cert"),
        (address, "--ca none", "none"),
    ] {
        let (code, error) = send(to, more);
        assert_eq!(code, Some(2), "{to} {more}: {error}");
        assert!(error.contains(said), "{to} {more}: {error}");
    }
    assert!(!place.path("inbox/file").exists());
    let (code, error) = send(address, "--ca ca --cert cert --key key");
    assert_eq!(code, Some(0), "{error}");
    receiver.report(0);
    assert_eq!(fs::read(place.path("inbox/file")).unwrap(), b"contents");
}
