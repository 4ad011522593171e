//! `new`: a scenario to begin with. On a terminal the command asks for arguments that are not given; otherwise it uses
//! common values and prints them.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use dialoguer::theme::ColorfulTheme;
use dialoguer::{MultiSelect, Select};
use shallop_core::Span;
use shallop_plan::Setup;
use shallop_scenario::Options;
use shallop_scenario::template::{
    self, Choice, DEFAULT_TOPOLOGY, DEFAULT_TRAFFIC, DEFAULT_TRANSPORTS, Item,
};

use shallop_workbench::diagnostic::{Result, name, plain, with_help};
use shallop_workbench::work::{can_run, notes, of_text};

use crate::args;
use crate::{print, work};

/// Writes a scenario.
pub fn new(args: &args::New) -> Result<ExitCode> {
    if !args.force && args.out.exists() {
        let what = format!("{} is there already", name(&args.out));
        return Err(with_help(&what, &"name another file with --out, or add --force"));
    }
    let mut choice = choose(args)?;
    // The written scenario must be valid; a network file of the user may not be.
    let read = |choice: &Choice| {
        let text = template::write(choice).map_err(|why| plain(&why))?;
        let options = Options { files: work::files(&args.out), ..Options::default() };
        let study = of_text(&name(&args.out), &text, &options)?;
        can_run(&study)?;
        Result::Ok((text, study))
    };
    let (_, study) = read(&choice)?;
    print::notes(&notes(&study));
    // The durations follow from the round trips of the network.
    let setup = Setup::new(&study.points[0].plan, 0, study.seeds[0]).map_err(|why| plain(&why))?;
    choice.longest_rtt = setup.traffic_paths.longest.map_or(Span::ZERO, |longest| longest.base_rtt);
    let (text, _) = read(&choice)?;
    shallop_workbench::write_file(&args.out, text.as_bytes()).map_err(|why| plain(&why))?;
    let file = name(&args.out);
    print::line(&format!(
        "{file}: {}, {} traffic, {}\nRun it with `shallop run {file}`, in small with --quick.",
        choice.topology,
        choice.traffic,
        choice.transports.join(", "),
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The given arguments, and the answers to the questions.
fn choose(args: &args::New) -> Result<Choice> {
    let network = args.network.as_deref().map(|file| beside(file, &args.out)).transpose()?;
    let topology = match (&args.topology, &network) {
        (Some(kind), Some(_)) if kind != "file" => {
            let help = "leave out --topology, or write --topology file";
            return Err(with_help(&format!("--network does not go with --topology {kind}"), &help));
        }
        (Some(kind), None) if kind == "file" => {
            let help = "add --network FILE: .graphml, .gml, or .csv with a link a line";
            return Err(with_help(&"--topology file needs the file", &help));
        }
        (_, Some(_)) => Some("file".to_owned()),
        (kind, None) => kind.clone(),
    };
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let given = Some(&args.transport).filter(|given| !given.is_empty()).cloned();
    let mut guessed = Vec::new();
    let topology = match topology {
        Some(topology) => topology,
        None if asks => one("Which network?", &without_file(), DEFAULT_TOPOLOGY)?,
        None => {
            guessed.push("--topology");
            DEFAULT_TOPOLOGY.to_owned()
        }
    };
    let traffic = match &args.traffic {
        Some(traffic) => traffic.clone(),
        None if asks => one("Which traffic?", template::traffics(), DEFAULT_TRAFFIC)?,
        None => {
            guessed.push("--traffic");
            DEFAULT_TRAFFIC.to_owned()
        }
    };
    let mut transports = match given {
        Some(given) => given,
        None if asks => {
            some("Which transports? Space chooses, Enter ends.", &template::transports())?
        }
        None => {
            guessed.push("--transport");
            DEFAULT_TRANSPORTS.map(str::to_owned).to_vec()
        }
    };
    let mut seen = Vec::new();
    transports.retain(|name| {
        !seen.contains(name) && {
            seen.push(name.clone());
            true
        }
    });
    if !guessed.is_empty() {
        // There is nobody to tell if this cannot be written.
        let _ = writeln!(std::io::stderr(), "Defaults are used for {}", guessed.join(", "));
    }
    Ok(Choice { topology, transports, traffic, network, longest_rtt: Span::ZERO })
}

/// The networks without a file.
fn without_file() -> Vec<Item> {
    template::topologies().into_iter().filter(|item| item.name != "file").collect()
}

fn one(question: &str, items: &[Item], usual: &str) -> Result<String> {
    let usual = items.iter().position(|item| item.name == usual).unwrap_or(0);
    let theme = ColorfulTheme::default();
    let select = Select::with_theme(&theme)
        .with_prompt(question)
        .items(lines(items))
        .default(usual)
        .report(false);
    let answer = select.interact_opt().map_err(|why| plain(&format!("no answer: {why}")))?;
    let item = answer.and_then(|answer| items.get(answer));
    item.map(|item| item.name.to_owned()).ok_or_else(unanswered)
}

fn some(question: &str, items: &[Item]) -> Result<Vec<String>> {
    let usual: Vec<bool> =
        items.iter().map(|item| DEFAULT_TRANSPORTS.contains(&item.name)).collect();
    let theme = ColorfulTheme::default();
    let select = MultiSelect::with_theme(&theme)
        .with_prompt(question)
        .items(lines(items))
        .defaults(&usual)
        .report(false);
    let answer = select.interact_opt().map_err(|why| plain(&format!("no answer: {why}")))?;
    let chosen = answer.ok_or_else(unanswered)?;
    let chosen: Vec<String> = chosen
        .into_iter()
        .filter_map(|index| items.get(index).map(|item| item.name.to_owned()))
        .collect();
    if chosen.is_empty() { Err(unanswered()) } else { Ok(chosen) }
}

fn unanswered() -> miette::Report {
    with_help(
        &"nothing was chosen, and nothing written",
        &"choose, or say it with --topology, --transport, --traffic",
    )
}

/// Names with descriptions.
fn lines(items: &[Item]) -> Vec<String> {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    items.iter().map(|item| format!("{:<width$}  {}", item.name, item.about)).collect()
}

/// The path of a file, relative to the folder of the scenario.
fn beside(file: &Path, scenario: &Path) -> Result<String> {
    let folder = scenario.parent().filter(|folder| !folder.as_os_str().is_empty());
    let relative = match folder {
        None => file.to_owned(),
        Some(folder) => match file.strip_prefix(folder) {
            Ok(inside) => inside.to_owned(),
            Err(_) => std::path::absolute(file).map_err(|why| plain(&why))?,
        },
    };
    relative.to_str().map(str::to_owned).ok_or_else(|| {
        plain(&format!("{}: the name is no text that a scenario could hold", file.display()))
    })
}
