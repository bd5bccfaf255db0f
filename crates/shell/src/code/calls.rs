//! Calls that act on the system, by name.

use super::token::Token;
use super::{Does, Language};

/// Calls by their last name. The table is shared: a name that means one thing in one language and
/// nothing in the others does no harm there.
const CALLS: &[(&str, Does)] = &[
    ("system", Does::Shell),
    ("popen", Does::Shell),
    ("popen2", Does::Shell),
    ("popen3", Does::Shell),
    ("Popen", Does::Shell),
    ("getoutput", Does::Shell),
    ("getstatusoutput", Does::Shell),
    ("check_output", Does::Shell),
    ("check_call", Does::Shell),
    ("call", Does::Shell),
    ("run", Does::Shell),
    ("execSync", Does::Shell),
    ("spawn", Does::Shell),
    ("spawnSync", Does::Shell),
    ("execFile", Does::Shell),
    ("execFileSync", Does::Shell),
    ("exec", Does::Shell),
    ("shell_exec", Does::Shell),
    ("passthru", Does::Shell),
    ("proc_open", Does::Shell),
    ("pcntl_exec", Does::Shell),
    ("qx", Does::Shell),
    ("execute", Does::Shell),
    ("execv", Does::Shell),
    ("execve", Does::Shell),
    ("execvp", Does::Shell),
    ("execl", Does::Shell),
    ("execlp", Does::Shell),
    ("execle", Does::Shell),
    ("spawnl", Does::Shell),
    ("spawnv", Does::Shell),
    ("capture2", Does::Shell),
    ("capture3", Does::Shell),
    ("pipeline", Does::Shell),
    ("startfile", Does::Shell),
    ("create_subprocess_shell", Does::Shell),
    ("create_subprocess_exec", Does::Shell),
    ("execa", Does::Shell),
    ("posix_spawn", Does::Shell),
    ("fork_exec", Does::Shell),
    ("eval", Does::Code),
    ("Function", Does::Code),
    ("runInNewContext", Does::Code),
    ("runInThisContext", Does::Code),
    ("instance_eval", Does::Code),
    ("class_eval", Does::Code),
    ("loadstring", Does::Code),
    ("assert", Does::Code),
    ("compile", Does::Code),
    ("create_function", Does::Code),
    ("execfile", Does::Code),
    ("rmtree", Does::RemoveTree),
    ("rm_rf", Does::RemoveTree),
    ("rm_r", Does::RemoveTree),
    ("remove_tree", Does::RemoveTree),
    ("remove_entry_secure", Does::RemoveTree),
    ("rmSync", Does::RemoveTree),
    ("rmdirSync", Does::RemoveTree),
    ("removeSync", Does::RemoveTree),
    ("rimraf", Does::RemoveTree),
    ("emptyDirSync", Does::RemoveTree),
    ("remove_dir", Does::RemoveTree),
    ("rmtree_p", Does::RemoveTree),
    ("rm_f", Does::Remove),
    ("rmdir", Does::Remove),
    ("removedirs", Does::Remove),
    ("remove", Does::Remove),
    ("unlink", Does::Remove),
    ("unlinkSync", Does::Remove),
    ("rm", Does::RemoveTree),
    ("truncate", Does::Remove),
    ("ftruncate", Does::Remove),
    ("truncateSync", Does::Remove),
    ("deleteFile", Does::Remove),
    ("safe_unlink", Does::Remove),
    ("writeFile", Does::Write),
    ("appendFile", Does::Write),
    ("outputFile", Does::Write),
    ("outputFileSync", Does::Write),
    ("createWriteStream", Does::Read),
    ("openSync", Does::Read),
    ("write", Does::Write),
    ("binwrite", Does::Write),
    ("copyFile", Does::Copy),
    ("writeFileSync", Does::Write),
    ("appendFileSync", Does::Write),
    ("write_text", Does::Write),
    ("write_bytes", Does::Write),
    ("file_put_contents", Does::Write),
    ("copyfile", Does::Copy),
    ("copyFileSync", Does::Copy),
    ("copy2", Does::Copy),
    ("symlink", Does::Symlink),
    ("symlinkSync", Does::Symlink),
    ("symlink_to", Does::Symlink),
    ("ln_s", Does::Symlink),
    ("ln_sf", Does::Symlink),
    ("link", Does::Link),
    ("linkSync", Does::Link),
    ("hardlink_to", Does::Link),
    ("copy", Does::Copy),
    ("copytree", Does::Copy),
    ("copyfileobj", Does::Copy),
    ("cpSync", Does::Copy),
    ("cp_r", Does::Copy),
    ("cp", Does::Copy),
    ("move", Does::Move),
    ("replace", Does::Move),
    ("chmod", Does::Write),
    ("chmodSync", Does::Write),
    ("rename", Does::Move),
    ("renameSync", Does::Move),
    ("mkdir", Does::Write),
    ("makedirs", Does::Write),
    ("mkdirSync", Does::Write),
    ("open", Does::Read),
    ("fopen", Does::Read),
    ("readFile", Does::Read),
    ("readFileSync", Does::Read),
    ("read_text", Does::Read),
    ("file_get_contents", Does::Read),
    ("readlines", Does::Read),
    ("createReadStream", Does::Read),
    ("read", Does::Read),
    ("readfile", Does::Read),
    ("urlopen", Does::Network),
    ("urlretrieve", Does::Network),
    ("fetch", Does::Network),
    ("get", Does::Network),
    ("request", Does::Network),
    ("connect", Does::Network),
    ("create_connection", Does::Network),
    ("curl_exec", Does::Network),
    ("fsockopen", Does::Network),
    ("post", Does::Network),
    ("createConnection", Does::Network),
    ("HTTPConnection", Does::Network),
    ("HTTPSConnection", Does::Network),
    ("FTP", Does::Network),
    ("SMTP", Does::Network),
    ("SMTP_SSL", Does::Network),
    ("WebSocket", Does::Network),
    ("put", Does::Network),
    ("patch", Does::Network),
    ("head", Does::Network),
    ("constructor", Does::Code),
    ("FileHandler", Does::Write),
    ("RotatingFileHandler", Does::Write),
    ("TimedRotatingFileHandler", Does::Write),
    ("FileIO", Does::Read),
    ("ZipFile", Does::Read),
    ("TarFile", Does::Read),
    ("taropen", Does::Read),
];

