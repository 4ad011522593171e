//! How both ends of a transfer are identified: by known fingerprints, or by certificates of an authority.

use crate::print;
use crate::transfer_args::{CertificateOptions, Receive, TrustOptions};
use shallop_quic::{Config, identity::Fingerprint};
use shallop_transfer::client::{self, CertificateFiles, ConnectError, Trust, help_of_transfer};
use shallop_transfer::server::{ListenError, ServerIdentity, listen_for_files};
use shallop_transfer::session::{ReceiveServer, SendSession};
use shallop_transfer::{host_address::HostAddress, protocol::TransferError};
use shallop_workbench::diagnostic::{Report, Result, plain, with_help};
use shallop_workbench::kernels::data_folder;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Connects to a receiver that the options trust.
pub fn connect(host: &HostAddress, config: Config, trust: &TrustOptions) -> Result<SendSession> {
    let accepts = |seen| trust.trust_new || confirm_fingerprint(host, seen);
    let known = || trust.known_hosts.clone().unwrap_or_else(|| data_folder().join("known_hosts"));
    let whom = match (&trust.ca, trust.fingerprint) {
        (Some(authorities), _) => Trust::Authority(authorities.clone()),
        (None, Some(fingerprint)) => Trust::Fingerprint(fingerprint),
        (None, None) => Trust::KnownHosts { file: known(), accept_new: &accepts },
    };
    client::connect(host, config, &whom, files(&trust.own).as_ref()).map_err(|why| {
        if let ConnectError::UnknownHost { seen, .. } = &why {
            // The lines of the error break within a fingerprint, which is to be copied.
            print::stderr(&format!("--fingerprint {seen}\n"));
        }
        connect_error(&why)
    })
}

fn files(own: &CertificateOptions) -> Option<CertificateFiles> {
    let (certificate, key): (PathBuf, PathBuf) = (own.cert.clone()?, own.key.clone()?);
    Some(CertificateFiles { certificate, key })
}

/// Asks whether to trust an unknown receiver. Without a terminal, the answer is no.
fn confirm_fingerprint(host: &HostAddress, seen: Fingerprint) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    print::stderr(&format!(
        "{host} is unknown and shows the fingerprint {seen}. Does 'shallop receive' print it there? [y/N] "
    ));
    let mut answer = String::new();
    // An unreadable answer means no.
    let is_read = std::io::stdin().read_line(&mut answer).is_ok();
    is_read && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

/// The name of an option on the command line, from its name with underscores: `--known-hosts` from `known_hosts`.
fn option(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

fn advised(why: &impl ToString, help: Option<String>) -> Report {
    let why = why.to_string();
    help.map_or_else(|| plain(&why), |help| with_help(&why, &help))
}

/// Makes the diagnostic of a failed connection.
pub fn connect_error(why: &ConnectError) -> Report {
    let is_file = |host: &HostAddress| Path::new(host.name()).exists();
    match why {
        ConnectError::Name { host, .. } if is_file(host) => {
            let help = "the host is missing: there is a file of that name; the receiver is the last argument: \
                        shallop send PATH... HOST";
            with_help(why, &help)
        }
        _ => advised(why, why.help(&option)),
    }
}

/// Makes the diagnostic of a failed transfer, which `resumes` if it was one of files.
pub fn transfer_error(why: &TransferError, resumes: bool) -> Report {
    let is_kept = resumes && matches!(why, TransferError::Link(_));
    let kept = is_kept.then(|| "received data is kept: the same command resumes from there".to_owned());
    advised(why, help_of_transfer(why, &option).or(kept))
}

/// Makes the diagnostic of a listener that cannot start.
pub fn listen_error(why: &ListenError) -> Report {
    advised(why, why.help(&option))
}

/// Listens with the given certificate, or with this host's own key, which is created the first time.
pub fn listen(args: &Receive, config: Config) -> Result<ReceiveServer> {
    let own = files(&args.own).map_or_else(
        || ServerIdentity::Folder(args.identity.clone().unwrap_or_else(data_folder)),
        ServerIdentity::Files,
    );
    listen_for_files(&args.folder, args.bind, config, &own, args.client_ca.as_deref()).map_err(|why| listen_error(&why))
}
