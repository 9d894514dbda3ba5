# Each target sets up all it needs: a virtual environment, the installation, then its work.

VENV ?= .venv
PYTHON ?= python3
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint bench soak pictures screenshot reference clean

demo: $(VENV)/with-run
	$(VENV)/bin/plait run examples/eagle.spec

# Two at a time, as some tests start servers, ranks or threads of their own.
test: $(VENV)/with-test
	$(VENV)/bin/python -m pytest -q -n 2 --dist worksteal

lint: $(VENV)/with-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python

bench: $(VENV)/with-bench
	$(VENV)/bin/python -m benchmarks

# Ten minutes or more: many inputs that nobody means, and what was seen of them written into docs/soak.md.
soak: $(VENV)/with-test
	PYTHONPATH=tests $(VENV)/bin/python -m soak --write docs/soak.md

# The drawings of README.md and docs/, each by the command that docs/pictures/commands.txt has for it.
pictures: $(VENV)/with-dev
	PATH="$(abspath $(VENV))/bin:$$PATH" sh -e docs/pictures/commands.txt > /dev/null

# The API reference, from docstrings; any warning is an error.
reference: $(VENV)/with-docs
	$(VENV)/bin/python docs/reference.py build/reference
	@echo "build/reference/index.html"


# The picture of the page of `plait serve` in docs/, of a server under load. Needs Debian's chromium.
screenshot: $(VENV)/with-test
	PYTHONPATH=tests $(VENV)/bin/python -m browsing docs/pictures/serve.png

clean:
	rm -rf $(VENV) build dist src/plait.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/with-%: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing plait[$*] into $(VENV) ..."
	@$(PIP) -e '.[$*]'
	@touch $@
