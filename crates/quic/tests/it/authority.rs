//! Authentication of servers and clients by certificates of authorities.

use crate::ANY;
use pollster::block_on;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use shallop_core::BitsPerSec;
use shallop_quic::authority::Authority;
use shallop_quic::identity::{Identity, IdentityError};
use shallop_quic::{Config, Endpoint, QuicError, Tls};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::spawn;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn config() -> Config {
    Config { credits: false, ..Config::new(BitsPerSec::gbps(1)) }
}

/// Creates an authority, and a PEM file of its certificate.
fn authority(place: &Path, name: &str) -> (Issuer, PathBuf) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let file = place.join(name);
    fs::write(&file, issuer.pem()).unwrap();
    (issuer, file)
}

/// Creates a certificate of an authority for a name; returns the files of the certificate and the key.
fn signed(place: &Path, of: &Issuer, name: &str, is_expired: bool) -> [PathBuf; 2] {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if is_expired {
        params.not_after = date_time_ymd(2020, 1, 1);
    }
    let certificate = params.signed_by(&key, of).unwrap();
    let files = ["cert", "key"].map(|kind| place.join(format!("{name}-{is_expired}.{kind}")));
    fs::write(&files[0], certificate.pem()).unwrap();
    fs::write(&files[1], key.serialize_pem()).unwrap();
    fs::set_permissions(&files[1], Permissions::from_mode(0o600)).unwrap();
    files
}

/// Connects to a server with this identity by a name and sends a stream. `clients` authenticates the client.
fn connect(identity: &Identity, name: &str, tls: Tls, clients: Option<&Authority>) -> Result<(), QuicError> {
    let clients = clients.map(|of| of.of_clients().unwrap());
    let server_tls = clients.into_iter().fold(Tls::server(identity), Tls::asking);
    let server = Endpoint::bind(ANY, config(), server_tls).unwrap();
    let (address, listening) = (server.address(), server.clone());
    let server = spawn(move || {
        let accepted = block_on(server.accept());
        let connection = accepted.ok_or_else(|| QuicError::Lost("nobody came".to_owned()))?;
        let mut stream = block_on(connection.accept_uni())?;
        block_on(stream.read_to_end(10))
    });
    let client = Endpoint::bind(ANY, config(), tls).unwrap();
    let tried = block_on(async {
        let connection = client.connect(address, name).await?;
        let mut stream = connection.open_uni().await?;
        stream.write_all(b"hello").await?;
        stream.finished().await
    });
    if tried.is_err() {
        listening.close();
    }
    let arrived = server.join().unwrap();
    assert_eq!(arrived.is_ok_and(|bytes| bytes == b"hello"), tried.is_ok(), "{tried:?}");
    tried
}

fn said(tried: Result<(), QuicError>) -> String {
    tried.unwrap_err().to_string()
}

pub fn a_server_is_trusted_if_the_authority_has_signed_its_certificate_for_the_name() {
    let place = tempfile::tempdir().unwrap();
    let (issuer, file) = authority(place.path(), "ours");
    let (_, other) = authority(place.path(), "theirs");
    let trust = |file: &Path| Tls::client(Authority::load(file).unwrap().of_servers().unwrap());
    let server = |name: &str, is_expired| {
        let [cert, key] = signed(place.path(), &issuer, name, is_expired);
        Identity::load(&cert, &key).unwrap()
    };
    let by_name = server("files.example", false);
    connect(&by_name, "files.example", trust(&file), None).unwrap();
    connect(&server("127.0.0.1", false), "127.0.0.1", trust(&file), None).unwrap();

    let wrong = said(connect(&by_name, "other.example", trust(&file), None));
    assert!(wrong.contains("not valid for name"), "{wrong}");
    let unknown = said(connect(&by_name, "files.example", trust(&other), None));
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    let over = said(connect(&server("files.example", true), "files.example", trust(&file), None));
    assert!(over.contains("expired"), "{over}");
    let own = Identity::make().unwrap();
    let own = said(connect(&own, "shallop", trust(&file), None));
    assert!(own.contains("certificate"), "{own}");
}

pub fn a_server_that_asks_takes_clients_of_its_authority_and_no_others() {
    let place = tempfile::tempdir().unwrap();
    let (issuer, file) = authority(place.path(), "ours");
    let (other, _) = authority(place.path(), "theirs");
    let [cert, key] = signed(place.path(), &issuer, "files.example", false);
    let server = Identity::load(&cert, &key).unwrap();
    let ours = Authority::load(&file).unwrap();
    let trust = || Tls::client(ours.of_servers().unwrap());
    let client = |of: &Issuer, name: &str, is_expired| {
        let [cert, key] = signed(place.path(), of, name, is_expired);
        Identity::load(&cert, &key).unwrap()
    };
    let try_as = |tls: Tls| connect(&server, "files.example", tls, Some(&ours));
    try_as(trust().showing(&client(&issuer, "host", false))).unwrap();
    let none = said(try_as(trust()));
    assert!(none.contains("error 116"), "{none}");
    let foreign = said(try_as(trust().showing(&client(&other, "stranger", false))));
    assert!(foreign.contains("error 48") || foreign.contains("UnknownIssuer"), "{foreign}");
    let over = said(try_as(trust().showing(&client(&issuer, "late", true))));
    assert!(over.contains("xpired"), "{over}");
}

pub fn files_that_hold_no_certificate_or_key_or_an_open_one_are_named() {
    let place = tempfile::tempdir().unwrap();
    let (issuer, _) = authority(place.path(), "ours");
    let [cert, key] = signed(place.path(), &issuer, "host", false);
    let said = |found: Result<Identity, IdentityError>| found.unwrap_err().to_string();
    assert!(said(Identity::load(&key, &key)).contains("it holds no certificate"));
    assert!(said(Identity::load(&cert, &cert)).contains("others may use it"));
    fs::set_permissions(&cert, Permissions::from_mode(0o600)).unwrap();
    assert!(said(Identity::load(&cert, &cert)).contains("it holds no key"));
    assert!(said(Identity::load(&cert, &place.path().join("none"))).contains("none"));
    let empty = place.path().join("empty");
    fs::write(&empty, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let wrong = Authority::load(&empty).err().unwrap().to_string();
    assert!(wrong.contains("empty: it cannot be used as an authority"), "{wrong}");
}
