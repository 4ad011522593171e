//! Stand-ins for a build without the feature `load`: functions that report [`BpfError::NotBuilt`], and types without
//! values, so that their methods cannot be called.

#![allow(clippy::missing_errors_doc, clippy::needless_pass_by_ref_mut, reason = "nothing is loaded here")]

use crate::{BpfError, Connection, Prefix, clean, controller};
use shallop_control::gemini::Integers;
use std::{path::Path, time::Duration};

type Result<T> = std::result::Result<T, BpfError>;

/// Declares types without values. Their constructors fail; their methods have these receivers and arguments.
macro_rules! types_without_values {
    ($($name:ident {
        $(new $new:ident($($of:ty),*);)*
        $(fn $method:ident($me:ident: $receiver:ty $(, $argument:ty)*) -> $result:ty;)*
    })*) => { $(
        #[derive(Debug)]
        pub enum $name {}

        impl $name {
            $(pub fn $new($(_: $of),*) -> Result<Self> {
                Err(BpfError::NotBuilt)
            })*
            $(pub fn $method($me: $receiver $(, _: $argument)*) -> $result {
                match *$me {}
            })*
        }
    )* };
}

types_without_values! {
    Controller {
        new load(&controller::Law, &str);
        new load_with(&controller::Law, &str, controller::Ecn);
        fn warnings(self: &Self) -> &[String];
        fn set(self: &Self, &Integers, &[Prefix]) -> Result<()>;
        fn pin(self: &mut Self, &Path, &Path) -> Result<()>;
    }
    Watch {
        new open(controller::Program, &str);
        fn connections(self: &Self) -> Result<Vec<Connection>>;
    }
    Proxy {
        new load(&clean::Settings, u32);
        fn warnings(self: &Self) -> &[String];
        fn maps(self: &Self) -> &ProxyMaps;
        fn attach(self: &mut Self, u32, clean::TcHook) -> Result<()>;
        fn pin(self: &mut Self, &Path) -> Result<()>;
        fn run(self: &mut Self, clean::Program, &[u8], u32, u32, u32) -> Result<(Vec<u8>, Duration)>;
    }
    ProxyMaps {
        new open(&Path);
        fn settings(self: &Self) -> Result<clean::Settings>;
        fn set(self: &Self, &clean::Settings) -> Result<()>;
        fn counters(self: &Self) -> Result<clean::Counters>;
        fn flows(self: &Self) -> Result<Vec<clean::Flow>>;
    }
}

pub fn settings(_: &Path) -> Result<controller::Settings> {
    Err(BpfError::NotBuilt)
}

pub fn change(_: &Path, _: &Integers, _: &[Prefix]) -> Result<()> {
    Err(BpfError::NotBuilt)
}

pub fn detach(_: u32, _: clean::TcHook) -> Result<()> {
    Err(BpfError::NotBuilt)
}

pub fn attached(_: u32, _: clean::TcHook) -> usize {
    0
}
