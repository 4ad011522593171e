//! Scripts: text files of cases, each of which runs commands in a folder of its own and says what comes of them.
//!
//! | line | what it does |
//! |---|---|
//! | `test NAME` | begins a case; lines before the first one begin every case |
//! | `file NAME` | writes the indented lines below it to a file |
//! | `bash` | defines the functions below it for all commands that follow |
//! | `set NAME=VALUE` | a variable of commands and checks |
//! | `run [CODE] COMMAND` | runs a command of bash, which ends with CODE or 0; with 2, it prints nothing |
//! | `start NAME COMMAND` | begins a command: process `$NAME_pid`, output in the files `$NAME_out` and `$NAME_err` |
//! | `await NAME` | waits for its first line, JSON with `address` and `code`: `$NAME`, `$NAME_port`, `$NAME_code` |
//! | `end NAME [CODE]` | waits until it ends, for a minute |
//!
//! Indented lines below `run` and `end` are checks; `prints!` and `says!` mean the opposite:
//!
//! | check | of what |
//! |---|---|
//! | `prints TEXT`, `says TEXT` | standard output has the text; standard error has it, whose lines may be broken |
//! | `row START; WORD; ...` | a printed line begins with START and has the words |
//! | `times COUNT TEXT` | standard output has the text so often |
//! | `lines OP VALUE`, `columns OP VALUE` | the number of printed lines, and the length of the longest |
//! | `silent` | nothing is on standard error |
//! | `again` | standard output equals the output of the command before |
//! | `holds FILE TEXT` | a file has the text |
//! | `[FILE:]/POINTER OP VALUE` | the JSON in a file, or the last on standard output |
//! | `let NAME = [FILE:]/POINTER` | sets a variable |
//!
//! In a pointer `*` means all elements, `#` their number, and `KEY=VALUE` those with it. OP is `==`, `!=`, `<`, `<=`,
//! `>`, `>=`, `has` (of a text), `in LOW..HIGH`, or `are A B ...`, the whole list. In a TEXT of standard output `\n`,
//! `\r`, `\s` and `\e` are a line end, a return, a space and an escape.

use super::unwrapped;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const VERSION: &str = env!("CARGO_PKG_VERSION");

type Checked = Result<(), String>;

/// A line, and the indented lines below it.
type Step<'a> = (&'a str, Vec<&'a str>);

