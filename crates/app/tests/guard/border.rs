//! The border of the workspace holds for every way to name an output.

use crate::site::{Site, Told};

/// Commands that write outside of the workspace, which has a neighbour `other`; `door` is a link into it.
const OUTSIDE: &[&str] = &[
    "echo x > door/../x",
    "touch door/x",
    "ln -s .. n && touch n/x",
    "ln -s / n; touch n/opt/x",
    "ln -s ../other o; cd o && touch x",
    "black ../other",
    "black ../other/x.py",
    "prettier --write ../other",
    "eslint --fix ../other",
    "ruff format ../other",
    "ruff check --fix ../other",
    "gofmt -w ../other/x.go",
    "rustfmt ../other/x.rs",
    "clang-format -i ../other/x.c",
    "gcc -o ../other/x a.c",
    "gcc -o../other/x a.c",
    "clang a.c -o ../other/x",
    "rustc a.rs -o ../other/x",
    "rustc a.rs --out-dir ../other",
    "go build -o ../other/x ./...",
    "unzip x.zip -d ../other",
    "tar xf x.tar -C ../other",
    "tar cf ../other/x.tar src",
    "split src/a.py ../other/p",
    "cmake -B ../other",
    "cmake --build ../other",
    "tsc --outDir ../other",
    "tsc --outFile ../other/x.js",
    "npx tsc --outDir ../other",
    "cargo build --target-dir ../other",
    "cargo build --manifest-path ../other/Cargo.toml",
    "cargo -C ../other build",
    "npm --prefix ../other ci",
    "pnpm -C ../other install",
    "yarn --cwd ../other install",
    "python3 -m venv ../other/v",
    "virtualenv ../other/v",
    "pip install --target ../other -r requirements.txt",
    "git -C ../other commit -m x",
    "git -C ../other checkout main",
    "git --git-dir=../other/.git --work-tree=../other checkout main",
    "cd ../other && git commit -m x",
    "git worktree add ../other/wt",
    "git clone https://github.com/a/b ../other/b",
    "git apply --directory=../other p",
    "git init ../other/n",
    "vim -es -c 'w ../other/x' -c q src/a.py",
    "emacs --batch --eval '(write-region \"x\" nil \"../other/x\")'",
    "sqlite3 x.db '.backup ../other/x'",
    "sqlite3 x.db \"VACUUM INTO '../other/x'\"",
    "sed -n '/x/w ../other/x' src/a.py",
    "awk '{print > \"../other/x\"}' src/a.py",
    "dd if=a of=../other/x",
    "install a ../other/x",
    "rsync -a src/ ../other/",
    "convert a.png ../other/b.png",
    "ffmpeg -i a.mp4 ../other/b.mp4",
    "sudo -D ../other make",
    "make -C ../other",
    "patch -d ../other -p1 < p",
    "patch -o ../other/x a p",
    "find . -fprint ../other/x",
    "openssl rand -out ../other/x 3",
    "gpg -o ../other/x -d a",
    "ssh-keygen -f ../other/x",
    "mytool ../other/x",
    "./tool.sh ../other/x",
    "python3 gen.py --out=../other/x",
    "node gen.js ../other/x",
    "bash gen.sh ../other/x",
    "npx mytool --out ../other/x",
    "iconv -o ../other/x src/a.py",
    "xargs -a list touch ../other/x",
    "rmdir ../other/x",
    "cp -r src ../other/",
    "curl --output-dir ../other -O http://localhost/x",
    "pandoc a.md -o ../other/x.pdf",
    "npm run build -- --outDir ../other",
    "for i in 1 2 3; do touch ../other/$i; done",
    "hugo -d ../other",
    "mogrify ../other/x.png",
    "pytest --junitxml=../other/x.xml",
    "go test -coverprofile=../other/c.out ./...",
    "javac -d ../other A.java",
    "protoc --python_out=../other a.proto",
    "ln -s ../other/x y && cd y && git commit -m x",
    "cd ../other; make",
    "docker run -v {ws}/../other:/x alpine touch /x/a",
    "CARGO_TARGET_DIR=../other cargo build",
    "env CARGO_TARGET_DIR=../other cargo build",
    "make -d -C ../other",
    "gcc a.c -lcairo -o ../other/x",
    "black -l 100 ../other",
    "uv pip install --target ../other -r r.txt",
    "go -C ../other build",
    "ninja -C ../other",
    "poetry run black ../other",
    "uvx black ../other",
    "pipx run black ../other",
    "npm exec -- prettier --write ../other",
    "pnpm exec eslint --fix ../other",
    "yarn dlx prettier --write ../other",
    "python3 -m isort ../other",
    "CDPATH=.. cd other && touch x",
];

