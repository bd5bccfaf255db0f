//! Where a PostgreSQL database is, and who asks: `postgres://USER@HOST:PORT/DATABASE`, read once. Where standbys may take
//! over, all hosts are named, parted by commas.

use runtime::ports::store::StoreFault;
use std::fmt;
use std::path::{Path, PathBuf};
use url::Url;

/// The usual port.
const PORT: u16 = 5_432;

/// A cluster has few machines, and each is asked in turn.
const SERVERS_MAX: usize = 16;

/// How a connection is protected on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tls {
    /// It is not.
    Disabled,
    /// Encrypted, with a certificate that is checked against the name of the host: by the well-known authorities, or by
    /// those in a file.
    Verified(Option<PathBuf>),
}

/// The way to the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Server {
    /// Over TCP.
    Tcp(String, u16),
    /// Over a socket in a folder of this machine.
    Unix(PathBuf, u16),
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Tcp(host, port) if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Server::Tcp(host, port) => write!(formatter, "{host}:{port}"),
            Server::Unix(folder, port) => write!(formatter, "{}:{port}", folder.display()),
        }
    }
}

/// A database, and the role that uses it. It holds no password: locations are shown in hints, process lists and logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// At least one; whichever of them takes writes is used.
    servers: Vec<Server>,
    user: String,
    database: String,
    tls: Tls,
    /// As it was written.
    text: String,
}

impl Address {
    /// Whether a location means a PostgreSQL database.
    pub fn is_meant(text: &str) -> bool {
        ["postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads a location; what cannot be one is refused in words.
    pub fn parse(text: &str) -> Result<Address, StoreFault> {
        let refused = |problem: &str| StoreFault::Refused(format!("`{}` {problem}", Address::shown(text)));
        let form = "is no database; write `postgres://USER@HOST:PORT/DATABASE`";
        let (first, others) = hosts(text);
        let url = Url::parse(&first).map_err(|_| refused(form))?;
        if !matches!(url.scheme(), "postgres" | "postgresql") || !text.contains("://") || url.fragment().is_some() {
            return Err(refused(form));
        }
        if url.password().is_some() {
            return Err(refused(
                "names a password, which hints, process lists and logs would show; write it into ~/.pgpass or set \
                 PGPASSWORD, and leave it out here",
            ));
        }
        let decoded = |part: &str| unescaped(part).ok_or_else(|| refused(form));
        let mut host = url.host_str().map(decoded).transpose()?.unwrap_or_default();
        let (mut mode, mut authorities) = (None, None);
        for (name, value) in url.query_pairs() {
            match &*name {
                "host" => host = value.into_owned(),
                "sslmode" => mode = Some(value.into_owned()),
                "sslrootcert" => authorities = Some(PathBuf::from(value.into_owned())),
                _ => {
                    return Err(refused(&format!(
                        "sets `{name}`, which is not known here; `host`, `sslmode` and `sslrootcert` are"
                    )));
                }
            }
        }
        let tls = match mode.as_deref() {
            None if authorities.is_some() => Tls::Verified(authorities),
            None | Some("disable") => Tls::Disabled,
            // Encrypted without a check of who answers would be no protection: both mean the same here.
            Some("require" | "verify-full") => Tls::Verified(authorities),
            Some(other) => {
                return Err(refused(&format!(
                    "asks for sslmode `{other}`; give `disable`, `require` or `verify-full`"
                )));
            }
        };
        let mut servers = vec![server(&host, url.port())];
        for other in others {
            let url = Url::parse(&format!("postgres://{other}/")).map_err(|_| refused(form))?;
            let host = url.host_str().map(decoded).transpose()?.filter(|host| !host.is_empty());
            servers.push(server(&host.ok_or_else(|| refused(form))?, url.port()));
        }
        if servers.len() > SERVERS_MAX {
            return Err(refused(&format!("names more than {SERVERS_MAX} hosts")));
        }
        let is_of_machine = |server: &Server| matches!(server, Server::Unix(..));
        if servers.len() > 1 && servers.iter().any(is_of_machine) {
            return Err(refused(
                "names a socket of this machine beside other hosts; name only hosts, or only the socket",
            ));
        }
        if servers.iter().any(is_of_machine) && tls != Tls::Disabled {
            return Err(refused("asks for TLS over a socket of this machine, which has none; leave `sslmode` out"));
        }
        let user = Some(decoded(url.username())?).filter(|user| !user.is_empty());
        let user = user.or_else(|| std::env::var("PGUSER").ok().filter(|user| !user.is_empty()));
        let user = user.ok_or_else(|| refused("names nobody; write `postgres://USER@HOST:PORT/DATABASE`"))?;
        let database = decoded(url.path().trim_start_matches('/'))?;
        if database.is_empty() || database.contains(['/', '\0']) || user.contains('\0') {
            return Err(refused(form));
        }
        Ok(Address { servers, user, database, tls, text: text.to_owned() })
    }

    /// A location as it may be shown: without what might be a password in it.
    pub fn shown(text: &str) -> String {
        let Some((scheme, rest)) = text.split_once("://").filter(|_| Address::is_meant(text)) else {
            return text.to_owned();
        };
        match rest.rsplit_once('@') {
            Some((user, rest)) if user.contains(':') => {
                let user = user.split(':').next().unwrap_or_default();
                format!("{scheme}://{user}:…@{rest}")
            }
            Some(_) | None => text.to_owned(),
        }
    }

    /// The ways to the servers, of which one at a time takes writes.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Who asks.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// How the connection is protected.
    pub fn tls(&self) -> &Tls {
        &self.tls
    }

    /// Whether the way to every server stays on this machine.
    pub fn is_local(&self) -> bool {
        self.servers.iter().all(|server| match server {
            Server::Unix(..) => true,
            Server::Tcp(host, _) => {
                host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        })
    }

    /// A name for files on this machine that belong to the database, whoever uses it.
    pub fn file_name(&self) -> String {
        let name = |server: &Server| match server {
            Server::Tcp(host, port) => format!("{host}_{port}_"),
            Server::Unix(folder, port) => format!("{}_{port}_", folder.display()),
        };
        let servers: String = self.servers.iter().map(name).collect();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let plain = |letter: char| u8::try_from(letter).ok().filter(|byte| is_plain(*byte)).map_or('_', char::from);
        // Hosts have no odd letters; two databases must not share a name.
        let escaped = self.database.bytes().map(|byte| match byte {
            byte if is_plain(byte) || byte == b'_' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        });
        servers.chars().map(plain).map(String::from).chain(escaped).collect()
    }

    /// The password for one of the servers: from `PGPASSWORD`, else from the file that `PGPASSFILE` names, else from
    /// `~/.pgpass`.
    pub(super) fn password(&self, server: &Server) -> Option<String> {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(password) = named("PGPASSWORD") {
            return password.into_string().ok();
        }
        let file = named("PGPASSFILE").map(PathBuf::from);
        let file = file.or_else(|| named("HOME").map(|home| PathBuf::from(home).join(".pgpass")))?;
        self.password_in(&file, server)
    }

    fn password_in(&self, file: &Path, server: &Server) -> Option<String> {
        let text = std::fs::read_to_string(file).ok()?;
        let (host, port) = match server {
            Server::Tcp(host, port) => (host.as_str(), port.to_string()),
            Server::Unix(_, port) => ("localhost", port.to_string()),
        };
        let asked = [host, &port, &self.database, &self.user];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let mut fields = pgpass_fields(line).into_iter();
            let fits = asked.iter().all(|asked| fields.next().is_some_and(|field| field == "*" || field == **asked));
            fits.then(|| fields.next()).flatten()
        })
    }
}

/// The location with its first host only, and what stands for the others.
fn hosts(text: &str) -> (String, Vec<&str>) {
    let Some((scheme, rest)) = text.split_once("://") else { return (text.to_owned(), Vec::new()) };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, named) = authority.rsplit_once('@').map_or(("", authority), |(user, named)| (user, named));
    let mut named = named.split(',');
    let at = if authority.contains('@') { "@" } else { "" };
    let first = format!("{scheme}://{user}{at}{}{path}", named.next().unwrap_or_default());
    (first, named.collect())
}

