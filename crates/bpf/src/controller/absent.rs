//! Controllers in a build without programs.

use std::path::Path;

use shallop_control::gemini::Integers;

use super::{Law, Program, Settings};
use crate::{BpfError, Connection, Prefix};

/// A controller that is loaded: there are none.
#[derive(Debug)]
pub enum Controller {}

impl Controller {
    /// Says that there are no programs.
    ///
    /// # Errors
    /// Always.
    pub fn load(_: &Law, _: &str) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }

    /// As with programs.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there is none.
    pub fn set(&self, _: &Integers, _: &[Prefix]) -> Result<(), BpfError> {
        match *self {}
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there is none.
    pub fn pin(&mut self, _: &Path, _: &Path) -> Result<(), BpfError> {
        match *self {}
    }
}

/// What tells of connections: nothing does.
#[derive(Debug)]
pub enum Watch {}

impl Watch {
    /// Says that there are no programs.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: Program, _: &str) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }

    /// As with programs.
    ///
    /// # Errors
    /// Never, as there is none.
    pub fn connections(&self) -> Result<Vec<Connection>, BpfError> {
        match *self {}
    }
}

/// Says that there are no programs.
///
/// # Errors
/// Always.
pub fn settings(_: &Path) -> Result<Settings, BpfError> {
    Err(BpfError::NotBuilt)
}

/// Says that there are no programs.
///
/// # Errors
/// Always.
pub fn change(_: &Path, _: &Integers, _: &[Prefix]) -> Result<(), BpfError> {
    Err(BpfError::NotBuilt)
}
