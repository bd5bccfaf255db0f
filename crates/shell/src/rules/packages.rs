//! Package managers. Installing runs code of others: that is `write` with exec and network.

use super::{Program, dry, flag, read, verb, write};
use crate::act::wrapper;
use crate::answer::Capability::{Exec, Network, Privilege};
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    write("npm pnpm yarn bun", "manages JavaScript packages").can(&[Exec, Network]).act(wrapper::runner).verbs(&[
        verb("ls|list|view|info|show|outdated|audit|why|explain|search|root|prefix|bin|help|version|ping|whoami|doctor|fund|query|licenses|pack", Class::Read, "looks at packages"),
        verb("config get|list|ls", Class::Read, "looks at settings"),
        verb("publish", Class::Write, "publishes a package").flags(&[dry("--dry-run")]),
        verb("unpublish", Class::Destructive, "removes a published package"),
        verb("deprecate|dist-tag|owner|access|team", Class::Write, "changes a published package"),
        verb("login|logout|adduser|token|profile", Class::Write, "handles credentials").can(&[crate::answer::Capability::Credentials]),
        verb("uninstall|remove|rm|un|unlink", Class::Write, "removes packages").flags(&[flag("-g --global", Class::Destructive, "removes tools of the whole machine")]),
        verb("cache clean|clear", Class::Write, "empties a cache"),
    ]),
    write("npx pnpx bunx uvx yarn-dlx", "fetches and runs a package").can(&[Exec, Network]).act(wrapper::fetched),
    write("pip pip2 pip3 pipenv poetry uv pdm hatch rye pipx conda mamba micromamba pixi easy_install pip-compile pip-sync virtualenv venv pyenv flit setuptools pip-tools", "manages Python packages").can(&[Exec, Network]).act(wrapper::runner).verbs(&[
        verb("list|show|freeze|check|search|index|inspect|debug|help|version|info|which|versions|tree|graph|root, env list, config list|show, cache dir|list", Class::Read, "looks at packages"),
        verb("publish", Class::Write, "publishes a package"),
        verb("env remove|delete", Class::Destructive, "removes an environment"),
        verb("remove|uninstall", Class::Write, "removes packages"),
    ]).flags(&[dry("--dry-run")]),
    write("cargo", "builds Rust").can(&[Exec, Network]).valued("-p --package --features --bin --example --test --target --manifest-path -j --jobs --profile --color -Z --config -C --target-dir --message-format").verbs(&[
        verb("tree|metadata|search|info|version|help|locate-project|pkgid|read-manifest|verify-project|report|config", Class::Read, "looks at a project"),
        verb("clean", Class::Destructive, "removes build output").flags(&[dry("-n --dry-run")]),
        verb("publish", Class::Write, "publishes a crate").flags(&[dry("-n --dry-run")]),
        verb("yank|owner|login|logout", Class::Write, "changes a published crate").can(&[crate::answer::Capability::Credentials]),
        verb("fmt", Class::Write, "formats code"),
    ]),
    write("rustup rustc rustfmt rustdoc cargo-audit cargo-deny cargo-nextest cargo-watch cargo-fuzz cargo-make wasm-pack trunk cross clippy-driver", "builds Rust").can(&[Exec, Network]).verbs(&[verb("show|which|doc|check|help|man", Class::Read, "looks at toolchains"), verb("self uninstall", Class::Destructive, "removes every toolchain")]),
    write("gem bundle bundler rake rails rbenv rvm chruby cocoapods pod fastlane jekyll middleman hanami", "manages Ruby packages").can(&[Exec, Network]).act(wrapper::runner).verbs(&[verb("list|search|info|show|outdated|env|environment|help|which|contents|dependency|spec|check", Class::Read, "looks at packages"), verb("yank", Class::Destructive, "removes a published gem"), verb("db:drop|db:reset|db:purge|db:truncate_all|db:schema:load", Class::Destructive, "drops a database")]),
    write("go", "builds Go").can(&[Exec, Network]).verbs(&[verb("version|env|list|doc|help|vet|tool", Class::Read, "looks at a project"), verb("clean", Class::Write, "removes build output"), verb("mod graph|why|verify", Class::Read, "looks at modules")]),
    write("gofmt goimports golangci-lint staticcheck dlv gopls govulncheck goreleaser mockgen protoc-gen-go wire air templ sqlc", "builds Go").can(&[Exec]),
    write("composer pear pecl drush wp artisan symfony", "manages PHP projects").can(&[Exec, Network]).verbs(&[verb("show|search|info|outdated|diagnose|validate|status|licenses|why|list|about", Class::Read, "looks at packages"), verb("db drop|reset", Class::Destructive, "drops a database"), verb("site empty", Class::Destructive, "empties a site"), verb("sql-drop|sql:drop|site-install", Class::Destructive, "drops a database")]),
    write("apt apt-get aptitude dpkg apt-key add-apt-repository apt-mark dselect synaptic tasksel apt-file nala", "manages system packages").can(&[Network, Privilege, Exec]).valued("-o -t -c").verbs(&[
        verb("list|search|show|policy|depends|rdepends|moo|changelog|help|showpkg|showsrc|stats|unmet|dump|pkgnames|madison|find", Class::Read, "looks at packages"),
        verb("remove|purge|autoremove|autopurge", Class::Write, "removes packages"),
    ]).flags(&[dry("-s --simulate --dry-run --just-print --no-act -l --list -L --listfiles -S --search --status --get-selections -p --print-avail --print-architecture --audit -c --contents -I --info")]),
    read("apt-cache dpkg-query apt-config apt-listchanges apt-rdepends debsums popcon rpmquery repoquery equery pkg-config pkgconf pkginfo swlist lslpp", "looks at system packages"),
    write("yum dnf microdnf rpm zypper tdnf urpmi dnf5 rpm-ostree", "manages system packages").can(&[Network, Privilege, Exec]).verbs(&[verb("list|search|info|provides|whatprovides|repolist|check-update|deplist|repoquery|history|se|if|lr|lu|help|status|updateinfo", Class::Read, "looks at packages")]).flags(&[dry("-q --query -qa -ql -qi -qf -qR -V --verify -K --checksig --test --assumeno")]),
    write("pacman yay paru pamac trizen pikaur", "manages system packages").can(&[Network, Privilege, Exec]).flags(&[dry("-Q -Ss -Si -Qs -Qi -Ql -F --query -p --print")]),
    write("brew port fink mas", "manages packages").can(&[Network, Exec]).verbs(&[verb("list|ls|search|info|outdated|deps|uses|leaves|doctor|config|home|desc|cat|formulae|casks|--prefix|--version|installed|contents|help|log|missing|options, services list", Class::Read, "looks at packages"), verb("uninstall|remove|rm|unlink|cleanup|autoremove|zap", Class::Write, "removes packages")]),
    write("apk opkg pkg pkg_add pkg_delete pkgin xbps-install xbps-remove xbps-query eopkg emerge portage layman eselect slackpkg installpkg removepkg swupd guix nix nix-env nix-shell nix-build nix-store nix-channel nixos-rebuild home-manager snap flatpak appimage-run npm-check sdk sdkmanager sdkman asdf mise rtx nvm fnm volta n nodenv jenv goenv phpenv tfenv pkgx devbox flox scoop choco winget spack conan vcpkg luarocks opam cabal stack ghcup hex mix rebar3 lein boot cpan cpanm cpm carton tlmgr ncu bower jspm corepack lerna nx turbo bazelisk dart flutter pub swift nimble raco quicklisp helm-plugin krew gh-extension installer pkgutil", "manages packages").can(&[Network, Exec]).verbs(&[verb("list|search|info|show|outdated|version|which|env|doctor|status|--version|query|ls|current|where|ls-remote|list-remote|installed|deps|tree|help|analyze|devices|path-info|log|find|connections, channel --list", Class::Read, "looks at packages"), verb("gc|collect-garbage|--gc", Class::Write, "drops unused packages")]).act(wrapper::runner).flags(&[dry("--dry-run --list-generations")]),
    write("debootstrap mmdebstrap alien checkinstall dh_make rpmdev-setuptree mock copr-cli", "builds packages").can(&[Exec]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("npm install", "write", &["exec", "network"]);
        check("npm ls", "read", &["exec", "network"]);
        check("npm config set script-shell ./x.sh", "write", &["exec", "network", "persistence"]);
        check("npm config set script-shell=./x.sh", "write", &["exec", "network", "persistence"]);
        check("npm set registry http://x.io", "write", &["exec", "network", "persistence"]);
        check("npm c set //x.io/:_authToken=a", "write", &["exec", "network", "credentials"]);
        check("pnpm config set @a:registry http://x.io", "write", &["exec", "network", "persistence"]);
        check("pip config set global.index-url http://x.io", "write", &["exec", "network", "persistence"]);
        check("npm config set fund false", "write", &["exec", "network"]);
        check("npm config get registry", "read", &["exec", "network"]);
        check("npx -y some-tool", "write", &["exec", "network"]);
        check("pip install requests", "write", &["exec", "network"]);
        check("pip list", "read", &["exec", "network"]);
        check("cargo build", "write", &["exec", "network"]);
        check("cargo clean", "destructive", &["exec", "network"]);
        check("cargo tree", "read", &["exec", "network"]);
        check("apt-get install -y jq", "write", &["exec", "network", "privilege"]);
        check("apt list", "read", &["exec", "network", "privilege"]);
        check("brew search jq", "read", &["exec", "network"]);
        check("npm unpublish x", "destructive", &["exec", "network"]);
        check("poetry run rm -rf /", "catastrophic", &["exec", "network"]);
    }
}