/// Names that need their module beside them, or they are ordinary words.
const QUALIFIED: &[(&str, &[&str])] = &[
    ("run", &["subprocess"]),
    ("call", &["subprocess"]),
    ("remove", &["os", "fs", "FileUtils", "Path", "path", "file"]),
    ("rm", &["fs", "FileUtils", "promises", "fsPromises"]),
    ("get", &["requests", "http", "https", "axios", "HTTP", "httpx", "urllib3", "LWP"]),
    ("post", &["requests", "http", "https", "axios", "HTTP", "httpx"]),
    ("request", &["requests", "http", "https", "axios", "HTTP", "urllib"]),
    ("put", &["requests", "axios", "httpx"]),
    ("patch", &["requests", "axios", "httpx"]),
    ("head", &["requests", "axios", "httpx"]),
    ("connect", &["socket", "net", "s", "sock", "tls", "client", "conn", "c"]),
    ("execute", &["os"]),
    ("compile", &["builtins"]),
    ("assert", &["php"]),
    ("rename", &["os", "fs", "File", "FileUtils"]),
    ("copy2", &["shutil"]),
    ("read", &["File", "IO"]),
    ("write", &["File", "IO"]),
    ("binwrite", &["File", "IO"]),
    ("pipeline", &["Open3"]),
    ("spawn", &["pty", "child_process", "Process", "Kernel", "cp", "require"]),
    ("truncate", &["os", "fs", "File"]),
    ("symlink", &["os", "fs", "File"]),
    ("link", &["os", "fs", "File"]),
    ("copy", &["shutil", "File"]),
    ("cp", &["fs", "FileUtils", "promises", "fsPromises"]),
    ("move", &["shutil", "File"]),
    ("replace", &["os"]),
];

/// What a name does, whoever owns it.
pub(super) fn by_name(name: &str) -> Option<Does> {
    CALLS.iter().find(|(known, _)| *known == name).map(|(_, does)| *does)
}

/// What a call does; `last` is its own name, `full` the name with its owners.
pub(super) fn lookup(last: &str, full: &str, language: Language, tokens: &[Token]) -> Option<Does> {
    // Of a class it is a definition, of an object it is `Function`.
    if full == "constructor" {
        return None;
    }
    // Databases of a file.
    if matches!(full, "sqlite3.connect" | "shelve.open" | "dbm.open") {
        return Some(Does::Write);
    }
    // `exec` runs code in Python and a program everywhere else.
    if last == "exec" && language == Language::Python {
        return Some(Does::Code);
    }
    // `eval` of a regular expression object, `get` of a dictionary: unqualified words are left alone.
    let plain_call = matches!(language, Language::Perl | Language::Php)
        && full == last
        && matches!(last, "symlink" | "link" | "rename" | "copy" | "move" | "truncate");
    if let Some((_, owners)) = QUALIFIED.iter().find(|(name, _)| *name == last)
        && !plain_call
        && !owners.iter().any(|owner| full.split(['.', ':', '>', '(', ')', '\'', '"']).any(|part| part == *owner))
        && !imported_as_another(owners, full, tokens)
        && !(full.starts_with('.') && matches!(last, "rm" | "spawn" | "run" | "remove") && language == Language::Node)
    {
        return None;
    }
    if last == "exec" && language == Language::Node && full.starts_with('.') && full == ".exec" {
        return Some(Does::Shell);
    }
    if full.ends_with("File.delete")
        || full.ends_with("File::delete")
        || full.ends_with("Dir.delete")
        || full.ends_with("FileUtils.remove_dir")
    {
        return Some(Does::Remove);
    }
    by_name(last)
}

/// `import subprocess as s; s.run(…)`: the owner stands elsewhere in the code.
fn imported_as_another(owners: &[&str], full: &str, tokens: &[Token]) -> bool {
    let renames = tokens.iter().any(|token| matches!(token, Token::Name(name) if name == "as" || name == "import"));
    let owned = tokens.iter().any(|token| matches!(token, Token::Name(name) if owners.contains(&name.as_str())));
    renames && owned && !full.starts_with('.')
}
