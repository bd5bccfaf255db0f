//! Names that are not programs of one family, and words that people write where a program should stand.

use super::{Program, write};
use crate::answer::Capability::Exec;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    write("xinit startx xdm gdm lightdm sddm x xorg xterm gnome-terminal konsole alacritty kitty urxvt rxvt terminator tilix xfce4-terminal st foot wezterm iterm xeyes xclock xlogo xcalc gimp blender krita audacity evince okular eog feh display xpdf nautilus dolphin thunar nemo pcmanfm ranger nnn lf vifm", "opens a terminal").can(&[Exec]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("xterm", "write", &["exec"]);
    }
}
