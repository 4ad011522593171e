//! Names of controllers, as the kernel allows them.

use crate::error::BpfError;

/// The longest name (`TCP_CA_NAME_MAX`, less the zero at its end).
const LONGEST: usize = 15;

/// Checks the name of a controller that is to be loaded.
///
/// # Errors
/// If it cannot be one.
pub fn check_name(name: &str) -> Result<(), BpfError> {
    // As `bpf_obj_name_cpy` of Linux, but for dots, which a BPF file system does not allow in names of folders.
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if (1..=LONGEST).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(BpfError::Name(format!(
        "\"{name}\" cannot be the name of a controller: it has 1 to {LONGEST} letters, digits and underscores"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_what_the_kernel_has_for_them() {
        assert!(
            ["gemini_1234567", "2", "fifteen_letters"].iter().all(|name| check_name(name).is_ok())
        );
        for wrong in ["", "a/b", "sixteen_letters_", "a b", "a.b", "a-b", "\u{e9}"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
