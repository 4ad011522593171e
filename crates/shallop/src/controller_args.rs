//! The arguments of `host`, as they are typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use shallop_workbench::controllers::{self, Prefix, Program};

use crate::args::{Printed, setting};

/// The arguments of `host`.
#[derive(Debug, Args)]
pub struct Host {
    /// What to do.
    #[command(subcommand)]
    pub action: HostAction,
}

/// What to do with controllers.
#[derive(Debug, Subcommand)]
pub enum HostAction {
    /// Load a controller, which stays until it is unloaded or the machine restarts; no connection uses it by itself
    Load(Load),
    /// List what is loaded
    List {
        /// How the table is printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Show what is set of a controller
    Show {
        /// Its name
        name: String,
        /// How the table is printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Change what is set of a controller, which holds at once for open connections as well
    Set {
        /// Its name
        name: String,
        /// What to change: mark=60pkt, delay=2ms
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
        /// Only for destinations with this prefix of addresses; several times for several
        #[arg(long, value_name = "PREFIX")]
        to: Vec<Prefix>,
    },
    /// Show the connections of a controller in this network namespace, again and again
    Watch {
        /// Its name
        name: String,
        /// Print a line of JSON for each connection
        #[arg(long)]
        json: bool,
        /// Print them once
        #[arg(long)]
        once: bool,
        /// The time between two pictures, in seconds
        #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
        every: Duration,
    },
    /// Take a controller out; connections that have it keep it until they end
    Unload {
        /// Its name
        name: String,
    },
}

/// The arguments of `host load`.
#[derive(Debug, Args)]
pub struct Load {
    /// gemini, dctcp, ecn-star or vegas
    #[arg(value_parser = controllers::program)]
    pub program: Program,
    /// What the kernel is to call it; otherwise its own name, with _ for -
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Gemini: the rate of the network, as 10Gbps
    #[arg(long, value_name = "RATE")]
    pub capacity: Option<String>,
    /// Gemini: the queue above which switches mark, as 50pkt or 75KB
    #[arg(long, value_name = "SIZE")]
    pub mark: Option<String>,
    /// Gemini: the queueing delay that is congestion of the wide area, as 5ms
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,
    /// Another option of Gemini, as a scheme of a scenario has it
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Take the options from the scheme of this scenario
    #[arg(long, value_name = "SCENARIO", conflicts_with_all = ["capacity", "mark", "delay", "set"])]
    pub config: Option<PathBuf>,
    /// The scheme, if several fit
    #[arg(long, value_name = "NAME", requires = "config")]
    pub scheme: Option<String>,
    /// The options are for destinations with this prefix; several times for several. All others have the same capacity
    /// and otherwise the defaults
    #[arg(long, value_name = "PREFIX")]
    pub to: Vec<Prefix>,
    /// Load nothing; print a unit for systemd that loads the same when the machine starts
    #[arg(long)]
    pub print_unit: bool,
}

impl Load {
    /// The options of the controller.
    pub fn options(&self) -> Vec<(String, String)> {
        let named = [("capacity", &self.capacity), ("mark", &self.mark), ("delay", &self.delay)];
        let named = named
            .into_iter()
            .filter_map(|(key, value)| value.as_ref().map(|value| (key.to_owned(), value.clone())));
        named.chain(self.set.iter().cloned()).collect()
    }
}

/// The time between two pictures, in seconds.
pub fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3_600.0).contains(seconds));
    let seconds = seconds.ok_or("expected seconds from 0.05 to 3600")?;
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_in_seconds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["", "0", "-1", "nan", "1e9", "1s"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
