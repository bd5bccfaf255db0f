//! What a program writes by the row of its name, before code for it has its say.

use crate::call::{Call, Opt, Options};
use crate::rules::Program;
use crate::rules::outputs::{EVERYWHERE, Output, Written, rows};
use crate::touch::How;
use crate::walk::{Arg, Walker};

impl Walker<'_> {
    /// Reports what the rows of a program say; whether it works in another folder than this one from here on.
    pub fn outputs(&mut self, program: &Program, call: &Call<'_>, asks: bool) -> bool {
        let mut moved = false;
        for row in rows(call.name) {
            let valued = [program.valued, row.files, row.folders, row.inside, row.visits].join(" ");
            let options = Options::parse(call.args, valued.trim(), row.style, row.stops);
            let Some(operands) = of_verb(row, &options) else { continue };
            for opt in &options.given {
                moved |= self.output_option(row, opt, asks);
            }
            if !asks {
                self.output_operands(row, &options, operands);
            }
        }
        if !asks && program.class > crate::answer::Class::Read {
            self.outputs_everywhere(call.args);
        }
        moved
    }

    fn output_option(&mut self, row: &Output, opt: &Opt, asks: bool) -> bool {
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
    pub fn outputs_everywhere(&mut self, args: &[Arg]) {
        for (at, arg) in args.iter().enumerate() {
            if !arg.text.starts_with("--") {
                continue;
            }
            let (name, value) = match arg.text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.text.as_str(), args.get(at + 1).map(|next| next.text.clone())),
            };
            let value = value.filter(|value| !value.starts_with('-') && !value.contains(char::is_whitespace));
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

fn is_one_of(opt: &Opt, names: &str) -> bool {
    !names.is_empty()
        && names
            .split(' ')
            .any(|name| if name.contains('*') { crate::glob::matches(name, &opt.name) } else { name == opt.name })
}
