//! Sessions: each file in `sessions` has commands that run one after another in a folder with a scenario, and what each
//! prints, says on standard error and leaves in files.

use crate::support::{Folder, text, unwrapped};
use serde::Deserialize;
use serde_json::Value;
use std::io::Write;
use std::{collections::BTreeMap, fs, process::Stdio};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Session {
    #[serde(default)]
    scenario: String,
    step: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// The arguments of the command.
    run: Vec<String>,
    #[serde(default)]
    code: i32,
    /// Files to write before, and to remove before.
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    stdin: String,
    /// Texts that standard output, and standard error, contain and do not contain. A message may be broken into lines.
    #[serde(default)]
    prints: Vec<String>,
    #[serde(default)]
    prints_no: Vec<String>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    says_no: Vec<String>,
    /// Beginnings of lines of standard output, and words that such a line has.
    #[serde(default)]
    rows: BTreeMap<String, Vec<String>>,
    /// The most lines of standard output, and the most letters in a line.
    most_lines: Option<usize>,
    most_columns: Option<usize>,
    /// Texts, and how often standard output has them.
    #[serde(default)]
    counts: BTreeMap<String, usize>,
    /// Whether standard output equals the output of the previous step.
    #[serde(default)]
    again: bool,
    /// Whether nothing is said on standard error.
    #[serde(default)]
    silent: bool,
    /// Values by their JSON pointer in standard output.
    #[serde(default)]
    json: BTreeMap<String, Value>,
    /// Files that exist afterwards, with texts that they contain; without texts, that do not exist.
    #[serde(default)]
    contains: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    absent: Vec<String>,
}

impl Step {
    /// Runs the step after one that printed `before`. Returns what is wrong with what came of it.
    fn wrong(&self, folder: &Folder, before: &mut String) -> Vec<String> {
        for (name, content) in &self.files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        self.remove.iter().for_each(|name| fs::remove_file(folder.path(name)).unwrap());
        let mut command = folder.command(&self.run.iter().map(String::as_str).collect::<Vec<_>>());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.stdin.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let (printed, said) = (text(&output.stdout), text(&output.stderr));
        let flat = unwrapped(&said);
        let row = |(start, words): (&String, &Vec<String>)| {
            printed.lines().any(|line| line.starts_with(start) && words.iter().all(|word| line.contains(word)))
        };
        let json: Value = serde_json::from_str(&printed).unwrap_or_default();
        let file = |(name, texts): (&String, &Vec<String>)| {
            let content = fs::read_to_string(folder.path(name)).unwrap_or_default();
            !content.is_empty() && texts.iter().all(|text| content.contains(text))
        };
        let checks = [
            (output.status.code() == Some(self.code), "the exit code"),
            (self.code != 2 || printed.is_empty(), "output of a command that is refused"),
            (self.prints.iter().all(|text| printed.contains(text)), "a text that is not printed"),
            (!self.prints_no.iter().any(|text| printed.contains(text)), "a text that is printed"),
            (self.says.iter().all(|text| flat.contains(&unwrapped(text))), "a text that is not said"),
            (!self.says_no.iter().any(|text| flat.contains(&unwrapped(text))), "a text that is said"),
            (self.rows.iter().all(row), "a row that is not printed"),
            (self.most_lines.is_none_or(|most| printed.lines().count() <= most), "the number of lines"),
            (
                printed.lines().all(|line| line.chars().count() <= self.most_columns.unwrap_or(usize::MAX)),
                "a long line",
            ),
            (self.counts.iter().all(|(text, count)| printed.matches(text).count() == *count), "a number of texts"),
            (!self.again || printed == *before, "other output than before"),
            (!self.silent || said.is_empty(), "that something is said"),
            (self.json.iter().all(|(at, value)| json.pointer(at) == Some(value)), "a value of the JSON"),
            (self.contains.iter().all(file), "a file"),
            (!self.absent.iter().any(|name| folder.path(name).exists()), "a file that exists"),
        ];
        let wrong = checks.into_iter().filter(|(right, _)| !right);
        let wrong = wrong.map(|(_, what)| format!("{what}\n{self:?}\n{printed}\n{said}")).collect();
        *before = printed;
        wrong
    }
}

/// Runs a session up to the first step that is wrong.
fn hold(text: &str) {
    let session: Session = toml::from_str(text).unwrap();
    let (folder, mut before) = (Folder::with(session.scenario), String::new());
    for step in session.step {
        let wrong = step.wrong(&folder, &mut before);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

macro_rules! sessions {
    ($($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                hold(include_str!(concat!("sessions/", stringify!($name), ".toml")));
            }
        )+
    };
}

sessions! {
    advice_is_equal_on_any_number_of_jobs_and_says_what_no_candidate_meets,
    a_claim_that_fails_is_exit_code_1,
    a_folder_without_results_is_refused_and_several_have_an_index_page,
    a_page_that_shallop_did_not_make_is_not_overwritten,
    check_counts_the_runs_and_explains_the_numbers,
    check_explains_each_link_with_its_switch_and_chip,
    claims_and_tables_are_plain_text_of_120_columns,
    completion_scripts_and_manual_pages_have_commands_options_and_values,
    a_scenario_comes_by_standard_input_as_toml_or_as_a_request,
    a_sweep_is_printed_with_its_intervals,
    errors_have_a_kind_a_position_and_the_allowed_values,
    flags_of_new_choose_and_nothing_is_overwritten,
    keys_move_together_with_the_key_before_them,
    new_reads_networks_from_the_folder_of_the_scenario,
    results_are_compared_by_schemes_and_points_that_they_have,
    run_takes_schemes_and_seeds_and_spares_the_results_of_a_sweep,
    schema_chips_and_the_list_of_experiments_are_json,
    sweeps_print_groups_unfinished_flows_and_lower_bounds,
}
