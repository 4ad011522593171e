//! Hostile inputs: each ends with exit code 2 and a message with the place, the key, the reason and what to do. Nothing
//! is printed on standard output, and no file is written. The inputs and their messages are in `hostile/cases`.

use crate::support::{Folder, unwrapped};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, fs};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// A line of the scenario and its replacement.
    swap: Option<[String; 2]>,
    swap_too: Option<[String; 2]>,
    /// Text to append to the scenario.
    #[serde(default)]
    add: String,
    text: Option<String>,
    /// The file of the scenario's network.
    network: Option<String>,
    /// Whether only the command on Linux has what is run.
    #[serde(default)]
    linux: bool,
    #[serde(default)]
    crlf: bool,
    #[serde(default)]
    bom: bool,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Files, and the files beside the cases of which they are copies.
    #[serde(default)]
    copy: BTreeMap<String, String>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// Files of finished results, and how they are damaged.
    #[serde(default)]
    damage: BTreeMap<String, String>,
    #[serde(default = "usual")]
    run: Vec<String>,
    /// What the message names. `FILE:LINE:COLUMN` is the exact position.
    at: String,
    /// The exact position, if `at` is something else.
    position: Option<String>,
    /// The key and the reason, if they are not in `at` and `says`.
    #[serde(default)]
    message: String,
    says: String,
}

fn usual() -> Vec<String> {
    ["run", "scenario.toml", "--out", "out"].map(str::to_owned).to_vec()
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

fn read(path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).unwrap();
    toml::from_str::<Cases>(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display())).case
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hostile")
}

const SCENARIO: &str = include_str!("hostile/scenario.toml");

/// The text with `${x*3}` expanded to `xxx`.
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
            scenario = scenario.replace("name = \"all\"", "name = \"all\"\nfrom = \"hosts\"\nto = \"hosts\"");
        }
        scenario.push_str(&self.add);
        if self.crlf {
            scenario = scenario.replace('\n', "\r\n");
        }
        if self.bom { format!("\u{feff}{scenario}") } else { scenario }
    }

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
    // Text is cut at the end of a line, because computing times differ in their number of digits.
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

/// Runs a case. Returns the message, and what is wrong with it.
fn answer(case: &Case, results: &Path) -> (String, Vec<String>) {
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
    let is_exact = case.at.matches(':').count() == 2;
    let position = case.position.as_ref().or(is_exact.then_some(&case.at));
    let position = position.map_or_else(String::new, |position| format!("[{position}]"));
    let says = [&case.at, &position, &case.message, &case.says];
    let missing = says.into_iter().find(|part| !flat.contains(&unwrapped(part)));
    let checks = [
        (output.status.code() == Some(2), format!("ended with {}", output.status)),
        (output.stdout.is_empty(), format!("printed {}", String::from_utf8_lossy(&output.stdout))),
        (missing.is_none(), format!("does not say {missing:?}")),
        (!case.says.is_empty(), "has nothing to say".to_owned()),
        (created.is_empty(), format!("wrote {created:?}")),
        (!message.contains("panicked"), "panicked".to_owned()),
        (!message.contains(obeyed), "has control characters".to_owned()),
        (message.lines().count() <= 24, format!("has {} lines", message.lines().count())),
        (message.lines().all(|line| line.chars().count() <= 400), "has long lines".to_owned()),
    ];
    (message, checks.into_iter().filter(|(right, _)| !right).map(|(_, why)| why).collect())
}

#[test]
fn hostile_inputs_are_refused_with_a_place_and_a_remedy() {
    let cases: Vec<Case> = paths(&here().join("cases")).iter().flat_map(|path| read(path)).collect();
    assert!(cases.len() >= 354, "{}", cases.len());
    let made = Folder::with(SCENARIO);
    made.done(&["run", "scenario.toml", "--out", "results"]);
    let cases = cases.iter().filter(|case| !case.linux || cfg!(target_os = "linux"));
    let answers = cases.map(|case| (case, answer(case, &made.path("results"))));
    let wrong: Vec<String> = answers
        .filter(|(_, (_, wrong))| !wrong.is_empty())
        .map(|(case, (message, wrong))| format!("{}: {}:\n{message}", case.name, wrong.join("; ")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