/// Ordinary commands that look like them.
const INSIDE: &[&str] = &[
    "docker run --rm -v {ws}:/w alpine ls",
    "echo x > der/../x",
    "black .",
    "prettier --write .",
    "npx prettier --write \"src/**/*.ts\"",
    "eslint --fix .",
    "ruff format . && ruff check --fix .",
    "gcc -Wall -I/usr/include/foo -o build/x a.c",
    "cmake -B build && cmake --build build",
    "cargo build --manifest-path src/Cargo.toml --target-dir target",
    "make -C src",
    "git -C src status",
    "git -C . commit -m x",
    "git checkout main",
    "git -C ../other log",
    "go build -o bin/x ./...",
    "tsc -p . --outDir dist",
    "python3 -m venv .venv",
    "python3 gen.py --out=/tmp/x data/in.json",
    "unzip x.zip -d build",
    "convert a.png b.png",
    "ln -s ../shared/lib lib",
    "ln -sf src/a.py current && cat current",
    "mkdir -p a/b && cd a/b && touch ../c",
    "npm --prefix src ci",
    "sqlite3 x.db 'select 1'",
    "sed -n '/x/p' src/a.py",
    "cp -r src build && echo x > build/a.py",
    "mv docs documents && echo x > documents/a.md",
    "awk '$3 > \"x\" {print}' src/a.py",
    "clang-format -i src/*.c",
    "git ls-files | xargs wc -l",
    "export PATH=$PATH:./node_modules/.bin; npm test",
    "NODE_ENV=test npm test",
    "git stash",
    "black --config ../pyproject.toml .",
    "gcc -lcairo a.c -o x",
    "cd src && npm test",
    "cd src && git add -A && git commit -m \"x\"",
    "ln -sfn releases/2 current",
    "mkdir -p build && cd build && cmake .. && make -j4",
    "python3 -m http.server --help",
    "cargo clippy --fix --allow-dirty",
    "go fmt ./...",
    "git log --oneline --output-indicator-new=x",
    "cat .claude/settings.json",
    "ls .claude && git status",
    "df --output=source",
    "git diff > /tmp/x.patch && git apply /tmp/x.patch",
    "for f in src/*.py; do python3 -m py_compile $f; done",
    "find . -name '*.py' | xargs black --check",
    "npx eslint src --ext .ts --fix",
    "cp -r src src2 && rm src2/a.py",
    "mv docs d2 && mv d2 docs",
    "tsc -p tsconfig.json && node dist/x.js",
    "pytest tests/test_a.py::test_b -x",
    "./gradlew build",
    "bash scripts/x.sh arg1 --flag",
    "node -e \"console.log(1)\"",
    "rm -f a.txt && ln -s b.txt a.txt",
];

fn site() -> Site {
    let site = Site::guarding_real_work(&["claude-code"]);
    let ws = site.workspace();
    for name in ["ws/deep/er", "ws/docs", "other/.git"] {
        std::fs::create_dir_all(site.path().join(name)).unwrap();
    }
    std::os::unix::fs::symlink(site.path().join("other"), ws.join("door")).unwrap();
    std::os::unix::fs::symlink("deep/er", ws.join("der")).unwrap();
    site
}

/// A command with the place of the workspace in it.
fn named(site: &Site, command: &str) -> String {
    command.replace("{ws}", &site.workspace().to_string_lossy())
}

#[test]
fn nothing_is_written_outside_unasked() {
    let site = site();
    let through: Vec<&&str> =
        OUTSIDE.iter().filter(|command| site.shell(&named(&site, command)) == Told::Runs).collect();
    println!("{} ways out: {} through", OUTSIDE.len(), through.len());
    assert!(through.is_empty(), "{through:#?}");
}

#[test]
fn inside_nobody_is_asked() {
    let site = site();
    let told = INSIDE.iter().map(|command| (command, site.shell(&named(&site, command))));
    let stopped: Vec<_> = told.filter(|(_, told)| *told != Told::Runs).collect();
    println!("{} commands inside: {} stopped", INSIDE.len(), stopped.len());
    assert!(stopped.is_empty(), "{stopped:#?}");
}
