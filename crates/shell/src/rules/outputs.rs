//! Where programs write: one row says how a program names it. A program that writes in two ways has two rows.

use super::Style;
use crate::names::ByName;

/// Which operands are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// None of them.
    None,
    /// All behind the first few, which say something else.
    From(usize),
    /// One alone, counted from zero.
    At(usize),
    /// The last one, if it is not the only one.
    Last,
}

/// One row.
pub(crate) struct Output {
    /// Names, separated by spaces.
    pub names: &'static str,
    /// Subcommands the row is about, separated by `|`; all if there are none.
    pub verbs: &'static str,
    /// Options whose value is a file it writes.
    pub files: &'static str,
    /// Options whose value is a place below which it writes. `*` stands for anything.
    pub folders: &'static str,
    /// Options whose value is the folder it works in and writes to.
    pub inside: &'static str,
    /// Options whose value is the folder in which it runs another program.
    pub visits: &'static str,
    /// Options whose value is something else, so that it is no operand.
    pub valued: &'static str,
    /// Which operands it writes.
    pub operands: Written,
    /// Options of which one must be given, or operands are only read.
    pub when: &'static str,
    /// Options with which operands are only read.
    pub unless: &'static str,
    /// Without an operand it works on the current folder.
    pub here: bool,
    /// How its options are written.
    pub style: Style,
    /// Whether its options end where its command begins.
    pub stops: bool,
}

const fn row(names: &'static str) -> Output {
    Output {
        names,
        verbs: "",
        files: "",
        folders: "",
        inside: "",
        visits: "",
        valued: "",
        operands: Written::None,
        when: "",
        unless: "",
        here: false,
        style: Style::Gnu,
        stops: false,
    }
}

impl Output {
    const fn verbs(mut self, verbs: &'static str) -> Self {
        self.verbs = verbs;
        self
    }
    const fn files(mut self, options: &'static str) -> Self {
        self.files = options;
        self
    }
    const fn folders(mut self, options: &'static str) -> Self {
        self.folders = options;
        self
    }
    const fn inside(mut self, options: &'static str) -> Self {
        self.inside = options;
        self
    }
    const fn visits(mut self, options: &'static str) -> Self {
        self.visits = options;
        self.stops = true;
        self
    }
    const fn valued(mut self, options: &'static str) -> Self {
        self.valued = options;
        self
    }
    const fn operands(mut self, operands: Written) -> Self {
        self.operands = operands;
        self
    }
    const fn all(self) -> Self {
        self.operands(Written::From(0))
    }
    const fn when(mut self, options: &'static str) -> Self {
        self.when = options;
        self
    }
    const fn unless(mut self, options: &'static str) -> Self {
        self.unless = options;
        self
    }
    const fn here(mut self) -> Self {
        self.here = true;
        self
    }
    const fn word(mut self) -> Self {
        self.style = Style::Word;
        self
    }
    const fn stops(mut self) -> Self {
        self.stops = true;
        self
    }
}

/// Long options that mean the same in almost every program.
pub(crate) const EVERYWHERE: &[&str] = &[
    "--output",
    "--out",
    "--outfile",
    "--out-file",
    "--output-file",
    "--outFile",
    "--outdir",
    "--out-dir",
    "--outDir",
    "--output-dir",
    "--output-directory",
    "--output-path",
    "--dest",
    "--dest-dir",
    "--destination",
    "--dist-dir",
    "--target-dir",
    "--log-file",
    "--logfile",
    "--save-to",
    "--junitxml",
    "--junit-xml",
    "--report-file",
    "--export-dir",
    "--coverage-dir",
    "--coverageDirectory",
    "--artifact-dir",
    "--write-to",
];

/// Variables that name an output of many programs.
pub(crate) const VARIABLES: &[&str] = &[
    "CARGO_TARGET_DIR",
    "CARGO_INSTALL_ROOT",
    "CARGO_BUILD_TARGET_DIR",
    "GOBIN",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PYTHONUSERBASE",
    "NPM_CONFIG_PREFIX",
    "npm_config_prefix",
    "DESTDIR",
    "UV_PROJECT_ENVIRONMENT",
];

