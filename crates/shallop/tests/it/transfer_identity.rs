//! Senders and receivers with certificates of an authority, as processes of the command.

use crate::support::script::hold;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes an authority, and a key with its certificate for 127.0.0.1.
fn write_certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    for (name, text) in [("ca", issuer.pem()), ("cert", certificate.pem()), ("key", key.serialize_pem())] {
        fs::write(folder.join(name), text).unwrap();
        fs::set_permissions(folder.join(name), Permissions::from_mode(0o600)).unwrap();
    }
}

#[test]
fn certificates() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    hold("it/scripts/identity.txt", "", &[("certificates", folder.path().to_str().unwrap())]);
}
