//! Worker processes as their parent sees them.

use crate::site::Site;
use crate::worker::{BUG, FILE, JOB, MARK, NUMBER, WORDS};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use values::bugs::Bug;

/// Processes that do the same job on one store. Whoever is still at work when they are dropped is killed.
pub struct Crew(Vec<Hand>);

/// One worker process.
pub struct Hand {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The fields of one line.
pub type Report = Vec<String>;

impl Crew {
    /// Starts them and waits until all are ready.
    pub fn hire(job: &str, site: &Site, processes: usize, bug: Option<Bug>, words: &str) -> Crew {
        let hands = (0..processes).map(|number| Hand::start(job, site, number, bug, words));
        let mut crew = Crew(hands.collect());
        for hand in &mut crew.0 {
            assert_eq!(hand.next(), Some(vec!["ready".to_owned()]));
        }
        crew
    }

    /// Tells all of them to go on.
    pub fn go(&mut self) {
        for hand in &mut self.0 {
            hand.go();
        }
    }

    pub fn hands(&mut self) -> &mut [Hand] {
        &mut self.0
    }

    /// Everything they report until they are done.
    pub fn reports(mut self) -> Vec<Report> {
        // All outputs at once: a worker whose pipe is full would wait for its turn and hold up the others.
        let all = std::thread::scope(|scope| {
            let reading: Vec<_> = self.0.iter_mut().map(|hand| scope.spawn(|| hand.rest())).collect();
            reading.into_iter().flat_map(|reports| reports.join().unwrap()).collect()
        });
        for hand in &mut self.0 {
            assert!(hand.child.wait().unwrap().success(), "a worker failed");
        }
        all
    }

    /// Does a job with so many processes and hands back what they report.
    pub fn run(job: &str, site: &Site, processes: usize, bug: Option<Bug>, words: &str) -> Vec<Report> {
        let mut crew = Crew::hire(job, site, processes, bug, words);
        crew.go();
        crew.reports()
    }
}

impl Hand {
    fn start(job: &str, site: &Site, number: usize, bug: Option<Bug>, words: &str) -> Hand {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["worker::worker", "--exact", "--nocapture", "--quiet"]);
        command.env(JOB, job).env(FILE, site.file()).env(NUMBER, number.to_string()).env(WORDS, words);
        if let Some(bug) = bug {
            command.env(BUG, bug.name());
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Hand { child, input, output: BufReader::new(output) }
    }

    pub fn go(&mut self) {
        self.input.write_all(b"go\n").unwrap();
    }

    /// The next line it reports; `None` when it has ended.
    pub fn next(&mut self) -> Option<Report> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            let mut fields = line.trim_end_matches('\n').split('\t');
            // A process that was killed may have left half a line; nobody was told anything by it.
            if fields.next() == Some(MARK) && line.ends_with('\n') {
                return Some(fields.map(str::to_owned).collect());
            }
            line.clear();
        }
        None
    }

    /// Ends it at once, whatever it is doing.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn rest(&mut self) -> Vec<Report> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // It may be over already, which is as good.
        let _over = self.child.kill();
        let _over = self.child.wait();
    }
}
