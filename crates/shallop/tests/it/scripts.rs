//! The scripts in `scripts`: the command as a process. `support/script.rs` has their language.

use crate::support::script::hold;

macro_rules! scripts {
    ($($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                hold(concat!("it/scripts/", stringify!($name), ".txt"), "", &[]);
            }
        )+
    };
}

scripts! { advise, command, compare, messages, report, sessions, sweep, terminal }
#[cfg(target_os = "linux")]
scripts! { kill, ping, transfer }
#[cfg(all(target_os = "linux", target_env = "gnu"))]
scripts! { endpoint_failure }
