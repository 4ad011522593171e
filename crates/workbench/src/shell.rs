//! A shell or program of the user in a host of a scenario, whose hosts are real kernels: in virtual time or in real
//! time.

use super::diagnostic::{Result, plain, study_error, with_help};
use super::kernels;
use shallop_core::Span;
use shallop_measure::{Observer, RunError};
use shallop_plan::plan::{Attachment, Command, Connections, Driver, Group, Pattern, Plan, Starts};
use shallop_plan::study::Study;
use shallop_plan::{ResolvedRun, files::Files};
use std::{collections::BTreeMap, sync::Arc};

#[cfg(target_os = "linux")]
pub use shallop_kernel::console::Terminal;

/// The user's end of a session in virtual time, as `shallop_kernel` defines it on Linux.
#[cfg(not(target_os = "linux"))]
pub trait Terminal {
    fn output(&mut self, bytes: &[u8]);

    /// Returns the next line to run, given the exit status of the line before; `None` ends the session.
    fn line(&mut self, status: u8, now: shallop_core::Time) -> Option<String>;
}

/// The name of the flow group that carries the shell's traffic.
const GROUP: &str = "shell";
/// The longest session in virtual time: a day.
const LONGEST: Span = Span::from_secs(86_400);
/// In networks with more hosts, only the hosts of groups and of the shell can reach others.
const MOST_OPEN: usize = 40;
/// The longest session in real time: an hour.
const LONGEST_LIVE: Span = Span::from_secs(3_600);

/// A session of a user in a host of a scenario, prepared and not started.
#[derive(Debug)]
pub struct ShellSession {
    plan: Plan,
    /// The host in which the shell runs.
    pub host: String,
    pub others: Vec<String>,
    attached: Vec<Attachment>,
}

impl ShellSession {
    /// Prepares a session for the first point and scheme of a study, in `host` or the first sender of the first group.
    ///
    /// # Errors
    /// If there is no such host, or no host is a kernel.
    pub fn new(study: &Study, host: Option<&str>, files: Arc<dyn Files>) -> Result<Self> {
        let point = study.points.first().ok_or_else(|| plain(&"the scenario has no points"))?;
        let mut plan = point.plan.clone();
        let kernel = (0..plan.groups.len()).find(|&group| plan.kernel(0, group).is_some());
        let kernel = kernel.map(|group| plan.transport(0, group).clone());
        let Some(transport) = kernel else {
            let help = "write stack = \"kernel\" at the top of the scenario";
            return Err(with_help(&"no host of the scenario is a real kernel", &help));
        };
        let (number, names) = {
            let setup = ResolvedRun::new(&plan, 0, plan.seed).map_err(|why| plain(&why))?;
            let hosts = setup.network.hosts();
            let first = plan.groups.first().and_then(|group| group.from.first().copied());
            let number = match host {
                Some(name) => hosts.get(name).map(|node| node.0),
                None => first,
            };
            let known: Vec<(u32, String)> = hosts.iter().map(|(name, node)| (node.0, (*name).to_owned())).collect();
            (number, known)
        };
        let Some(number) = number.filter(|number| names.iter().any(|(of, _)| of == number)) else {
            let known: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
            let help = format!("hosts: {}", known.join(", "));
            return Err(with_help(&format!("there is no host \"{}\"", host.unwrap_or("")), &help));
        };
        let (here, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|(of, _)| *of == number);
        plan.duration = LONGEST;
        plan.groups.push(Group {
            name: GROUP.to_owned(),
            from: vec![number],
            to: others.iter().map(|(of, _)| *of).collect(),
            pattern: Pattern::AllToAll,
            flows: others.len(),
            sizes: None,
            start: Starts::At(Span::ZERO),
            transport: Some(transport),
            uncounted: (0, 0),
            connections: Connections::New,
            connections_of: None,
            application: None,
            lasts: None,
            command: Some(Command { words: vec!["sh".to_owned()], files, is_shell: true }),
        });
        let name = |(_, name): (u32, String)| name;
        let host = here.into_iter().map(name).next().unwrap_or_default();
        let others = others.into_iter().map(name).collect();
        Ok(Self { plan, host, others, attached: Vec::new() })
    }

    /// Puts an interface of this machine in the place of a host.
    ///
    /// # Errors
    /// If the shell runs in that host, or the host does not exist, or the host or the interface is attached already.
    pub fn attach(&mut self, attachment: Attachment) -> Result<()> {
        let Attachment { interface, host } = &attachment;
        if *host == self.host {
            let help = "--host takes another host for the shell";
            return Err(with_help(&format!("host \"{host}\" has the shell"), &help));
        }
        if !self.others.contains(host) {
            let help = format!("hosts: {}", self.others.join(", "));
            return Err(with_help(&format!("there is no host \"{host}\""), &help));
        }
        if self.attached.iter().any(|of| of.host == *host || of.interface == *interface) {
            return Err(plain(&format!("{interface}={host}: the interface or the host is attached already")));
        }
        self.attached.push(attachment);
        Ok(())
    }

