//! systemd units that repeat a command when the machine or a device starts.

use crate::controller_args::SettingsOptions;
use shallop_workbench::diagnostic::{Result, plain};

/// The arguments for a unit that set keys (`--set`) or take the settings from a scenario (`--config`, `--scheme`).
pub fn settings(options: &SettingsOptions) -> Result<Vec<String>> {
    let SettingsOptions { set, config, scheme } = options;
    let mut words: Vec<String> =
        set.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]).collect();
    if let Some(config) = config {
        let config = std::path::absolute(config).map_err(|why| plain(&format!("--config: {why}")))?;
        words.extend(["--config".to_owned(), config.display().to_string()]);
    }
    words.extend(scheme.iter().flat_map(|name| ["--scheme", name]).map(str::to_owned));
    Ok(words)
}

/// Makes a unit that runs this program with the arguments `start`, and with `stop` when the unit ends. `order` has the
/// lines that say when the unit starts.
pub fn unit(description: &str, order: &str, start: &[String], stop: &[&str]) -> Result<String> {
    let path = std::env::current_exe().map_err(|why| plain(&format!("this program: {why}")))?;
    let shallop = quoted(&path.display().to_string());
    let start = start.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let stop = stop.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let description = description.replace('%', "%%");
    Ok(format!(
        "[Unit]
Description={description}
RequiresMountsFor=/sys/fs/bpf
{order}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={shallop} {start}
ExecStop={shallop} {stop}

[Install]
WantedBy=multi-user.target"
    ))
}

/// Quotes a word for a command line in a unit.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    if word.chars().any(|letter| letter.is_whitespace() || "\"'\\;".contains(letter)) {
        format!("\"{escaped}\"")
    } else {
        escaped
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    #[test]
    fn words_of_units_are_quoted_as_systemd_reads_them() {
        for (word, wanted) in [
            ("mark=50pkt", "mark=50pkt"),
            ("/a b/x.toml", "\"/a b/x.toml\""),
            ("100%", "100%%"),
            ("$HOME", "$$HOME"),
            ("a\"b", "\"a\\\"b\""),
        ] {
            assert_eq!(quoted(word), wanted);
        }
        let unit = unit("CLEAN at %h", "", &["%n".to_owned()], &["detach", "%h"]).unwrap();
        assert!(
            ["Description=CLEAN at %%h\n", " %%n\n", " detach %%h\n"].iter().all(|line| unit.contains(line)),
            "{unit}"
        );
    }
}
