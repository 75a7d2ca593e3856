# The tools, each pinned here and nowhere else. None of them is a dependency of a module.
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0

# How long each benchmark runs in "make bench": a duration, or a count such as 1x.
BENCHTIME ?= 1s
# Which benchmarks run.
BENCH ?= .
# What make demo-full runs on: postgres or mariadb.
DATABASE ?= postgres
# How long all fuzz targets run together, in seconds.
FUZZTIME ?= 1800

# "work" names every package of every module in go.work.
PACKAGES := work
LOGS     := .cache/logs

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.PHONY: help setup test test-cluster lint bench gates peers demo demo-full fuzz

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the database servers that the tests need (Debian, Ubuntu)
	@scripts/setup

# The benchmarks reuse what the tests compiled. The last line repeats the tests' summary, which the rest would hide.
test: setup ## run all tests with the race detector, each benchmark once, and fuzz for three minutes
	@mkdir -p $(LOGS)
	@go vet -tags cluster ./internal/dbtest ./mysqlstore ./shop/proofs # which run in test-cluster
	@go run $(GOTESTSUM) --format pkgname --format-hide-empty-pkg --hide-summary skipped -- \
		-race -timeout 10m $(PACKAGES) | tee $(LOGS)/test
	@echo "bench: each once, so that none rots"
	@go test -race -timeout 10m -run '^$$' -bench . -benchtime 1x $(PACKAGES) >$(LOGS)/bench 2>&1 || { cat $(LOGS)/bench; exit 1; }
	@FUZZTIME=180 scripts/fuzz
	@grep '^DONE ' $(LOGS)/test

test-cluster: setup ## run the tests on a Galera cluster of three nodes, which needs two more packages (Debian, Ubuntu)
	@scripts/setup cluster
	@go test -race -count 1 -timeout 20m -tags cluster -run 'Cluster|Galera' ./internal/dbtest ./mysqlstore ./shop/proofs

lint: ## check the format, go vet and staticcheck
	@unformatted=$$(go run $(GOFUMPT) -l .); \
		if [ -n "$$unformatted" ]; then echo "gofumpt would change:"; echo "$$unformatted"; exit 1; fi
	@go vet $(PACKAGES)
	@go vet -tags cluster ./internal/dbtest ./mysqlstore ./shop/proofs
	@go run $(STATICCHECK) $(PACKAGES)

bench: setup ## run the Go benchmarks (BENCH=regexp BENCHTIME=1s)
	@go test -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PACKAGES) | grep -v 'no test files'

gates: setup ## measure the speed that onceward promises; fails when a promise is broken
	@go run ./bench/gates

peers: setup ## compare onceward with what else makes a write happen once: the tables of docs/benchmarks.md
	@go run ./bench/peers

demo: ## start the demo shop on http://127.0.0.1:8080
	@go run ./cmd/onceward demo

demo-full: setup ## start the demo shop on private servers: PostgreSQL (or DATABASE=mariadb) and Redis
	@mkdir -p .cache
	@go build -o .cache/onceward ./cmd/onceward
	@go run ./internal/demofull $(DATABASE) .cache/onceward

features: setup ## have the suites write the README's tables of what the stores and the adapters do
	@ONCEWARD_FEATURES=write go test -p 1 -count 1 -run '^(TestStore|TestMemstore|TestConform.*)$$' $(PACKAGES) | grep -v 'no test'

fuzz: ## run the fuzz targets for longer (FUZZTIME=1800 seconds in all)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz
