//! What libbpf and the kernel say when they refuse something.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::{ErrorKind, MapCore, MapHandle, Object, PrintLevel, set_print};

use crate::BpfError;

/// Lines of libbpf that are told.
const TOLD: usize = 3;

/// What libbpf has said last.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps what libbpf says, in place of writing it.
pub fn listen() {
    set_print(Some((PrintLevel::Warn, keep)));
}

#[expect(clippy::needless_pass_by_value, reason = "libbpf calls it so")]
fn keep(_: PrintLevel, text: String) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.push(text.trim().to_owned());
}

/// What libbpf has said since it was asked last.
pub fn warnings() -> Vec<String> {
    std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says what was tried when libbpf or the kernel refused it.
pub fn refused(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> BpfError {
    let what = what.into();
    move |why| {
        let said = warnings();
        let is_verified = !said.iter().any(|line| line.contains("PROG LOAD LOG"));
        match why.kind() {
            ErrorKind::PermissionDenied if is_verified => BpfError::NotAllowed,
            ErrorKind::AlreadyExists => {
                BpfError::Name(format!("{what}: there is one of this name already"))
            }
            _ => {
                let told = said.iter().rev().take(TOLD).map(String::as_str);
                let why =
                    std::iter::once(&*why.to_string()).chain(told).collect::<Vec<_>>().join("; ");
                BpfError::Refused { what, why }
            }
        }
    }
}

/// What is said of a program that lacks a part.
pub fn missing(name: &str) -> BpfError {
    BpfError::Refused { what: name.to_owned(), why: "the program has none".to_owned() }
}

/// The map of an object with this name.
pub fn map_of(object: &Object, name: &str) -> Result<MapHandle, BpfError> {
    let map = object.maps().find(|map| map.name() == name).ok_or_else(|| missing(name))?;
    MapHandle::try_from(&map).map_err(refused(name))
}