#[derive(Default)]
struct Processes(BTreeMap<String, Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.0.values_mut() {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

struct World {
    folder: TempDir,
    /// What processes print, and the functions of bash.
    beside: TempDir,
    variables: BTreeMap<String, String>,
    processes: Processes,
    /// What the command before the last one printed.
    before: String,
    printed: String,
    said: String,
}

/// Runs the cases of a script in `tests`, or those whose names contain `only` or `SHALLOP_CASE`, with these variables.
pub fn hold(script: &str, only: &str, variables: &[(&str, &str)]) {
    let path = Path::new(TESTS).join(script);
    let text = fs::read_to_string(&path).unwrap();
    let mut cases: Vec<(&str, Vec<Step>)> = vec![("", Vec::new())];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let steps = &mut cases.last_mut().unwrap().1;
        if line.is_empty() {
            if let Some((_, below)) = steps.last_mut().filter(|step| step.0.starts_with("file ")) {
                below.push("");
            }
        } else if let Some(below) = line.strip_prefix("  ") {
            steps.last_mut().unwrap().1.push(below);
        } else if let Some(name) = line.strip_prefix("test ") {
            cases.push((name, Vec::new()));
        } else {
            steps.push((line, Vec::new()));
        }
    }
    let first = cases.remove(0).1;
    cases.retain(|(name, _)| name.contains(only));
    assert!(!cases.is_empty(), "{script} has no case {only}");
    let asked = std::env::var("SHALLOP_CASE").unwrap_or_default();
    cases.retain(|(name, _)| name.contains(&asked));
    let mut wrong = Vec::new();
    for (name, steps) in &cases {
        let mut world = World::new(variables);
        let failed = first.iter().chain(steps).find_map(|step| Some((step.0, world.step(step).err()?)));
        if let Some((line, why)) = failed {
            wrong.push(format!("{script}: {name}: {line}\n  {why}\n{}\n{}", world.printed, world.said));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl World {
    fn new(variables: &[(&str, &str)]) -> Self {
        let [folder, beside] = [(); 2].map(|()| TempDir::new().unwrap());
        fs::write(beside.path().join("bash"), include_str!("script.sh")).unwrap();
        let place = folder.path().display().to_string();
        let all = variables.iter().copied().chain([("folder", place.as_str()), ("tests", TESTS), ("version", VERSION)]);
        let variables = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (before, printed, said) = Default::default();
        Self { folder, beside, variables, processes: Processes::default(), before, printed, said }
    }

    fn step(&mut self, (line, below): &Step) -> Checked {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = || below.iter().flat_map(|line| [line, "\n"]).collect::<String>();
        let name = rest.split(' ').next().unwrap_or_default();
        let after = rest.strip_prefix(name).unwrap_or_default().trim_start();
        match verb {
            "file" => fs::write(self.folder.path().join(rest), text()).map_err(|why| why.to_string()),
            "bash" => {
                let path = self.beside.path().join("bash");
                fs::write(&path, fs::read_to_string(&path).unwrap() + &text()).map_err(|why| why.to_string())
            }
            "set" => {
                let (name, value) = rest.split_once('=').ok_or("no =")?;
                self.variables.insert(name.to_owned(), self.filled(value));
                Ok(())
            }
            "start" => self.start(name, after),
            "await" => self.listens(name),
            "run" => {
                let code = name.parse().ok();
                self.start("run", code.map_or(rest, |_: i32| after))?;
                self.end("run", code.unwrap_or(0))?;
                below.iter().try_for_each(|check| self.check(check))
            }
            "end" => {
                self.end(name, after.parse().unwrap_or(0))?;
                below.iter().try_for_each(|check| self.check(check))
            }
            _ => Err("an unknown line".to_owned()),
        }
    }

    fn output(&self, name: &str, kind: &str) -> PathBuf {
        self.beside.path().join(format!("{name}.{kind}"))
    }

    fn start(&mut self, name: &str, command: &str) -> Checked {
        let binary = Path::new(env!("CARGO_BIN_EXE_shallop"));
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", command]).current_dir(self.folder.path()).stdin(Stdio::null());
        bash.env("PATH", format!("{}:{path}", binary.parent().unwrap().display()));
        bash.env("BASH_ENV", self.beside.path().join("bash")).envs(&self.variables);
        bash.stdout(File::create(self.output(name, "out")).unwrap());
        bash.stderr(File::create(self.output(name, "err")).unwrap());
        let child = bash.spawn().map_err(|why| format!("bash: {why}"))?;
        let [out, err] = ["out", "err"].map(|kind| self.output(name, kind).display().to_string());
        for (end, value) in [("pid", child.id().to_string()), ("out", out), ("err", err)] {
            self.variables.insert(format!("{name}_{end}"), value);
        }
        self.processes.0.insert(name.to_owned(), child);
        Ok(())
    }

    fn listens(&mut self, name: &str) -> Checked {
        let printed = || fs::read_to_string(self.output(name, "out")).unwrap();
        if !shallop_testing::soon(|| printed().contains('\n')) {
            return Err(format!("it prints nothing: {}", fs::read_to_string(self.output(name, "err")).unwrap()));
        }
        let told: Value = serde_json::from_str(printed().lines().next().unwrap()).map_err(|why| why.to_string())?;
        let address = told["address"].as_str().unwrap_or_default();
        let port = address.rsplit(':').next().unwrap_or_default();
        for (end, value) in [("", address), ("_port", port), ("_code", told["code"].as_str().unwrap_or_default())] {
            self.variables.insert(format!("{name}{end}"), value.to_owned());
        }
        Ok(())
    }

    fn end(&mut self, name: &str, code: i32) -> Checked {
        let child = self.processes.0.get_mut(name).ok_or("no such process")?;
        let (begun, most) = (Instant::now(), Duration::from_secs(if name == "run" { 600 } else { 60 }));
        while child.try_wait().unwrap().is_none() && begun.elapsed() < most {
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = child.try_wait().unwrap();
        let read = |kind| String::from_utf8_lossy(&fs::read(self.output(name, kind)).unwrap()).into_owned();
        let (printed, said) = (read("out"), read("err"));
        self.before = std::mem::replace(&mut self.printed, printed);
        self.said = said;
        let ended = ended.ok_or("it goes on")?;
        // As bash says it.
        if ended.code().or_else(|| Some(128 + ended.signal()?)) != Some(code) {
            return Err(format!("ended with {ended}"));
        }
        let is_bare = code != 2 || name != "run" || self.printed.is_empty();
        is_bare.then_some(()).ok_or_else(|| "prints, and is refused".to_owned())
    }

    /// The text with values in place of `$NAME`; the longest name first.
    fn filled(&self, text: &str) -> String {
        let all = self.variables.iter().rev();
        all.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    /// The elements of `[FILE:]/POINTER`.
    fn json(&self, place: &str) -> Result<Vec<Value>, String> {
        let (file, pointer) =
            place.split_once(":/").map_or((None, place), |(file, _)| (Some(file), &place[file.len() + 1..]));
        let read = file.map(|file| fs::read_to_string(self.folder.path().join(file)).map_err(|why| why.to_string()));
        let text = read.transpose()?.unwrap_or_else(|| self.printed.clone());
        let last = serde_json::Deserializer::from_str(&text).into_iter().last();
        let json: Value = last.ok_or("no JSON")?.map_err(|why| why.to_string())?;
        Ok(elements(&json, pointer))
    }

    fn check(&mut self, check: &str) -> Checked {
        let check = &*self.filled(check);
        let (what, rest) = check.split_once(' ').unwrap_or((check, ""));
        let words = unescaped(rest);
        let longest = self.printed.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let is_so = match what {
            "prints" => self.printed.contains(&words),
            "prints!" => !self.printed.contains(&words),
            "says" => unwrapped(&self.said).contains(&unwrapped(rest)),
            "says!" => !unwrapped(&self.said).contains(&unwrapped(rest)),
            "row" => {
                let mut words = rest.split("; ");
                let start = words.next().unwrap_or_default();
                let is_row = |line: &str| line.starts_with(start) && words.clone().all(|word| line.contains(word));
                self.printed.lines().any(is_row)
            }
            "times" => {
                let (count, text) = rest.split_once(' ').ok_or("no text")?;
                count.parse() == Ok(self.printed.matches(&unescaped(text)).count())
            }
            "lines" => compares(&self.printed.lines().count().into(), rest),
            "columns" => compares(&longest.into(), rest),
            "again" => self.printed == self.before,
            "holds" => {
                let (file, text) = rest.split_once(' ').ok_or("no text")?;
                let content = fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
                content.contains(&unescaped(text))
            }
            "silent" => self.said.is_empty(),
            "let" => {
                let (name, place) = rest.split_once(" = ").ok_or("no =")?;
                let found = self.json(place)?.first().cloned().ok_or("no element")?;
                self.variables.insert(name.to_owned(), plain(&found));
                true
            }
            _ => {
                let all = self.json(what)?;
                let list = || all.iter().map(plain).collect::<Vec<_>>().join(" ");
                let are = rest.strip_prefix("are ").map(|wanted| list() == wanted);
                if !are.unwrap_or(!all.is_empty() && all.iter().all(|found| compares(found, rest))) {
                    return Err(format!("{check}: {}", Value::from(all)));
                }
                true
            }
        };
        is_so.then_some(()).ok_or_else(|| check.to_owned())
    }
}

/// The text with line ends, spaces, returns and escapes in place of `\n`, `\s`, `\r` and `\e`.
fn unescaped(text: &str) -> String {
    let letters = [("\\n", "\n"), ("\\s", " "), ("\\r", "\r"), ("\\e", "\u{1b}")];
    letters.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// A text as it is, and other values as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a pointer of a check means in a value.
fn elements(value: &Value, pointer: &str) -> Vec<Value> {
    let Some(rest) = pointer.strip_prefix('/').filter(|rest| !rest.is_empty()) else { return vec![value.clone()] };
    let (key, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let all: Vec<&Value> = match value {
        Value::Array(all) => all.iter().collect(),
        Value::Object(all) => all.values().collect(),
        _ => Vec::new(),
    };
    match (key, key.split_once('=')) {
        ("#", _) => vec![all.len().into()],
        ("*", _) => all.into_iter().flat_map(|value| elements(value, rest)).collect(),
        (_, Some((name, wanted))) => {
            let has = |of: &&Value| compares(&of[name], &format!("== {wanted}"));
            all.into_iter().filter(has).flat_map(|of| elements(of, rest)).collect()
        }
        _ => elements(value.pointer(&format!("/{key}")).unwrap_or(&Value::Null), rest),
    }
}

/// Whether a value compares to another, or to the ends of an interval.
fn compares(found: &Value, comparison: &str) -> bool {
    let (op, wanted) = comparison.split_once(' ').unwrap_or((comparison, ""));
    let value: Value = serde_json::from_str(wanted).unwrap_or_else(|_| wanted.into());
    let order = found.as_f64().zip(value.as_f64()).and_then(|(a, b)| a.partial_cmp(&b));
    let is_equal = *found == value || order.is_some_and(Ordering::is_eq) || found.as_str() == Some(wanted);
    match op {
        "==" => is_equal,
        "!=" => !is_equal,
        "<" => order.is_some_and(Ordering::is_lt),
        "<=" => order.is_some_and(Ordering::is_le),
        ">" => order.is_some_and(Ordering::is_gt),
        ">=" => order.is_some_and(Ordering::is_ge),
        "has" => plain(found).contains(wanted),
        "in" => wanted
            .split_once("..")
            .is_some_and(|(low, high)| compares(found, &format!(">= {low}")) && compares(found, &format!("< {high}"))),
        _ => false,
    }
}