    /// The session in real time, with this program and its arguments in the host.
    pub fn live(mut self, words: &[String]) -> Result<LiveSession> {
        let attached = std::mem::take(&mut self.attached);
        self.plan.driver = Driver::Rehearsal { tape: None, attached, stretch: 1 };
        self.plan.duration = LONGEST_LIVE;
        for group in &mut self.plan.groups {
            if let Some(command) = group.command.as_mut().filter(|command| command.is_shell) {
                command.words = words.to_vec();
            }
        }
        self.open_to_others();
        let addresses = kernels::addresses(&self.plan).map_err(|why| study_error(&why))?;
        Ok(LiveSession { plan: self.plan, addresses: addresses.into_iter().collect() })
    }

    /// Lets programs in all hosts reach each other, for programs of further terminals.
    fn open_to_others(&mut self) {
        let Some(shell) = self.plan.groups.last().cloned() else { return };
        let hosts = shell.to.len() + 1;
        if hosts > MOST_OPEN {
            return;
        }
        let command = shell.command.map(|of| Command { words: Vec::new(), is_shell: false, ..of });
        let all: Vec<u32> = shell.to.iter().chain(&shell.from).copied().collect();
        self.plan.groups.push(Group {
            name: "other terminals".to_owned(),
            from: shell.to.clone(),
            to: all,
            flows: shell.to.len() * (hosts - 1),
            command,
            ..shell
        });
    }

    /// Runs the session in virtual time until the terminal or `is_over` ends it, for a day at most.
    pub fn run(&self, terminal: Box<dyn Terminal>, is_over: &dyn Fn() -> bool) -> Result<()> {
        let mut watch = StopWhen(is_over);
        match kernels::run_shell(&self.plan, terminal, &mut watch) {
            Err(crate::error::StudyError::Run(RunError::Stopped)) | Ok(()) => Ok(()),
            Err(why) => Err(study_error(&why)),
        }
    }
}

/// Whether an interface of this machine is up.
pub fn is_up(interface: &str) -> Result<bool> {
    #[cfg(target_os = "linux")]
    return shallop_linux::is_up(interface).map_err(|why| study_error(&crate::error::StudyError::Rehearsal(why)));
    #[cfg(not(target_os = "linux"))]
    Err(plain(&format!("{interface}: interfaces are attached on Linux only")))
}

/// A session of a user in real time, prepared and not started.
#[derive(Debug)]
pub struct LiveSession {
    plan: Plan,
    /// The IP address of each host, by name.
    pub addresses: BTreeMap<String, String>,
}

impl LiveSession {
    /// Runs the program at the terminal of this process, for an hour at most. Returns its exit status, and the number
    /// of frames from attached interfaces that were not read in time.
    pub fn run(&self, is_over: &dyn Fn() -> bool) -> Result<(u8, u64)> {
        let mut watch = StopWhen(is_over);
        match kernels::run_live_shell(&self.plan, &mut watch) {
            Err(crate::error::StudyError::Run(RunError::Stopped)) => Ok((130, 0)),
            other => other.map(|ended| ended.unwrap_or((0, 0))).map_err(|why| study_error(&why)),
        }
    }
}

/// An observer that ends the run when the function returns true.
struct StopWhen<'a>(&'a dyn Fn() -> bool);

impl Observer for StopWhen<'_> {
    fn on_progress(&mut self, _: shallop_core::Time) -> bool {
        !(self.0)()
    }

    fn on_flows(&mut self, _: Vec<shallop_measure::flow_log::FlowRow>) {}
}

/// Runs a program in a host of a session that another process opened, and returns its exit status. `process` is the
/// number of that process; `None` or 0 finds the only open session. Without `host`, the program runs in the first host.
#[cfg(target_os = "linux")]
pub fn join(process: Option<u32>, host: Option<&str>, words: &[String]) -> Result<u8> {
    use shallop_linux::session::{self, Session};
    let there = session::list();
    let known = || there.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let process = match (process.filter(|&process| process != 0), &there[..]) {
        (Some(process), _) if there.contains(&process) => process,
        (None, [only]) => *only,
        (_, []) => {
            let help = "shallop shell SCENARIO opens one";
            return Err(with_help(&"no session is open", &help));
        }
        (Some(process), _) => {
            let what = format!("process {process} has no session open");
            return Err(with_help(&what, &format!("these have: {}", known())));
        }
        (None, _) => {
            let help = format!("--join with one of {}", known());
            return Err(with_help(&"several sessions are open", &help));
        }
    };
    let of_rehearsal = |why| study_error(&crate::error::StudyError::Rehearsal(why));
    shallop_linux::user_namespace::join(process)
        .map_err(|why| plain(&format!("the session of process {process}: {why}")))?;
    let mut session = Session::join(process).map_err(of_rehearsal)?;
    let first = session.names().next().map(str::to_owned).unwrap_or_default();
    let status = session.run(host.unwrap_or(&first), words).map_err(of_rehearsal)?;
    Ok(u8::try_from(status).unwrap_or(u8::MAX))
}

#[cfg(not(target_os = "linux"))]
pub fn join(_: Option<u32>, _: Option<&str>, _: &[String]) -> Result<u8> {
    Err(plain(&"sessions are on Linux only"))
}
