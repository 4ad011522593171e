//! What a scenario compares.

use shallop_control::any;
use shallop_control::expresspass::{CodeConfig, PaperConfig};
use shallop_control::flashpass::{AimdConfig, MimdConfig};
use shallop_core::{Bytes, Span};
use shallop_proto::expresspass::StopPolicy;

use super::options::{AIMD, MIMD, SCHEMES};
use super::problem::{Problem, list};
use super::section::{Section, rows, unique};
use super::tree::{At, Item};
use super::{start, tcp};
use crate::plan::{ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Scheme, Transport, Udp};

/// After this long what was not answered is taken for lost (flashpass-icnp21, IV.A).
const TIMEOUT: Span = Span::from_ms(200);

/// A scheme, where its `wait` stands, and what it sets of switches.
pub(super) struct Read {
    pub scheme: Scheme,
    pub wait: At,
    pub set: Option<Item>,
    pub clean: Option<Item>,
}

/// Reads every `[[scheme]]`; `stack` is that of the scenario.
pub(super) fn read(top: &Section<'_>, stack: &str) -> Result<Vec<Read>, Problem> {
    let mut schemes: Vec<Read> = Vec::new();
    let rows = rows(top, "scheme")?;
    if rows.is_empty() {
        let problem = top.lacks("scheme");
        return Err(problem.with_help("add a [[scheme]] with a transport, such as \"flashpass\""));
    }
    for (name, item) in rows {
        let section = Section::of_kind(&name, &SCHEMES, item)?;
        let scheme = scheme(&section, stack)?;
        unique(schemes.iter().map(|other| other.scheme.name.as_str()), &scheme.name, &section)?;
        let at = |key| section.place(key).clone();
        let flashpass = matches!(scheme.transport, Transport::FlashPass(_));
        let wait = if flashpass { at("wait") } else { At::default() };
        let set = section.item("set").cloned();
        let tcp = matches!(scheme.transport, Transport::Tcp { .. });
        let clean = if tcp { section.item("clean").cloned() } else { None };
        schemes.push(Read { scheme, wait, set, clean });
    }
    Ok(schemes)
}

/// Reads what a scheme says, or a group that has a transport of its own; its label is the transport if it has none.
fn scheme(section: &Section<'_>, stack: &str) -> Result<Scheme, Problem> {
    let name = section.or("name", section.kind.to_owned())?;
    let mut controllers = any::Config::kinds().into_iter();
    let transport = match controllers.find(|(kind, _)| kind.name == section.kind) {
        Some(controller) => tcp::read(section, controller, stack)?,
        None if section.kind.starts_with("expresspass") => {
            Transport::ExpressPass(expresspass(section)?)
        }
        None if section.kind == "udp" => {
            Transport::Udp(Udp { rate: section.get("rate")?, ect: section.or("ect", false)? })
        }
        None => Transport::FlashPass(flashpass(section)?),
    };
    Ok(Scheme { name, transport, switches: None, clean: None })
}

/// Reads the transport of a group, if it has one of its own; `of` is what the group is called in messages.
pub(super) fn own(of: &str, item: Option<&Item>, stack: &str) -> Result<Option<Scheme>, Problem> {
    let Some(item) = item else { return Ok(None) };
    let section = Section::of_kind(&format!("`transport` in {of}"), &SCHEMES, item)?;
    if section.item("set").is_some() {
        let problem = section.reject("set", "switches are the same for all groups");
        return Err(problem.with_help("a [[scheme]] sets what they are like"));
    }
    if item.get("clean").is_some() {
        let problem = section.reject("clean", "a proxy is the same for all groups");
        return Err(problem.with_help("a [[scheme]] has the proxy"));
    }
    scheme(&section, stack).map(Some)
}

fn expresspass(section: &Section<'_>) -> Result<ExpressPass, Problem> {
    let rule = if section.kind == "expresspass-paper" {
        ExpressPassRule::Paper(paper_rule(section)?)
    } else {
        ExpressPassRule::Code(code_rule(section)?)
    };
    let (least, first, most) = match rule {
        ExpressPassRule::Paper(rule) => (rule.min_weight, rule.initial_weight, rule.max_weight),
        ExpressPassRule::Code(rule) => (rule.min_weight, rule.initial_weight, rule.max_weight),
    };
    if !(least <= first && first <= most) {
        let written = ["w_init", "w_min", "w_max"].into_iter().find(|k| section.item(k).is_some());
        let message = format!("weights are out of order: {least}, {first}, {most}");
        let help = "w_min must not be above w_init, nor w_init above w_max";
        return Err(section.reject(written.unwrap_or("w_init"), message).with_help(help));
    }
    let ahead = section.kind == "expresspass-ideal";
    Ok(ExpressPass {
        rule,
        stop: match section.or("stop", "last-data")? {
            "early" => StopPolicy::Early,
            "demand" => StopPolicy::Demand,
            _ => StopPolicy::LastData,
        },
        jitter: section.or("jitter", 0.1)?,
        largest_credit: section.or("largest_credit", Bytes::new(84))?,
        timeout: section.or("timeout", TIMEOUT)?,
        aeolus: if ahead { None } else { start::aeolus(section)? },
        ahead,
        send_buffer: start::send_buffer(section)?,
    })
}