fn server(host: &str, port: Option<u16>) -> Server {
    let port = port.unwrap_or(PORT);
    match host {
        "" => Server::Tcp("localhost".to_owned(), port),
        folder if folder.starts_with('/') => Server::Unix(PathBuf::from(folder), port),
        name => Server::Tcp(name.trim_start_matches('[').trim_end_matches(']').to_owned(), port),
    }
}

/// The fields of a line: colons part them, and a backslash takes the next letter as it is.
fn pgpass_fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => field.extend(letters.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

/// Text in which percent signs stand for bytes.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn an_address_is_read_in_parts() {
        let plain = read("postgres://anna@db.example:6543/decisions");
        assert_eq!(plain.servers(), &[Server::Tcp("db.example".to_owned(), 6_543)]);
        assert_eq!((plain.user(), plain.database(), plain.tls()), ("anna", "decisions", &Tls::Disabled));
        assert_eq!(plain.to_string(), "postgres://anna@db.example:6543/decisions");
        assert_eq!(plain.file_name(), "db.example_6543_decisions");
        let usual = read("postgresql://a%40b@[::1]/d%20d?sslmode=require");
        assert_eq!(usual.servers(), &[Server::Tcp("::1".to_owned(), PORT)]);
        assert_eq!((usual.user(), usual.database(), usual.tls()), ("a@b", "d d", &Tls::Verified(None)));
        let socket = read("postgres://anna@localhost/decisions?host=/run/postgresql");
        assert_eq!(socket.servers(), &[Server::Unix(PathBuf::from("/run/postgresql"), PORT)]);
        assert!(socket.is_local() && usual.is_local() && !plain.is_local());
    }

    #[test]
    fn every_host_of_a_cluster_is_named() {
        let cluster = read("postgres://anna@db1.example,db2.example:6543,[::1]:7000/decisions?sslmode=require");
        let tcp = |host: &str, port| Server::Tcp(host.to_owned(), port);
        assert_eq!(cluster.servers(), [tcp("db1.example", PORT), tcp("db2.example", 6_543), tcp("::1", 7_000)]);
        assert_eq!((cluster.user(), cluster.database(), cluster.is_local()), ("anna", "decisions", false));
        assert_eq!(cluster.file_name(), "db1.example_5432_db2.example_6543___1_7000_decisions");
        assert!(read("postgres://anna@127.0.0.1:1,localhost:2/d").is_local());
    }

    #[test]
    fn what_is_no_address_is_refused_in_words() {
        for (text, problem) in [
            ("postgres:", "postgres://USER@HOST"),
            ("postgres://anna@host", "postgres://USER@HOST"),
            ("postgres://anna:geheim@host/db", "names a password"),
            ("postgres://anna:x@geheim@host/db", "names a password"),
            ("postgres://anna@host/db?sslmode=prefer", "sslmode `prefer`"),
            ("postgres://anna@host/db?options=-c", "`options`"),
            ("postgres://anna@host/a/b", "postgres://USER@HOST"),
            ("postgres://anna@host,/db", "postgres://USER@HOST"),
            ("postgres://anna@host,other:port/db", "postgres://USER@HOST"),
            ("postgres://anna@a,b/db?host=/run", "beside other hosts"),
        ] {
            let said = Address::parse(text).unwrap_err().to_string();
            assert!(said.contains(problem) && !said.contains("geheim"), "{text}: {said}");
        }
    }

    #[test]
    fn a_password_is_found_in_the_line_that_fits() {
        let host = Server::Tcp("host".to_owned(), PORT);
        let folder = std::env::temp_dir().join(format!("pgpass-{}", std::process::id()));
        std::fs::write(&folder, "# none\nother:*:*:anna:no\n*:5432:decisions:anna:a\\:b:c\n*:*:*:*:last\n").unwrap();
        assert_eq!(read("postgres://anna@host/decisions").password_in(&folder, &host).as_deref(), Some("a:b:c"));
        assert_eq!(read("postgres://otto@host/decisions").password_in(&folder, &host).as_deref(), Some("last"));
        std::fs::remove_file(&folder).unwrap();
    }
}
