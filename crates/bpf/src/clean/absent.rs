//! A proxy in a build without programs.

use std::path::Path;
use std::time::Duration;

use super::{Counters, Flow, Place, Program, Settings};
use crate::BpfError;

/// A proxy that is loaded: there is none.
#[derive(Debug)]
pub enum Proxy {}

impl Proxy {
    /// Says that there are no programs.
    ///
    /// # Errors
    /// Always.
    pub fn load(_: &Settings, _: u32) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }

    /// What libbpf and the verifier have said while the proxy was loaded.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match *self {}
    }

    /// As with programs.
    #[must_use]
    pub const fn maps(&self) -> &Pinned {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there is none.
    pub fn attach(&mut self, _: u32, _: Place) -> Result<(), BpfError> {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there is none.
    pub fn pin(&mut self, _: &Path) -> Result<(), BpfError> {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there is none.
    pub fn run(
        &mut self,
        _: Program,
        _: &[u8],
        _: (u32, u32),
        _: u32,
    ) -> Result<(Vec<u8>, Duration), BpfError> {
        match *self {}
    }
}

/// Says that there are no programs.
///
/// # Errors
/// Always.
pub fn detach(_: u32, _: Place) -> Result<(), BpfError> {
    Err(BpfError::NotBuilt)
}

/// How many of the programs of a proxy are attached there: none is.
#[must_use]
pub fn attached(_: u32, _: Place) -> usize {
    0
}

/// The maps of a proxy: there are none.
#[derive(Debug)]
pub enum Pinned {}

impl Pinned {
    /// Says that there are no programs.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Path) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there are none.
    pub fn settings(&self) -> Result<Settings, BpfError> {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there are none.
    pub fn set(&self, _: &Settings) -> Result<(), BpfError> {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there are none.
    pub fn counters(&self) -> Result<Counters, BpfError> {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there are none.
    pub fn flows(&self) -> Result<Vec<Flow>, BpfError> {
        match *self {}
    }
}
