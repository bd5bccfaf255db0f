//! Build tools, test runners, linters: ordinary developer work.

use super::{Program, flag, read, verb, write};
use crate::act::builds;
use crate::answer::Capability::{Exec, Network};
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    write("make gmake bmake nmake remake just task mage invoke doit tup redo ninja samu meson scons waf xmake premake5 b2 bjam jam ant nant", "builds").can(&[Exec]).act(builds::make).valued("-C -f -j -I -o -W -l --directory --file --makefile --justfile --jobs"),
    write("cmake ctest cpack ccmake autoconf automake autoreconf libtool libtoolize aclocal autoheader configure gcc g++ cc c++ clang clang++ tcc icc gfortran ld as gold lld mold nasm yasm ccache distcc bear cppcheck clang-tidy clang-format astyle uncrustify indent cb gperf include-what-you-use lcov gcov gcovr addr2line c++filt objcopy elfedit patchelf chrpath execstack ghc javac jar kotlinc-jvm scalac groovyc rmic javadoc jlink jpackage jdeps mvn mvnw maven gradle gradlew sbt mill leiningen bazel buck buck2 pants plz swiftc swiftlint swiftformat csc fsc msbuild dotnet nuget xbuild mcs erlc elixirc ocamlc ocamlopt dune coqc agda idris fpc gnatmake gprbuild dmd ldc2 zig odin v nimc valac vala fasm protoc protobuf flatc thrift capnp grpc_tools buf swagger-codegen openapi-generator antlr4 bison flex yacc lex ragel re2c lemon swig cython cythonize f2py numba emcc emmake wasm-ld wasm-opt wat2wasm wasm2wat wasmtime wasmer", "builds").can(&[Exec]).verbs(&[verb("** clean", Class::Write, "removes build output")]),
    write("pytest py.test tox nox unittest nose nosetests nose2 behave robot coverage hypothesis locust ward trial green stestr testr avocado jest vitest mocha ava jasmine karma cypress playwright puppeteer testcafe nightwatch wdio qunit tap tape c8 nyc istanbul rspec minitest cucumber guard phpunit phpstan psalm php-cs-fixer phpcs phpcbf phpspec codecept behat pest bats shunit2 shellspec prove gtest ginkgo gotestsum go-test busted", "runs tests").can(&[Exec]),
    write("black ruff flake8 pylint mypy pyright pyre isort autopep8 yapf bandit safety pycodestyle pydocstyle vulture radon pyflakes autoflake pyupgrade djlint blackd eslint eslint_d prettier prettierd tslint standard xo biome rome oxlint stylelint htmlhint jshint jscs jsonlint yamllint markdownlint markdownlint-cli2 mdl vale textlint alex write-good cspell codespell typos misspell hadolint dockle tflint tfsec checkov terrascan kube-linter kubeval kubeconform conftest opa rubocop reek brakeman standardrb haml-lint erb-lint sorbet srb steep scalafmt ktlint detekt checkstyle spotbugs pmd google-java-format dart-format shfmt actionlint commitlint gitlint semgrep sonar-scanner snyk trivy grype syft osv-scanner gitleaks trufflehog detect-secrets license-checker licensee reuse dprint treefmt editorconfig-checker ec taplo stylua luacheck selene cppclean clazy sqlfluff pgformatter buildifier gazelle proselint", "checks or formats code").can(&[Exec]),
    write("tsc tsup esbuild rollup webpack webpack-cli parcel vite snowpack swc babel babel-node browserify gulp grunt broccoli brunch metro expo react-native next nuxt gatsby astro remix svelte-kit sveltekit vue ng ember create-react-app create-next-app degit yo plop hygen storybook start-storybook electron electron-builder electron-forge cordova ionic capacitor tauri nest sequelize sequelize-cli knex typeorm prisma drizzle-kit mikro-orm ts-json-schema-generator typedoc jsdoc documentation tailwindcss postcss sass node-sass lessc stylus coffee livescript purs spago elm elm-make bsb rescript sanity strapi directus keystone medusa-cli payload eleventy hexo hugo mkdocs sphinx-quickstart sphinx-autobuild sphinx-apidoc sphinx-build pdoc pdoc3 docusaurus vuepress vitepress gitbook mdbook zola pelican nikola lektor cobalt doxygen godoc yard rdoc ldoc docfx asciidoctor-pdf antora", "builds").can(&[Exec]).act(builds::migrate),
    write("django-admin manage.py flask celery airflow dbt luigi prefect dagster alembic aerich flyway liquibase goose migrate dbmate atlas sqitch phinx skeema pgroll scrapy jupyter jupyter-lab jupyter-notebook jupyter-nbconvert papermill streamlit gradio bokeh voila kedro mlflow wandb dvc tensorboard accelerate torchrun deepspeed horovodrun ray spark-submit spark-shell pyspark hadoop hdfs mapred hive beeline pig sqoop flume oozie nifi flink storm samza druid superset metabase cookiecutter copier", "runs a framework").can(&[Exec, Network]).act(builds::migrate),
    read("ctags etags cscope global gtags universal-ctags cflow cproto pyls jdtls tree-sitter-parse ast-grep", "indexes code"),
    read("sg", "runs a command as another group, or searches code").act(crate::act::handed::group),
    write("twine", "publishes packages").can(&[Network, crate::answer::Capability::Credentials]),
    write("semantic-release release-it standard-version changesets changeset auto np bump2version bumpversion bump-my-version towncrier git-chglog conventional-changelog standard-changelog jreleaser", "makes releases").can(&[Exec, Network]),
    write("buildkite-agent jenkins-cli drone act gitlab-runner earthly dagger tekton tkn woodpecker concourse", "runs pipelines").can(&[Exec, Network]).verbs(&[verb("status|list|verify|--version|version", Class::Read, "looks at runners"), verb("unregister", Class::Destructive, "removes a runner"), verb("** delete*", Class::Destructive, "removes a pipeline")]),
    write("aider claude codex gemini qwen copilot opencode cline amp-cli ollama llm llama-cli lms huggingface-cli", "talks to a model").can(&[Exec, Network]).verbs(&[verb("list|ls|ps|show|--version", Class::Read, "looks at models"), verb("rm", Class::Destructive, "removes a model")]).flags(&[flag("--dangerously-skip-permissions --yolo --dangerously-bypass-approvals-and-sandbox", Class::Destructive, "lets an agent act unguarded").can(&[crate::answer::Capability::GuardTampering])]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("make test", "write", &["exec"]);
        check("pytest -k shutdown", "write", &["exec"]);
        check("tsc --noEmit", "write", &["exec"]);
        check("cmake --build build", "write", &["exec"]);
        check("printf 'all:\\n\\trm -rf /\\n' | make -f -", "catastrophic", &["exec"]);
        check("alembic upgrade head", "write", &["exec", "network"]);
    }
}