/// Options of formatters that take a value.
const SETTINGS: &str = "--config -c --config-path --ignore-path --plugin --parser --line-length -l --line-width --print-width --target-version -t --include --exclude --extend-exclude --force-exclude --ext --rulesdir --resolve-plugins-relative-to --settings-path --sp --profile --style --edition --rule --select --ignore --extend-select --indent -ln --lang --stdin-filepath --stdin-file-path --log-level --format -f --formatter --cache-location --max-warnings --dialect --rules";

/// Every row.
pub(crate) const OUTPUTS: &[Output] = &[
    // Formatters.
    row("black").all().unless("--check --diff").valued(SETTINGS),
    row("isort").all().unless("--check --check-only --diff -c").valued(SETTINGS),
    row("rustfmt stylua pyupgrade swiftformat scalafmt buildifier phpcbf astyle treefmt dos2unix unix2dos mac2unix fromdos todos").all().unless("--check --lint --dryrun --dry-run --test --list").valued(SETTINGS),
    row("autopep8 yapf clang-format shfmt gofmt goimports gofumpt google-java-format jsonlint autoflake docformatter").all().when("-i --in-place --inplace -w --write -r --replace").valued(SETTINGS),
    row("prettier prettierd").all().when("-w --write").here().valued(SETTINGS),
    row("eslint eslint_d stylelint standard xo oxlint tslint markdownlint markdownlint-cli2 standardrb swiftlint textlint jshint semgrep").all().when("--fix --autofix --fix-suggestions --fix-dangerously").files("-o --output-file").here().valued(SETTINGS),
    row("rubocop").all().when("-a -A -x --autocorrect --auto-correct --autocorrect-all --auto-correct-all --fix-layout").here().valued(SETTINGS),
    row("ktlint").all().when("-F --format").here(),
    row("codespell typos misspell cspell").all().when("-w --write-changes").here().valued(SETTINGS),
    row("ruff").verbs("format").all().unless("--check --diff").here().valued(SETTINGS),
    row("ruff").verbs("check|rule|linter").all().when("--fix --fix-only --unsafe-fixes --add-noqa").here().files("-o --output-file").valued(SETTINGS),
    row("biome rome").verbs("format|check|lint|ci").all().when("--write --apply --apply-unsafe --fix").here().valued("--config-path"),
    row("taplo dprint").verbs("fmt|format").all().unless("--check").here().valued(SETTINGS),
    row("sqlfluff php-cs-fixer").verbs("fix|format").all().here().valued(SETTINGS),
    row("deno dart zig mix terraform tofu").verbs("fmt|format").all().unless("--check -check").here().valued(SETTINGS),
    row("go").verbs("fmt|generate|fix").all().here().word(),
    row("djlint").all().when("--reformat"),
    row("uncrustify indent").files("-o").all().when("--replace --no-backup").valued("-c -l"),
    row("tidy").all().when("-m -modify").files("-o -output").word(),
    row("yq sops").all().when("-i --inplace --in-place").files("--output"),
    row("sd").operands(Written::From(2)).unless("-p --preview"),
    row("cargo").verbs("fmt|fix").here().unless("--check"),
    row("cargo").verbs("clippy").here().when("--fix"),
    row("pre-commit lefthook lint-staged").verbs("run").here(),
    // Compilers, linkers and builds. Their options are words: in `-lcairo` there is no `-o`.
    row("gcc g++ cc c++ clang clang++ tcc icc gfortran ld gold lld mold as nasm yasm rustc rustdoc ghc swiftc ocamlc ocamlopt dmd ldc2 valac fpc gnatmake emcc wasm-ld wasm-opt wat2wasm wasm2wat erlc fasm cython bison flex yacc lex ragel re2c swig msgfmt m4 cpp objcopy patchelf").files("-o --output -MF -MJ --dep-file -aux-info").folders("--out-dir -odir -hidir -outputdir -dumpdir -dumpbase").word(),
    row("javac kotlinc kotlinc-jvm scalac javadoc groovyc").folders("-d -s -h").word(),
    row("jar").files("-f --file"),
    row("protoc buf").files("-o --descriptor_set_out --dependency_out").folders("--*_out --output"),
    row("flatc thrift capnp").folders("-o -out").word(),
    row("cmake").folders("-B --build --install --install-prefix --prefix").valued("-D -S -G -A -T -C -P -U").word(),
    row("cmake").operands(Written::From(1)).when("-E").word(),
    row("ctest cpack").files("-O --output-log").folders("--test-dir -B").word(),
    row("make gmake bmake nmake remake ninja samu").inside("-C --directory"),
    row("just task").inside("-d --working-directory --dir"),
    row("meson").verbs("setup|compile|install|configure").inside("-C").operands(Written::At(0)).unless("-C"),
    row("go").inside("-C").files("-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace").folders("-outputdir -pkgdir").word(),
    row("cargo").inside("-C").folders("--target-dir --out-dir --artifact-dir --root --manifest-path --lockfile-path"),
    row("cargo").verbs("new|init|vendor|package").all(),
    row("npm pnpm yarn bun").inside("--prefix -C --dir --cwd").folders("--pack-destination --modules-folder --modules-dir --store-dir --global-dir --cache"),
    row("mvn mvnw maven gradle gradlew").files("-l --log-file").inside("-f --file -p --project-dir -b --build-file").folders("--project-cache-dir"),
    row("dotnet msbuild nuget").folders("-o --output --artifacts-path -OutputDirectory").word(),
    row("bazel buck buck2").folders("--output_base --output_user_root"),
    row("tsc").files("--outFile --tsBuildInfoFile").folders("--outDir --declarationDir -p --project -b --build --generateTrace"),
    row("esbuild tsup swc babel rollup webpack webpack-cli parcel vite browserify tailwindcss postcss lessc typedoc jsdoc sass node-sass ncc").files("-o --outfile --out-file --file --json --output").folders("--outdir --outDir --out-dir -d --dir --dist-dir --output-path --destination --out"),
    row("sass node-sass lessc").operands(Written::At(1)),
    row("hugo mkdocs mdbook zola eleventy hexo jekyll pelican").folders("-d --destination --site-dir --dest-dir -o --output-dir --output"),
    row("sphinx-build").operands(Written::At(1)).folders("-d -w"),
    row("pytest py.test").files("--junitxml --junit-xml --log-file --report-log").folders("--basetemp"),
    row("terraform tofu").inside("-chdir").files("-out -state -state-out -backup").word(),
    row("hg mercurial svn jj bzr fossil p4 darcs cvs").verbs("update|up|checkout|co|revert|merge|rebase|graft|shelve|unshelve|switch|sw|patch|import|restore|abandon|edit|new|undo|pull|clean|purge|goto").here(),
    row("hg mercurial svn").verbs("clone|checkout|co|export").operands(Written::At(1)),
    // Packages and environments.
    row("pip pip2 pip3 uv pipenv").folders("-t --target --prefix --root -d --dest -w --wheel-dir --src --cache-dir").inside("--directory --project"),
    row("venv virtualenv").all(),
    row("uv").verbs("venv|init").operands(Written::From(0)),
    row("poetry").inside("-C --directory -P --project"),
    row("poetry django-admin rails cookiecutter copier degit create-react-app create-next-app yo").verbs("new|startproject|startapp").operands(Written::From(0)),
    row("cookiecutter copier").folders("-o --output-dir"),
    row("degit").operands(Written::At(1)),
    row("gem bundle bundler").folders("-i --install-dir --path -n --bindir"),
    row("composer").inside("-d --working-dir"),
    // Archives.
    row("unzip").folders("-d").unless("-d").here(),
    row("7z 7za 7zr p7zip").verbs("x|e").folders("-o").unless("-o").here(),
    row("7z 7za 7zr p7zip").verbs("a|u|d|rn").operands(Written::At(0)),
    row("unrar rar").verbs("x|e").operands(Written::From(1)).here(),
    row("unar cabextract dtrx").folders("-o -d --output-directory --directory").here(),
    row("cpio").inside("-D --directory").files("-F -O --file"),
    row("ar").operands(Written::At(1)),
    row("ranlib strip upx").all().files("-o"),
    row("mksquashfs").operands(Written::At(1)),
    row("unsquashfs").folders("-d -dest").word(),
    row("mkisofs genisoimage xorriso").files("-o -outdev -output").word(),
    row("gzip bzip2 xz zstd lz4 brotli").files("-o --output").folders("--output-dir-flat --output-dir-mirror"),
    // Files and text.
    row("split gsplit").operands(Written::At(1)),
    row("csplit").files("-f --prefix"),
    row("patch").files("-o --output -r --reject-file").inside("-d --directory").all().here(),
    row("rename prename mmv perl-rename trash trash-put gio-trash rip vidir detox").all(),
    row("rename prename perl-rename").operands(Written::From(1)),
    row("stow").folders("-t --target -d --dir"),
    row("iconv uconv xmllint xsltproc shuf tree less csvformat html2text pygmentize highlight source-highlight dot neato fdp circo twopi ctags etags universal-ctags cflow").files("-o --output --outfile"),
    row("ctags etags universal-ctags cscope").files("-f"),
    row("awk gawk").files("-p? -o? -d? --dump-variables --pretty-print --profile"),
    row("valgrind").files("--log-file --xml-file").stops(),
    row("diff").files("--output"),
    row("curl nscurl curlie").files("-D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc"),
    row("wget wget2").files("-a --append-output --output-file --save-cookies --warc-file --rejected-log --hsts-file"),
    row("pandoc asciidoctor asciidoc rst2html rst2pdf mmdc cwebp dwebp gifsicle inkscape rsvg-convert pngquant flac oggenc x264 x265 mkvmerge enscript a2ps texi2pdf makeinfo optipng").files("-o --output --out --export-filename").folders("--destination-dir --extract-media"),
    row("soffice libreoffice unoconv plantuml").folders("--outdir -o --output").word(),
    row("tesseract lame ebook-convert").operands(Written::At(1)),
    row("pdflatex xelatex lualatex latex latexmk tex bibtex biber").folders("-output-directory -outdir -auxdir -aux-directory").word(),
    row("ffmpeg avconv").all(),
    row("convert magick composite montage sox qpdf pdfunite pdftk pdftotext pdftoppm pdfseparate pdfcrop ps2pdf pdf2ps dvips dvipdf gs wkhtmltopdf wkhtmltoimage jpegtran import gm").operands(Written::Last),
    row("mogrify jpegoptim optipng exiftool").all(),
    row("yt-dlp youtube-dl gallery-dl").files("-o --output --download-archive").folders("-P --paths"),
    // Keys.
    row("openssl libressl").files("-out -keyout -writerand -CAserial -certout").folders("-outdir").word(),
    row("gpg gpg2 gpgsm age age-keygen minisign").files("-o --output --logger-file").folders("--homedir"),
    row("ssh-keygen").files("-f").unless("-l -B -F -y -L -e"),
    row("mkcert").files("-cert-file -key-file -p12-file").word(),
    // Databases.
    row("psql pgcli").files("-o --output -L --log-file"),
    row("mysql mariadb mycli").files("--tee"),
    // Programs that run others.
    row("sudo doas dzdo run0").visits("-D --chdir"),
    row("systemd-run").visits("--working-directory"),
    row("unshare nsenter").visits("-w --wd"),
    row("bwrap").visits("--chdir"),
    row("proot").visits("-w"),
    row("parallel").visits("--wd --workdir").files("--joblog").folders("--results"),
    row("strace ltrace time gtime").files("-o --output").stops(),
    row("perf").verbs("record|stat").files("-o --output"),
    row("script").operands(Written::At(0)).files("-O -I -B -T --log-out --log-in --log-io --log-timing").stops(),
    row("flock").operands(Written::At(0)).stops(),
    row("hyperfine").files("--export-json --export-csv --export-markdown --export-asciidoc --export-orgmode"),
    row("docker podman nerdctl").verbs("cp").operands(Written::At(1)),
    row("docker podman nerdctl").verbs("build|buildx").files("-o --output --iidfile --metadata-file"),
    row("kubectl oc").verbs("cp").operands(Written::At(1)),
];

