# Every command of the project. `make` alone lists them.

# The Python that makes the private environment; 3.10 or later.
PYTHON ?= python3
# The private environment's own, once it is there.
VENV := .venv/bin/python
# Folder with the models that `make serve` serves.
REPOSITORY ?= model_repository
# More options for `make serve`, as `nacre serve --help` lists them.
OPTIONS ?=

.DEFAULT_GOAL := help
.PHONY: help setup build plugins demo serve test bench lint soak clean clean-all
# Recipes share one target folder and one private environment.
.NOTPARALLEL:

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## download and prepare what building needs (says first how much); a second run does nothing
	@$(PYTHON) scripts/setup

build: setup ## build the server: target/release/nacre
	cargo build --release -p nacre-server

plugins: build ## build the plugins into the model repository
	@scripts/with_wasm_toolchain.sh plugins/build.sh

demo: plugins ## classify three photographs and compare five sentences, from end to end
	@$(VENV) scripts/demo.py

serve: plugins ## serve the demo repository on ports 8000 (HTTP), 8001 (gRPC), 8002 (metrics)
	@exec target/release/nacre serve --model-repository '$(REPOSITORY)' $(OPTIONS)

test: ## every test, from nothing
	@PYTHON='$(PYTHON)' scripts/test.sh

soak: plugins ## the long runs in their full length
	NACRE_SOAK=1 $(VENV) -m pytest tests/python -m soak -s
	NACRE_SOAK=1 cargo test --release -p nacre-server -p nacre-tests --test leftovers -- --nocapture

bench: plugins ## measure
	cargo bench --workspace --bench '*'

lint: setup ## format, clippy and, where they are installed, cargo-deny, ruff and shellcheck
	@scripts/lint.sh

clean: ## delete what was built; what was downloaded stays
	rm -rf target plugins/target tests/guests/target .setup/test-models .setup/demo
	rm -rf model_repository/decode_image/[0-9]* model_repository/top_k_labels/[0-9]*
	rm -rf model_repository/tokenize/[0-9]* model_repository/pool_sentences/[0-9]*

clean-all: clean ## delete what was downloaded too
	rm -rf .venv .setup third_party model_repository/*/[0-9]*
	rm -f model_repository/top_k_labels/labels.txt model_repository/tokenize/tokenizer.json
