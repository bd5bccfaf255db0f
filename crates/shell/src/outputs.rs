//! What a program writes by the row of its name, before code for it has its say.

use crate::act::wrapper::WRAPS;
use crate::answer::Class;
use crate::call::{Call, Opt, Options};
use crate::rules::outputs::{EVERYWHERE, Output, VARIABLES, Written, rows};
use crate::rules::{Program, Style};
use crate::touch::How;
use crate::walk::{Arg, Variable, Walker};

impl Walker<'_> {
    /// Reports what the rows of a program say; whether it works in another folder than this one from here on.
    pub fn outputs(&mut self, program: &Program, call: &Call<'_>, asks: bool) -> bool {
        let mut moved = false;
        for row in rows(call.name) {
            let wrapper = WRAPS.iter().find(|wrap| row.stops && wrap.name == call.name).map(|wrap| wrap.valued);
            let own = [program.valued, wrapper.unwrap_or_default(), row.valued];
            let valued = [own.join(" ").as_str(), row.files, row.folders, row.inside, row.visits].join(" ");
            let options = Options::parse(call.args, valued.trim(), row.style, row.stops);
            let Some(operands) = of_verb(row, &options) else { continue };
            for opt in &options.given {
                moved |= self.output_option(row, opt, asks);
            }
            if !asks {
                self.output_operands(row, &options, operands);
            }
        }
        if !asks {
            let only_paths = program.class == Class::Read;
            self.outputs_everywhere(call.args, only_paths);
            if !only_paths {
                self.outputs_of_variables(call);
            }
        }
        moved
    }

    /// What variables that this text sets say about outputs.
    fn outputs_of_variables(&mut self, call: &Call<'_>) {
        for name in VARIABLES {
            let value = match self.state.variables.get(*name) {
                Some(Variable::Scalar(value)) => value.clone(),
                Some(Variable::List(_) | Variable::Scattered(_)) | None => continue,
            };
            self.may_write(&value, call.span);
        }
    }

    fn output_option(&mut self, row: &Output, opt: &Opt, asks: bool) -> bool {
        let attached = split_attached(row, opt);
        let opt = attached.as_ref().unwrap_or(opt);
        let Some(value) = opt.value.clone().filter(|value| !value.is_empty()) else { return false };
        let works_in = is_one_of(opt, row.inside);
        if !asks && is_one_of(opt, row.files) {
            self.write_file(&value, How::Overwrite, opt.span);
        }
        if !asks && (is_one_of(opt, row.folders) || works_in) {
            self.may_write(&value, opt.span);
        }
        let moves = works_in || is_one_of(opt, row.visits);
        if moves {
            self.state.cwd = self.resolve(&value);
        }
        moves
    }

    fn output_operands(&mut self, row: &Output, options: &Options, operands: &[Arg]) {
        let writes = (row.when.is_empty() || options.has(row.when))
            && (row.unless.is_empty() || !options.has(row.unless))
            && (row.operands != Written::None || row.here);
        if !writes {
            return;
        }
        let written: &[Arg] = match row.operands {
            Written::None => &[],
            Written::From(first) => operands.get(first..).unwrap_or_default(),
            Written::At(at) => operands.get(at..=at).unwrap_or_default(),
            Written::Last => operands.get(1..).and_then(<[Arg]>::last).map(std::slice::from_ref).unwrap_or_default(),
        };
        for operand in written {
            self.may_write(&operand.text, operand.span);
        }
        if written.is_empty() && row.here {
            self.may_write(".", operands.first().map(|operand| operand.span).unwrap_or_default());
        }
    }

    /// Options that mean an output in almost every program, wherever they stand.
    fn outputs_everywhere(&mut self, args: &[Arg], only_paths: bool) {
        for (at, arg) in args.iter().enumerate() {
            if !arg.text.starts_with("--") {
                continue;
            }
            let (name, value) = match arg.text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.text.as_str(), args.get(at + 1).map(|next| next.text.clone())),
            };
            let value = value.filter(|value| !value.starts_with('-') && !value.contains(char::is_whitespace));
            let value = value.filter(|value| !only_paths || value.contains('/') || value.starts_with(['.', '~']));
            if let Some(value) = value.filter(|_| EVERYWHERE.contains(&name)) {
                self.may_write(&value, arg.span);
            }
        }
    }
}

/// The operands behind the subcommand, if the row is about it.
fn of_verb<'o>(row: &Output, options: &'o Options) -> Option<&'o [Arg]> {
    if row.verbs.is_empty() {
        return Some(&options.operands);
    }
    let (verb, rest) = options.operands.split_first()?;
    row.verbs.split('|').any(|name| name == verb.text).then_some(rest)
}

/// `-oPATH` where options are words.
fn split_attached(row: &Output, opt: &Opt) -> Option<Opt> {
    if row.style != Style::Word || opt.value.is_some() || opt.name.len() < 3 {
        return None;
    }
    // `-MF` takes its file attached as well.
    let attaches = |name: &&str| name.len() == 2 || matches!(*name, "-MF" | "-MJ");
    let short = |names: &'static str| {
        names.split(' ').filter(attaches).filter(|name| opt.name.starts_with(name)).max_by_key(|name| name.len())
    };
    let name = [row.files, row.folders, row.inside].into_iter().find_map(short)?;
    let value = opt.name.get(name.len()..).filter(|value| !value.is_empty()).map(str::to_owned);
    Some(Opt { name: name.to_owned(), value, span: opt.span })
}

fn is_one_of(opt: &Opt, names: &str) -> bool {
    let is_it = |name: &str| match name.trim_end_matches('?') {
        pattern if pattern.contains('*') => crate::glob::matches(pattern, &opt.name),
        name => name == opt.name,
    };
    !names.is_empty() && names.split(' ').any(is_it)
}