fn paper_rule(section: &Section<'_>) -> Result<PaperConfig, Problem> {
    let default = PaperConfig::default();
    Ok(PaperConfig {
        alpha: section.or("alpha", default.alpha)?,
        initial_weight: section.or("w_init", default.initial_weight)?,
        min_weight: section.or("w_min", default.min_weight)?,
        max_weight: section.or("w_max", default.max_weight)?,
        target_loss: section.or("target_loss", default.target_loss)?,
        attribute: section.or("attribute", default.attribute)?,
    })
}

fn code_rule(section: &Section<'_>) -> Result<CodeConfig, Problem> {
    let default = CodeConfig::default();
    Ok(CodeConfig {
        alpha: section.or("alpha", default.alpha)?,
        initial_weight: section.or("w_init", default.initial_weight)?,
        min_weight: section.or("w_min", default.min_weight)?,
        max_weight: section.or("w_max", default.max_weight)?,
        weight_step: section.or("w_step", default.weight_step)?,
        target_scale: section.or("target_scale", default.target_scale)?,
        full_start: section.get("full_start")?.or(default.full_start),
    })
}

fn flashpass(section: &Section<'_>) -> Result<FlashPass, Problem> {
    let named = section.kind.starts_with("flashpass-mimd");
    let mimd = named || section.get::<&str>("feedback")? == Some("mimd");
    // A scheme that is mimd by name has no key of the other law; one that is by choice may have been left some.
    let (vain, own) = if mimd { (AIMD, MIMD) } else { (MIMD, AIMD) };
    let vain = vain.iter().find(|key| !named && section.item(key.name).is_some());
    if let Some(key) = vain {
        let (law, other) = if mimd { ("mimd", "aimd") } else { ("aimd", "mimd") };
        let message = format!("it belongs to feedback = \"{other}\", and this is \"{law}\"");
        let help = format!("options of \"{law}\": {}", list(own.iter().map(|key| key.name)));
        return Err(section.reject(key.name, message).with_help(help));
    }
    let law = if mimd { FlashPassLaw::Mimd(mimd_law(section)?) } else { aimd_law(section)? };
    Ok(FlashPass {
        law,
        wait: section.get("wait")?,
        force_wait: section.or("force_wait", false)?,
        epochs: section.or("epochs", if mimd { 1 } else { 4 })?,
        jitter: section.or("jitter", 0.49)?,
        batch: section.or("batch", 1u32)? as u8,
        over_provision: section.or("over_provision", false)?,
        expected_loss: section.or("expected_loss", 0.1)?,
        timeout: section.or("timeout", TIMEOUT)?,
        aeolus: start::aeolus(section)?,
        send_buffer: start::send_buffer(section)?,
    })
}

fn aimd_law(section: &Section<'_>) -> Result<FlashPassLaw, Problem> {
    let default = AimdConfig::default();
    Ok(FlashPassLaw::Aimd(AimdConfig {
        step: section.or("step", default.step)?,
        decay: section.or("decay", default.decay)?,
        most: section.or("most", default.most)?,
        gain: section.or("gain", default.gain)?,
        ease: section.or("ease", default.ease)?,
    }))
}

fn mimd_law(section: &Section<'_>) -> Result<MimdConfig, Problem> {
    let default = MimdConfig::default();
    let config = MimdConfig {
        min_target_loss: section.or("min_target_loss", default.min_target_loss)?,
        max_target_loss: section.or("max_target_loss", default.max_target_loss)?,
    };
    if config.min_target_loss > config.max_target_loss {
        let written = section.item("min_target_loss").is_some();
        let key = if written { "min_target_loss" } else { "max_target_loss" };
        let MimdConfig { min_target_loss: low, max_target_loss: high } = config;
        let message = format!("the band is upside down: from {low} to {high}");
        return Err(section.reject(key, message));
    }
    Ok(config)
}
