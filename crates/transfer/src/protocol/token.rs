//! The secret by which a receiver knows the sender of an unfinished transfer again.

use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, read_to_string};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env::var_os, fmt};
use tempfile::NamedTempFile;

/// A secret of 128 random bits. Partial files belong to the token of the transfer that began them. A sender shows its
/// token to every receiver that it trusts with its files.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Token(pub(crate) u128);

impl Token {
    /// Makes a token that no later transfer has.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }

    /// The token of this user, from the file `sender-token` in `shallop` in `XDG_DATA_HOME` or `~/.local/share`. The
    /// first call makes the file.
    ///
    /// # Errors
    /// Neither variable is set, or the file cannot be made or read.
    pub fn of_user() -> io::Result<Self> {
        let variable = |name| var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
        let data = data.ok_or_else(|| io::Error::other("HOME is not set"))?;
        Self::kept_in(&data.join("shallop"))
    }

    fn kept_in(folder: &Path) -> io::Result<Self> {
        let path = folder.join("sender-token");
        if !path.try_exists()? {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            // Its mode is 0600.
            let mut new = NamedTempFile::new_in(folder)?;
            writeln!(new, "{}", String::from(Self::random()?))?;
            match new.persist_noclobber(&path) {
                // Another process has made the token meanwhile.
                Err(why) if why.error.kind() == io::ErrorKind::AlreadyExists => {}
                made => drop(made.map_err(|why| why.error)?),
            }
        }
        let text = read_to_string(&path)?;
        text.trim().to_owned().try_into().map_err(|why| io::Error::other(format!("{}: {why}", path.display())))
    }

    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl TryFrom<String> for Token {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hex = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        u128::from_str_radix(&text, 16).ok().filter(|_| is_hex).map(Self).ok_or("a token has 32 hexadecimal digits")
    }
}

impl From<Token> for String {
    fn from(token: Token) -> String {
        format!("{:032x}", token.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Token;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_user_keeps_one_token_that_others_cannot_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("data/shallop");
        let threads = [(); 8].map(|()| {
            let folder = folder.clone();
            std::thread::spawn(move || Token::kept_in(&folder).unwrap())
        });
        let all = threads.map(|thread| thread.join().unwrap());
        let kept = Token::kept_in(&folder).unwrap();
        assert!(all.iter().all(|token| *token == kept) && kept != Token::random().unwrap());
        let mode = std::fs::metadata(folder.join("sender-token")).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, std::fs::read_dir(&folder).unwrap().count()), (0o600, 1));
        std::fs::write(folder.join("sender-token"), "").unwrap();
        assert!(Token::kept_in(&folder).unwrap_err().to_string().contains("32 hexadecimal digits"));
    }
}
