//! Removal: `rm`, `unlink`, `shred`, `truncate`.

use crate::answer::Class;
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::Walker;

pub(crate) fn rm(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let recursive = call.options.has("-r -R --recursive -d --dir") || call.options.open;
    for operand in &call.options.operands {
        walker.write_file(&operand.text, if recursive { How::RemoveTree } else { How::Remove }, operand.span);
        let many =
            operand.text.contains([mark::ITEM, mark::PICK]) || (operand.loose && operand.text.contains(mark::OUTPUT));
        if many {
            walker.report.raise(
                Class::Destructive,
                "REMOVES",
                format!("removes every file in `{}`", mark::shown(&operand.text)),
                operand.span,
            );
        }
    }
    Stream::Absent
}

/// Programs that take whole trees away without being told to.
pub(crate) fn trees(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for operand in &call.options.operands {
        // They match patterns themselves that the shell left alone.
        let text = operand.text.replace('*', &mark::STAR.to_string()).replace('?', &mark::QUESTION.to_string());
        walker.write_file(&text, How::RemoveTree, operand.span);
    }
    Stream::Absent
}

/// Removal that is final: overwritten or unlinked without a question.
pub(crate) fn shred(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let tree = call.options.has("-r -R --recursive");
    for operand in &call.options.operands {
        walker.write_file(&operand.text, if tree { How::RemoveTree } else { How::Remove }, operand.span);
        walker.report.raise(
            Class::Destructive,
            "REMOVES",
            format!("`{}` cannot be brought back", mark::shown(&operand.text)),
            operand.span,
        );
    }
    Stream::Absent
}

pub(crate) fn truncate(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let size = call.options.value("-s --size").unwrap_or_default();
    let grows = size.starts_with(['+', '>', '%'])
        || !size.trim_start_matches('0').is_empty()
            && !size.starts_with(['-', '<', '/'])
            && size.trim_end_matches(char::is_alphabetic) != "0";
    for operand in &call.options.operands {
        let how = if grows { How::Modify } else { How::Empty };
        walker.write_file(&operand.text, how, operand.span);
        if how == How::Empty && !crate::zone::is_sink(&walker.resolve(&operand.text)) {
            walker.report.raise(
                Class::Destructive,
                "OVERWRITES",
                format!("cuts `{}`", mark::shown(&operand.text)),
                operand.span,
            );
        }
    }
    Stream::Absent
}
