//! Reading scenario files: fenced blocks `yaml`, `json`, `proposals`, `changes`, `signed` and `versions`; prose between them.
//!
//! A `yaml` block starts a step with a fresh world; a `json` block is its context; `proposals` hold
//! `# name`, the proposal on one line, and `=> VERDICT CODES`; before a second such block stores are closed and opened
//! again. `changes` are the same for what is no proposal, and are carried out on stores only. `signed` are proposals of an
//! agent with a registered key: `sign` what, `by` whom, having seen which snapshot (`saw`), what was `altered` afterwards,
//! what state was `set` before, or the same `again`.

use std::path::PathBuf;

pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) versions: Vec<VersionRow>,
}

pub(crate) struct Step {
    pub(crate) contract: String,
    pub(crate) context: String,
    pub(crate) cases: Vec<Case>,
    /// How many cases come before each restart.
    pub(crate) restarts: Vec<usize>,
    pub(crate) changes: Vec<Case>,
    /// Proposals that an agent with a registered key signs, or should.
    pub(crate) signed: Vec<Case>,
}

impl Step {
    /// The cases between restarts.
    pub(crate) fn runs(&self) -> Vec<&[Case]> {
        let ends = self.restarts.iter().copied().skip(1).chain([self.cases.len()]);
        self.restarts.iter().zip(ends).map(|(start, end)| &self.cases[*start..end]).collect()
    }
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) proposal: String,
    pub(crate) expected: String,
}

pub(crate) struct VersionRow {
    pub(crate) range: String,
    pub(crate) version: String,
    pub(crate) expected: String,
}

impl Scenario {
    /// The sample's number: the first two characters of the file's name.
    pub(crate) fn number(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// Whether the reference has a sample of this number.
    pub(crate) fn is_of_the_reference(&self) -> bool {
        self.name.starts_with(|first: char| first.is_ascii_digit())
    }
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

pub(crate) fn all() -> Vec<Scenario> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let scenarios = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let scenarios = scenarios.filter(|path| path.file_stem().is_some_and(|stem| stem != "README"));
    scenarios.map(read).collect()
}

fn read(path: &PathBuf) -> Scenario {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut scenario = Scenario { name, steps: Vec::new(), versions: Vec::new() };
    for (kind, body) in blocks(&text) {
        match kind.as_str() {
            "yaml" => scenario.steps.push(Step {
                contract: body,
                context: "{}".to_owned(),
                cases: Vec::new(),
                restarts: Vec::new(),
                changes: Vec::new(),
                signed: Vec::new(),
            }),
            "json" => last(&mut scenario).context = body,
            "proposals" => {
                let step = last(&mut scenario);
                step.restarts.push(step.cases.len());
                step.cases.extend(cases(&body));
            }
            "signed" => last(&mut scenario).signed.extend(cases(&body)),
            "changes" => last(&mut scenario).changes.extend(cases(&body)),
            "versions" => scenario.versions.extend(body.lines().map(version_row)),
            other => panic!("{}: no block is called `{other}`", path.display()),
        }
    }
    assert!(
        scenario.steps.iter().all(|step| !step.cases.is_empty()),
        "{}: a contract without proposals",
        path.display()
    );
    scenario
}

fn last(scenario: &mut Scenario) -> &mut Step {
    scenario.steps.last_mut().expect("a contract comes first")
}

fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => open = Some((kind.trim().to_owned(), String::new())),
            (None, None) => {}
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

fn cases(body: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut name = String::new();
    let mut proposal = String::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(expected) = line.strip_prefix("=> ") {
            cases.push(Case {
                name: name.clone(),
                proposal: std::mem::take(&mut proposal),
                expected: expected.to_owned(),
            });
        } else if let Some(text) = line.strip_prefix("# ") {
            text.clone_into(&mut name);
        } else {
            line.clone_into(&mut proposal);
        }
    }
    cases
}

fn version_row(line: &str) -> VersionRow {
    let (asked, expected) = line.split_once(" => ").unwrap();
    let (range, version) = asked.split_once(" | ").unwrap();
    VersionRow { range: range.to_owned(), version: version.to_owned(), expected: expected.to_owned() }
}
