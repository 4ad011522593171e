//! Files between hosts, as the command moves them: the same options, and results in the JSON of its `--json`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_quic::client::{self, CertificateFiles, Trust, help_of_transfer};
use shallop_quic::host::Host;
use shallop_quic::identity::Fingerprint;
use shallop_quic::server::{Own, listen_for_files};
use shallop_quic::session::{Receiving, Report, Served};
use shallop_quic::transfer::{MAX_STREAMS, Position, ReceiveOptions, SendOptions, Sources};
use shallop_quic::{Config, Connection};
use shallop_workbench::diagnostic::{plain as diagnostic, text, with_help};
use shallop_workbench::kernels::data_folder;

use crate::errors::{checked, plain};
use crate::study::POLL_INTERVAL;

/// The options of the network as the command has them.
fn config(
    (rate_limit, wait): (&str, &str),
    without_credits: bool,
    (fallback, unscheduled): (&str, &str),
) -> PyResult<Config> {
    let said = |why: &dyn ToString| why.to_string();
    let rate = checked("rate_limit", &rate_limit, |text| {
        text.parse::<BitsPerSec>().map_err(|why| said(&why))
    })?;
    let config = checked("wait", &wait, |text| {
        let wait = text.parse::<Span>().map_err(|why| said(&why))?;
        Config::in_network(rate, wait).map_err(|why| said(&why))
    })?;
    let fallback = checked("fallback", &fallback, |text| text.parse().map_err(str::to_owned))?;
    let config = checked("unscheduled", &unscheduled, |text| {
        let burst = text.parse::<Bytes>().map_err(|why| said(&why))?;
        config.starting_with(burst).map_err(|why| said(&why))
    })?;
    Ok(Config { credits: !without_credits, fallback, ..config })
}

fn files(cert: Option<PathBuf>, key: Option<PathBuf>) -> PyResult<Option<CertificateFiles>> {
    match (cert, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(CertificateFiles { certificate, key })),
        _ => Err(PyValueError::new_err("cert and key go together")),
    }
}

/// A message of the command, with its advice.
fn message(why: &impl ToString, help: Option<String>) -> String {
    let why = why.to_string();
    text(&help.map_or_else(|| diagnostic(&why), |help| with_help(&why, &help)))
}

/// Options are written as here.
fn option(name: &str) -> String {
    format!("{name}=")
}

/// Locks what a panicking thread may have left locked: everything under a lock here is set in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a transfer is broken off.
#[derive(Default)]
struct Cancel {
    is_cancelled: AtomicBool,
    connection: Mutex<Option<Connection>>,
}

impl Cancel {
    /// Takes the connection that ends when this is cancelled: at once, if it is already.
    fn is_of(&self, connection: &Connection) {
        *lock(&self.connection) = Some(connection.clone());
        if self.is_cancelled.load(Ordering::SeqCst) {
            self.cancel();
        }
    }

    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        if let Some(connection) = &*lock(&self.connection) {
            connection.close(0, b"interrupted");
        }
    }
}

/// Whom a sender trusts: what is given in place of the file of known hosts.
type Trusted = (Option<Fingerprint>, bool, Option<PathBuf>, Option<PathBuf>);

/// What is to be sent, and how.
struct Order {
    paths: Vec<PathBuf>,
    host: Host,
    config: Config,
    trusted: Trusted,
    own: Option<CertificateFiles>,
    options: SendOptions,
}

impl Order {
    fn carry_out(self, position: &Position, cancel: &Cancel) -> Result<Report, String> {
        let sources = Sources::collect(&self.paths).map_err(|why| message(&why, None))?;
        let (fingerprint, trust_new, known_hosts, ca) = self.trusted;
        let accepts = |_| trust_new;
        let trust = match (ca, fingerprint) {
            (Some(authorities), _) => Trust::Authority(authorities),
            (None, Some(fingerprint)) => Trust::Fingerprint(fingerprint),
            (None, None) => {
                let file = known_hosts.unwrap_or_else(|| data_folder().join("known_hosts"));
                Trust::Known(file, &accepts)
            }
        };
        let sending = client::connect(&self.host, self.config, &trust, self.own.as_ref())
            .map_err(|why| message(&why, why.help(&option)))?;
        cancel.is_of(sending.connection());
        sending
            .send(&sources, self.options, position)
            .map_err(|why| message(&why, help_of_transfer(&why, &option)))
    }
}

fn json(report: &Report) -> Result<String, String> {
    serde_json::to_string(report).map_err(|why| why.to_string())
}

/// Sends files and folders, and returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (
    paths, to, *, rate_limit, wait, without_credits, fallback, unscheduled, streams, fingerprint, trust_new,
    known_hosts, ca, cert, key, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn send(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    to: &str,
    rate_limit: &str,
    wait: &str,
    without_credits: bool,
    fallback: &str,
    unscheduled: &str,
    streams: &Bound<'_, PyAny>,
    fingerprint: Option<&str>,
    trust_new: bool,
    known_hosts: Option<PathBuf>,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    if paths.is_empty() {
        return Err(PyValueError::new_err("nothing is to be sent: paths is empty"));
    }
    let fingerprint = fingerprint.map(|text| {
        checked("fingerprint", &text, |text| {
            text.parse::<Fingerprint>().map_err(|why| why.to_string())
        })
    });
    let streams = checked("streams", streams, |text| {
        let count = text.parse().ok().filter(|count| (1..=MAX_STREAMS).contains(count));
        count.ok_or_else(|| format!("a number from 1 to {MAX_STREAMS}"))
    })?;
    let order = Order {
        paths,
        host: checked("to", &to, |text| text.parse::<Host>().map_err(|why| why.to_string()))?,
        config: config((rate_limit, wait), without_credits, (fallback, unscheduled))?,
        trusted: (fingerprint.transpose()?, trust_new, known_hosts, ca),
        own: files(cert, key)?,
        options: SendOptions { streams },
    };
    let (position, cancel) = (Arc::new(Position::default()), Arc::new(Cancel::default()));
    let (tell, told) = sync_channel(1);
    let of_thread = (Arc::clone(&position), Arc::clone(&cancel));
    thread::spawn(move || {
        // Without anybody to hear, it was cancelled.
        let _ = tell.send(order.carry_out(&of_thread.0, &of_thread.1));
    });
    let report_progress = || match progress {
        Some(progress) => progress.call1((position.done(), position.total())).map(drop),
        None => Ok(()),
    };
    let ended =
        wait_for(py, &Mutex::new(told), report_progress).inspect_err(|_| cancel.cancel())?;
    let report = ended.unwrap_or_else(|| Err("the transfer panicked".to_owned()));
    report.and_then(|report| json(&report)).map_err(|why| plain(&why))
}

/// Waits for the next value, while signals of Python are checked and progress is reported. `None` if there are no more.
fn wait_for<T: Send>(
    py: Python<'_>,
    told: &Mutex<mpsc::Receiver<T>>,
    report_progress: impl Fn() -> PyResult<()>,
) -> PyResult<Option<T>> {
    loop {
        match py.detach(|| lock(told).recv_timeout(POLL_INTERVAL)) {
            Ok(value) => {
                report_progress()?;
                return Ok(Some(value));
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                report_progress()?;
            }
        }
    }
}

/// What came of a sender: the report as JSON, or why there is none.
type Received = Result<String, String>;

/// An address at which files are received, each sender in a thread of its own.
#[pyclass(frozen, module = "shallop")]
pub struct Receiver {
    receiving: Arc<Receiving>,
    received: Mutex<mpsc::Receiver<Received>>,
}

#[pymethods]
impl Receiver {
    /// Begins to receive into a folder.
    #[staticmethod]
    #[pyo3(signature = (
        folder, *, bind, overwrite, identity, cert, key, client_ca, rate_limit, wait, without_credits, fallback,
        unscheduled
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn listen(
        py: Python<'_>,
        folder: PathBuf,
        bind: Option<&str>,
        overwrite: bool,
        identity: Option<PathBuf>,
        cert: Option<PathBuf>,
        key: Option<PathBuf>,
        client_ca: Option<PathBuf>,
        rate_limit: &str,
        wait: &str,
        without_credits: bool,
        fallback: &str,
        unscheduled: &str,
    ) -> PyResult<Self> {
        let config = config((rate_limit, wait), without_credits, (fallback, unscheduled))?;
        let bind = bind.map(|text| {
            let read = |text: &str| text.parse::<SocketAddr>().map_err(|why| why.to_string());
            checked("bind", &text, read)
        });
        let bind = bind.transpose()?;
        let own = match files(cert, key)? {
            Some(_) if identity.is_some() => {
                return Err(PyValueError::new_err("identity and cert exclude each other"));
            }
            Some(files) => Own::Files(files),
            None => Own::Folder(identity.unwrap_or_else(data_folder)),
        };
        let into = folder.clone();
        let listen = move || listen_for_files(&into, bind, config, (&own, client_ca.as_deref()));
        let receiving = py.detach(listen);
        let receiving = receiving.map_err(|why| plain(&message(&why, why.help(&option))))?;
        let receiving = Arc::new(receiving);
        let (tell, received) = mpsc::channel();
        let of_thread = Arc::clone(&receiving);
        thread::spawn(move || {
            let served = of_thread.each(|connection| {
                let options = ReceiveOptions { overwrite, ..ReceiveOptions::default() };
                let came = match of_thread.serve(&connection, Some(&folder), options, &()) {
                    Ok(Served::Files(report)) => json(&report),
                    Ok(Served::Pings(_)) => return,
                    Err(why) => Err(why.to_string()),
                };
                // Without anybody to hear, nothing more is received.
                let _ = tell.send(came);
            });
            if let Err(why) = served {
                let _ = tell.send(Err(why.to_string()));
            }
        });
        Ok(Self { receiving, received: Mutex::new(received) })
    }

    /// The address and port.
    #[getter]
    fn address(&self) -> String {
        self.receiving.address().to_string()
    }

    /// The fingerprint that senders see.
    #[getter]
    fn fingerprint(&self) -> String {
        self.receiving.fingerprint().to_string()
    }

    /// Waits for the next sender to end: the report as JSON, and why there is none. Neither once this is closed.
    fn next(&self, py: Python<'_>) -> PyResult<(Option<String>, Option<String>)> {
        Ok(match wait_for(py, &self.received, || Ok(()))? {
            None => (None, None),
            Some(Ok(report)) => (Some(report), None),
            Some(Err(why)) => (None, Some(why)),
        })
    }

    /// Receives no more, and breaks off what is under way.
    fn close(&self) {
        self.receiving.close();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.receiving.close();
    }
}
