//! Hostile inputs: each ends with exit code 2 and a message that names the place and says what to do; nothing is
//! printed on standard output, and no file is written. The inputs are in `hostile/cases`, the messages, to be read by
//! whoever changes one, in `hostile/messages.txt`: `UPDATE_HOSTILE=1` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Folder;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// A line of the scenario, and what stands for it.
    swap: Option<[String; 2]>,
    swap_too: Option<[String; 2]>,
    /// What stands at the end of the scenario.
    #[serde(default)]
    add: String,
    /// The whole scenario.
    text: Option<String>,
    /// The file of the scenario's network.
    network: Option<String>,
    #[serde(default)]
    crlf: bool,
    #[serde(default)]
    bom: bool,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Files and those in this folder that they are copies of.
    #[serde(default)]
    copy: BTreeMap<String, String>,
    #[serde(default)]
    folders: Vec<String>,
    /// Symbolic links and what they lead to.
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// Files of finished results, and what is done to them.
    #[serde(default)]
    damage: BTreeMap<String, String>,
    #[serde(default = "usual")]
    run: Vec<String>,
    /// What the message names.
    at: String,
    /// What the message says.
    says: String,
}

fn usual() -> Vec<String> {
    ["run", "scenario.toml", "--out", "out"].map(str::to_owned).to_vec()
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

/// The cases of a file.
fn read(path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).unwrap();
    toml::from_str::<Cases>(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display())).case
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hostile")
}

const SCENARIO: &str = include_str!("hostile/scenario.toml");

/// The text with `${x*3}` written out as `xxx`.
fn written_out(text: &str) -> String {
    let Some((before, rest)) = text.split_once("${") else { return text.to_owned() };
    let (inside, after) = rest.split_once('}').unwrap();
    let (part, times) = inside.rsplit_once('*').unwrap();
    format!("{before}{}{}", part.repeat(times.parse().unwrap()), written_out(after))
}

impl Case {
    fn scenario(&self) -> String {
        let mut scenario = self.text.as_deref().map_or_else(|| SCENARIO.to_owned(), written_out);
        for [line, other] in self.swap.iter().chain(&self.swap_too) {
            assert!(scenario.contains(line.as_str()), "{}: {line}", self.name);
            scenario = scenario.replacen(line.as_str(), &other.replace("\\n", "\n"), 1);
        }
        if let Some(network) = &self.network {
            let dumbbell = scenario.find("kind = ").unwrap()..scenario.find("[switch").unwrap();
            let file = format!("kind = \"file\"\nfile = \"{network}\"\n\n");
            scenario.replace_range(dumbbell, &file);
            scenario = scenario
                .replace("name = \"all\"", "name = \"all\"\nfrom = \"hosts\"\nto = \"hosts\"");
        }
        scenario.push_str(&self.add);
        if self.crlf {
            scenario = scenario.replace('\n', "\r\n");
        }
        if self.bom { format!("\u{feff}{scenario}") } else { scenario }
    }

    /// A folder with what the case needs.
    fn folder(&self, results: &Path) -> Folder {
        let folder = Folder::with(self.scenario());
        for (name, content) in &self.files {
            fs::write(folder.path(name), written_out(content)).unwrap();
        }
        for (name, from) in &self.copy {
            fs::copy(here().join(from), folder.path(name)).unwrap();
        }
        for name in &self.folders {
            fs::create_dir_all(folder.path(name)).unwrap();
        }
        for (name, to) in &self.links {
            std::os::unix::fs::symlink(to, folder.path(name)).unwrap();
        }
        if self.run.iter().any(|word| word == "results") {
            fs::create_dir(folder.path("results")).unwrap();
            for name in ["summary.json", "flows.parquet", "series.parquet"] {
                fs::copy(results.join(name), folder.path("results").join(name)).unwrap();
            }
        }
        for (name, how) in &self.damage {
            damage(&folder.path("results").join(name), how);
        }
        folder
    }
}

