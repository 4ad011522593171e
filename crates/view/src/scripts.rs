//! The scripts Vega, Vega-Lite and vega-embed, as the npm registry has them, compressed and embedded. `vendor/make.py`
//! fetches them; `vendor/SHA256SUMS` records their digests and versions.

use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use sha2::{Digest, Sha256};
use std::io::Read;

/// A JavaScript library that is embedded in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// Name of the library, which is its file name without `.min.js`.
    pub name: &'static str,
    packed: &'static [u8],
}

/// Vega, the library that draws figures.
pub const VEGA: Script = script("vega", include_bytes!("../vendor/vega.min.js.gz"));
/// Vega-Lite, the library that translates specs to specs of Vega. It needs [`VEGA`].
pub const VEGA_LITE: Script = script("vega-lite", include_bytes!("../vendor/vega-lite.min.js.gz"));
/// vega-embed, the library that places figures in pages. It needs [`VEGA`] and [`VEGA_LITE`].
pub const VEGA_EMBED: Script = script("vega-embed", include_bytes!("../vendor/vega-embed.min.js.gz"));
/// The licences of all code in the embedded libraries.
pub const NOTICES: &str = include_str!("../vendor/NOTICES.txt");
/// One line for each library: its SHA-256, its name, its version.
pub const SUMS: &str = include_str!("../vendor/SHA256SUMS");

const fn script(name: &'static str, packed: &'static [u8]) -> Script {
    Script { name, packed }
}

impl Script {
    /// The source of the library; empty if the embedded data is damaged, which a test excludes.
    pub fn text(self) -> String {
        let mut text = String::new();
        let read = GzDecoder::new(self.packed).read_to_string(&mut text);
        debug_assert!(read.is_ok(), "{}: {read:?}", self.name);
        text
    }

    /// The source of the library without the reference to its source map, which pages do not have.
    pub fn inline(self) -> String {
        let text = self.text();
        let kept = text.rsplit_once("//# sourceMappingURL=").map_or(text.as_str(), |parts| parts.0);
        kept.trim_end().to_owned()
    }

    /// The library as pages contain it, in gzip and base64. The script of the page unpacks it to [`Script::inline`].
    pub fn packed(self) -> String {
        BASE64_STANDARD.encode(self.packed)
    }

    /// The library's version, as `vendor/SHA256SUMS` records it.
    pub fn version(self) -> &'static str {
        self.recorded().map_or("", |recorded| recorded.1)
    }

    /// The SHA-256 and the version that `vendor/SHA256SUMS` records for the library.
    fn recorded(self) -> Option<(&'static str, &'static str)> {
        SUMS.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (digest, file, version) = (words.next()?, words.next()?, words.next()?);
            (file.strip_suffix(".min.js")? == self.name).then_some((digest, version))
        })
    }
}

/// Compresses a text with gzip and encodes it in base64. Equal texts give equal bytes.
pub(crate) fn pack(text: &str) -> String {
    let mut packed = Vec::new();
    let read = GzEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut packed);
    debug_assert!(read.is_ok(), "memory can be read: {read:?}");
    BASE64_STANDARD.encode(packed)
}

/// The digest by which a content security policy admits a script: SHA-256 in base64.
pub fn digest(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_are_those_that_were_recorded() {
        for script in [VEGA, VEGA_LITE, VEGA_EMBED] {
            let (recorded, _) = script.recorded().unwrap();
            assert_eq!(format!("{:x}", Sha256::digest(script.text())), recorded, "{}", script.name);
            assert!(NOTICES.contains(&format!("{} {}", script.name, script.version())));
        }
    }

    #[test]
    fn no_script_can_end_its_element() {
        for script in [VEGA, VEGA_LITE, VEGA_EMBED] {
            let text = script.inline().to_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--"), "{}", script.name);
            assert!(!text.contains("sourcemappingurl") && text.len() > 50_000, "{}", script.name);
        }
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        // NIST's answer for "abc", and for the empty text.
        assert_eq!(digest("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert_eq!(digest(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
