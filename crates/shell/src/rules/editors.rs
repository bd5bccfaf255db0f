//! Editors.

use super::{Files, Program, read, write};
use crate::act::edit;
use crate::answer::Capability::Exec;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    write("vim vi nvim ex rvim gvim mvim vimdiff elvis nvi vim.tiny", "edits files").act(edit::editor).valued("-c --cmd -S -u -T -w -W -t -i"),
    write("ed red", "edits files").act(edit::editor),
    write("emacs emacsclient mg jove zile", "edits files").act(edit::editor).valued("--eval -eval --execute -l --load -f --funcall -u"),
    write("nano pico micro joe jed ne kak helix hx amp vis acme sam sublime_text subl atom gedit kate kwrite pluma mousepad leafpad xed geany notepadqq textmate mate bbedit ee", "edits files").files(Files::Create),
    write("code codium cursor windsurf zed idea pycharm webstorm goland clion rubymine phpstorm fleet studio xcode", "opens an editor").can(&[Exec]),
    write("visudo", "edits who may become root").can(&[Exec, crate::answer::Capability::Privilege, crate::answer::Capability::Credentials]),
    write("vipw vigr", "edits accounts").can(&[crate::answer::Capability::Privilege, crate::answer::Capability::Credentials]),
    read("xdg-open open gio explorer start kde-open gnome-open wslview", "opens a file with its program").can(&[Exec]),
    read("xclip xsel pbcopy pbpaste wl-copy wl-paste clip clip.exe putclip getclip", "uses the clipboard"),
    read("tmux screen byobu zellij dtach abduco dvtm", "keeps terminals").can(&[Exec]).act(crate::act::language::terminal).valued("-S -L -f -t -s -n -c -F -x -y -p -T"),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("vim src/main.rs", "write", &[]);
        check("vim -c ':!rm -rf /' x", "catastrophic", &["exec"]);
        check("nano ~/.zshrc", "write", &["persistence"]);
        check("tmux ls", "read", &["exec"]);
        check("tmux send-keys 'rm -rf /' Enter", "catastrophic", &["exec"]);
    }
}
