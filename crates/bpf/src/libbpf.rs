//! Messages of libbpf, and errors made from them.

use crate::BpfError;
use libbpf_rs::{ErrorKind, MapCore, MapHandle, Object, PrintLevel, set_print};
use std::sync::{Mutex, PoisonError};

/// The number of libbpf's last messages that an error quotes.
const MESSAGES_IN_ERROR: usize = 3;

/// Messages of libbpf since the last call of [`warnings`].
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Collects messages of libbpf instead of printing them.
pub fn listen() {
    set_print(Some((PrintLevel::Warn, keep)));
}

#[expect(clippy::needless_pass_by_value, reason = "libbpf calls it so")]
fn keep(_: PrintLevel, text: String) {
    let mut said = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    said.push(text.trim().to_owned());
}

/// Takes the messages of libbpf since the last call.
pub fn warnings() -> Vec<String> {
    std::mem::take(&mut *MESSAGES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes an error for an operation that libbpf or the kernel refused.
pub fn refused(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> BpfError {
    let what = what.into();
    move |why| {
        let said = warnings();
        let is_verified = !said.iter().any(|line| line.contains("PROG LOAD LOG"));
        match why.kind() {
            ErrorKind::PermissionDenied if is_verified => BpfError::NotAllowed,
            ErrorKind::AlreadyExists => BpfError::Name(format!("{what}: there is one of this name already")),
            _ => {
                let told = said.iter().rev().take(MESSAGES_IN_ERROR).map(String::as_str);
                let why = std::iter::once(&*why.to_string()).chain(told).collect::<Vec<_>>().join("; ");
                BpfError::Refused { what, why }
            }
        }
    }
}

/// The error about an object file that lacks a map or program of this name.
pub fn missing(name: &str) -> BpfError {
    BpfError::Refused { what: name.to_owned(), why: "the program has none".to_owned() }
}

/// Opens the map with this name of a loaded object.
pub fn map_of(object: &Object, name: &str) -> Result<MapHandle, BpfError> {
    let map = object.maps().find(|map| map.name() == name).ok_or_else(|| missing(name))?;
    MapHandle::try_from(&map).map_err(refused(name))
}
