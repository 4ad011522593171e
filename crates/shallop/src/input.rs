//! Scenarios, from a file or from standard input.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use shallop_plan::Study;
use shallop_plan::files::{Files, FilesInMemory};
use shallop_scenario::Options;
use shallop_workbench::diagnostic::{Result, name, plain};
use shallop_workbench::fault::in_scenario;
use shallop_workbench::work::{of_text, scenario_text};
use shallop_workbench::{Folder, RecordingFiles};

/// The name of standard input in place of a file.
const STDIN: &str = "-";

/// The text of a scenario, with changes.
pub struct Input {
    name: String,
    text: String,
    files: Arc<RecordingFiles>,
    set: Vec<(String, String)>,
    vary: Vec<(String, Vec<String>)>,
}

/// A scenario as a program gives it: a line of JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The TOML text.
    text: String,
    /// The name of the text in messages.
    #[serde(default = "standard_input")]
    name: String,
    /// The folder of the files that the scenario names; the working directory unless given.
    #[serde(default)]
    folder: PathBuf,
    /// Those files themselves, by name; no file is read then.
    files: Option<BTreeMap<String, String>>,
    /// Keys to set, each with a value in TOML; a string may lack its quotes.
    #[serde(default)]
    set: Vec<(String, String)>,
    /// Keys to vary, with their values.
    #[serde(default)]
    vary: Vec<(String, Varied)>,
}

/// The values of a key.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Varied {
    /// Each by itself.
    Each(Vec<String>),
    /// As typed: with commas between them.
    Typed(String),
}

fn standard_input() -> String {
    "standard input".to_owned()
}

impl Input {
    /// Reads the text of a scenario from a file, or from standard input if the file is called `-`. Of standard input,
    /// one line is read if it is JSON, and all of it if it is TOML.
    pub fn read(path: &Path) -> Result<Self> {
        if path.as_os_str() != STDIN {
            let text = scenario_text(path)?;
            return Ok(Self::of(name(path), text, Arc::new(Folder::of(path))));
        }
        let unread = |why: std::io::Error| {
            in_scenario(plain(&format!("standard input: could not read the scenario: {why}")))
        };
        let (mut text, mut stdin) = (String::new(), std::io::stdin().lock());
        stdin.read_line(&mut text).map_err(unread)?;
        if text.starts_with('{') {
            return Self::requested(&text);
        }
        stdin.read_to_string(&mut text).map_err(unread)?;
        Ok(Self::of(standard_input(), text, Arc::new(Folder::default())))
    }

    fn of(name: String, text: String, files: Arc<dyn Files>) -> Self {
        let files = Arc::new(RecordingFiles::of(files));
        Self { name, text, files, set: Vec::new(), vary: Vec::new() }
    }

    fn requested(line: &str) -> Result<Self> {
        let request: Request = serde_json::from_str(line)
            .map_err(|why| plain(&format!("standard input: not a request: {why}")))?;
        let Request { text, name, folder, files, set, vary } = request;
        let values = |(key, values): (String, Varied)| match values {
            Varied::Each(values) => Ok((key, values)),
            Varied::Typed(text) => shallop_scenario::values(&text)
                .map(|values| (key.clone(), values))
                .map_err(|why| in_scenario(plain(&format!("{key}: {why}")))),
        };
        let vary = vary.into_iter().map(values).collect::<Result<_>>()?;
        let files: Arc<dyn Files> = match files {
            Some(files) => Arc::new(FilesInMemory(files)),
            None => Arc::new(Folder::new(folder)),
        };
        Ok(Self { set, vary, ..Self::of(name, text, files) })
    }

    /// The study, with the changes of these options and those that came with the scenario.
    pub fn study(&self, options: Options) -> Result<Study> {
        let set = self.set.iter().cloned().chain(options.set).collect();
        let vary = self.vary.iter().cloned().chain(options.vary).collect();
        of_text(
            &self.name,
            &self.text,
            &Options { set, vary, files: self.files.clone(), ..options },
        )
    }

    /// The names of the files that the scenario names, once [`Input::study`] has read them.
    pub fn named_files(&self) -> Vec<String> {
        self.files.names()
    }
}