static BY_NAME: ByName<Output> = ByName::new(|see| OUTPUTS.iter().for_each(|output| see(output.names, output)));

/// The rows of a program by its name without directory and version.
pub(crate) fn rows(name: &str) -> Vec<&'static Output> {
    let found = BY_NAME.get(name);
    if !found.is_empty() {
        return found;
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    if stem.len() < name.len() { BY_NAME.get(stem) } else { found }
}

#[cfg(test)]
mod tests {
    use crate::view::View;

    /// What a command writes, by name or by its own decision, below `/home/user/project`.
    #[track_caller]
    fn check(command: &str, expected: &[&str]) {
        let answer = crate::classify(command, &View::default());
        let mut found: Vec<&str> = answer.writes.iter().chain(&answer.may_write).map(crate::Path::as_str).collect();
        found.dedup();
        assert_eq!(found, expected, "{command}");
    }

    #[test]
    fn rows() {
        check("black /o/a.py", &["/o/a.py"]);
        check("black --check /o/a.py", &[]);
        check("prettier --write /o", &["/o"]);
        check("prettier --check /o", &[]);
        check("npx prettier --write /o", &["/o"]);
        check("eslint --fix", &["/home/user/project"]);
        check("ruff check --fix /o", &["/o"]);
        check("ruff check /o", &[]);
        check("black -l 100 --config /c.toml /o", &["/o"]);
        check("gcc a.c -lcairo -o /o/x", &["/o/x"]);
        check("gcc -MMD -MF/o/x -c a.c", &["/o/x"]);
        check("gcc -dumpdir /o/ -c a.c", &["/o"]);
        check("gcc -Wl,-Map=/o/x -Wl,-rpath,/usr/lib a.c", &["/o/x"]);
        check("make -d -C /o", &["/o"]);
        check("strace -f -e trace=open -o /o/x ls", &["/o/x"]);
        check("sudo -u bob -D /o touch x", &["/o/x"]);
        check("terraform -chdir=/o apply", &["/o"]);
        check("valgrind --log-file=/o/x ls", &["/o/x"]);
        check("gawk -p/o/x 1 f", &["/o/x"]);
        check("CARGO_TARGET_DIR=/o cargo build", &["/o"]);
        check("export CARGO_TARGET_DIR=/o; cargo build", &["/o"]);
        check("GIT_TRACE=/o/x git status", &["/o/x"]);
        check("export GIT_TRACE=/o/x; git status", &["/o/x"]);
        check("df --output=source,fstype", &[]);
        check("column -o ' | ' -t f", &[]);
        check("gcc -I/usr/include -o/o/x a.c", &["/o/x"]);
        check("rustc a.rs --out-dir=/o", &["/o"]);
        check("go build -o /o/x ./...", &["/o/x"]);
        check("go test -coverprofile=/o/c ./...", &["/o/c"]);
        check("protoc --python_out=/o a.proto", &["/o"]);
        check("cmake -S . -B /o", &["/o"]);
        check("make -C /o all", &["/o"]);
        check("cargo build --target-dir /o", &["/o"]);
        check("npm --prefix /o ci", &["/o"]);
        check("npm run build -- --outDir /o", &["/o"]);
        check("python3 -m venv /o", &["/o"]);
        check("unzip -d /o a.zip", &["/o"]);
        check("unzip a.zip", &["/home/user/project"]);
        check("7z x -o/o a.7z", &["/o"]);
        check("split a.bin /o/part", &["/o/part"]);
        check("patch -d /o -p1", &["/o"]);
        check("iconv -o /o/x a.txt", &["/o/x"]);
        check("ffmpeg -i /m/a.mp4 /o/b.mp4", &["/o/b.mp4"]);
        check("strace -o /o/x ls", &["/o/x"]);
        check("sudo -D /o touch x", &["/o/x"]);
        check("docker cp c:/x /o/x", &["/o/x"]);
        check("curl --output-dir /o -o x https://x.io/x", &["/o/x", "/o"]);
        check("vim -es -c 'w! /o/x' -c q a", &["/home/user/project/a", "/o/x"]);
        check("emacs --batch --eval '(write-region \"\" nil \"/o/x\")'", &["/o/x"]);
        check("sqlite3 /o/db '.backup /o/x'", &["/o/db", "/o/x"]);
        check("sqlite3 /o/db \"VACUUM INTO '/o/x'\"", &["/o/db", "/o/x"]);
        check("sed -n '/a/w /o/x' f", &["/o/x"]);
        check("./gen.sh --to=/o/x", &["/o/x"]);
    }
}
