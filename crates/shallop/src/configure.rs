//! `config`, `import` and `run --as-configured`: configurations of real switches.

use crate::device_args::{Config, Import};
use crate::{input::Input, print};
use shallop_device::{Note, Os, Written, eos, toml};
use shallop_plan::{ResolvedNetwork, Study};
use shallop_scenario::configure::{Configured, devices};
use shallop_scenario::{Problem, as_configured};
use shallop_workbench::choice::choose;
use shallop_workbench::diagnostic::{Result, in_text, name, plain, with_help};
use shallop_workbench::{read_text, write_file};
use std::collections::BTreeSet;

/// The keys to set so that a study's switches are as the system rounds them.
pub fn as_configured(study: &Study, os: Os) -> Result<Vec<(String, String)>> {
    let [point] = &study.points[..] else { return Err(plain(&"--as-configured: the scenario has several points")) };
    let seed = study.seeds.first().copied().unwrap_or_default();
    let (set, notes) =
        as_configured::changes(&point.plan, seed, os).map_err(|why| plain(&format!("--as-configured: {why}")))?;
    print::notes(&notes);
    print::notes(&set.iter().map(|(key, value)| format!("as configured: {key} = {value}")).collect::<Vec<_>>());
    Ok(set)
}

pub fn import(args: &Import) -> Result<()> {
    if !args.name.chars().all(|it| it.is_ascii_alphanumeric() || "-_".contains(it)) {
        let what = format!("--name: \"{}\" is no name of a [switch.NAME]", args.name);
        return Err(with_help(&what, &"letters, digits, - and _"));
    }
    let known = as_configured::known(&args.name, args.chip.as_deref());
    let known = known.map_err(|why| with_help(&format!("--chip: {}", why.reason), &why.help))?;
    let text = read_text(&args.file).map_err(|why| plain(&why))?;
    if let Some(links) = &args.links {
        read_text(links).map_err(|why| plain(&format!("--links: {why}")))?;
    }
    let mut imported = args.os.read(&text, &known).map_err(|why| {
        let start = text.split_inclusive('\n').take(why.line - 1).map(str::len).sum();
        let length = text[start..].lines().next().map_or(0, str::len);
        in_text(
            &name(&args.file),
            &text,
            Problem {
                reason: why.reason,
                span: Some(start..start + length),
                label: "here".into(),
                ..Problem::default()
            },
        )
    })?;
    imported.device.name.clone_from(&args.name);
    let section = toml::section(&imported);
    print::line(section.trim_end())?;
    if let Some(links) = &args.links {
        let switch = section.lines().next().unwrap_or_default().trim_matches(['[', ']']).trim_start_matches("switch.");
        print::line(&format!("\n[topology]\nkind = \"file\"\nfile = {:?}\nswitch = {switch:?}", name(links)))?;
    }
    let of_queues = imported.not_understood.iter().filter(|it| it.of_queues).count();
    let rest = imported.not_understood.len() - of_queues;
    if of_queues + rest > 0 {
        let of_queues = format!("not understood within settings of queues: {of_queues} (comments list these first)");
        print::notes(&[format!("{of_queues}; elsewhere: {rest}")]);
    }
    Ok(())
}

pub fn config(args: &Config) -> Result<()> {
    if args.structured && args.os != Os::Eos {
        return Err(plain(&"--structured: only EOS has data for pyavd"));
    }
    let mut study = Input::read(&args.source.scenario)?.study(args.source.options())?;
    choose(&mut study, &args.schemes)?;
    let seed = study.seeds.first().copied().unwrap_or_default();
    let (mut text, mut notes, mut count) = (String::new(), Vec::new(), 0);
    for point in study.points.iter().take(1) {
        let common = ResolvedNetwork::new(&point.plan, seed).map_err(|why| plain(&why))?;
        for (scheme, name) in point.plan.schemes.iter().map(|scheme| &scheme.name).enumerate() {
            let run = common.scheme(scheme).map_err(|why| plain(&why))?;
            let found = devices(&run, args.os, args.switch.as_deref());
            if found.is_empty() {
                let asked = args.switch.as_deref().unwrap_or_default();
                let at: BTreeSet<u32> = run.network.switch_ports().map(|it| run.network.graph.near(it).0).collect();
                let names: Vec<&str> = at.iter().map(|&node| run.network.names[node as usize].as_str()).collect();
                let help = format!("switches: {}", names.join(", "));
                return Err(with_help(&format!("there is no switch \"{asked}\""), &help));
            }
            count += found.len();
            for mut one in found {
                let switch = one.device.name.clone();
                // In these files the name is a host name.
                if !matches!(args.os, Os::Sonic | Os::Cumulus) {
                    one.device.name = format!("switch {switch}, scheme {name}");
                }
                let written = if args.structured { eos::structured(&one.device) } else { args.os.write(&one.device) };
                text.push_str(if args.structured && !text.is_empty() { "---\n" } else { "" });
                text.push_str(&written.text);
                notes.extend(notes_on(&switch, name, &one, &written));
            }
        }
    }
    if let (Os::Tc | Os::Sonic, 2..) = (args.os, count) {
        let what = "a script of tc and a config_db.json are for one switch and one scheme";
        return Err(with_help(&what, &"--switch NAME, --schemes NAME"));
    }
    // Derivations follow what differs.
    notes.sort_by_key(|note: &String| note.starts_with(print::WHY));
    print::notes(&notes);
    match &args.out {
        Some(path) => write_file(path, text.as_bytes()).map_err(|why| plain(&why)),
        None => print::line(text.trim_end()),
    }
}

fn notes_on(switch: &str, scheme: &str, one: &Configured, written: &Written) -> Vec<String> {
    let same = (!one.same.is_empty()).then(|| format!("{switch}: equal ports at {}", one.same.join(", ")));
    let notes = one.notes.iter().chain(&written.notes).map(|note| {
        let why = if matches!(note, Note::Derived { .. }) { print::WHY } else { "" };
        format!("{why}{switch}, {scheme}: {note}")
    });
    same.into_iter().chain(notes).collect()
}
