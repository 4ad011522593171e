//! How both ends of a transfer know each other: by a code, or by certificates of authorities.

use crate::messages;
use crate::transfer_args::{CertificateOptions, DEFAULT_WAIT, Ping, Receive, TrustOptions};
use shallop_quic::{Config, code::Code};
use shallop_transfer::client::{self, CertificateFiles, ConnectError, Trust, help_of_transfer};
use shallop_transfer::server::{Admission, ListenError, listen as listen_at, listen_for_files};
use shallop_transfer::session::{PORT, ReceiveServer, SendSession};
use shallop_transfer::{host_address::HostAddress, protocol::TransferError};
use shallop_workbench::diagnostic::{Report, Result, plain, with_help};
use shallop_workbench::fault::wrong_option;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The environment variable for the code, which the list of processes does not show.
const CODE: &str = "SHALLOP_CODE";

/// The code that was given, as an option or in the environment.
fn given_code(option: Option<&Code>) -> Result<Option<Code>> {
    let of_environment = |text: std::ffi::OsString| text.to_string_lossy().parse();
    let code = option.cloned().map(Ok).or_else(|| std::env::var_os(CODE).map(of_environment));
    code.transpose().map_err(|why| wrong_option(CODE, &why))
}

/// Connects to a receiver that the options trust.
pub fn connect(host: &HostAddress, config: Config, options: &TrustOptions) -> Result<SendSession> {
    let trust = match (&options.ca, options.anybody) {
        (Some(authorities), _) => Trust::Authority(authorities.clone()),
        (None, true) => Trust::Anybody,
        (None, false) => {
            let missing = || {
                let help = "'shallop receive' and 'shallop ping --listen' print it: give it with --code, or in the \
                            environment variable SHALLOP_CODE";
                with_help(&format!("the code of {host} is missing"), &help)
            };
            Trust::Code(given_code(options.code.as_ref())?.ok_or_else(missing)?)
        }
    };
    client::connect(host, config, &trust, files(&options.own).as_ref()).map_err(|why| connect_error(&why))
}

fn files(own: &CertificateOptions) -> Option<CertificateFiles> {
    let (certificate, key): (PathBuf, PathBuf) = (own.cert.clone()?, own.key.clone()?);
    Some(CertificateFiles { certificate, key })
}

/// The name of an option on the command line, from its name with underscores: `--client-ca` from `client_ca`.
fn option(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

fn advised(why: &impl ToString, help: Option<String>) -> Report {
    let why = why.to_string();
    help.map_or_else(|| plain(&why), |help| with_help(&why, &help))
}

/// Makes the diagnostic of a failed connection.
fn connect_error(why: &ConnectError) -> Report {
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

/// A server, and what the other end has to know.
pub struct Listening {
    pub server: ReceiveServer,
    pub code: Option<Code>,
    /// The options by which the other end knows this one.
    options: String,
}

impl Listening {
    fn new(who: Admission, server: std::result::Result<ReceiveServer, ListenError>) -> Result<Self> {
        let server = server.map_err(|why| advised(&why, why.help(&option)))?;
        let (code, options) = match who {
            Admission::Code(code) => (Some(code.clone()), format!("--code {code}")),
            Admission::Authority { .. } => (None, "--ca FILE --cert FILE --key FILE".to_owned()),
            Admission::Anybody(Some(_)) => (None, "--ca FILE".to_owned()),
            Admission::Anybody(None) => (None, "--anybody".to_owned()),
        };
        Ok(Self { server, code, options })
    }

    /// The command line of the other end.
    pub fn command(&self, begin: &str) -> String {
        let host = host_of(self.server.address());
        format!("shallop {begin} {host} {}", self.options)
    }
}

/// The host to give to the other end, as far as this one knows its own address.
fn host_of(address: SocketAddr) -> String {
    match (address.ip().is_unspecified(), address.port()) {
        (false, _) => address.to_string(),
        (true, PORT) => "HOST".to_owned(),
        (true, port) => format!("HOST:{port}"),
    }
}

/// Listens for files of those whom the options admit. Without any such option, a code is made.
pub fn listen(args: &Receive, config: Config) -> Result<Listening> {
    let who = match (files(&args.own), &args.client_ca) {
        (Some(own), Some(senders)) => Admission::Authority { own, senders: senders.clone() },
        (own, _) if args.anybody => Admission::Anybody(own),
        (Some(_), None) => return Err(wrong_option("--cert", &"say who may send: --client-ca FILE, or --anybody")),
        (None, _) => match given_code(args.code.as_ref())? {
            None if args.sending.printing.quiet && !messages::is_json() => {
                return Err(wrong_option("--quiet", &"no new code could be printed: give --code or SHALLOP_CODE"));
            }
            given => Admission::Code(code_or_new(given)?),
        },
    };
    let server = listen_for_files(&args.folder, args.bind, config, &who);
    let mut listening = Listening::new(who, server)?;
    if args.sending.network.wait != DEFAULT_WAIT {
        // The longer waiting time of both ends counts.
        listening.options = format!("{} --wait {}", listening.options, args.sending.network.wait);
    }
    Ok(listening)
}

/// Listens for pings.
pub fn listen_for_pings(args: &Ping, config: Config) -> Result<Listening> {
    let who = if args.trust.anybody {
        Admission::Anybody(None)
    } else {
        Admission::Code(code_or_new(given_code(args.trust.code.as_ref())?)?)
    };
    let server = listen_at(args.bind, config, &who);
    Listening::new(who, server)
}

fn code_or_new(given: Option<Code>) -> Result<Code> {
    given.map_or_else(Code::make, Ok).map_err(|why| plain(&why))
}
