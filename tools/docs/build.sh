#!/usr/bin/env bash
# `make docs`: builds the site of all documents into build/site. The package has to be installed in .venv. A site that
# was there stays until the new one is whole.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.venv/bin/python
export NO_MKDOCS_2_WARNING=1

mkdir -p build
rm -rf build/docs  # of a run that was cut short
mkdir -p build/docs
tools/step "read the C++ headers" doxygen tools/docs/Doxyfile
tools/step "gather the pages" "$python" -m tools.docs.stage .venv/bin/fray build/docs/doxygen/xml build/docs/pages
tools/step "build the site" "$python" -m mkdocs build --strict --clean --config-file tools/docs/mkdocs.yml
tools/step "check the site" "$python" -m tools.docs.check_site build/docs/site
rm -rf build/site
mv build/docs/site build/site
echo "The site is in build/site; open build/site/index.html in a browser."
