//! Programs of this machine that run in real hosts.

use shallop_results::summary::ProgramOfRun;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The index of the program's group in the plan.
    pub group: usize,
    pub group_name: String,
    /// The number of the host among the real hosts.
    pub host: u32,
    /// The start time, in nanoseconds of the hosts' clock.
    pub start: u64,
    pub words: Vec<String>,
    /// Whether the program is a shell for a user, which ends the run when it ends.
    pub is_shell: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramEnd {
    /// The time in the run at which the program ended, in seconds.
    pub at_s: f64,
    /// The exit status, or 128 and the number of the signal that ended the program.
    pub status: u32,
}

impl Program {
    /// The name of the folder of the program's files, `GROUP.HOST`. `names` are the names of hosts.
    pub fn folder(&self, names: &[String]) -> String {
        format!("{}.{}", self.group_name, names[self.host as usize])
    }

    /// The program's part of the results. `end` is `None` if the program was still running at the end of the run.
    pub fn result(&self, names: &[String], end: Option<ProgramEnd>) -> ProgramOfRun {
        ProgramOfRun {
            group: self.group_name.clone(),
            host: names[self.host as usize].clone(),
            command: self.words.clone(),
            ended_s: end.map(|end| end.at_s),
            status: end.map(|end| u64::from(end.status)),
            files: self.folder(names),
        }
    }

    /// A warning if the program ended with another status than zero.
    pub fn warning(&self, names: &[String], end: Option<ProgramEnd>) -> Option<String> {
        let ProgramEnd { status, .. } = end.filter(|end| end.status != 0)?;
        let (name, host) = (&self.words[0], &names[self.host as usize]);
        Some(format!("{name} in {host} ended with status {status}"))
    }
}