fn damage(path: &Path, how: &str) {
    let mut bytes = fs::read(path).unwrap();
    // Computing times differ in their digits: text is cut at the end of a line.
    let is_text = path.extension().is_some_and(|of| of == "json");
    let lines = bytes.iter().enumerate().filter(|(_, byte)| is_text && **byte == b'\n');
    let half = lines.map(|(at, _)| at).nth(300).unwrap_or(bytes.len() / 2);
    match how {
        "gone" => return fs::remove_file(path).unwrap(),
        "empty" => bytes.clear(),
        "cut" => bytes.truncate(half),
        "binary" => bytes = fs::read(here().join("scenario.toml.gz")).unwrap(),
        "flip" => bytes[4..].iter_mut().take(200).for_each(|byte| *byte ^= 0x10),
        "series.parquet" => bytes = fs::read(path.with_file_name(how)).unwrap(),
        text => bytes = text.as_bytes().to_vec(),
    }
    fs::write(path, bytes).unwrap();
}

/// Every path below a folder.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(paths(&path));
        }
        all.push(path);
    }
    all.sort();
    all
}

/// The message without what a narrow terminal breaks it with.
fn unwrapped(message: &str) -> String {
    message.chars().filter(|&letter| !letter.is_whitespace() && letter != '│').collect()
}

/// Runs a case; what is wrong with the answer, and the message.
fn answer(case: &Case, results: &Path) -> (Vec<String>, String) {
    let folder = case.folder(results);
    let before = paths(&folder.path(""));
    let words: Vec<String> = case.run.iter().map(|word| written_out(word)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = folder.shallop(&words);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let flat = unwrapped(&message);
    let after = paths(&folder.path(""));
    let created: Vec<&PathBuf> = after.iter().filter(|path| !before.contains(path)).collect();
    let obeyed = |letter: char| letter.is_control() && letter != '\n';
    let checks = [
        (output.status.code() == Some(2), format!("ended with {}", output.status)),
        (output.stdout.is_empty(), format!("printed {}", String::from_utf8_lossy(&output.stdout))),
        (flat.contains(&unwrapped(&case.at)), format!("does not name {}", case.at)),
        (flat.contains(&unwrapped(&case.says)), format!("does not say {}", case.says)),
        (!case.says.is_empty(), "has nothing to say".to_owned()),
        (created.is_empty(), format!("wrote {created:?}")),
        (!message.contains("panicked"), "panicked".to_owned()),
        (!message.contains(obeyed), "has control characters".to_owned()),
        (message.lines().count() <= 24, format!("has {} lines", message.lines().count())),
        (message.lines().all(|line| line.chars().count() <= 400), "has long lines".to_owned()),
    ];
    let wrong = checks.into_iter().filter(|(right, _)| !right).map(|(_, why)| why).collect();
    let unnamed = message.replace(folder.path("").to_str().unwrap(), "FOLDER/");
    (wrong, unnamed)
}

#[test]
fn hostile_inputs_are_refused_with_a_place_and_a_remedy() {
    let cases: Vec<Case> =
        paths(&here().join("cases")).iter().flat_map(|path| read(path)).collect();
    assert!(cases.len() >= 150, "{}", cases.len());
    let made = Folder::with(SCENARIO);
    made.done(&["run", "scenario.toml", "--out", "results"]);
    let (mut all, mut wrong) = (String::new(), String::new());
    for case in &cases {
        let (found, message) = answer(case, &made.path("results"));
        let _ = writeln!(all, "## {}\n\n{}\n", case.name, message.trim_end());
        if !found.is_empty() {
            let _ = writeln!(wrong, "{}: {}:\n{message}", case.name, found.join("; "));
        }
    }
    let path = here().join("messages.txt");
    if std::env::var_os("UPDATE_HOSTILE").is_some() {
        fs::write(&path, &all).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
    let told = fs::read_to_string(&path).unwrap();
    assert!(
        told == all,
        "messages differ from {}: UPDATE_HOSTILE=1 writes them anew",
        path.display()
    );
}
