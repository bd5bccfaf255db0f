//! Modes and owners: `chmod`, `chown`, `chgrp`, `chattr`, `setfacl`.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};
use crate::zone::{self, Zone};

pub(crate) fn chmod(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    // `-x` and `-rwx` are modes, not options.
    let is_mode_like = |text: &str| {
        text.len() > 1
            && text.starts_with('-')
            && text.chars().skip(1).all(|c| matches!(c, 'r' | 'w' | 'x' | 'X' | 's' | 't'))
    };
    let mut mode: Option<Arg> = None;
    let mut targets = Vec::new();
    let mut recursive = false;
    let reference = call.options.has("--reference");
    for arg in call.args {
        let text = arg.text.as_str();
        match () {
            () if mode.is_none() && is_mode_like(text) => mode = Some(arg.clone()),
            () if text.starts_with("--") => recursive |= text.len() > 3 && "--recursive".starts_with(text),
            () if text.starts_with('-') && text.len() > 1 => recursive |= text.contains('R'),
            () if mode.is_none() && !reference => mode = Some(arg.clone()),
            () => targets.push(arg.clone()),
        }
    }
    if let Some(mode) = mode.filter(|mode| sets_identity(&mode.text)) {
        walker.report.can_because(
            Capability::Privilege,
            format!("mode `{}` lets others act as the owner", mark::shown(&mode.text)),
            mode.span,
        );
    }
    change(walker, &targets, recursive);
    Stream::Absent
}

/// Set-user-id and set-group-id modes.
fn sets_identity(mode: &str) -> bool {
    let octal = mode.len() == 4 && mode.chars().all(|c| c.is_digit(8)) && mode.starts_with(['2', '4', '6']);
    octal || mode.split(',').any(|clause| clause.split_once(['+', '=']).is_some_and(|(_, bits)| bits.contains('s')))
}

pub(crate) fn chown(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let skip = usize::from(!call.options.has("--reference"));
    let targets: Vec<Arg> = call.options.operands.iter().skip(skip).cloned().collect();
    if call
        .options
        .operands
        .first()
        .is_some_and(|owner| owner.text == "root" || owner.text.starts_with("root:") || owner.text.starts_with("0:"))
    {
        walker.report.can(Capability::Privilege);
    }
    change(walker, &targets, call.options.has("-R --recursive"));
    Stream::Absent
}

pub(crate) fn attributes(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let targets: Vec<Arg> =
        call.args.iter().filter(|arg| arg.text.contains('/') || arg.text.contains('.')).cloned().collect();
    change(walker, &targets, call.options.has("-R --recursive"));
    Stream::Absent
}

fn change(walker: &mut Walker<'_>, targets: &[Arg], recursive: bool) {
    for target in targets {
        walker.write_file(&target.text, if recursive { How::ModeTree } else { How::Mode }, target.span);
        let path = walker.resolve(&target.text);
        let place = zone::of(&path, &walker.state.cwd, walker.view.home);
        let top = crate::path::components(&path).count() <= 1;
        let class = match (place, recursive) {
            (Zone::Root, _) => Class::Catastrophic,
            (Zone::System, false) if top => Class::Catastrophic,
            (Zone::Home | Zone::MaybeRoot, true) if path != walker.state.cwd => Class::Destructive,
            _ => continue,
        };
        walker.report.raise(
            class,
            "MODES",
            format!("changes access to `{}`, {}", mark::shown(&target.text), place.name()),
            target.span,
        );
    }
}
