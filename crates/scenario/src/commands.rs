//! Groups with `command`, whose traffic comes from programs in the hosts.

use super::Programs;
use super::groups::{GroupOptions, PatternKind};
use super::traffic::{Reader, hosts, start};
use shallop_options::suggest::list;
use shallop_options::{Key, Options, Problem, Section, StringEnum};
use shallop_plan::plan::{Command, Group, Pattern, Starts};

/// The keys that may be written beside `command`.
const OF_COMMANDS: [&Key; 6] = {
    let key = GroupOptions::KEY;
    [key.name, key.transport, key.from, key.to, key.pattern, key.start]
};
const MAX_WORDS: usize = 1_000;

/// Refuses every key of a group other than `of` and `with`; `why` is the reason in the error.
pub(super) fn beside(section: &Section<'_>, of: &'static Key, with: &[&'static Key], why: &str) -> Result<(), Problem> {
    let others = GroupOptions::keys().into_iter().filter(|key| !with.contains(key) && *key != of);
    let Some(key) = others.into_iter().find(|key| section.is_written(*key)) else { return Ok(()) };
    let own = list(with.iter().map(|key| key.name));
    let problem = section.reject(key, why);
    Err(problem.with_help(format!("keys beside `{}`: {own}", of.name)))
}

impl Reader<'_, '_> {
    /// Makes a group that runs a program in each host of `from`. Packets between a pair of hosts count as a flow; with
    /// `pattern = "turn"` each host of `from` has one host of `to`.
    pub(super) fn commanded(&self, options: GroupOptions) -> Result<Group, Problem> {
        let (section, keys) = (self.section, GroupOptions::KEY);
        let why = "the program of `command` decides what is sent";
        beside(section, keys.command, &OF_COMMANDS, why)?;
        self.check_words(&options)?;
        if let Programs::Refused(why) = self.programs {
            let problem =
                section.reject(keys.command, format!("the program would run with all your rights, but {why}"));
            return Err(problem.with_help("read the scenario, then add --allow-programs (Python: allow_programs=True)"));
        }
        let from = hosts(section, (keys.from, options.from.as_ref()), "left", self.network)?;
        let to = hosts(section, (keys.to, options.to.as_ref()), "right", self.network)?;
        let pattern = self.pattern_of_programs(&options)?;
        let in_turn = pattern == Pattern::RoundRobin;
        let pairs = from.iter().map(|from| to.iter().filter(|&to| to != from).count()).sum();
        let flows = if in_turn { from.len() } else { pairs };
        let start = start(section, flows, self.duration)?;
        if !in_turn && !matches!(start, Starts::At(_)) {
            let problem = section.reject(keys.start, "a program starts at one time in all hosts");
            let help = "write one time, such as \"1s\", or pattern = \"turn\"";
            return Err(problem.with_help(help));
        }
        let group = self.started(&options, flows, start)?;
        let command = Command { words: options.command, files: self.files.clone(), is_shell: false };
        Ok(Group { from, to, pattern, command: Some(command), ..group })
    }

    /// Whether programs send to all hosts of `to`, or each to one of them.
    fn pattern_of_programs(&self, options: &GroupOptions) -> Result<Pattern, Problem> {
        let (section, keys) = (self.section, GroupOptions::KEY);
        let (all, turn) = (PatternKind::AllToAll, PatternKind::Turn);
        if !section.is_written(keys.pattern) || options.pattern == all {
            if options.command.iter().any(|word| word.contains(Command::OTHER_HOST)) {
                let message = format!("{} is the other host, and there may be several", Command::OTHER_HOST);
                let help = "write pattern = \"turn\", for one host of `to` for each of `from`";
                return Err(section.reject(keys.command, message).with_help(help));
            }
            return Ok(Pattern::AllToAll);
        }
        if options.pattern == turn {
            return Ok(Pattern::RoundRobin);
        }
        let problem = section.reject(keys.pattern, "programs choose whom they send to");
        Err(problem.with_help(format!("\"{}\" or \"{}\"", turn.word(), all.word())))
    }

    /// Checks the words of the command, and that the name of the group can be the name of a folder.
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
                return Err(section.reject(keys.name, message).with_help("letters, digits, \".\", \"_\" and \"-\""));
            }
            return Ok(());
        };
        let help = "write a program with its arguments: [\"iperf3\", \"-c\", \"r0\"]";
        Err(section.reject(keys.command, wrong).with_help(help))
    }
}
