//! Who both ends of a transfer are: fingerprints that are known, or certificates that an authority has signed.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use shallop_quic::authority::Authority;
use shallop_quic::identity::{Fingerprint, Identity, SERVER_NAME, ServerVerifier};
use shallop_quic::known_hosts::{Check, KnownHosts};
use shallop_quic::session::{Receiving, Sending};
use shallop_quic::{Config, QuicError, Tls};
use shallop_workbench::diagnostic::{Report, Result, plain, with_help};
use shallop_workbench::kernels::data_folder;
use shallop_workbench::printable::printable;

use crate::transfer::receive_at;
use crate::transfer_args::{Certificate, Receive, Receiver};

/// Connects to a receiver that is trusted.
pub fn connect(
    (host, address): (&str, SocketAddr),
    config: Config,
    trust: &Receiver,
) -> Result<Sending> {
    let own = certificate(&trust.own)?;
    let showing = |tls: Tls| own.iter().fold(tls, Tls::showing);
    if let Some(file) = &trust.ca {
        let authority = Authority::load(file).and_then(|of| of.of_servers());
        let tls = showing(Tls::client(authority.map_err(|why| plain(&why))?));
        let sending = Sending::connect_by(address, name_of(host), config, tls);
        return sending.map_err(|why| not_of_authority(host, file, &why));
    }
    let known_file = trust.known_hosts.clone().unwrap_or_else(|| data_folder().join("known_hosts"));
    let mut known = KnownHosts::load(&known_file).map_err(|why| plain(&why))?;
    let pinned = trust.fingerprint.or_else(|| known.fingerprint(host));
    let verifier = pinned.map_or_else(ServerVerifier::first_use, ServerVerifier::pinned);
    let tls = showing(Tls::client(Arc::clone(&verifier) as Arc<_>));
    let sending = Sending::connect_by(address, SERVER_NAME, config, tls)
        .map_err(|why| refused(host, pinned, &why))?;
    if let (None, Some(seen)) = (pinned, verifier.seen()) {
        ask(&mut known, host, seen, trust.trust_new)?;
    }
    Ok(sending)
}

/// The name in `NAME:PORT`, without brackets.
fn name_of(host: &str) -> &str {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.trim_start_matches('[').trim_end_matches(']')
}

fn certificate(own: &Certificate) -> Result<Option<Identity>> {
    let (Some(cert), Some(key)) = (&own.cert, &own.key) else { return Ok(None) };
    Identity::load(cert, key).map(Some).map_err(|why| plain(&why))
}

fn not_of_authority(host: &str, file: &Path, why: &QuicError) -> Report {
    let what = format!("{}: {why}", printable(host));
    if !why.to_string().contains("certificate") || asks_for_certificate(&what) {
        return not_sent(&what);
    }
    let file = file.display().to_string();
    let help = format!(
        "its certificate has to be for the name {}, valid now, and signed by an authority in {}",
        printable(name_of(host)),
        printable(&file)
    );
    with_help(&what, &help)
}

/// Why nobody was reached, or somebody else.
pub fn refused(host: &str, pinned: Option<Fingerprint>, why: &QuicError) -> Report {
    let what = format!("{}: {why}", printable(host));
    match pinned {
        Some(pinned) if why.to_string().contains("invalid peer certificate") => with_help(
            &what,
            &format!(
                "its fingerprint is not {pinned}: somebody else answers there, or it has a new identity; compare what \
                 'shallop receive' prints, and correct the file of known hosts"
            ),
        ),
        _ => not_sent(&what),
    }
}

/// Why nothing was sent, or not all.
pub fn not_sent(why: &str) -> Report {
    if asks_for_certificate(why) {
        let help =
            "the receiver takes files of senders with a certificate alone: give --cert and --key";
        return with_help(&why, &help);
    }
    plain(&why)
}

/// Alert 116 of TLS: a certificate is required. It may come when the connection is there for the sender.
fn asks_for_certificate(why: &str) -> bool {
    why.contains("error 116")
}

/// Asks whether a receiver is the right one, and keeps its fingerprint.
fn ask(known: &mut KnownHosts, host: &str, seen: Fingerprint, trust_new: bool) -> Result<()> {
    if let Check::Known = known.check(host, seen) {
        return Ok(());
    }
    let shown = printable(host);
    if !trust_new {
        if !std::io::stdin().is_terminal() {
            let help = format!(
                "compare with what 'shallop receive' prints there; then --fingerprint {seen}, or --trust-new"
            );
            return Err(with_help(&format!("{shown} is not known, and shows {seen}"), &help));
        }
        let question = format!("{shown} is not known, and shows {seen}. Is that what it prints?");
        let answer = dialoguer::Confirm::new().with_prompt(question).default(false).interact();
        if !answer.map_err(|why| plain(&why))? {
            return Err(plain(&"nothing was sent"));
        }
    }
    known.add(host, seen).map_err(|why| plain(&why))
}

/// Listens as the identity that was given, or else as this host's own, which is made the first time.
pub fn listen(args: &Receive, config: Config) -> Result<Receiving> {
    let identity = if let Some(identity) = certificate(&args.own)? {
        identity
    } else {
        let folder = args.identity.clone().unwrap_or_else(data_folder);
        Identity::load_or_make(&folder).map_err(|why| plain(&why))?
    };
    let clients = args.client_ca.as_ref().map(|file| {
        Authority::load(file).and_then(|of| of.of_clients()).map_err(|why| plain(&why))
    });
    receive_at(args.bind, config, &identity, clients.transpose()?)
}
