//! Groups whose traffic is that of programs.

use shallop_core::form::Key;
use shallop_core::options::{Options, Source};
use shallop_plan::plan::{Command, Group, Pattern, Starts};

use super::groups::GroupOptions;
use super::problem::{Problem, list};
use super::section::Section;
use super::traffic::{Reader, hosts, start};

/// The keys that go with `command`.
const OF_COMMANDS: [&Key; 5] = [
    GroupOptions::KEY.name,
    GroupOptions::KEY.transport,
    GroupOptions::KEY.from,
    GroupOptions::KEY.to,
    GroupOptions::KEY.start,
];
/// The most words of a command.
const MAX_WORDS: usize = 1_000;

/// That a group has no keys but `of` and those that go with it, since it says `why` already.
pub(super) fn beside(
    section: &Section<'_>,
    of: &'static Key,
    with: &[&'static Key],
    why: &str,
) -> Result<(), Problem> {
    let others = GroupOptions::keys().into_iter().filter(|key| !with.contains(key) && *key != of);
    let Some(key) = others.into_iter().find(|key| section.is_written(key)) else { return Ok(()) };
    let own = list(with.iter().map(|key| key.name));
    let problem = section.reject(key, why);
    Err(problem.with_help(format!("keys beside `{}`: {own}", of.name)))
}

impl Reader<'_, '_> {
    /// A group that runs a program in each host of `from`. It has a flow for each pair of hosts.
    pub(super) fn commanded(&self, options: GroupOptions) -> Result<Group, Problem> {
        let (section, keys) = (self.section, GroupOptions::KEY);
        let why = "the program of `command` decides what is sent";
        beside(section, keys.command, &OF_COMMANDS, why)?;
        self.check_words(&options)?;
        let from = hosts(section, (keys.from, options.from.as_ref()), "left", self.network)?;
        let to = hosts(section, (keys.to, options.to.as_ref()), "right", self.network)?;
        let pairs = from.iter().map(|from| to.iter().filter(|&to| to != from).count()).sum();
        let start = start(section, pairs, self.duration)?;
        if !matches!(start, Starts::At(_)) {
            let problem = section.reject(keys.start, "a program starts at one time in all hosts");
            return Err(problem.with_help("write one time, such as \"1s\""));
        }
        Ok(Group {
            name: options.name,
            from,
            to,
            pattern: Pattern::AllToAll,
            flows: pairs,
            sizes: None,
            start,
            transport: self.transport()?,
            uncounted: (0, 0),
            keeps_connections: false,
            command: Some(Command {
                words: options.command,
                files: self.files.clone(),
                is_shell: false,
            }),
        })
    }

    /// That the command can be run, and that the group's name can be that of a folder.
    fn check_words(&self, options: &GroupOptions) -> Result<(), Problem> {
        let (section, keys, words) = (self.section, GroupOptions::KEY, &options.command);
        let wrong = if words.first().is_none_or(String::is_empty) {
            "it names no program"
        } else if words.len() > MAX_WORDS {
            "it has more than 1,000 words"
        } else if words.iter().any(|word| word.contains('\0')) {
            "a word contains a zero byte"
        } else {
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let name = &options.name;
            if !name.chars().all(fits) || name.starts_with('.') {
                let message = format!("\"{name}\" is the folder of a program too");
                let problem = section.reject(keys.name, message);
                return Err(problem.with_help("letters, digits, \".\", \"_\" and \"-\""));
            }
            return Ok(());
        };
        let help = "write a program with its arguments: [\"iperf3\", \"-c\", \"r0\"]";
        Err(section.reject(keys.command, wrong).with_help(help))
    }
}
