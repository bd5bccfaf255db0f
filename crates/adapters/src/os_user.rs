//! Whom the operating system takes this process for: no variable of the environment can say otherwise.

/// The name of the process's real user, or its number where no name is known.
pub fn os_user() -> String {
    let number = rustix::process::getuid().as_raw().to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(number.as_str())).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("user-{number}"))
}
