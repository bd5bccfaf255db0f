//! One call of one program: its words sorted into options and operands.

use crate::answer::Span;
use crate::mark;
use crate::rules::Style;
use crate::stream::Stream;
use crate::walk::Arg;

/// A program about to be judged.
pub(crate) struct Call<'a> {
    /// Lower-case name without directory.
    pub name: &'a str,
    /// The words after the name.
    pub args: &'a [Arg],
    pub stdin: Stream,
    /// The whole command.
    pub span: Span,
    /// Options and operands, by the entry's own rules.
    pub options: Options,
}

impl Call<'_> {
    /// Texts of all words after the name.
    pub fn texts(&self) -> Vec<&str> {
        self.args.iter().map(|arg| arg.text.as_str()).collect()
    }
}

/// One option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    /// `-x` or `--long`.
    pub name: String,
    pub value: Option<String>,
    pub span: Span,
}

/// The words of a call, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub given: Vec<Opt>,
    pub operands: Vec<Arg>,
    /// How many operands stand before `--`.
    pub before_dashes: Option<usize>,
    /// Whether an unquoted unknown word could be further options.
    pub open: bool,
}

impl Options {
    /// Sorts words. `valued` lists the options that take a value; `-p?` takes one only when it is attached. Stops at the first operand when `stop` is set.
    pub fn parse(args: &[Arg], valued: &str, style: Style, stop: bool) -> Self {
        let mut options = Self::default();
        let mut i = 0usize;
        while let Some(arg) = args.get(i) {
            i += 1;
            let text = arg.text.as_str();
            if options.before_dashes.is_some() || !text.starts_with('-') || text == "-" {
                options.open |= arg.loose && text.starts_with(mark::is_hole);
                options.operands.push(arg.clone());
                if stop {
                    options.operands.extend(args.get(i..).unwrap_or_default().iter().cloned());
                    break;
                }
                continue;
            }
            if text == "--" {
                options.before_dashes = Some(options.operands.len());
                continue;
            }
            let long = text.starts_with("--") || style == Style::Word;
            if long {
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                    None => (text.to_owned(), None),
                };
                let value = if value.is_none() && takes_value(valued, &name) {
                    i += 1;
                    args.get(i - 1).map(|next| next.text.clone())
                } else {
                    value
                };
                options.given.push(Opt { name, value, span: arg.span });
            } else {
                i += options.cluster(arg, valued, args.get(i));
            }
        }
        options
    }

    /// `-rf` or `-n10`; how many following words it took.
    fn cluster(&mut self, arg: &Arg, valued: &str, next: Option<&Arg>) -> usize {
        let mut chars = arg.text.chars();
        chars.next();
        // `-f-x` is one unknown word, no program reads it as `-f`.
        let mut letters = arg.text.chars().skip(1).take_while(|c| !takes_value(valued, &format!("-{c}")));
        if letters.any(|c| c == '-') {
            self.given.push(Opt { name: arg.text.clone(), value: None, span: arg.span });
            return 0;
        }
        while let Some(c) = chars.next() {
            let name = format!("-{c}");
            if takes_value(valued, &format!("{name}?")) {
                let rest = chars.as_str();
                self.given.push(Opt { name, value: (!rest.is_empty()).then(|| rest.to_owned()), span: arg.span });
                return 0;
            }
            if takes_value(valued, &name) {
                let rest = chars.as_str();
                let (value, taken) = if rest.is_empty() {
                    (next.map(|next| next.text.clone()), 1)
                } else {
                    (Some(rest.strip_prefix('=').unwrap_or(rest).to_owned()), 0)
                };
                self.given.push(Opt { name, value, span: arg.span });
                return taken;
            }
            self.given.push(Opt { name, value: None, span: arg.span });
        }
        0
    }

    /// The option among `names` (separated by spaces), abbreviations of long names included.
    pub fn find(&self, names: &str) -> Option<&Opt> {
        self.given.iter().find(|opt| names.split(' ').any(|name| same_option(&opt.name, name)))
    }

    pub fn has(&self, names: &str) -> bool {
        self.find(names).is_some()
    }

    pub fn value(&self, names: &str) -> Option<&str> {
        self.find(names).and_then(|opt| opt.value.as_deref())
    }

    /// Texts of the operands.
    pub fn texts(&self) -> Vec<&str> {
        self.operands.iter().map(|arg| arg.text.as_str()).collect()
    }
}

fn takes_value(valued: &str, name: &str) -> bool {
    !valued.is_empty() && valued.split(' ').any(|option| option == name)
}

/// GNU programs accept any unambiguous beginning of a long option.
fn same_option(given: &str, listed: &str) -> bool {
    given == listed
        || (given.len() > 3
            && given.starts_with("--")
            && listed.len() > given.len()
            && listed.starts_with("--")
            && listed.starts_with(given)
            && !EXACT.contains(&given))
}

/// Whole options that also begin longer, different ones.
const EXACT: &[&str] = &["--force", "--delete", "--recurse", "--exec", "--all", "--remove", "--prune", "--no-preserve"];
