//! Text tools.

use super::{Files, Program, dry, flag, read, write};
use crate::act::{each, edit, filter, handed, texts};
use crate::answer::Capability::Exec;
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("cat gcat bat batcat", "prints files").act(filter::cat).valued("-l --language --theme --style -r --line-range"),
    read("tac gtac", "prints lines backwards").act(filter::tac),
    read("rev", "reverses lines").act(filter::rev),
    read("tr gtr", "translates characters").act(filter::tr),
    read("head ghead tail gtail", "prints the ends of files").act(filter::head).valued("-n -c --lines --bytes -s --pid"),
    read("cut gcut", "cuts columns").act(filter::cut).valued("-d -f -c -b --delimiter --fields --characters --bytes --output-delimiter"),
    read("sort gsort shuf gshuf", "orders lines").act(filter::lines).valued("-k -t -o -S -T --key --field-separator --output --buffer-size --temporary-directory --parallel --compress-program"),
    read("uniq guniq", "drops repeated lines").act(filter::uniq).valued("-f -s -w --skip-fields --skip-chars --check-chars"),
    read("base64 gbase64 base32 b64decode b64encode uudecode base64decode", "encodes or decodes").act(filter::base64).valued("-w --wrap -i -o -b"),
    read("xxd", "prints or reads hexadecimal").act(filter::xxd).valued("-c -g -l -s -o -n -cols -len -seek"),
    read("openssl libressl", "cryptography").act(filter::openssl).word_options(),
    read("grep egrep fgrep rgrep ggrep zgrep zegrep zfgrep bzgrep xzgrep rg ripgrep ag ack ack-grep pt ugrep git-grep sift pcregrep pcre2grep agrep glimpse", "searches text").act(filter::grep).valued("-e -f -m -A -B -C -d -D --regexp --file --max-count --after-context --before-context --context --include --exclude --exclude-dir --exclude-from -g --glob -t --type -T --type-not --pre --color --colour -j --threads --label --binary-files --hostname-bin --sort --max-depth"),
    read("sed gsed ssed", "edits a stream").act(edit::sed).valued("-i? -e -f -l --expression --file --line-length"),
    read("awk gawk mawk nawk original-awk goawk", "processes fields").act(edit::awk),
    read("less more most pg zless zmore bzless xzless view pager tailf multitail lnav", "shows text").files(Files::Read).valued("-p -P -x -n"),
    read("paste join comm column fold fmt pr expand unexpand look tsort ptx numfmt iconv uconv jq gojq jaq fx jless xq tomlq xmllint xmlstarlet xsltproc pup htmlq csvcut csvgrep csvlook csvstat csvsort csvjoin csvsql xsv qsv mlr miller q dsq datamash gron dasel hxselect hxnormalize html2text aspell hunspell ispell spell wdiff dwdiff diffstat cloc tokei scc sloccount wcwidth ascii units bc expr factor calc qalc cal ncal gcal banner figlet toilet cowsay lolcat fortune ponysay boxes sl cmatrix rot13 crypt colrm hexyl glow mdcat pygmentize highlight source-highlight chroma tldr cheat fzf peco percol sk gum shellcheck grex choose cygpath json jsonpp tqdm iselect hck frawk nkf csvtool jo jc yj vd visidata catdoc antiword odt2txt ps2ascii pdfgrep unrtf par gpar rs lam jot apropos whatis info pinfo tput clear reset tset resize tabs infocmp toe locale getconf lsb_release mesg uuidgen uuid mcookie pwgen apg makepasswd diceware keyid cksfv zdump tzselect gettext ngettext envsubst dateutils dateadd datediff ddiff dadd strptime", "processes text").files(Files::Read).valued("-d -f -s -t -w -c -n -r -j -1 -2 --arg --argjson --slurpfile --indent -e -S -F -l -L -k -p -m"),
    read("dc", "calculates").act(texts::dc),
    read("man", "shows a page of the manual").act(handed::manual),
    read("yq", "processes YAML").files(Files::ReadAfterFirst).flags(&[flag("-i --inplace", Class::Write, "edits files in place")]),
    read("sd", "replaces text in files").files(Files::None).flags(&[dry("-p --preview")]),
    read("yes", "repeats its words").act(filter::yes),
    read("seq gseq", "prints numbers").act(filter::seq),
    read("xargs gxargs", "runs a command for each item").act(each::xargs),
    read("parallel rush", "runs a command for each item").act(each::parallel),
    read("printenv", "prints the environment").act(filter::printenv),
    read("pv throttle buffer mbuffer progress", "shows the flow of a pipe").act(filter::cat).valued("-L -s -N -i"),
    write("m4 cpp msgfmt xgettext gettextize pandoc asciidoctor asciidoc rst2html rst2pdf markdown markdown_py pdflatex xelatex lualatex latex latexmk tex bibtex biber dvips dvipdf ps2pdf pdf2ps pdftotext pdftk qpdf pdfunite pdfseparate pdftoppm pdfcrop gs ghostscript enscript a2ps groff troff nroff texi2pdf makeinfo wkhtmltopdf wkhtmltoimage convert magick mogrify composite montage import gm inkscape rsvg-convert optipng pngquant jpegoptim jpegtran cwebp dwebp gifsicle ffmpeg ffprobe avconv sox lame flac opus oggenc mencoder mplayer mpv vlc cvlc x264 x265 HandBrakeCLI handbrakecli mkvmerge mkvextract mkvpropedit mp4box normalize id3tag eyeD3 eyed3 exiv2 dot neato fdp circo twopi plantuml mmdc graph-easy vipe csvformat csvclean in2csv unoconv libreoffice soffice calibre ebook-convert tesseract potrace autotrace fontforge ttx fc-cache fc-list xdg-mime update-mime-database localedef tidy prettyprint", "converts files").valued("-o -i -f -t").can(&[]),
    write("expect-lite tcl", "scripted dialogue").can(&[Exec]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("grep -rn 'rm -rf /' .", "read", &[]);
        check("cat /etc/shadow", "read", &["credentials"]);
        check("sed -i s/a/b/ f", "write", &[]);
        check("sed -n 1p f", "read", &[]);
        check("sed 's/x/rm -rf \\//e' <<< x", "catastrophic", &["exec"]);
        check("awk '{print $1}' f", "read", &[]);
        check("awk 'BEGIN{system(\"rm -rf /\")}'", "catastrophic", &["exec"]);
        check("sort -o out in", "write", &[]);
        check("uniq in out", "write", &[]);
        check("echo cm0gLXJmIC8= | base64 -d | sh", "catastrophic", &["exec"]);
        check("echo '/ fr- mr' | rev | sh", "catastrophic", &["exec"]);
        check("echo / | xargs rm -rf", "catastrophic", &[]);
        check("ls | xargs rm", "destructive", &[]);
        check("ls *.c | xargs wc -l", "read", &[]);
        check("parallel rm -rf ::: build", "destructive", &[]);
        check("printenv AWS_SECRET_ACCESS_KEY", "read", &["credentials"]);
        check("rg --pre ./x foo", "write", &["exec"]);
    }
}
